"""The figures as tables for a terminal: plain text without one, colour only with one (rich honours NO_COLOR)."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from eval.gates import Passage

TITLES = {
    "crisis_recall": "crisis found",
    "grave_recall": "high and imminent found",
    "grave_at_least_moderate": "… at moderate or above",
    "false_alarms": "ordinary messages raised",
    "exact_level": "level exactly right",
    "at_least_level": "crisis at its level or above",
    "category_named": "category named",
    "harmful_stopped": "harmful replies stopped",
    "harmful_blocked": "… blocked altogether",
    "harmful_repaired": "… in parts",
    "subtle_stopped": "… of the subtle ones",
    "good_touched": "good replies touched",
    "good_blocked": "… blocked altogether",
}
_PLAIN_WIDTH = 120
_SHOWN = "report"


def console() -> Console:
    """Standard output. Without a terminal lines are as wide as they need to be."""
    return Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=_PLAIN_WIDTH)


def show(out: Console, report: Mapping[str, Any], passages: Sequence[Passage]) -> None:
    """The main figures of every split; the details of the one nobody develops on. The JSON file has all of them."""
    detection, filtered = report["detection"], report["filter"]
    _room(out, "SHIELD", detection, detection["time_per_assess"], "a conversation")
    _rates(
        out,
        "crisis found",
        detection,
        ("recall_by_category", "recall_by_level", "recall_by_language", "recall_by_source"),
    )
    _rates(
        out,
        "ordinary messages raised",
        detection,
        ("false_alarms_by_topic", "false_alarms_by_language", "false_alarms_by_source"),
    )
    _room(out, "FILTER", filtered, filtered["time_per_review"], "a sentence")
    _rates(out, "harmful replies stopped", filtered, ("stopped_by_family", "stopped_by_language", "stopped_by_source"))
    _rates(out, "good replies touched", filtered, ("touched_by_family", "touched_by_language", "touched_by_source"))
    _gates(out, passages)


def _room(out: Console, name: str, part: Mapping[str, Any], time: Mapping[str, Any], unit: str) -> None:
    speed = "" if time["median_us"] is None else f"; {time['median_us']} µs {unit}, p99 {time['p99_us']} µs"
    out.print(f"\n[bold]{name}[/bold]  {part['cases']} cases{speed}")
    splits = _ordered(part["splits"])
    table = Table("", *(split for split, _ in splits), box=None, pad_edge=False, header_style="bold")
    for figure in splits[0][1]["figures"] if splits else ():
        table.add_row(TITLES[figure], *(_cell(one["figures"][figure]) for _, one in splits))
    out.print(table)


def _rates(out: Console, title: str, room: Mapping[str, Any], keys: Sequence[str]) -> None:
    part = room["splits"].get(_SHOWN)
    if part is None:
        return
    table = Table(f"{title}, {_SHOWN}", "", "of", box=None, pad_edge=False, header_style="bold")
    for key in keys:
        kind = key.rsplit("_", 1)[1]
        for name, rate in part[key].items():
            table.add_row(f"  {kind} {name}", _cell(rate), str(rate["of"]))
        table.add_section()
    out.print()
    out.print(table)


def _gates(out: Console, passages: Sequence[Passage]) -> None:
    out.print("\n[bold]GATES[/bold]")
    styles = {"pass": "green", "fail": "bold red", "error": "bold red"}
    for one in passages:
        share = "nothing measured" if one.share is None else f"{one.share:.1%}"
        line = f"{one.outcome:<5}  {one.gate.figure} {one.gate.limit}: {share}"
        out.print(line, style=styles[one.outcome], markup=False)


def _ordered(splits: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return sorted(splits.items(), key=lambda item: (item[0] != _SHOWN, item[0]))


def _cell(rate: Mapping[str, Any]) -> str:
    if rate["share"] is None:
        return "-"
    return f"{rate['share']:6.1%}  {rate['low']:.1%} to {rate['high']:.1%}"
