"""SHIELD stage by stage: the patterns alone beside all of it, what is called too low, and what alarms mean where crisis
is rare.

At a prevalence of 1 % nearly every message is an ordinary one, so the share of these that is raised decides what an
alarm is worth. The corpora's ordinary messages are mostly hard ones (dark words in an ordinary context); plain ones are
the requests that people bring to an agent (the family `ordinary` of the filter's corpus). Both are counted, apart.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from eval import detection
from eval.cases import FilterCase
from eval.detection import Judged
from eval.intervals import Proportion
from eval.timing import Stopwatch
from shield.assessment import Turn, rank
from shield.detect import Detector

PREVALENCE, AIM_PER_THOUSAND = 0.01, 3  # issue 6
SHOWN = "report"
GROUPS = ("recall_by_category", "recall_by_level", "recall_by_language")


def report(whole: Sequence[Judged], filtered: Sequence[FilterCase], detector: Detector) -> dict[str, Any]:
    """`patterns`: the figures of the patterns alone; `under_call` and `prevalence` of the whole, on the report part."""
    watch = Stopwatch()
    alone = detection.judge([one.case for one in whole], Detector(detector.rules), watch)
    shown = [one for one in whole if one.case.split == SHOWN]
    return {
        "patterns": detection.report(alone, watch),
        "under_call": _under_call([one for one in shown if one.case.crisis]),
        "prevalence": _prevalence(shown, _plain(filtered, detector)),
    }


def _plain(filtered: Sequence[FilterCase], detector: Detector) -> list[bool]:
    """Whether each plainly ordinary message is raised."""
    plain = {case.user for case in filtered if case.family == "ordinary"}
    return [detector.assess((Turn("user", text),)).crisis for text in sorted(plain)]


def _under_call(crisis: Sequence[Judged]) -> dict[str, Any]:
    grave = [one for one in crisis if one.case.grave]
    by = {steps: Proportion.count([one.short_by == steps for one in crisis]).to_json() for steps in (1, 2, 3, 4)}
    return {
        "below_their_level": Proportion.count([one.short_by > 0 for one in crisis]).to_json(),
        "by_levels": by,
        "grave_below_moderate": Proportion.count([rank(one.level) < rank("moderate") for one in grave]).to_json(),
    }


def _prevalence(shown: Sequence[Judged], plain: list[bool]) -> dict[str, Any]:
    recall = Proportion.count([one.found for one in shown if one.case.crisis])
    hard = Proportion.count([one.found for one in shown if not one.case.crisis])
    return {"plain": _rare(recall, Proportion.count(plain)), "hard": _rare(recall, hard)}


def _rare(recall: Proportion, raised: Proportion) -> dict[str, Any]:
    """What a thousand ordinary messages raise, and which share of all alarms is right at the prevalence."""
    right, wrong = PREVALENCE * (recall.share or 0.0), (1 - PREVALENCE) * (raised.share or 0.0)
    return {
        "raised": raised.to_json(),
        "alarms_per_thousand_ordinary": round(1000 * (raised.share or 0.0), 1),
        "at_most_per_thousand": round(1000 * raised.interval[1], 1),
        "alarms_that_are_right": round(right / (right + wrong), 3) if right + wrong else None,
    }


def show(out: Console, whole: Mapping[str, Any], staged: Mapping[str, Any]) -> None:
    """The report part as tables: stage by stage, called too low, and at the prevalence."""
    parts = [part["splits"].get(SHOWN) for part in (staged["patterns"], whole)]
    if not all(parts):
        return
    table = Table(f"SHIELD stage by stage, {SHOWN}", "patterns alone", "with the learned stage", "of", box=None)
    for figure in parts[0]["figures"]:
        table.add_row(figure.replace("_", " "), *_pair(part["figures"][figure] for part in parts))
    for group in GROUPS:
        for name in parts[0][group]:
            kind = group.removeprefix("recall_by_")
            table.add_row(f"  crisis found, {kind} {name}", *_pair(part[group][name] for part in parts))
    out.print()
    out.print(table)
    _show_under_call(out, staged["under_call"])
    for name, rare in staged["prevalence"].items():
        raised = rare["raised"]
        out.print(
            f"a thousand {name} ordinary messages raise {rare['alarms_per_thousand_ordinary']:g} alarms, at most "
            f"{rare['at_most_per_thousand']:g} (95 %; {raised['hits']} of {raised['of']}; aim {AIM_PER_THOUSAND}); "
            f"at a prevalence of {PREVALENCE:.0%} {rare['alarms_that_are_right'] or 0:.0%} of all alarms are right"
        )


def _show_under_call(out: Console, under: Mapping[str, Any]) -> None:
    steps = ", ".join(f"by {steps}: {rate['share'] or 0:.1%}" for steps, rate in under["by_levels"].items())
    out.print(f"\ncrisis messages called below their level: {_cell(under['below_their_level'])} ({steps})")
    out.print(f"high and imminent called below moderate: {_cell(under['grave_below_moderate'])}")


def _pair(rates: Any) -> list[str]:
    both = list(rates)
    return [*map(_cell, both), str(both[0]["of"])]


def _cell(rate: Mapping[str, Any]) -> str:
    return "-" if rate["share"] is None else f"{rate['share']:.1%}  {rate['low']:.1%} to {rate['high']:.1%}"
