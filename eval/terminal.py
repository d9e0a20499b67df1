"""A run's figures as tables for a terminal: the client's four, what was measured first, and theirs marked as theirs."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from eval.run_gates import Passage

_CRISIS = "crisis25"
_SHOWN = 5
_STYLES = {"pass": "green", "fail": "bold red", "error": "bold red"}


def show(out: Console, report: Mapping[str, Any], passages: Sequence[Passage]) -> None:
    """Everything in short. report.json has all of it."""
    run = report["run"]
    had = f"{run['done']} of {run['planned']} conversations"
    out.print(f"\n[bold]RUN[/bold]  {had}, seed {run['seed']}, repeat {run['repeat']}")
    for suite in _suites(report):
        _suite(out, report, suite)
    _detection(out, report)
    gates(out, passages)


def _suite(out: Console, report: Mapping[str, Any], suite: str) -> None:
    answered = [(one, one["suites"][suite]) for one in report["subjects"] if suite in one["suites"]]
    client = report["client"] if suite == _CRISIS else {}
    _quality(out, suite, answered, client)
    _compliance(out, suite, answered, client)
    _latency(out, suite, answered, client)


def _quality(out: Console, suite: str, answered: Sequence[Any], client: Mapping[str, Any]) -> None:
    table = _table(
        f"{suite}: quality", "empathy (judge)", "protocol adherence (judge)", "harmful replies", "all checks"
    )
    for subject, figures in answered:
        judged = figures["judge"]
        table.add_row(
            _name(subject),
            _mean(judged, "empathy"),
            _mean(judged, "protocol"),
            _count(figures["harmful"]),
            _count(figures["passed"]),
        )
    for model, theirs in client.get("quality", {}).items():
        table.add_row(
            _theirs(model), theirs["empathy"], theirs["protocol_adherence"], theirs["harmful"], "", style="dim"
        )
    out.print(table)


def _compliance(out: Console, suite: str, answered: Sequence[Any], client: Mapping[str, Any]) -> None:
    keys = ("follows_protocol", "avoids_harm", "boundaries", "total")
    table = _table(f"{suite}: compliance", "follows protocol", "avoids harm", "boundaries", "total")
    for subject, figures in answered:
        shares = [_count(figures[key]) for key in keys[:-1]]
        table.add_row(_name(subject), *shares, _share(figures["total"]["share"]))
    for model, theirs in client.get("compliance", {}).items():
        table.add_row(_theirs(model), *(theirs[key] for key in keys), style="dim")
    out.print(table)


def _latency(out: Console, suite: str, answered: Sequence[Any], client: Mapping[str, Any]) -> None:
    table = _table(
        f"{suite}: latency, p50 / p95 / p99",
        "first help",
        "first words",
        "model's first token",
        "full response",
        "tokens/s",
    )
    for subject, figures in answered:
        taken, speed = figures["latency_ms"], figures["tokens_per_second"]
        stages = ("first_help", "first_sentence", "model_first_text", "total")
        table.add_row(
            _name(subject), *(_times(taken[stage]) for stage in stages), f"{speed['p50']:.0f}" if speed else "–"
        )
    for model, theirs in client.get("latency", {}).items():
        table.add_row(_theirs(model), "", "", theirs["first_token"], theirs["full_response"], "", style="dim")
    out.print(table)


def _detection(out: Console, report: Mapping[str, Any]) -> None:
    table = _table("detection, report part of the corpora", "F1", "false positives", "false negatives")
    counted = _counts(report["corpora"])
    if counted is None:
        table.add_row("SHIELD, as measured", "not measured", "", "")
    else:
        found, crisis, alarms, calm = counted
        f1 = 2 * found / (found + crisis + alarms) if found + crisis + alarms else 0.0
        missed = crisis - found
        table.add_row(
            "SHIELD, as measured", f"{f1:.1%}", f"{alarms / calm:.1%} of {calm}", f"{missed / crisis:.1%} of {crisis}"
        )
    for subject in report["subjects"]:
        if told := subject["detection"]:
            table.add_row(f"{_name(subject)}, asked", *_asked(told))
            table.add_row("  SHIELD over the same messages", *_asked(told["shield_over_the_same"]))
    for model, theirs in report["client"]["detection"].items():
        table.add_row(_theirs(model), theirs["f1"], theirs["false_positives"], theirs["false_negatives"], style="dim")
    out.print(table)


def _asked(told: Mapping[str, Any]) -> list[str]:
    wrong = [told["false_positives"], told["false_negatives"]]
    return [_share(told["f1"]), *(f"{_share(rate['share'])} of {rate['of']}" for rate in wrong)]


def _counts(corpora: Mapping[str, Any] | None) -> tuple[int, int, int, int] | None:
    """Crisis messages found, of how many; ordinary ones raised, of how many."""
    figures = ((corpora or {}).get("detection") or {}).get("splits", {}).get("report", {}).get("figures")
    if not figures or not figures["crisis_recall"]["of"] or not figures["false_alarms"]["of"]:
        return None
    recall, alarms = figures["crisis_recall"], figures["false_alarms"]
    return recall["hits"], recall["of"], alarms["hits"], alarms["of"]


def gates(out: Console, passages: Sequence[Passage]) -> None:
    """Each gate in a line, with the places that it was missed at and the command that has each again."""
    out.print("\n[bold]GATES[/bold]")
    for one in passages:
        measured = "not measured" if one.measured is None else f"{one.measured:g}"
        out.print(
            f"{one.outcome:<5}  {one.name} ({one.subject}): {measured}, {one.limit}",
            style=_STYLES[one.outcome],
            markup=False,
        )
        for place in one.where[:_SHOWN]:
            out.print(
                f"       {place.suite}/{place.scenario}, turn {place.turn + 1}: {place.why}",
                markup=False,
                soft_wrap=True,
            )
            out.print(f"         again: {place.reproduce}", style="dim", markup=False, soft_wrap=True)
        if len(one.where) > _SHOWN:
            out.print(
                f"       … and {len(one.where) - _SHOWN} more in report.json", style="dim", markup=False, soft_wrap=True
            )


def _table(title: str, *columns: str) -> Table:
    table = Table(title, *columns, box=None, pad_edge=False, header_style="bold")
    table.columns[0].min_width = 34
    return table


def _name(subject: Mapping[str, Any]) -> str:
    kind = "raw" if subject["kind"] == "raw" else "whole path"
    return f"{subject['name']} ({subject['model']}, {kind})"


def _theirs(model: str) -> str:
    return f"  client's notes: {model}"


def _mean(judged: Mapping[str, Any], name: str) -> str:
    if not isinstance(judged.get("unscored"), int) or not judged.get(name):
        return "unscored"
    told = judged[name]
    own = " (its own model)" if judged["own_model"] else ""
    return f"{told['mean']:.1f}/10  {told['low']:.1f} to {told['high']:.1f}{own}"


def _count(rate: Mapping[str, Any]) -> str:
    if rate["share"] is None:
        return "not known"
    return f"{rate['hits']}/{rate['of']}  {rate['low']:.0%} to {rate['high']:.0%}"


def _share(share: float | None) -> str:
    return "not known" if share is None else f"{share:.0%}"


def _times(summary: Mapping[str, Any] | None) -> str:
    return " / ".join(_time(summary[key]) for key in ("p50", "p95", "p99")) if summary else "–"


def _time(ms: float) -> str:
    return f"{ms:.1f} ms" if ms < 100 else f"{ms / 1000:.2f} s"


def _suites(report: Mapping[str, Any]) -> Iterable[str]:
    return dict.fromkeys(name for subject in report["subjects"] for name in subject["suites"])
