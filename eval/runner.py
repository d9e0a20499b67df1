"""Has the conversations of a plan, and keeps each one the moment it ends: a run that is stopped can be gone on with."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

from eval import run_record, transcripts
from eval.run_record import Plan, RunError, RunRecord
from eval.scenarios import Scenario
from eval.subjects import Open, Subject
from eval.transcripts import Exchange, Transcript
from eval.yardstick import yardstick_ms
from shield.assessment import Turn

Step = Callable[[Transcript], None]
"""Called after each conversation that was had."""


def begin(folder: Path, plan: Plan, *, resume: bool, fresh: bool) -> tuple[Transcript, ...]:
    """Make the folder ready for the plan; gives the conversations that need not be had again.

    Raises RunError where it holds an unfinished run and neither is asked for, or where `resume` finds another run.
    """
    record = RunRecord.of(plan)
    there = run_record.read(folder) if (folder / run_record.FILE).exists() else None
    had = transcripts.read(folder) if there is not None else ()
    if there is not None and resume:
        if not there.same_run(record):
            raise RunError(f"{folder}: holds another run than the one asked for; give --fresh, or another --out")
        return had
    if there is not None and not fresh and len(had) < there.planned:
        raise RunError(
            f"{folder}: holds an unfinished run ({len(had)} of {there.planned} conversations); "
            "give --resume to go on with it, or --fresh to begin again"
        )
    _clear(folder)
    run_record.write(folder, record)
    return ()


async def run(
    plan: Plan,
    folder: Path,
    opened: Open,
    *,
    step: Step,
    had: Sequence[Transcript] = (),
    yardstick: Callable[[], float] = yardstick_ms,
) -> None:
    """Every conversation of the plan that was not had yet, `plan.concurrency` at a time."""
    done = transcripts.done(had)
    waiting = [one for one in plan.conversations() if (one[0], one[2].name, one[3].id, one[1]) not in done]
    having = _Having(plan.seed, folder, asyncio.Semaphore(plan.concurrency), step, yardstick)
    for (name, repeat), group in groupby(waiting, key=lambda one: (one[0], one[1])):
        async with opened(name, plan.seed + repeat) as subject, asyncio.TaskGroup() as tasks:
            for _, _, suite, scenario in group:
                tasks.create_task(having.have(subject, suite.name, scenario, repeat))


@dataclass(frozen=True, slots=True)
class _Having:
    """Has conversations, so many at once, and keeps each."""

    seed: int
    folder: Path
    places: asyncio.Semaphore
    step: Step
    yardstick: Callable[[], float]

    async def have(self, subject: Subject, suite: str, scenario: Scenario, repeat: int) -> None:
        async with self.places:
            started_at, took = datetime.now(UTC).isoformat(timespec="seconds"), self.yardstick()
            exchanges = await converse(subject, scenario, f"{suite}/{scenario.id}/{self.seed + repeat}")
            transcript = Transcript(
                suite=suite,
                subject=subject.about,
                scenario=scenario,
                repeat=repeat,
                seed=self.seed + repeat,
                started_at=started_at,
                yardstick_ms=took,
                exchanges=exchanges,
            )
            transcripts.append(self.folder / transcripts.FILE, transcript.to_json())
            self.step(transcript)


async def converse(subject: Subject, scenario: Scenario, conversation_id: str) -> tuple[Exchange, ...]:
    """One conversation: the person's turns as written, answered one after the other. It ends at an error."""
    turns: tuple[Turn, ...] = ()
    exchanges: list[Exchange] = []
    for said in scenario.turns:
        turns = (*turns, Turn("user", said.says))
        exchange = await subject.answer(scenario, turns, conversation_id)
        exchanges.append(exchange)
        if exchange.error:
            break
        turns = (*turns, Turn("assistant", exchange.reply))
    return tuple(exchanges)


def _clear(folder: Path) -> None:
    """Only what a run writes; nothing else in the folder is touched."""
    for name in (
        run_record.FILE,
        transcripts.FILE,
        "judgements.jsonl",
        "detection.jsonl",
        "corpora.json",
        "report.json",
        "report.html",
        "junit.xml",
    ):
        (folder / name).unlink(missing_ok=True)
