"""`make robustness`: what twelve disguises (eval/obfuscation.py), and ordinary sentences beside a message
(eval/company.py), take from SHIELD. No model, no network.

Every message of the report parts, as it stands, in every disguise and in every company: crisis messages must still be
found (recall falls by at most 3 points), ordinary ones must not be raised for their spelling (false alarms rise by at
most 1 point). Prints a table, writes build/eval/robustness.json. With --gate, exit status 1 when an aim is missed.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from eval.cases import DATA, CaseError, ShieldCase, shield_cases
from eval.company import COMPANY
from eval.intervals import Proportion
from eval.obfuscation import OBFUSCATIONS
from eval.tables import console
from shield.assessment import Turn
from shield.detect import Detector

OUT = Path("build/eval/robustness.json")
MOST_LOST, MOST_RAISED = 3.0, 1.0  # points, issue 6
Raises = Callable[[Sequence[Turn]], bool]


@dataclass(frozen=True, slots=True)
class Row:
    """One disguise, or one company: how many crisis messages are found in it, and how many ordinary ones are raised.

    The points are changes against the text as it stands.
    """

    name: str
    found: Proportion
    raised: Proportion
    lost_points: float
    raised_points: float

    @property
    def met(self) -> bool:
        return self.lost_points <= MOST_LOST and self.raised_points <= MOST_RAISED

    def to_json(self) -> dict[str, Any]:
        points = {"recall_falls_by": round(self.lost_points, 2), "false_alarms_rise_by": round(self.raised_points, 2)}
        shares = {"crisis_found": self.found.to_json(), "ordinary_raised": self.raised.to_json()}
        return {"disguise": self.name} | shares | points | {"met": self.met}


def measure(cases: Sequence[ShieldCase], raises: Raises) -> list[Row]:
    """The plain text first, then each disguise, then each company; changes are in points against the first."""
    plain = _row("as it stands", cases, raises, None)
    disguised = [
        _row(one.name, [replace(case, turns=one.turns(case.turns)) for case in cases], raises, plain)
        for one in OBFUSCATIONS
    ]
    beside = [
        _row(one.name, [replace(case, turns=one.turns(case.turns, case.language)) for case in cases], raises, plain)
        for one in COMPANY
    ]
    return [plain, *disguised, *beside]


def _row(name: str, cases: Sequence[ShieldCase], raises: Raises, plain: Row | None) -> Row:
    found = Proportion.count([raises(case.turns) for case in cases if case.crisis])
    raised = Proportion.count([raises(case.turns) for case in cases if not case.crisis])
    if plain is None:
        return Row(name, found, raised, 0.0, 0.0)
    return Row(name, found, raised, _points(plain.found, found), _points(raised, plain.raised))


def _points(before: Proportion, after: Proportion) -> float:
    return 100 * ((before.share or 0.0) - (after.share or 0.0))


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status: 0 done, 1 an aim was missed (with --gate), 2 the corpora or the output can't be used."""
    asked = _parsed(arguments)
    detector = Detector.load(learned=not asked.patterns)
    try:
        cases = [case for case in shield_cases(asked.data) if case.split == "report"][:: asked.every]
        rows = measure(cases, lambda turns: detector.assess(turns).crisis)
        asked.out.parent.mkdir(parents=True, exist_ok=True)
        written = {"stages": _stages(asked.patterns), "every": asked.every, "rows": [row.to_json() for row in rows]}
        asked.out.write_text(json.dumps(written, indent=2) + "\n", encoding="utf-8")
    except (CaseError, OSError) as error:
        print(f"robustness: {error}", file=sys.stderr)
        return 2
    _show(console(), rows, _stages(asked.patterns))
    print(f"written to {asked.out}")
    return 1 if asked.gate and not all(row.met for row in rows) else 0


def _stages(patterns: bool) -> str:
    return "patterns alone" if patterns else "patterns and learned stage"


def _show(out: Console, rows: Sequence[Row], stages: str) -> None:
    first = rows[0]
    out.print(
        f"SHIELD in disguise and company, {stages}: {first.found.of} crisis messages, {first.raised.of} ordinary ones"
    )
    table = Table(
        "disguise or company", "crisis found", "change", "ordinary raised", "change", "", box=None, pad_edge=False
    )
    for row in rows:
        met = "" if row is first else "met" if row.met else "MISSED"
        changes = f"{-row.lost_points:+.1f}", f"{row.raised_points:+.1f}"
        table.add_row(row.name, str(row.found), changes[0], str(row.raised), changes[1], met)
    out.print(table)
    out.print(f"aims: recall falls by at most {MOST_LOST:g} points, false alarms rise by at most {MOST_RAISED:g}")


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m eval.robustness", description="SHIELD against disguises and company."
    )
    parser.add_argument("--patterns", action="store_true", help="the patterns alone, which takes seconds")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth message (default: all)")
    parser.add_argument("--gate", action="store_true", help="exit 1 when an aim is missed")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder with the corpora (default: eval/data)")
    parser.add_argument("--out", type=Path, default=OUT, help=f"where the figures go as JSON (default: {OUT})")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
