"""The Claude backend against a peer that speaks the Messages API and misbehaves: real sockets, no patches."""

import asyncio
import itertools
import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from peers.messages_api import SCENARIOS, SENTENCES
from peers.process import TESTS, Peer
from pydantic import SecretStr

from prompts.wording import Wording
from serving.backend import (
    BackendError,
    BackendMisconfigured,
    BackendRefused,
    BackendThrottled,
    BackendTimeout,
    BackendUnavailable,
    Request,
)
from serving.backends.claude import MAX_ANSWER_BYTES, THINKING_ROOM, ClaudeBackend, payload
from serving.backends.claude_models import UNKNOWN, Capabilities, capabilities
from serving.backends.continuation import Continuation
from serving.backends.static import StaticBackend, sentences_of
from serving.chain import Chain
from serving.member import Deadlines
from shield.assessment import Turn

KEY = "sk-ant-api03-secret-of-the-operator"
WORDS = "my lighthouse keeper's unmistakable words"
REPLY = "".join(SENTENCES)
BEGUN = "I hear how tired you are. Are you safe right now? "


@pytest.fixture(scope="module")
def peer() -> Iterator[Peer]:
    running = Peer.start("messages_api")
    yield running
    running.stop()


def backend(peer: Peer, scenario: str, *, family: str = "claude-new", read_timeout_s: float = 5.0) -> ClaudeBackend:
    return ClaudeBackend(
        name="claude", model=f"{family}/{scenario}", api_key=KEY, base_url=peer.url, read_timeout_s=read_timeout_s
    )


def request(**changes: object) -> Request:
    fields: dict[str, object] = {"turns": (Turn("user", WORDS),), "system": "Be kind.", "max_tokens": 100}
    return Request(**{**fields, **changes})  # type: ignore[arg-type] - the fields of Request by name


async def heard(claude: ClaudeBackend, asked: Request | None = None) -> tuple[str, BackendError | None]:
    """The text that arrived and the error that ended it; no other kind of exception gets past."""
    pieces: list[str] = []
    try:
        async for piece in claude.stream(asked or request()):
            pieces.append(piece)
    except BackendError as error:
        return "".join(pieces), error
    finally:
        await claude.aclose()
    return "".join(pieces), None


# What the person hears before it breaks, and the error that ends it.
FIRST, TWO = SENTENCES[0], "".join(SENTENCES[:2])
BROKEN: dict[str, tuple[str, type[BackendError]]] = {
    "401": ("", BackendMisconfigured),
    "402": ("", BackendMisconfigured),
    "403": ("", BackendMisconfigured),
    "404": ("", BackendMisconfigured),
    "no-prefill": ("", BackendMisconfigured),
    "no-temperature": ("", BackendMisconfigured),
    "no-thinking": ("", BackendMisconfigured),
    "no-credit": ("", BackendMisconfigured),
    "400": ("", BackendUnavailable),
    "413": ("", BackendUnavailable),
    "429": ("", BackendThrottled),
    "429-retry-after": ("", BackendThrottled),
    "500": ("", BackendUnavailable),
    "504": ("", BackendTimeout),
    "529": ("", BackendThrottled),
    "html-error": ("", BackendUnavailable),
    "redirect": ("", BackendUnavailable),
    "html": ("", BackendUnavailable),
    "not-streamed": ("", BackendUnavailable),
    "reset-at-once": ("", BackendUnavailable),
    "reset": (TWO, BackendUnavailable),
    "cut": (TWO, BackendUnavailable),
    "no-stop": (TWO, BackendUnavailable),
    "gigantic": (TWO, BackendUnavailable),
    "malformed": (FIRST, BackendUnavailable),
    "not-utf8": (FIRST, BackendUnavailable),
    "wrong-shape": (FIRST, BackendUnavailable),
    "no-delta": (FIRST, BackendUnavailable),
    "text-is-a-number": (FIRST, BackendUnavailable),
    "overloaded-inside": (FIRST, BackendThrottled),
    "rate-limit-inside": (FIRST, BackendThrottled),
    "key-inside": (FIRST, BackendMisconfigured),
    "timeout-inside": (FIRST, BackendTimeout),
    "refusal": ("", BackendRefused),
    "late-refusal": (TWO, BackendRefused),
    "empty": ("", BackendRefused),
    "only-blanks": ("", BackendRefused),
}
HANGING: dict[str, str] = {"silence": "", "late": "", "stalled": TWO}
ANSWERED: dict[str, str] = {
    "ok": REPLY,
    "thinks": REPLY,
    "new-event": REPLY,
    "split": "¿Estás a salvo? Sí… ",
    "max-tokens": TWO,
}
ON_THEIR_OWN = {"echo", "endless", "slow"}


def test_every_scenario_of_the_peer_is_tried() -> None:
    assert set(SCENARIOS) == {*BROKEN, *HANGING, *ANSWERED, *ON_THEIR_OWN}


@pytest.mark.parametrize("scenario", ANSWERED)
async def test_an_answer_arrives_whole(peer: Peer, scenario: str) -> None:
    assert await heard(backend(peer, scenario)) == (ANSWERED[scenario], None)


@pytest.mark.parametrize("scenario", BROKEN)
async def test_a_broken_answer_becomes_one_of_our_errors_and_tells_nothing(
    peer: Peer, scenario: str, caplog: pytest.LogCaptureFixture
) -> None:
    text, kind = BROKEN[scenario]
    started = time.monotonic()
    with caplog.at_level(logging.DEBUG):
        said, error = await heard(backend(peer, scenario))
    assert time.monotonic() - started < 2.0
    assert said == text
    assert type(error) is kind
    assert_silent(error, caplog)


@pytest.mark.parametrize("scenario", HANGING)
async def test_a_hanging_answer_ends_when_its_time_is_up(
    peer: Peer, scenario: str, caplog: pytest.LogCaptureFixture
) -> None:
    started = time.monotonic()
    with caplog.at_level(logging.DEBUG):
        said, error = await heard(backend(peer, scenario, read_timeout_s=0.3))
    assert 0.25 < time.monotonic() - started < 1.5
    assert said == HANGING[scenario]
    assert type(error) is BackendTimeout
    assert_silent(error, caplog)


@pytest.mark.parametrize("scenario", [*BROKEN, *HANGING])
async def test_in_the_chain_the_reply_goes_on_after_what_was_heard(peer: Peer, scenario: str) -> None:
    claude = backend(peer, scenario)
    chain = Chain([claude, StaticBackend(Wording.load())], Deadlines(first_text_s=0.5, between_s=0.3, total_s=5.0))
    reply = "".join([text async for text in chain.stream(request(level="high", kind="direct"))])
    await claude.aclose()
    heard_before = BROKEN[scenario][0] if scenario in BROKEN else HANGING[scenario]
    assert reply.startswith(heard_before)
    assert sentences_of(reply.removeprefix(heard_before)), "our own words must end the reply"


def assert_silent(error: BackendError | None, caplog: pytest.LogCaptureFixture) -> None:
    told = [repr(error), str(error), *(record.getMessage() for record in caplog.records)]
    for secret in (KEY, WORDS, "lighthouse", "Be kind", "heavy"):
        assert not [text for text in told if secret in text]
    assert error is not None
    assert error.__cause__ is None
    assert error.__context__ is None, "the SDK's exception carries the request, so nothing may hang on to it"


async def test_nobody_listening_is_unavailable() -> None:
    claude = ClaudeBackend(name="claude", model="m", api_key=KEY, base_url="http://127.0.0.1:9", read_timeout_s=1.0)
    assert type((await heard(claude))[1]) is BackendUnavailable


async def test_one_request_is_one_attempt_unless_retries_are_set(peer: Peer) -> None:
    before = len(peer.asked("500"))
    await heard(backend(peer, "500"))
    assert len(peer.asked("500")) == before + 1
    patient = ClaudeBackend(name="claude", model="m/500", api_key=KEY, base_url=peer.url, max_retries=1)
    await heard(patient)
    assert len(peer.asked("500")) == before + 3


async def test_a_redirect_takes_nothing_elsewhere(peer: Peer) -> None:
    await heard(backend(peer, "redirect"))
    assert {shape["path"] for shape in peer.shapes()["asked"]} == {"/v1/messages"}


async def test_an_endless_answer_is_bounded_by_its_tokens(peer: Peer) -> None:
    said, error = await heard(backend(peer, "endless"), request(max_tokens=20))
    assert error is None
    assert 0 < len(said) <= 20 * 8 < MAX_ANSWER_BYTES


async def test_closing_the_iterator_hangs_up(peer: Peer) -> None:
    claude = backend(peer, "slow")
    before = peer.shapes()["hangups"]
    pieces = claude.stream(request())
    assert await anext(pieces) == "word "
    await pieces.aclose()  # type: ignore[attr-defined] - an async generator
    await hung_up(peer, before)
    await claude.aclose()


async def test_a_cancelled_caller_hangs_up(peer: Peer) -> None:
    claude = backend(peer, "slow")
    before = peer.shapes()["hangups"]
    task = asyncio.create_task(heard(claude, request(max_tokens=100_000)))
    await asyncio.sleep(0.2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await hung_up(peer, before)


async def hung_up(peer: Peer, before: int) -> None:
    for _ in range(100):
        if peer.shapes()["hangups"] > before:
            return
        await asyncio.sleep(0.02)
    pytest.fail("the peer still talks to somebody who left")


async def test_requests_side_by_side_share_the_client(peer: Peer) -> None:
    claude = backend(peer, "ok")

    async def once() -> str:
        return "".join([piece async for piece in claude.stream(request())])

    assert await asyncio.gather(*(once() for _ in range(10))) == [REPLY] * 10
    await claude.aclose()


# What leaves the machine


async def test_nothing_but_the_listed_headers_leaves(peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Trace: who\nAuthorization: Bearer somebody-else")
    await heard(backend(peer, "ok"))
    asked = peer.asked("ok")[-1]
    assert asked["headers"] == [
        "accept",
        "accept-encoding",
        "anthropic-version",
        "authorization",
        "content-length",
        "content-type",
        "host",
        "user-agent",
    ]
    assert asked["bearer_length"] == len(KEY)
    assert asked["fields"] == ["max_tokens", "messages", "model", "stream", "system"]


async def test_the_environment_decides_nothing(peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.setenv(name, "a-key-from-elsewhere")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    assert await heard(backend(peer, "ok")) == (REPLY, None)
    assert peer.asked("ok")[-1]["bearer_length"] == len(KEY)
    assert ClaudeBackend(name="c", model="m", api_key=KEY)._client.base_url.host == "api.anthropic.com"


def test_the_sdk_logs_no_request_even_when_told_to_debug(peer: Peer) -> None:
    script = (
        "import asyncio, logging; logging.basicConfig(level=logging.DEBUG)\n"
        "from test_claude import *\n"
        f"peer = Peer(None, {peer.url!r})\n"
        "print(asyncio.run(heard(backend(peer, 'ok')))[0])"
    )
    env = {**os.environ, "ANTHROPIC_LOG": "debug", "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent)])}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, timeout=60)
    assert REPLY in done.stdout, done.stderr
    for secret in (KEY, "lighthouse", "Be kind"):
        assert secret not in done.stderr


@pytest.mark.parametrize("key", ["", "   ", SecretStr(""), "two words", "line\nbreak", "schlüssel"])
def test_a_key_that_is_none_is_refused(key: str | SecretStr) -> None:
    with pytest.raises(BackendMisconfigured) as refused:
        ClaudeBackend(name="claude", model="m", api_key=key)
    assert "schlüssel" not in str(refused.value)


@pytest.mark.parametrize(
    "url", ["http://example.org", "ftp://127.0.0.1", "https://", "https://me:pw@example.org", "x", "https://[::1"]
)
def test_an_address_that_would_leak_is_refused(url: str) -> None:
    with pytest.raises(BackendMisconfigured):
        ClaudeBackend(name="claude", model="m", api_key=KEY, base_url=url)


def test_the_key_shows_nowhere() -> None:
    claude = ClaudeBackend(name="claude", model="m", api_key=SecretStr(KEY))
    assert KEY not in repr(claude) + str(claude)


def test_without_the_extra_it_says_which_install_mends_it() -> None:
    script = (
        "import sys; sys.modules['anthropic'] = None\n"
        "from serving.backends.claude import ClaudeBackend\n"
        "try: ClaudeBackend(name='c', model='m', api_key='k')\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=TESTS.parent, capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("BackendMisconfigured")
    assert "pip install 'crisis-support[claude]'" in done.stdout


# What is asked


def test_turns_alternate_and_begin_with_the_person() -> None:
    turns = (
        Turn("assistant", "Are you thinking about suicide? "),
        Turn("user", "no"),
        Turn("user", " not today "),
        Turn("assistant", "  "),
        Turn("assistant", "Thank you."),
        Turn("user", "\n"),
    )
    messages = payload(request(turns=turns), "m", UNKNOWN)["messages"]
    assert [(m["role"], m["content"]) for m in messages] == [
        ("user", "(Earlier messages are not shown.)"),
        ("assistant", "Are you thinking about suicide?"),
        ("user", "no\n\nnot today"),
        ("assistant", "Thank you."),
        ("user", "(no words)"),
    ]


def test_a_model_that_continues_a_beginning_gets_it_without_its_last_blank() -> None:
    body = payload(request(prefix=BEGUN), "claude-haiku-4-5", capabilities("claude-haiku-4-5"))
    assert body["messages"][-1] == {"role": "assistant", "content": BEGUN.rstrip()}
    assert body["system"] == "Be kind."


def test_a_model_that_does_not_gets_it_as_an_instruction() -> None:
    body = payload(request(prefix=BEGUN), "claude-opus-5", capabilities("claude-opus-5"))
    assert body["messages"][-1]["role"] == "user"
    assert body["system"].startswith("Be kind.\n\n")
    assert BEGUN.rstrip() in body["system"]


async def test_a_prefilled_request_on_the_wire(peer: Peer) -> None:
    claude = backend(peer, "ok", family="claude-haiku-4-5")
    assert await heard(claude, request(prefix=BEGUN)) == (REPLY, None)
    asked = peer.asked("ok")[-1]
    assert asked["roles"] == ["user", "assistant"]
    assert not asked["ends_blank"]


async def test_a_temperature_reaches_only_models_that_take_one(peer: Peer) -> None:
    for family, sent in (("claude-haiku-4-5", True), ("claude-opus-5", False), ("claude-new", False)):
        claude = ClaudeBackend(name="claude", model=f"{family}/ok", api_key=KEY, base_url=peer.url, temperature=0.3)
        assert (await heard(claude))[1] is None
        assert ("temperature" in peer.asked("ok")[-1]["fields"]) is sent


@pytest.mark.parametrize(
    ("model", "takes"),
    [
        ("claude-3-5-haiku-20241022", Capabilities(prefill=True, temperature=True, thinking="off")),
        ("claude-opus-4-20250514", Capabilities(prefill=True, temperature=True, thinking="off")),
        ("claude-opus-4-1-20250805", Capabilities(prefill=True, temperature=True, thinking="off")),
        ("claude-sonnet-4-5-20250929", Capabilities(prefill=True, temperature=True, thinking="off")),
        ("anthropic/claude-haiku-4.5", Capabilities(prefill=True, temperature=True, thinking="off")),
        ("us.anthropic.claude-sonnet-4-6-v1:0", Capabilities(temperature=True, thinking="off")),
        ("claude-opus-4-7", Capabilities(thinking="off")),
        ("claude-sonnet-5", Capabilities(thinking="disabled")),
        ("claude-haiku-5-5", Capabilities(thinking="disabled")),
        ("claude-sonnet-5-5", Capabilities(thinking="between_tools")),
        ("claude-opus-5-5", Capabilities(effort=True)),
        ("claude-fable-5-2", Capabilities(effort=True)),
        ("claude-sonnet-6", UNKNOWN),
        ("claude-opus-4-9", UNKNOWN),
        ("claude-haiku-10-1", UNKNOWN),
        ("something-else", UNKNOWN),
    ],
)
def test_what_a_model_takes(model: str, takes: Capabilities) -> None:
    assert capabilities(model) == takes


def test_a_model_that_always_thinks_has_room_for_it() -> None:
    body = payload(request(), "claude-opus-5-5", capabilities("claude-opus-5-5"))
    assert body["max_tokens"] == 100 + THINKING_ROOM
    assert body["output_config"] == {"effort": "low"}
    assert "output_config" not in payload(request(), "new", UNKNOWN)
    assert payload(request(), "m", capabilities("claude-haiku-5-5"))["thinking"] == {"type": "disabled"}


def test_stop_texts_that_are_blank_are_left_out() -> None:
    assert payload(request(stop=("\n", "User:")), "m", UNKNOWN)["stop_sequences"] == ["User:"]
    assert "stop_sequences" not in payload(request(stop=("\n",)), "m", UNKNOWN)


# A beginning that the model says again


async def test_a_repeated_beginning_is_not_said_twice(peer: Peer) -> None:
    assert await heard(backend(peer, "echo"), request(prefix=BEGUN)) == (REPLY, None)


async def test_an_answer_that_only_repeats_the_beginning_is_no_answer(peer: Peer) -> None:
    text, error = await heard(backend(peer, "ok"), request(prefix=REPLY))
    assert text == ""
    assert type(error) is BackendRefused


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("I hear how tired you are. Are you safe right now? Tell me more.", "Tell me more."),
        ("Are you safe right now? Tell me more.", "Tell me more."),
        ("I hear how tired you are. Tell me more.", "Tell me more."),
        ('**"Are you safe right now?"**\n\n¿Qué pasó?', "¿Qué pasó?"),
        ("are  you safe, right now?\nTell me.", "Tell me."),
        ("Are you safe right now, or is someone there?", "Are you safe right now, or is someone there?"),
        ("Are you somewhere warm?", "Are you somewhere warm?"),
        ("I hear you.", "I hear you."),
        ("  Tell me more.", "Tell me more."),
        ("Are you safe right now?", ""),
        ("Are you safe", "Are you safe"),
    ],
)
def test_what_is_left_of_a_continuation(said: str, left: str) -> None:
    stage = Continuation(BEGUN)
    assert stage.feed(said) + stage.flush() == left


@given(
    said=st.one_of(
        st.text(alphabet='I hear you.Are safe right now?\n"*¿ ,', max_size=60),
        st.lists(st.sampled_from([*BEGUN.split(), "Tell", "me.", "?", "¿"]), max_size=14).map(" ".join),
    ),
    cuts=st.lists(st.integers(0, 60), max_size=6),
)
def test_every_way_of_cutting_gives_the_same_continuation(said: str, cuts: list[int]) -> None:
    whole = Continuation(BEGUN)
    expected = whole.feed(said) + whole.flush()
    stage = Continuation(BEGUN)
    places = [0, *sorted(cuts), len(said)]
    pieces = [said[start:end] for start, end in itertools.pairwise(places)]
    assert "".join(map(stage.feed, pieces)) + stage.flush() == expected


UNFINISHED = "I hear you. It sounds like you are going"


@pytest.mark.parametrize(
    ("said", "left"),
    [
        (f"{UNFINISHED} through a lot.", " through a lot."),
        (f"{UNFINISHED}", ""),
        (" through a lot.", " through a lot."),
        ("It sounds like you are going through a lot.", "through a lot."),
        ("I hear you. That is hard.", "That is hard."),
        ("I hear you. It sounds like a lot.", "It sounds like a lot."),
    ],
)
def test_a_beginning_that_is_sent_back_to_the_letter_is_dropped(said: str, left: str) -> None:
    for cut in range(len(said) + 1):
        stage = Continuation(UNFINISHED)
        assert stage.feed(said[:cut]) + stage.feed(said[cut:]) + stage.flush() == left


def test_text_is_held_back_only_while_it_could_be_a_repetition() -> None:
    stage = Continuation(BEGUN)
    assert stage.feed("I hear") == ""
    assert stage.feed(" what") == "I hear what"
    assert stage.feed(" you") == " you"
