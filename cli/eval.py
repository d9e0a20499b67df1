"""`crisis eval`: conversations with made-up people, their figures, and the gates that a change must pass."""

from pathlib import Path
from typing import Annotated

import typer

from cli import eval_compare, eval_exchange, eval_run
from cli.console import ConfigOption, DemoOption, examples
from eval import baselines, run_record, tables, terminal
from eval.opener import Opener

OUT = Path("build/eval")
SUITES = ("crisis25", "benign25")
RunOption = Annotated[Path, typer.Option("--run", metavar="DIR", help="The folder that `crisis eval run --out` wrote.")]
RoundsOption = Annotated[int, typer.Option("--rounds", min=1, max=20, help="How often each conversation is judged.")]
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="For engines that take one; each repeat adds one.")]

app = typer.Typer(
    name="eval",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Evaluate the service and the models: people in crisis, people who are not, the corpora, the gates.",
)


@app.command(
    epilog=examples(
        "crisis eval run --demo --backend service --backend static --backend demo",
        "crisis eval run --suite crisis25 --backend service --repeat 5 --out build/eval-7b",
        "crisis eval run --suite my-people.toml --backend local --no-corpora --out build/eval-mine",
    )
)
def run(
    suite: Annotated[
        list[str] | None,
        typer.Option(
            "--suite", metavar="NAME", help="A suite or a TOML file; repeatable. Default: crisis25, benign25."
        ),
    ] = None,
    backend: Annotated[
        list[str] | None,
        typer.Option(
            "--backend",
            metavar="NAME",
            help="service (the whole path), service:ENTRY, static, or a chain entry raw; repeatable. Default: service.",
        ),
    ] = None,
    scenario: Annotated[
        list[str] | None, typer.Option("--scenario", metavar="ID", help="Only this scenario; repeatable.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where everything is written.")] = OUT,
    repeat: Annotated[int, typer.Option("--repeat", min=1, max=1000, help="How often each scenario is had.")] = 1,
    seed: SeedOption = 1,
    concurrency: Annotated[
        int, typer.Option("--concurrency", min=1, max=256, help="Conversations at once; latencies then hold waiting.")
    ] = 1,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the unfinished run in DIR.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Begin again where DIR holds an unfinished run.")] = False,
    corpora: Annotated[
        bool, typer.Option("--corpora/--no-corpora", help="Also measure SHIELD and the filter over eval/data.")
    ] = True,
    detection: Annotated[
        int, typer.Option("--detection", min=0, help="Ask raw backends of so many messages whether they are a crisis.")
    ] = 0,
    judge: Annotated[
        str | None, typer.Option("--judge", metavar="NAME", help="The chain entry that scores. Without one: unscored.")
    ] = None,
    rounds: RoundsOption = 2,
    config: ConfigOption = None,
    demo: DemoOption = False,
) -> None:
    """Have every conversation of the suites, and write transcripts, figures and reports to DIR.

    Nothing is sent anywhere but to the backends that you name. A finished run in DIR is replaced. Exit status 0 says
    that the run is done, not that it is good: `crisis eval gate` says that.
    """
    found, options = eval_run.chosen(config, demo=demo)
    opener = Opener(found)
    with eval_run.one_line():
        chosen = {"repeat": repeat, "seed": seed, "concurrency": concurrency, "options": options, "judge": judge}
        plan = run_record.plan(suite or SUITES, scenario or (), backend or ("service",), **chosen)
        opener.check([*plan.subjects, *([judge] if judge else ())])
        eval_run.converse(plan, out, opener, resume=resume, fresh=fresh)
        if detection:
            eval_run.asked(out, opener, plan.subjects, count=detection, seed=seed)
        if corpora:
            eval_run.measure_corpora(out)
        if judge:
            eval_run.judged(out, opener, judge, rounds=rounds, seed=seed)
        made = eval_run.reported(out)
    terminal.show(tables.console(), made.report, made.passages)
    print(f"\nwritten to {out}")


@app.command(
    "judge",
    epilog=examples("crisis eval judge --run build/eval --judge claude --rounds 3"),
)
def judge_run(
    judge: Annotated[str, typer.Option("--judge", metavar="NAME", help="The chain entry that scores.")],
    folder: RunOption = OUT,
    rounds: RoundsOption = 2,
    seed: SeedOption = 1,
    config: ConfigOption = None,
    demo: DemoOption = False,
) -> None:
    """Let a judge read the conversations of a run that was had before, and make its report again."""
    found, _ = eval_run.chosen(config, demo=demo)
    opener = Opener(found)
    with eval_run.one_line():
        opener.check([judge])
        eval_run.judged(folder, opener, judge, rounds=rounds, seed=seed)
        made = eval_run.reported(folder)
    terminal.show(tables.console(), made.report, made.passages)


@app.command(epilog=examples("crisis eval report --run build/eval", "crisis eval report --baseline"))
def report(
    folder: RunOption = OUT,
    baseline: Annotated[
        bool, typer.Option("--baseline", help="Also keep the figures as the baselines in eval/baselines.")
    ] = False,
) -> None:
    """Make the reports of a run again from its transcripts. No model is asked."""
    with eval_run.one_line():
        made = eval_run.reported(folder)
    terminal.show(tables.console(), made.report, made.passages)
    if baseline:
        for file in baselines.save(made.report):
            print(f"baseline: {file}")


@app.command(epilog=examples("crisis eval gate --run build/eval"))
def gate(
    folder: RunOption = OUT,
    gates: Annotated[
        Path | None, typer.Option("--gates", metavar="FILE", help="Other gates than the project's eval/gates.toml.")
    ] = None,
) -> None:
    """Check a run against eval/gates.toml: exit status 1, and for each scenario that failed a command to repeat it.

    Everything is computed again from the transcripts; report.json is not believed.
    """
    with eval_run.one_line():
        made = eval_run.gated(folder, gates)
    terminal.gates(tables.console(), made.passages)
    if not made.passed:
        raise typer.Exit(1)


app.command(
    "compare",
    epilog=examples("crisis eval compare build/eval-before build/eval", "crisis eval compare A B --fail"),
)(eval_compare.compare_runs)

app.command("export", epilog=examples("crisis eval export --run build/eval --out build/vera-mh"))(
    eval_exchange.export_run
)
app.command("import", epilog=examples("crisis eval import conversations/my-run --out build/eval-imported"))(
    eval_exchange.import_folder
)
