"""`make eval`: SHIELD and the filter over the corpora of eval/data, with 95 % intervals. No model, no network.

Prints tables, writes build/eval/corpora.json. With --gate, exit status 1 when a floor of eval/gates.toml is missed.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eval import detection, filtering, gates, stages, tables
from eval.cases import DATA, CaseError, filter_cases, shield_cases
from eval.timing import Stopwatch
from safety_filter.helplines import Helplines
from safety_filter.review import Reviewer
from serving.settings import Settings
from serving.wiring import build_responder
from shield.detect import Detector

OUT = Path("build/eval/corpora.json")


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status: 0 done, 1 a gate was missed, 2 the corpora or the output can't be used."""
    asked = _parsed(arguments)
    try:
        report = measure(asked.data)
        passages = gates.check(gates.load(), report)
        report["gates"] = [one.to_json() for one in passages]
        _write(report, asked.out)
    except (CaseError, OSError) as error:
        print(f"eval: {error}", file=sys.stderr)
        return 2
    out = tables.console()
    tables.show(out, report, passages)
    stages.show(out, report["detection"], report["stages"])
    print(f"\nwritten to {asked.out}")
    return 1 if asked.gate and any(one.outcome != "pass" for one in passages) else 0


def measure(data: Path = DATA) -> dict[str, Any]:
    """Both corpora, through the same objects that the service is built from."""
    return {**_detection(data), "filter": _filter(data)}


def _detection(data: Path) -> dict[str, Any]:
    watch, detector = Stopwatch(), Detector.load()
    judged = detection.judge(shield_cases(data), detector, watch)
    return {
        "detection": detection.report(judged, watch),
        "stages": stages.report(judged, filter_cases(data), detector),
    }


def _filter(data: Path) -> dict[str, Any]:
    cases = filter_cases(data)
    # Settings() would read this machine's CRISIS_… variables; figures must not depend on them.
    judged = filtering.judge(cases, build_responder(Settings.model_construct()))
    return filtering.report(judged, filtering.time_reviews(cases, Reviewer.load(), Helplines.load()))


def _write(report: dict[str, Any], out: Path) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m eval.corpora", description="SHIELD and the filter over their corpora, with 95 % intervals."
    )
    parser.add_argument("--gate", action="store_true", help="exit 1 when a floor of eval/gates.toml is missed")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder with the corpora (default: eval/data)")
    parser.add_argument("--out", type=Path, default=OUT, help=f"where the figures go as JSON (default: {OUT})")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
