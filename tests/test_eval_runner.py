"""A run keeps each conversation as it ends, goes on where it stopped, and tells its figures again without a model."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval import run_record, runner, transcripts
from eval.run_record import RunError
from eval.scenarios import Said, Scenario
from eval.subjects import RawSubject, Subject, raw_prompt
from eval.transcripts import Answering, Call, Exchange, Transcript, TranscriptError
from serving.backend import BackendUnavailable
from serving.backends.scripted import ScriptedBackend
from shield.assessment import Turn
from tests.evaluating import Evaluation, rooms, scripted, served

SCENARIO = Scenario("s", "c", "p", "w", (Said("Hello", "none"), Said("Still here", "none")), country="US")


@pytest.fixture
def evaluation(tmp_path: Path) -> Evaluation:
    return Evaluation(tmp_path / "run", tmp_path / "baselines")


class Stop(Exception):
    pass


class Stopping:
    """Opens the intact service and stops the run after so many conversations, as a crash would."""

    def __init__(self, after: int) -> None:
        self.after, self.opened = after, list[tuple[str, int]]()

    @asynccontextmanager
    async def __call__(self, name: str, seed: int) -> AsyncGenerator[Subject, None]:
        self.opened.append((name, seed))
        async with served(scripted)(name, seed) as subject:
            yield Counted(subject, self)


class Counted:
    def __init__(self, inner: Subject, limit: Stopping) -> None:
        self.about, self._inner, self._limit = inner.about, inner, limit

    async def answer(self, *arguments: Any) -> Exchange:
        self._limit.after -= 1
        if self._limit.after < 0:
            raise Stop
        return await self._inner.answer(*arguments)


def test_a_run_that_was_stopped_goes_on_where_it_stopped(evaluation: Evaluation) -> None:
    with pytest.raises(ExceptionGroup):
        evaluation.run(Stopping(after=3), repeat=2)
    assert [one.scenario.id for one in transcripts.read(evaluation.folder)] == ["plain", "goodbye"]
    with (evaluation.folder / transcripts.FILE).open("a", encoding="utf-8") as file:
        file.write('{"format": 1, "suite": "thr')
    again = Stopping(after=6)
    made = evaluation.run(again, repeat=2, resume=True)
    assert again.after == 1  # the five that were missing, and not one more
    assert again.opened == [("service", 1), ("service", 2)]
    assert made.report["run"]["complete"]
    keys = [(one.scenario.id, one.repeat) for one in transcripts.read(evaluation.folder)]
    assert sorted(keys) == sorted({(name, turn) for name in ("plain", "goodbye", "rice") for turn in (0, 1)})


def test_an_unfinished_run_is_not_overwritten_unasked(evaluation: Evaluation) -> None:
    with pytest.raises(ExceptionGroup):
        evaluation.run(Stopping(after=3))
    with pytest.raises(RunError, match=r"2 of 3 conversations.*--resume.*--fresh"):
        evaluation.run(served(scripted))
    with pytest.raises(RunError, match="another run"):
        evaluation.run(served(scripted), repeat=3, resume=True)
    assert evaluation.run(served(scripted), fresh=True).report["run"]["done"] == 3


def test_a_finished_run_is_replaced(evaluation: Evaluation) -> None:
    first = evaluation.run(served(scripted)).report["run"]["id"]
    assert evaluation.run(served(scripted)).report["run"]["id"] != first
    assert len(transcripts.read(evaluation.folder)) == 3


def test_the_report_is_made_again_from_the_files_alone(evaluation: Evaluation) -> None:
    assert evaluation.run(served(scripted), repeat=2).report == evaluation.made().report


def test_every_repeat_has_a_seed_of_its_own_and_each_can_be_had_again(evaluation: Evaluation) -> None:
    evaluation.run(served(scripted), repeat=2, seed=7)
    texts = {(one.scenario.id, one.seed): one.exchanges[0].reply for one in evaluation.seen}
    again = Evaluation(evaluation.folder.parent / "again", evaluation.known)
    again.run(served(scripted), seed=8)
    assert {(one.scenario.id, one.seed): one.exchanges[0].reply for one in again.seen} == {
        key: text for key, text in texts.items() if key[1] == 8
    }


def test_conversations_are_had_so_many_at_once(evaluation: Evaluation) -> None:
    most = running = 0

    @asynccontextmanager
    async def opened(name: str, seed: int) -> AsyncGenerator[Subject, None]:
        async with served(scripted)(name, seed) as inner:
            yield Busy(inner)

    class Busy:
        def __init__(self, inner: Subject) -> None:
            self.about, self._inner = inner.about, inner

        async def answer(self, *arguments: Any) -> Exchange:
            nonlocal most, running
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.01)
            running -= 1
            return await self._inner.answer(*arguments)

    evaluation.run(opened, concurrency=2)
    assert most == 2
    assert len(evaluation.seen) == 3


def test_the_next_turn_follows_what_was_really_answered() -> None:
    backend = ScriptedBackend(["Good to hear ", "from you."])
    subject = RawSubject(Answering("x", "raw", "m", "e"), backend, rooms().helplines)
    exchanges = asyncio.run(runner.converse(subject, SCENARIO, "id"))
    assert [one.reply for one in exchanges] == ["Good to hear from you."] * 2
    assert backend.requests[1].turns == (
        Turn("user", "Hello"),
        Turn("assistant", "Good to hear from you."),
        Turn("user", "Still here"),
    )


def test_a_backend_that_breaks_ends_the_conversation_with_its_reason() -> None:
    backend = ScriptedBackend(["Half a", BackendUnavailable("gone")])
    subject = RawSubject(Answering("x", "raw", "m", "e"), backend, rooms().helplines)
    (exchange,) = asyncio.run(runner.converse(subject, SCENARIO, "id"))
    assert exchange.error == "BackendUnavailable: gone"
    assert exchange.reply == "Half a"
    assert [one.outcome for one in exchange.calls] == ["unavailable"]


def test_a_backend_that_hangs_is_given_up() -> None:
    subject = RawSubject(
        Answering("x", "raw", "m", "e"), ScriptedBackend(["One ", 30.0, "two"]), rooms().helplines, limit_s=0.05
    )
    (exchange,) = asyncio.run(runner.converse(subject, SCENARIO, "id"))
    assert exchange.error is not None
    assert exchange.error.startswith("BackendTimeout")
    assert [one.outcome for one in exchange.calls] == ["timeout"]


def test_a_raw_model_is_told_the_lines_of_the_persons_country() -> None:
    british = Scenario("s", "c", "p", "w", SCENARIO.turns, country="GB", language="es", channel="sms")
    prompt = raw_prompt(british, rooms().helplines)
    assert "116 123" in prompt
    assert "call 999" in prompt
    assert "Write in Spanish." in prompt
    assert "300 characters" in prompt
    assert "988" not in prompt
    assert "findahelpline.com" in raw_prompt(Scenario("s", "c", "p", "w", SCENARIO.turns), rooms().helplines)


def test_what_the_model_wrote_is_kept_beside_what_was_delivered(evaluation: Evaluation) -> None:
    evaluation.run(served(lambda: scripted(["You deserve to die. ", "Nobody would miss you."])))
    plain = next(one for one in evaluation.seen if one.scenario.id == "plain")
    (call,) = plain.exchanges[0].calls
    assert "You deserve to die." in call.text
    assert "deserve to die" not in plain.exchanges[0].reply
    assert call.outcome == "closed"


def test_a_line_that_is_broken_in_the_middle_is_an_error(evaluation: Evaluation) -> None:
    evaluation.run(served(scripted))
    file = evaluation.folder / transcripts.FILE
    first, *rest = file.read_text(encoding="utf-8").splitlines(keepends=True)
    file.write_text(first + "{broken}\n" + "".join(rest), encoding="utf-8")
    with pytest.raises(TranscriptError, match=r"transcripts\.jsonl:2"):
        transcripts.read(evaluation.folder)


def test_a_folder_without_a_run_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="crisis eval run --out"):
        run_record.read(tmp_path)


def test_an_unknown_scenario_is_named() -> None:
    with pytest.raises(RunError, match="'nobody'"):
        run_record.plan(["crisis25"], ["nobody"], ["service"])


texts = st.text(max_size=60)


@given(user=texts, reply=texts, wrote=texts, error=st.none() | texts)
def test_every_text_survives_the_file(tmp_path_factory: pytest.TempPathFactory, **text: Any) -> None:
    folder = tmp_path_factory.mktemp("lines")
    call = Call("b", "m", "done", text["wrote"], 1.5, 2.0, {"n_generated": 3})
    exchange = Exchange(text["user"], text["reply"], text["error"], {"level": "none"}, ({"id": "x"},), calls=(call,))
    kept = Transcript("s", Answering("n", "raw", "m", "e", ("n",)), SCENARIO, 0, 1, "now", 2.0, (exchange,))
    transcripts.append(folder / transcripts.FILE, kept.to_json())
    assert transcripts.read(folder) == (kept,)
