"""`crisis eval export` and `import`: conversations in VERA-MH's format, for its judge and from its generator."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from cli import eval_run
from cli.console import Failure
from eval import run_record, scenarios, tables, terminal, transcripts
from eval.adapters import vera_mh
from eval.adapters.vera_mh import Imported, VeraError
from eval.run_record import Plan, RunRecord
from shield.assessment import Level, Turn
from shield.detect import Detector

RunOption = Annotated[Path, typer.Option("--run", metavar="DIR", help="The folder that `crisis eval run --out` wrote.")]
OutOption = Annotated[Path, typer.Option("--out", metavar="DIR", help="Where it is written.")]
SuiteOption = Annotated[
    list[str] | None,
    typer.Option("--suite", metavar="NAME", help="A suite whose people may be among them; repeatable. Default: all."),
]


def export_run(folder: RunOption = Path("build/eval"), out: OutOption = Path("build/vera-mh")) -> None:
    """Write a run's conversations as VERA-MH's generator does, a folder for each subject, for its judge to read.

    Conversations that broke off are left out, and counted.
    """
    with eval_run.one_line():
        told = transcripts.read(folder)
        if not told:
            raise Failure(f"{folder}: holds no conversation; make some with: crisis eval run --out {folder}", 2)
        written = vera_mh.export(told, out, datetime.now(UTC))
    for place, many in written.items():
        print(f"{place}: {many} conversations")
    if left := len(told) - sum(written.values()):
        print(f"left out, because they broke off: {left}")


def import_folder(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Text files of VERA-MH's generator.")],
    out: OutOption = Path("build/eval-imported"),
    suite: SuiteOption = None,
) -> None:
    """Check conversations that VERA-MH's generator wrote, with any chatbot, by our deterministic checks.

    They become a run in DIR with its reports. The files name no country and no level: people who are none of our
    suites' are taken to be anywhere, at the level that SHIELD reads.
    """
    detector = Detector.load()

    def assess(turns: Sequence[Turn]) -> Level:
        return detector.assess(tuple(turns)).level

    with eval_run.one_line():
        suites = [scenarios.load(name) for name in (suite or scenarios.names())]
        try:
            found = vera_mh.read(folder, suites, assess)
        except VeraError as error:
            raise Failure(str(error), 2) from None
        _write(out, found, suites)
        made = eval_run.reported(out)
    terminal.show(tables.console(), made.report, made.passages)
    for line in found.left_out:
        print(f"left out: {line}")
    print(f"\nwritten to {out}")


def _write(out: Path, found: Imported, suites: Sequence[scenarios.Suite]) -> None:
    if (out / run_record.FILE).exists():
        raise Failure(f"{out}: holds a run already; name another --out", 2)
    used = {one.suite for one in found.transcripts}
    known = tuple(one for one in (*suites, found.suite) if one.name in used)
    subjects = tuple(dict.fromkeys(one.subject.name for one in found.transcripts))
    record = RunRecord.of(Plan(known, subjects, repeat=max(one.repeat for one in found.transcripts) + 1))
    run_record.write(out, replace(record, planned=len(found.transcripts)))
    for one in found.transcripts:
        transcripts.append(out / transcripts.FILE, one.to_json())
