"""What `crisis eval` does, step by step: conversations, corpora, judgements, reports. Errors become one line each."""

import asyncio
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from cli.console import Failure, settings
from cli.eval_progress import Steps
from eval import asked_detection, corpora, judge, run_record, run_report, runner, transcripts
from eval.cases import CaseError, shield_cases
from eval.opener import Opener, SubjectError
from eval.report import writing
from eval.report.figures import ReportError
from eval.run_gates import RunGates
from eval.run_record import Plan, RunError
from eval.run_report import Made
from eval.scenarios import SuiteError
from eval.subjects import RawSubject
from eval.transcripts import TranscriptError
from serving.settings import Settings
from serving.wiring import demo_settings

_PATIENCE = 5.0


@contextmanager
def one_line() -> Iterator[None]:
    """Whatever is wrong with what was asked for, in one line, with exit status 2."""
    try:
        yield
    except* (SuiteError, SubjectError, RunError, TranscriptError, CaseError, ReportError) as group:
        raise Failure(str(_first(group)), 2) from None
    except* OSError as group:
        error = _first(group)
        raise Failure(
            f"{getattr(error, 'filename', None) or 'the run'}: {getattr(error, 'strerror', error)}", 2
        ) from None


def _first(group: BaseException) -> BaseException:
    while isinstance(group, BaseExceptionGroup):
        group = group.exceptions[0]
    return group


def chosen(config: Path | None, *, demo: bool) -> tuple[Settings, tuple[str, ...]]:
    """The settings, and the options that the command which repeats a scenario has to be given."""
    options = ("--config", str(config)) if config else ()
    found = settings(config)
    return (_patient(demo_settings(found)), (*options, "--demo")) if demo else (found, options)


def _patient(found: Settings) -> Settings:
    """Five times the time for each reply: the demo model on a busy machine must not become the static replies, which
    would then be evaluated in its name. How slow it was is seen in yardsticks. An operator's own deadlines stay."""
    limits = ("first_text_s", "between_s", "total_s")
    longer = {name: _PATIENCE * getattr(found.reply, name) for name in limits}
    return found.model_copy(update={"reply": found.reply.model_copy(update=longer)})


def converse(plan: Plan, out: Path, opener: Opener, *, resume: bool, fresh: bool) -> None:
    """Every conversation that was not had yet."""
    had = runner.begin(out, plan, resume=resume, fresh=fresh)
    with Steps("conversations", plan.planned, done=len(transcripts.done(had))) as steps, _stopped(out):
        asyncio.run(
            runner.run(
                plan, out, opener, had=had, step=lambda one: steps.step(f"{one.subject.name}: {one.scenario.id}")
            )
        )


def measure_corpora(out: Path) -> None:
    """SHIELD and the filter over eval/data, into corpora.json."""
    print("corpora: SHIELD and the filter over eval/data …", file=sys.stderr, flush=True)
    figures = json.dumps(corpora.measure(), indent=1, ensure_ascii=False)
    (out / run_report.CORPORA).write_text(figures + "\n", encoding="utf-8")


def asked(out: Path, opener: Opener, names: Sequence[str], *, count: int, seed: int) -> None:
    """Raw models as detectors, over so many messages of the corpora."""
    cases = asked_detection.sample(shield_cases(), count, seed)

    async def ask(name: str) -> None:
        async with opener(name, seed) as subject:
            if isinstance(subject, RawSubject):
                with Steps(f"{name} as a detector", len(cases)) as steps, _stopped(out):
                    await asked_detection.ask(
                        cases, name, subject.backend, out, step=lambda one: steps.step(one.answer or "unanswered")
                    )

    for name in names:
        if name not in ("service", "static") and not name.startswith("service:"):
            asyncio.run(ask(name))


def judged(out: Path, opener: Opener, name: str, *, rounds: int, seed: int) -> None:
    """The judge's scores for every conversation of a run that it has not scored yet."""
    had = transcripts.read(out)
    run_record.read(out)

    async def ask() -> None:
        async with opener(name, seed) as subject:
            if not isinstance(subject, RawSubject):
                raise SubjectError(f"{name} is no model: a judge is a chain entry")
            with Steps("judgements", len(had) * rounds) as steps, _stopped(out):
                await judge.judge(
                    had, subject.backend, out, rounds=rounds, seed=seed, step=lambda one: steps.step(one.scenario)
                )

    asyncio.run(ask())


def reported(out: Path) -> Made:
    """The report of the run, written to the folder in every form."""
    made = run_report.make(out)
    run_report.write(out, made.report)
    writing.write(out)
    return made


def gated(out: Path, gates: Path | None) -> Made:
    """The run against its gates; nothing is written. `gates`: another file than eval/gates.toml."""
    return run_report.make(out, gates=_gates(gates) if gates else None)


def _gates(file: Path) -> RunGates:
    try:
        return RunGates.load(file)
    except (ValueError, KeyError, TypeError) as error:
        raise Failure(f"{file}: these are no gates: {type(error).__name__}: {error}; see eval/gates.toml", 2) from None


@contextmanager
def _stopped(out: Path) -> Iterator[None]:
    """Ctrl-C says how to go on: what was had is kept."""
    try:
        yield
    except KeyboardInterrupt:
        raise Failure(f"stopped; what was had is in {out}: give the same command with --resume to go on") from None
