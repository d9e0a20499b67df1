"""`make bench-engines`: one table of every engine that is here, each with our path around it and without.

python -m eval.bench.engines [--model NAME] [--only llama_cpp,llama_server] [--rounds 5] [--tokens 32]
    [--openai URL MODEL] [--ollama URL MODEL] [--out FILE]

All engines run at the same time and are asked in turn, on cores of their own where there are two or more. The local
ones get a replica of one model's shape (random weights), the same questions and the same number of tokens. The table
goes to the screen, everything else into a file of JSON.
"""

import argparse
import json
import platform
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from eval.bench.contenders import LOCAL, Absent, Contender, Plan, Stable
from eval.bench.contest import REPLY_TOKENS, SITUATIONS, Contest
from eval.bench.pinning import Cores, pin, share
from eval.bench.talk import Broken
from eval.bench.verdicts import aims, figures, table
from models.catalogue import Catalogue
from serving.wiring import DEMO_MODEL
from serving.worker.cores import available

COUNTS = (1, 2, 4, 8)
OUT = Path("build/bench-engines.json")


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 0 when it was measured, whatever came out; 1 when nothing could be."""
    asked = _parser().parse_args(arguments)
    cores, about = Cores() if asked.no_pin else share(), machine()
    pin(cores.others)
    counts = tuple(asked.counts)
    plan = Plan(
        Catalogue.load().get(asked.model),
        tokens=asked.tokens,
        at_once=max(counts),
        gpu_layers=asked.gpu_layers,
        cores=cores,
        context=asked.context,
        few_rounds=asked.few_rounds,
    )
    began = time.monotonic()
    with Stable(plan) as stable, ExitStack() as stack:
        contenders, absent = _ready(stable, stack, asked)
        if not contenders:
            print("no engine could be measured:", absent, file=sys.stderr)
            return 1
        records = Contest(counts, plan.tokens, asked.rounds, asked.fresh, say).hold(contenders)
    absent |= {record.name: record.broken for record in records if record.broken}
    rows = [figures(record, plan.tokens) for record in records if not record.broken]
    report = {
        "machine": about | {"pinned": asdict(cores)},
        "model": f"{asked.model} (a replica with random weights)",
        "tokens_of_a_reply": plan.tokens,
        "tokens_of_a_reply_where_four_come_at_once": REPLY_TOKENS,
        "rounds": asked.rounds,
        "minutes": round((time.monotonic() - began) / 60, 1),
        "engines": rows,
        "absent": absent,
        "aims": aims(rows),
    }
    show(report, counts, asked.out)
    return 0


def show(report: dict[str, Any], counts: Sequence[int], out: Path) -> None:
    """The table on the screen, the report into the file."""
    print(f"\n{report['model']}, {report['tokens_of_a_reply']} tokens a reply, {report['rounds']} rounds")
    print("first token; tokens a second of all conversations, how much slower our path is than the bare engine [95 %];")
    print(f"slowest first token where several come at once, by whose notes were evaluated: {' / '.join(SITUATIONS)}")
    print(table(report["engines"], counts))
    for name, reason in report["absent"].items():
        print(f"{name}: not measured: {reason}")
    print()
    for aim in report["aims"]:
        doubt = "" if aim.get("certain", True) else " (not certain)"
        print(f"{'met' if aim['met'] else 'NOT MET'}{doubt}: {aim['what']}: {aim['value']} (at most {aim['at_most']})")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    print(f"\neverything: {out}")


def machine() -> dict[str, Any]:
    """What it was measured on."""
    return {
        "cores": available(),
        "architecture": platform.machine(),
        "processor": _processor(),
        "python": platform.python_version(),
    }


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _ready(stable: Stable, stack: ExitStack, asked: argparse.Namespace) -> tuple[list[Contender], dict[str, str]]:
    contenders: list[Contender] = []
    absent: dict[str, str] = {}
    for name, *address in [*((name,) for name in asked.only), *_addresses(asked)]:
        say(f"starting {name}")
        try:
            made = stable.remote(name, *address) if address else stable.local(name)
            contenders.append(stack.enter_context(made))
        except (Absent, Broken) as reason:
            absent[name] = str(reason)
    return contenders, absent


def _addresses(asked: argparse.Namespace) -> list[tuple[str, ...]]:
    named = {"openai": asked.openai, "ollama": asked.ollama}
    return [(name, *address) for name, address in named.items() if address]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make bench-engines", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", default=DEMO_MODEL, help="a name of the catalogue, whose shape is taken")
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(LOCAL), help="engines, with commas")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--fresh", type=int, default=3, help="rounds with nothing evaluated before")
    parser.add_argument("--few-rounds", type=int, default=2, help="for openai, claude and transformers")
    parser.add_argument("--tokens", type=int, default=32, help="of each reply")
    parser.add_argument("--counts", type=lambda text: [int(n) for n in text.split(",")], default=list(COUNTS))
    parser.add_argument("--context", type=int, default=2048)
    parser.add_argument("--gpu-layers", type=int, default=0)
    parser.add_argument("--openai", nargs=2, metavar=("URL", "MODEL"))
    parser.add_argument("--ollama", nargs=2, metavar=("URL", "MODEL"))
    parser.add_argument("--no-pin", action="store_true", help="leave it to the system which core does what")
    parser.add_argument("--out", type=Path, default=OUT)
    return parser


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


if __name__ == "__main__":
    sys.exit(main())
