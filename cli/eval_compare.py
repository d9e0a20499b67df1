"""`crisis eval compare A B`: what changed between two runs, and whether it is more than noise."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from cli.console import Failure, JsonOption
from eval import tables, transcripts
from eval.compare import CompareError, Comparison, MeasureChange, ScenarioChange, compare
from eval.report import figures, wording
from eval.report.figures import Report, ReportError
from eval.transcripts import Transcript, TranscriptError

_STYLES = {"regression": "bold red", "worse": "yellow", "better": "green", "improvement": "bold green", "same": ""}
_ORDER = ("regression", "worse", "improvement", "better", "same")


def compare_runs(
    first: Annotated[Path, typer.Argument(metavar="A", help="The folder of the run before.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="The folder of the run after.")],
    fail: Annotated[
        bool, typer.Option("--fail", help="Exit status 1 on a regression, or on a run that is unfinished.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Compare two runs, scenario by scenario.

    A regression is a change for the worse that chance does not explain: the exact McNemar test over the scenarios that
    both runs have, p < 0.05 (a single check 0.01); for latency the sign test, corrected for how many stages are tested,
    and slower by a quarter and by more than the machine itself varied. One more harmful reply, missing resource or
    missed high or imminent level is a regression without any test.
    """
    before, told_before = _read(first)
    after, told_after = _read(second)
    try:
        found = compare(before, after, told_before, told_after)
    except CompareError as error:
        raise Failure(f"{first}, {second}: {error}", 2) from None
    if as_json:
        print(json.dumps(found.to_json(), ensure_ascii=False))
    else:
        _show(tables.console(), found, {first: before, second: after})
    if fail and (found.regressions or not (before.run.complete and after.run.complete)):
        raise typer.Exit(1)


def _read(folder: Path) -> tuple[Report, tuple[Transcript, ...]]:
    try:
        return figures.read(folder), transcripts.read(folder)
    except (ReportError, TranscriptError) as error:
        raise Failure(str(error), 2) from None


def _show(out: Console, found: Comparison, runs: dict[Path, Report]) -> None:
    for folder, report in runs.items():
        if not report.run.complete:
            line = f"{folder}: unfinished, {report.run.done} of {report.run.planned} conversations"
            out.print(line, style=_STYLES["regression"], markup=False)
    _scenarios(out, [one for one in found.scenarios if one.changed], len(found.scenarios))
    _measures(out, sorted(found.measures, key=lambda one: _ORDER.index(one.change)))
    for line in found.left_out:
        out.print(line, markup=False)
    many = len(found.regressions)
    told = f"{many} regression{'' if many == 1 else 's'} beyond noise" if many else "no regression beyond noise"
    out.print(f"\n{told}", style=_STYLES["regression" if many else "better"], markup=False)


def _scenarios(out: Console, changed: list[ScenarioChange], of: int) -> None:
    out.print(f"\n[bold]SCENARIOS[/bold]  {len(changed)} of {of} changed")
    for one in changed:
        outcome = f"{wording.OUTCOMES[one.before]} -> {wording.OUTCOMES[one.after]}"
        marks = [*(f"- {name}" for name in one.broken), *(f"+ {name}" for name in one.mended)]
        style = _STYLES["regression"] if one.broken else _STYLES["better"]
        out.print(f"{one.subject} {one.suite}/{one.scenario}: {outcome}  {'  '.join(marks)}", style=style, markup=False)
        if one.broken:
            out.print(f"    {one.reproduce}", markup=False, soft_wrap=True)


def _measures(out: Console, measures: list[MeasureChange]) -> None:
    table = Table("", "measure", "before", "after", "of", "", box=None, pad_edge=False, header_style="bold")
    for one in measures:
        if one.change != "same":
            place = f"{one.subject} {one.suite}"
            cells = (place, one.measure, f"{one.before:g}", f"{one.after:g}", str(one.of), f"{one.change}: {one.why}")
            table.add_row(*cells, style=_STYLES[one.change])
    out.print("\n[bold]MEASURES[/bold]  scenarios that held; latencies in yardsticks")
    out.print(table if table.row_count else "nothing changed")
