"""Holds the plan against the engine's own reckoning: `python -m models.compare [FILE.gguf … | --random N]`.

For every model of the catalogue whose shape is known (as a sparse replica, which takes no disk) and for every file that
is named, llama.cpp is asked what it would take in a range of settings. Prints a line for each and ends with status 1
when the plan is more than 5 % off the engine's total anywhere. --random draws N small shapes, many of them odd: there
buffers weigh more than in any real model, so this is where the rules show their limits.
"""

import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from models import header, measure, replica
from models.catalogue import Catalogue
from models.memory import KvType, Run, memory
from models.shape import Shape, Weights, weights

LIMIT = 0.05
_KINDS: tuple[KvType, ...] = ("f16", "q8_0")
_CONTEXTS = (2048, 4096, 8192)


@dataclass(frozen=True, slots=True)
class Compared:
    """One model in one setting. Bytes; the weights are counted in both totals as the file's own."""

    model: str
    run: Run
    planned: int
    reported: int
    planned_kv: int
    reported_kv: int
    planned_compute: int
    reported_compute: int

    @property
    def off(self) -> float:
        return self.planned / self.reported - 1


def runs(context_trained: int) -> list[Run]:
    """The settings in which models are compared: both engines, small and large, with and without flash attention."""
    made = []
    for context in (context for context in _CONTEXTS if context <= context_trained):
        for kind in _KINDS:
            made += [Run.in_process(context, kv=kind), *(Run.server(context, slots, kv=kind) for slots in (1, 2, 4))]
        made += [Run.in_process(context, flash=False), Run.server(context, 1, flash=False)]
    return made


def of_file(name: str, path: Path, shape: Shape, parts: Weights, wanted: Sequence[Run]) -> Iterator[Compared]:
    """A file, or a sparse replica of one. Raises TrialFailed."""
    for run, told in zip(wanted, measure.simulated(path, wanted), strict=True):
        planned = memory(shape, parts, run)
        compute = told.compute + told.output
        yield Compared(
            model=name,
            run=run,
            planned=planned.total,
            reported=parts.total + told.kv + compute,
            planned_kv=planned.kv,
            reported_kv=told.kv,
            planned_compute=planned.compute,
            reported_compute=compute,
        )


def of_catalogue(names: Sequence[str] = ()) -> Iterator[Compared]:
    """Every model whose shape the catalogue knows."""
    cards = Catalogue.load()
    with tempfile.TemporaryDirectory(prefix="compare-") as folder:
        for card in map(cards.get, names or cards.names()):
            if card.shape is None or not card.quantisation:
                continue
            path = Path(folder) / "sparse.gguf"
            replica.write(path, card.shape, card.quantisation, sparse=True)
            parts = weights(card.shape, card.quantisation)
            yield from of_file(card.name, path, card.shape, parts, runs(card.context_trained))
            path.unlink()


def of_random(count: int, seed: int = 1) -> Iterator[Compared]:
    """Shapes from one seed, one setting each."""
    draw = random.Random(seed)  # noqa: S311 - shapes, no secrets
    with tempfile.TemporaryDirectory(prefix="compare-") as folder:
        for number in range(count):
            path, shape = Path(folder) / "sparse.gguf", _drawn(draw)
            replica.write(path, shape, "Q4_K_M", sparse=True)
            run = draw.choice(runs(shape.context_trained))
            yield from of_file(f"{number} {shape.architecture}", path, shape, weights(shape, "Q4_K_M"), [run])


def _drawn(draw: random.Random) -> Shape:
    heads, head_size = 4 * draw.randint(1, 8), draw.choice((64, 128))
    table = {
        "architecture": draw.choice(("llama", "qwen2", "gemma2")),
        "layers": draw.randint(1, 24),
        "width": heads * head_size,
        "heads": heads,
        "kv_heads": draw.choice((1, 2, 4)),
        "head_size": head_size,
        "feed_forward": 256 * draw.randint(2, 32),
        "vocabulary": draw.randint(1000, 200_000),
        "tied": draw.random() < 0.5,
    }
    if table["architecture"] == "gemma2":
        table |= {"tied": True, "window": draw.choice((512, 1024, 4096))}
    return Shape.from_table(table, context_trained=8192)


def main(arguments: Sequence[str]) -> int:
    drawn = int(arguments[1]) if arguments[:1] == ["--random"] else 0
    files = () if drawn else arguments
    compared = list(of_random(drawn)) if drawn else list(of_catalogue()) if not files else []
    for name in files:
        read = header.read(Path(name))
        wanted = runs(read.shape.context_trained)
        compared += of_file(Path(name).name, Path(name), read.shape, read.weights, wanted)
    for one in compared:
        run = one.run
        flash = "flash" if run.flash else "plain"
        print(
            f"{one.model:32} {run.context:6} x{run.streams} {run.kv:5} {flash} batch {run.batch:4}  "
            f"planned {one.planned / 2**20:8.1f} MiB  engine {one.reported / 2**20:8.1f} MiB  {one.off:+.2%}  "
            f"cache {one.planned_kv / 2**20:7.1f}/{one.reported_kv / 2**20:7.1f}  "
            f"compute {one.planned_compute / 2**20:6.1f}/{one.reported_compute / 2**20:6.1f}"
        )
    within = sum(abs(one.off) <= LIMIT for one in compared)
    worst = max(compared, key=lambda one: abs(one.off))
    print(
        f"{len(compared)} compared, {within} within {LIMIT:.0%}; "
        f"the plan is at most {abs(worst.off):.2%} off ({worst.model})"
    )
    return int(abs(worst.off) > LIMIT)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
