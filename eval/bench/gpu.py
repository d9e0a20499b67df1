"""`make bench-gpu`: the client's models in their real shapes on a real card, beside the client's own latency table.

python -m eval.bench.gpu [--models NAME,NAME] [--vram-gib 8] [--counts 1,2,4,8] [--tokens 120] [--rounds 5]
    [--gpu-layers -1] [--binary LLAMA_SERVER] [--cpu] [--out FILE]

For each model a replica with random weights is written (speed and memory do not depend on what they say), tried, and
removed: on llama_cpp with 4k and 8k for one conversation, on llama_server with the settings that the plan finds for
eight conversations on such a card. Nothing else should use the card meanwhile: its peak is read from the driver.
"""

import argparse
import asyncio
import json
import platform
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.bench.gpu_engines import Trial, on_llama_cpp, on_llama_server
from eval.bench.stand_in import words
from eval.bench.talk import Broken
from models import device, replica
from models.catalogue import Catalogue, ModelCard
from models.plan import Settings, make, subject

MODELS = ("qwen2.5-7b-instruct-q4_k_m", "gemma-2-9b-it-q4_k_m")
CONTEXTS = (4096, 8192)
SHARED_CONTEXT = 2048
"""Of each of the conversations on llama_server: the protocol, a reply, and a short talk."""

OUT = Path("build/bench-gpu.json")


@dataclass(frozen=True, slots=True)
class Wish:
    """What is measured. vram_bytes: the card that it has to fit. binary: llama-server, None where there is none."""

    vram_bytes: int
    counts: tuple[int, ...]
    tokens: int
    rounds: int
    gpu_layers: int
    binary: Path | None


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 0 when everything was measured, 1 when something could not be, or there is no card."""
    asked = _parser().parse_args(arguments)
    cards = [Catalogue.load().get(name) for name in asked.models]
    gpus = device.gpus()
    if not gpus and not asked.cpu:
        print("no GPU is seen here (nvidia-smi); with --cpu the same is tried without one", file=sys.stderr)
        return 1
    layers = 0 if asked.cpu else asked.gpu_layers
    wish = Wish(round(asked.vram_gib * 2**30), tuple(asked.counts), asked.tokens, asked.rounds, layers, asked.binary)
    rows = [row for card in cards for row in measure(card, wish)]
    names = [gpu.name for gpu in gpus] or ["no GPU: measured on the CPU"]
    report = {
        "device": names,
        "device_bytes": [gpu.total_bytes for gpu in gpus],
        "python": platform.python_version(),
        "vram_bytes": wish.vram_bytes,
        "tokens_of_a_reply": wish.tokens,
        "rows": rows,
    }
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    print(f"{', '.join(names)}; a card of {wish.vram_bytes / 2**30:.1f} GiB is asked for")
    print(table(rows))
    print(f"\neverything: {asked.out}")
    return int(any("failed" in row for row in rows))


def measure(card: ModelCard, wish: Wish) -> list[dict[str, Any]]:
    """Every trial of one model; one that fails says why."""
    if card.shape is None or not card.quantisation:
        return [{"model": card.name, "engine": "-", "failed": "the catalogue does not know its shape"}]
    with tempfile.TemporaryDirectory(prefix="crisis-gpu-") as folder:
        path = Path(folder) / "replica.gguf"
        print(f"writing {card.name} with random weights", file=sys.stderr, flush=True)
        replica.write(path, card.shape, card.quantisation, words=words())
        return [_row(card, trial, path, wish) for trial in trials(card, wish)]


def trials(card: ModelCard, wish: Wish) -> list[Trial]:
    """On llama_cpp one conversation of each length; on llama_server as many as the plan finds room for."""
    about, made = subject(card, None), []
    for context in (context for context in CONTEXTS if context <= card.context_trained):
        plan = make(about, Settings(context), wish.vram_bytes, engine="llama_cpp")
        made.append(Trial("llama_cpp", plan.settings, plan.memory.total, (1,)))
    if wish.binary is not None:
        wanted = Settings(min(SHARED_CONTEXT, card.context_trained), max(wish.counts))
        plan = make(about, wanted, wish.vram_bytes, engine="llama_server")
        found = plan.suggestion.settings if plan.suggestion else plan.settings
        fitting = make(about, found, wish.vram_bytes, engine="llama_server")
        counts = tuple(count for count in wish.counts if count <= found.parallel)
        made.append(Trial("llama_server", found, fitting.memory.total, counts))
    return made


def _row(card: ModelCard, trial: Trial, path: Path, wish: Wish) -> dict[str, Any]:
    print(f"{card.name}: {trial.text}", file=sys.stderr, flush=True)
    row: dict[str, Any] = {
        "model": card.name,
        "engine": trial.engine,
        "context": trial.settings.context,
        "parallel": trial.settings.parallel,
        "kv": trial.settings.kv,
        "planned_bytes": trial.planned_bytes,
        "client": {name: card.client.get(name) for name in ("first_token_s", "full_response_s")},
    }
    work = (trial, path, wish.tokens, wish.rounds, wish.gpu_layers)
    try:
        if trial.engine == "llama_cpp":
            told = asyncio.run(on_llama_cpp(*work))
        else:
            told = asyncio.run(on_llama_server(*work, binary=wish.binary or Path("llama-server")))
    except Broken as fault:
        return row | {"failed": str(fault)}
    return row | told | {"fits": told["peak_bytes"] <= wish.vram_bytes}


def table(rows: Sequence[dict[str, Any]]) -> str:
    """One line a trial. Seconds, the client's own behind the stroke; GiB as planned and as the driver saw it."""
    heads = ["model", "engine", "context", "first token", "cached", "reply", "tokens/s", "planned", "peak", "fits"]
    body = [_cells(row) for row in rows]
    widths = [max(len(line[at]) for line in (heads, *body)) for at in range(len(heads))]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in (heads, *body)
    )


def _cells(row: dict[str, Any]) -> list[str]:
    begin = [row["model"], row["engine"]]
    if "failed" in row:
        return [*begin, "-", row["failed"], *["-"] * 6]
    client = row["client"]
    many = f"{row['parallel']} x " if row["parallel"] > 1 else ""
    return [
        *begin,
        f"{many}{row['context']} {row['kv']}",
        f"{row['first_token_s']['median']:.2f} / {client['first_token_s'] or '-'}",
        f"{row['cached_first_token_s']['median']:.2f}",
        f"{row['full_response_s']['median']:.2f} / {client['full_response_s'] or '-'}",
        " ".join(f"{count}: {told['median']:.0f}" for count, told in row["tokens_per_s"].items()),
        f"{row['planned_bytes'] / 2**30:.2f}",
        f"{row['peak_bytes'] / 2**30:.2f}",
        "yes" if row["fits"] else "NO",
    ]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make bench-gpu", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--models", type=lambda text: text.split(","), default=list(MODELS))
    parser.add_argument("--vram-gib", type=float, default=8.0, help="the card that they have to fit")
    parser.add_argument("--counts", type=lambda text: [int(n) for n in text.split(",")], default=[1, 2, 4, 8])
    parser.add_argument("--tokens", type=int, default=120, help="of each reply")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--gpu-layers", type=int, default=-1)
    parser.add_argument("--binary", type=Path, help="llama-server; without it only llama_cpp is measured")
    parser.add_argument("--cpu", action="store_true", help="without a GPU: to see that everything works")
    parser.add_argument("--out", type=Path, default=OUT)
    return parser


if __name__ == "__main__":
    sys.exit(main())
