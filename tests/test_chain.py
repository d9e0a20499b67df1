"""The chain moves on at every way a backend can fail, and never loses or repeats what was already released."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from safety_filter.verdict import Violation
from serving.backend import (
    Backend,
    BackendBusy,
    BackendError,
    BackendMisconfigured,
    BackendRefused,
    BackendUnavailable,
    Request,
)
from serving.backends.scripted import ScriptedBackend
from serving.chain import Chain
from serving.member import Deadlines
from serving.race import Moved, RaceEvent
from serving.spoken import Kept, Said, join, whole
from shield.assessment import Turn

QUICK = Deadlines(first_text_s=0.8, between_s=0.8, total_s=2.5)
ASK = Request(turns=(Turn("user", "hello"),), prefix="Are you safe?")


class SentenceGate:
    """Splits at ". " and blocks a sentence that says "poison": the gate's contract without its judgement."""

    def __init__(self) -> None:
        self.rest = ""
        self.blocked = False
        self.violations: tuple[Violation, ...] = ()

    def feed(self, text: str) -> list[str]:
        *sentences, self.rest = (self.rest + text).replace(". ", ".\0").split("\0")
        return self._checked([s + " " for s in sentences])

    def flush(self) -> list[str]:
        return self._checked([self.rest] if self.rest else [])

    def _checked(self, sentences: list[str]) -> list[str]:
        safe: list[str] = []
        for sentence in sentences:
            if self.blocked or "poison" in sentence:
                self.blocked = True
                self.violations = (Violation("test.poison", "method", "block"),)
                break
            safe.append(sentence)
        return safe


async def run(*backends: Backend, deadlines: Deadlines = QUICK) -> list[RaceEvent]:
    chain = Chain(backends, deadlines)
    return [event async for event in chain.events(ASK, lambda *_: SentenceGate())]


def text(events: list[RaceEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, Said))


def static() -> ScriptedBackend:
    return ScriptedBackend(["Static stands."], name="static", source="static")


async def test_the_first_backend_that_answers_is_the_only_one_asked() -> None:
    second = static()
    events = await run(ScriptedBackend(["I hear ", "you. Go on."]), second)
    assert text(events) == "I hear you. Go on."
    assert second.requests == []


@pytest.mark.parametrize(
    ("pieces", "reason"),
    [
        pytest.param([BackendUnavailable("gone")], "unavailable", id="not there"),
        pytest.param([BackendBusy("full")], "busy", id="queue full"),
        pytest.param([BackendMisconfigured("key")], "misconfigured", id="wrong key"),
        pytest.param([BackendRefused("policy")], "refused", id="refusal"),
        pytest.param([], "refused", id="empty"),
        pytest.param(["   "], "refused", id="blank"),
        pytest.param(["never ends its sentence because"], "refused", id="only half a sentence"),
        pytest.param(["take poison. "], "blocked", id="blocked sentence"),
        pytest.param([5.0, "late."], "timeout", id="first text late"),
    ],
)
async def test_a_backend_that_fails_before_a_sentence_is_replaced(pieces: list[str], reason: str) -> None:
    broken, rescue = ScriptedBackend(pieces, name="first"), static()
    events = await run(broken, rescue)
    assert text(events) == "Static stands."
    assert [e.reason for e in events if isinstance(e, Moved)] == [reason]
    assert rescue.requests[0].prefix == ASK.prefix
    assert not rescue.requests[0].continued


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param([5.0], id="stalls"),
        pytest.param([BackendUnavailable("cut")], id="is cut"),
        pytest.param(["poison is. "], id="is blocked"),
    ],
)
async def test_released_sentences_stay_and_the_next_backend_continues_after_them(broken: list[str]) -> None:
    first = ScriptedBackend(["I hear you. And th", *broken], name="first")
    rescue = static()
    events = await run(first, rescue)
    assert text(events) == "I hear you. Static stands."
    assert rescue.requests[0].prefix == "Are you safe? I hear you. "
    assert rescue.requests[0].continued


async def test_a_blocked_sentence_is_reported_and_ends_the_backends_turn() -> None:
    events = await run(ScriptedBackend(["Fine. ", "Take poison. ", "More. "], name="first"), static())
    assert [e for e in events if isinstance(e, Kept)] == [
        Kept((Violation("test.poison", "method", "block"),), blocked=True)
    ]
    assert "poison" not in text(events)
    assert "More" not in text(events)


async def test_a_sentence_cut_by_the_token_limit_is_not_shown() -> None:
    assert text(await run(ScriptedBackend(["I hear you. It sounds like you"]))) == "I hear you. "


async def test_the_total_deadline_ends_a_backend_that_trickles_for_ever() -> None:
    trickle = ScriptedBackend([piece for _ in range(200) for piece in ("Still here. ", 0.05)], name="slow")
    began = time.monotonic()
    events = await run(trickle, static())
    assert time.monotonic() - began < 6
    assert text(events).endswith("Static stands.")


async def test_nobody_left_raises_what_the_last_one_raised() -> None:
    with pytest.raises(BackendUnavailable):
        await run(ScriptedBackend([BackendRefused("no")]), ScriptedBackend([BackendUnavailable("gone")]))


async def test_a_crash_of_the_gate_is_not_mistaken_for_a_failed_backend() -> None:
    class Broken(SentenceGate):
        def feed(self, text: str) -> list[str]:
            raise ZeroDivisionError

    chain = Chain([ScriptedBackend(["I hear you. "]), static()], QUICK)
    with pytest.raises(ZeroDivisionError):
        [event async for event in chain.events(ASK, lambda *_: Broken())]


async def test_leaving_closes_the_backend_at_once() -> None:
    closed = asyncio.Event()

    class Endless:
        name = model = "endless"
        source = "local"

        async def stream(self, request: Request) -> AsyncIterator[str]:
            try:
                while True:
                    yield "On and on. "
                    await asyncio.sleep(0)
            finally:
                closed.set()

    events = Chain([Endless()], QUICK).events(ASK, lambda *_: SentenceGate())
    await anext(events)
    await events.aclose()
    assert closed.is_set()


async def test_the_chain_is_itself_a_backend() -> None:
    inner = Chain([ScriptedBackend([BackendError("x")]), ScriptedBackend(["From the inside. "])], QUICK)
    assert text(await run(inner)) == "From the inside. "


@pytest.mark.parametrize("sentence", ["Done.", "Really?", "Yes! ", "“Go on.”", "好。", "Here 💙", "क्या हुआ।", "…"])
def test_whole_sentences_are_recognised(sentence: str) -> None:
    assert whole(sentence)


@pytest.mark.parametrize("sentence", ["It sounds like you", "and then,", "because -", "the (", ""])
def test_sentences_that_were_cut_are_recognised(sentence: str) -> None:
    assert not whole(sentence)


def test_join_puts_one_blank_between() -> None:
    assert join("a.", "b.") == "a. b."
    assert join("a. ", "b.") == "a. b."
    assert join("", "b.") == "b."
