"""The chain's conduct, with scripted backends: who is asked when, how often, for how long, and what is said of it."""

import asyncio
import email.utils
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serving.backend import (
    Backend,
    BackendBusy,
    BackendError,
    BackendMisconfigured,
    BackendNotReady,
    BackendRefused,
    BackendThrottled,
    BackendTimeout,
    BackendUnavailable,
    PrefillRejected,
    Request,
)
from serving.backends.scripted import ScriptedBackend
from serving.backends.wire_errors import retry_after_s
from serving.chain import Chain
from serving.circuit import Circuit, Rests
from serving.cost import Cost
from serving.member import Deadlines, Member
from serving.race import Moved, RaceEvent
from serving.spoken import Faltered, Said, Unchecked
from shield.assessment import Turn

LIMITS = Deadlines(first_text_s=0.8, between_s=0.8, total_s=6.0)
"""What a test expects lies at least 0.3 s from the next deadline: a machine with other work may halt that long."""
ASK = Request(turns=(Turn("user", "hello"),), prefix="Are you safe?")
Piece = str | float | BackendError | Exception


def backend(name: str, *pieces: Piece) -> ScriptedBackend:
    return ScriptedBackend(pieces, name=name, model=name)


def static() -> ScriptedBackend:
    return ScriptedBackend(["Static stands."], name="static", source="static")


@dataclass
class Fickle:
    """Another script for each request."""

    scripts: Sequence[Sequence[Piece]]
    name: str = "fickle"
    model: str = "fickle"
    source: str = "local"
    asked: int = 0

    async def stream(self, request: Request) -> AsyncIterator[str]:
        script = self.scripts[min(self.asked, len(self.scripts) - 1)]
        self.asked += 1
        async for piece in ScriptedBackend(script).stream(request):
            yield piece


@dataclass
class Deaf:
    """Does not let itself be hung up on."""

    name: str = "deaf"
    model: str = "deaf"
    source: str = "local"
    first: tuple[str, ...] = ()
    let_go: asyncio.Event = field(default_factory=asyncio.Event)

    async def stream(self, request: Request) -> AsyncIterator[str]:
        for piece in self.first:
            yield piece
        while not self.let_go.is_set():
            try:
                await self.let_go.wait()
            except asyncio.CancelledError:
                continue
        yield "Too late. "


async def run(*backends: Backend | Member, deadlines: Deadlines = LIMITS, spent_s: float = 0.0) -> list[RaceEvent]:
    chain = Chain(backends, deadlines)
    return [event async for event in chain.events(ASK, lambda *_: Unchecked(), spent_s=spent_s)]


def text(events: Sequence[RaceEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, Said))


def steps(events: Sequence[RaceEvent]) -> list[str]:
    return [f"{event.backend.name}-{event.reason}" for event in events if isinstance(event, Moved | Faltered)]


# who is first


async def test_a_late_backend_may_still_win_while_the_next_one_is_asked() -> None:
    first, second = backend("first", 1.2, "I am here. "), backend("second", 5.0, "Me too. ")
    events = await run(first, second, static())
    assert text(events) == "I am here. "
    assert steps(events) == ["first-late"]
    assert len(second.requests) == 1


async def test_the_next_backend_wins_when_it_is_first_and_the_late_one_is_hung_up_on() -> None:
    closed = asyncio.Event()

    class Late(Deaf):
        async def stream(self, request: Request) -> AsyncIterator[str]:
            try:
                await asyncio.sleep(30)
                yield "Never. "
            finally:
                closed.set()

    began = time.monotonic()
    events = await run(Late(), backend("second", "I am here. "), static())
    assert text(events) == "I am here. "
    assert steps(events) == ["deaf-timeout"]
    assert 0.75 < time.monotonic() - began < 3.0
    assert closed.is_set()


async def test_a_backend_that_fails_beside_a_late_one_leaves_it_to_the_static_reply() -> None:
    events = await run(backend("first", 30.0), backend("second", BackendUnavailable("gone")), static())
    assert text(events) == "Static stands."
    assert steps(events) == ["second-unavailable", "first-timeout"]


async def test_the_static_reply_waits_for_the_sentence_of_one_who_is_writing() -> None:
    writing = backend("first", "It ", 0.7, "sounds ", 0.7, "heavy. ")
    chain = Chain([writing, static()], Deadlines(first_text_s=1.0, between_s=2.0, total_s=10.0))
    events = [event async for event in chain.events(ASK, lambda *_: Sentences())]
    assert text(events) == "It sounds heavy. "
    assert steps(events) == []


class Sentences:
    """Nothing but whole sentences."""

    blocked = False
    violations = ()

    def __init__(self) -> None:
        self.rest = ""

    def feed(self, piece: str) -> list[str]:
        *whole, self.rest = (self.rest + piece).replace(". ", ". \0").split("\0")
        return whole

    def flush(self) -> list[str]:
        return [self.rest] if self.rest else []


async def test_one_who_writes_without_ever_ending_a_sentence_is_not_waited_for() -> None:
    chatter = backend("first", *["and then ", 0.05] * 200)
    began = time.monotonic()
    chain = Chain([chatter, static()], LIMITS)
    events = [event async for event in chain.events(ASK, lambda *_: Sentences())]
    assert text(events) == "Static stands."
    assert time.monotonic() - began < 5.0


async def test_who_was_called_off_is_asked_again_when_the_winner_breaks() -> None:
    first = backend("first", 1.2, "I am here. ", BackendUnavailable("cut"))
    second = Fickle([[5.0, "Never. "], ["I go on. "]])
    events = await run(first, second, static())
    assert text(events) == "I am here. I go on. "
    assert steps(events) == ["first-late", "first-unavailable"]
    assert second.asked == 2


# deadlines


async def test_the_whole_reply_keeps_its_deadline_also_with_one_who_cannot_be_hung_up_on() -> None:
    deaf = Deaf(first=("I am here. ",))
    began = time.monotonic()
    events = await run(deaf, static(), deadlines=Deadlines(first_text_s=0.5, between_s=30.0, total_s=1.0))
    took_s = time.monotonic() - began
    deaf.let_go.set()
    assert text(events) == "I am here. Static stands."
    assert steps(events) == ["deaf-timeout"]
    assert took_s < 3.0


async def test_time_that_was_spent_before_counts() -> None:
    endless = backend("first", *["Still here. ", 0.1] * 100)
    began = time.monotonic()
    events = await run(endless, static(), spent_s=5.0)
    assert time.monotonic() - began < 2.0
    assert text(events).endswith("Static stands.")


async def test_no_model_is_asked_when_the_time_is_up() -> None:
    first, second = backend("first", *["Still here. ", 0.1] * 100), backend("second", "Hello. ")
    assert text(await run(first, second, static(), deadlines=Deadlines(0.5, 0.5, 0.8))).endswith("Static stands.")
    assert second.requests == []


async def test_a_backend_may_have_deadlines_of_its_own() -> None:
    patient = Member(backend("first", 1.2, "I am here. "), Deadlines(5.0, 5.0, 4.0))
    events = await run(patient, static())
    assert (text(events), steps(events)) == ("I am here. ", [])
    brief = Member(backend("first", *["Still here. ", 0.1] * 100), Deadlines(1.0, 1.0, 0.5))
    events = await run(brief, backend("second", "I go on. "), static(), deadlines=Deadlines(1.0, 1.0, 10.0))
    assert text(events).endswith("I go on. ")


# asked once more


@pytest.mark.parametrize(
    ("error", "asked"),
    [
        pytest.param(BackendUnavailable("500", retry_after_s=0.0), 2, id="a 500"),
        pytest.param(BackendThrottled("429", retry_after_s=0.15), 2, id="a pause that fits"),
        pytest.param(PrefillRejected("400", retry_after_s=0.0), 2, id="a prefill that was rejected"),
        pytest.param(BackendThrottled("429", retry_after_s=30.0), 1, id="a pause that does not fit"),
        pytest.param(BackendThrottled("429"), 1, id="no word of when"),
        pytest.param(BackendUnavailable("400"), 1, id="a 400"),
        pytest.param(BackendRefused("policy"), 1, id="a refusal"),
        pytest.param(BackendMisconfigured("key"), 1, id="a wrong key"),
    ],
)
async def test_a_backend_is_asked_once_more_only_where_it_can_help(error: BackendError, asked: int) -> None:
    fickle = Fickle([[error], ["I am here. "]])
    events = await run(fickle, static())
    assert fickle.asked == asked
    assert text(events) == ("I am here. " if asked == 2 else "Static stands.")
    assert steps(events) == (["fickle-retried"] if asked == 2 else [f"fickle-{error.reason}"])


async def test_nobody_is_asked_a_third_time() -> None:
    fickle = Fickle([[BackendUnavailable("500", retry_after_s=0.0)]])
    assert steps(await run(fickle, static())) == ["fickle-retried", "fickle-unavailable"]
    assert fickle.asked == 2


async def test_nobody_is_asked_again_who_had_begun_to_write() -> None:
    fickle = Fickle([["I am here. ", BackendUnavailable("500", retry_after_s=0.0)]])
    assert text(await run(fickle, static())) == "I am here. Static stands."
    assert fickle.asked == 1


# the circuit

RESTS = Rests(failures=3, first_s=0.6, cap_s=1.5)


async def test_one_that_keeps_failing_is_left_in_peace_and_found_again() -> None:
    fickle = Fickle([*[[BackendUnavailable("gone")]] * 4, ["I am here. "]])
    member = Member(fickle, LIMITS, Circuit(RESTS))
    for _ in range(3):
        assert steps(await run(member, static())) == ["fickle-unavailable"]
    assert steps(await run(member, static())) == ["fickle-circuit-open"]
    assert (fickle.asked, member.circuit.state) == (3, "open")
    await asyncio.sleep(0.65)
    assert member.circuit.state == "half-open"
    assert steps(await run(member, static())) == ["fickle-unavailable"]  # tried, and still ill: twice the pause
    assert "tried again" in member.circuit.reason
    await asyncio.sleep(0.65)
    assert steps(await run(member, static())) == ["fickle-circuit-open"]
    await asyncio.sleep(0.65)
    assert text(await run(member, static())) == "I am here. "
    assert (fickle.asked, member.circuit.state, member.circuit.reason) == (5, "closed", "")


async def test_only_one_request_at_a_time_tries_a_backend_that_failed() -> None:
    circuit = Circuit(Rests(failures=1, first_s=0.05))
    circuit.failed(BackendUnavailable("gone"))
    await asyncio.sleep(0.06)
    first, second = Member(backend("b", 0.4, "Well. "), LIMITS, circuit), Member(backend("b", "No. "), LIMITS, circuit)
    one, other = await asyncio.gather(run(first, static()), run(second, static()))
    assert (text(one), text(other)) == ("Well. ", "Static stands.")
    assert circuit.state == "closed"


async def test_a_try_that_was_called_off_lets_the_next_one_try() -> None:
    circuit = Circuit(Rests(failures=1, first_s=0.05))
    circuit.failed(BackendUnavailable("gone"))
    await asyncio.sleep(0.06)
    member = Member(backend("b", 0.4, "Well. "), LIMITS, circuit)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(run(member, static()), 0.1)
    assert text(await run(member, static())) == "Well. "


async def test_one_who_comes_too_late_again_and_again_is_left_alone() -> None:
    member = Member(backend("b", 5.0, "Late. "), Deadlines(0.05, 0.05, 3.0), Circuit(RESTS))
    for _ in range(3):
        await run(member, static())
    assert member.circuit.state == "open"


@pytest.mark.parametrize("error", [BackendThrottled("429"), BackendMisconfigured("key")])
def test_some_failures_are_enough_alone(error: BackendError) -> None:
    circuit = Circuit(RESTS)
    circuit.failed(error)
    assert circuit.state == "open"


@pytest.mark.parametrize("error", [BackendRefused("no"), BackendNotReady("loading"), BackendBusy("our own queue")])
def test_what_says_nothing_bad_about_a_backend_does_not_count(error: BackendError) -> None:
    circuit = Circuit(RESTS)
    for _ in range(20):
        circuit.failed(error)
    assert circuit.state == "closed"


def test_a_pause_that_was_asked_for_is_given_up_to_the_cap() -> None:
    circuit = Circuit(Rests(cap_s=60.0))
    circuit.failed(BackendThrottled("429", retry_after_s=3600.0))
    assert "tried again in 60 s" in circuit.reason


def test_a_long_reply_that_ran_out_of_time_is_no_failure() -> None:
    member = Member(backend("b", *["Still here. ", 0.05] * 100), Deadlines(0.5, 0.5, 0.3), Circuit(RESTS))
    for _ in range(4):
        asyncio.run(run(member, static(), deadlines=Deadlines(0.5, 0.5, 0.4)))
    assert member.circuit.state == "closed"


# whatever happens

FAILURES = (
    BackendUnavailable("gone"),
    BackendUnavailable("500", retry_after_s=0.0),
    BackendThrottled("429", retry_after_s=0.02),
    BackendTimeout("late"),
    BackendRefused("policy"),
    BackendMisconfigured("key"),
    PrefillRejected("400", retry_after_s=0.0),
)
SCRIPTS = st.lists(
    st.one_of(
        st.sampled_from(["One. ", "Two. ", "half "]), st.sampled_from([0.0, 0.02, 0.2]), st.sampled_from(FAILURES)
    ),
    max_size=5,
)


@settings(max_examples=40)
@given(st.lists(st.lists(SCRIPTS, min_size=1, max_size=3), max_size=3))
def test_whatever_backends_do_the_reply_is_whole_in_time_and_nobody_is_hammered(plan: list[list[list[Piece]]]) -> None:
    backends = [Fickle(scripts, name=f"b{place}") for place, scripts in enumerate(plan)]
    chain = Chain([*backends, static()], Deadlines(first_text_s=0.1, between_s=0.1, total_s=0.6))

    async def reply() -> list[RaceEvent]:
        return [event async for event in chain.events(ASK, lambda *_: Sentences())]

    began = time.monotonic()
    events = asyncio.run(reply())
    assert time.monotonic() - began < 3.0
    said = [event.text.rstrip() for event in events if isinstance(event, Said)]
    assert said
    assert all(sentence.endswith(".") for sentence in said), said
    assert all(one.asked <= 4 for one in backends)
    assert len(said) == 1 or said[-1] != "Static stands." or steps(events)


# what it cost


class Counting(ScriptedBackend):
    """Tells its own count at the end."""

    async def stream(self, request: Request) -> AsyncIterator[str]:
        async for piece in super().stream(request):
            yield piece
        request.cost(30, 12)


def costs(events: Sequence[RaceEvent]) -> list[Cost]:
    return [event.cost() for event in events if isinstance(event, Said)]


async def test_the_cost_is_the_models_own_count() -> None:
    assert costs(await run(Counting(["I am here. "]), static())) == [Cost(30, 12)]


async def test_the_cost_of_an_answer_that_broke_off_is_estimated_and_says_so() -> None:
    cut, rest = costs(await run(Counting(["I am here. ", BackendUnavailable("cut")]), Counting(["I go on. "])))
    assert cut == Cost(5, 3, estimated=True)
    assert rest == Cost(30, 12)


# when a server wants to be asked again


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read_in_every_form(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers) == seconds


def test_retry_after_may_be_a_date() -> None:
    later = email.utils.formatdate(time.time() + 30, usegmt=True)
    assert 25 < (retry_after_s({"retry-after": later}) or 0) <= 30
