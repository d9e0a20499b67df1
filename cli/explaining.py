"""How `crisis assess --explain` tells why a message got its level: for people, and as JSON."""

import dataclasses
from typing import Any

from rich.console import Console

from serving.events import assessment_json
from shield.assessment import LEVELS, Assessment, Finding, rank
from shield.explain import Explanation, Opinion, Reason, Withdrawn
from shield.learned import Limits

STYLES = {"none": "", "low": "yellow", "moderate": "yellow", "high": "bold red", "imminent": "bold red"}


def tell(out: Console, said: Explanation) -> None:
    """The level, what carries it level by level, what the learned stage thought, and what was withdrawn."""
    found = said.assessment
    out.print("level       ", end="")
    out.print(found.level, style=STYLES[found.level])
    out.print(f"because     {_because(found)}", markup=False)
    if found.signals:
        out.print(f"signals     {', '.join(sorted(found.signals))}", markup=False)
    for level in reversed(LEVELS[1:]):
        reasons = [one for one in said.reasons if one.finding.level == level]
        if reasons:
            out.print(f"\n{level}", style=STYLES[level])
        for one in reasons:
            _lines(out, one)
    _learned(out, said)
    if said.withdrawn:
        out.print("\nwithdrawn")
    for taken in said.withdrawn:
        out.print(f"  {_place(taken.finding, taken.words)}", markup=False)
        out.print(f"      {taken.finding.level}, now {taken.became}; {taken.because}", markup=False)


def record(said: Explanation) -> dict[str, Any]:
    """The same as JSON: the assessment, each finding with its `why` and words, and the rest."""
    return {
        **assessment_json(said.assessment),
        "per_turn": list(said.assessment.per_turn),
        "because": _because(said.assessment),
        "reasons": [_reason_json(one) for one in said.reasons],
        "withdrawn": [_withdrawn_json(one) for one in said.withdrawn],
        "learned": {
            "limits": None if said.limits is None else _limits(said.limits),
            "opinions": [dataclasses.asdict(one) for one in said.opinions],
        },
    }


def _because(found: Assessment) -> str:
    if not found.crisis:
        return "nothing counts" if not found.findings else "what was found is no more than a doubt"
    gravest = max(found.per_turn, key=rank)
    turns = ", ".join(str(number) for number, level in enumerate(found.per_turn) if level == gravest)
    if gravest == found.level:
        return f"the gravest message is {gravest} (turn {turns})"
    return f"it was {gravest} (turn {turns}), and falls by one level for every four quiet messages, never below low"


def _lines(out: Console, one: Reason, indent: str = "  ") -> None:
    out.print(f"{indent}{_place(one.finding, one.words)}", markup=False)
    out.print(f"{indent}    {_stage(one.finding)}, {one.finding.category}: {one.why}", markup=False)
    for part in one.parts:
        _lines(out, part, indent + "    ")


def _place(found: Finding, words: str) -> str:
    return f"{found.rule_id}  turn {found.turn}, {found.start}-{found.end}  {words!r}"


def _stage(found: Finding) -> str:
    doubtful = " (unsure)" if found.unsure else ""
    return f"pattern{doubtful}" if found.probability is None else f"learned stage, probability {found.probability}"


def _learned(out: Console, said: Explanation) -> None:
    if said.limits is None:
        out.print("\nlearned stage: not there; the patterns answer alone", markup=False)
        return
    out.print("\nlearned stage, probability of any crisis")
    for one in said.opinions:
        out.print(f"  turn {one.turn}: {one.probability}  {_verdict(one)}", markup=False)
    out.print(f"  limits: {', '.join(f'{name} {limit}' for name, limit in _limits(said.limits).items())}", markup=False)


def _verdict(one: Opinion) -> str:
    if one.plainly:
        return "plainly ordinary"
    return "surely ordinary" if one.ordinary else "unsure" if one.level == "none" else f"vouches for {one.level}"


def _limits(limits: Limits) -> dict[str, float]:
    names = ("plainly", "ordinary", *LEVELS[1:])
    return {name: round(getattr(limits, name), 3) for name in names}


def _reason_json(one: Reason) -> dict[str, Any]:
    parts = {"parts": [_reason_json(part) for part in one.parts]} if one.parts else {}
    return {**_finding_json(one.finding), "words": one.words, "why": one.why, **parts}


def _withdrawn_json(one: Withdrawn) -> dict[str, Any]:
    return {**_finding_json(one.finding), "words": one.words, "became": one.became, "because": one.because}


def _finding_json(found: Finding) -> dict[str, Any]:
    (entry,) = assessment_json(Assessment("none", findings=(found,)))["findings"]
    return dict(entry)
