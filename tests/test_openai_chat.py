"""The openai engine against a peer that speaks OpenAI's interface and misbehaves: real sockets, no patches."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from peers.openai_api import SCENARIOS
from peers.process import Peer
from peers.streams import SENTENCES

from models.catalogue import Catalogue
from prompts.wording import Wording
from serving.backend import (
    BackendBusy,
    BackendError,
    BackendMisconfigured,
    BackendNotReady,
    BackendRefused,
    BackendThrottled,
    BackendTimeout,
    BackendUnavailable,
    Request,
)
from serving.backends.openai_chat import OpenAIBackend
from serving.backends.openai_request import OpenAISettings
from serving.backends.reported import Refusals
from serving.backends.static import StaticBackend, sentences_of
from serving.backends.wire import checked_url
from serving.chain import Chain
from serving.member import Deadlines
from serving.supervision import Pauses
from shield.assessment import Turn

KEY = "sk-secret-of-the-operator"
WORDS = "my lighthouse keeper's unmistakable words"
REPLY = "".join(SENTENCES)
BEGUN = "I hear how tired you are. Are you safe right now? "
REFUSALS = Refusals.of(Catalogue.load())


@pytest.fixture(scope="module")
def peer() -> Iterator[Peer]:
    running = Peer.start("openai_api")
    yield running
    running.stop()


def settings(peer: Peer, scenario: str, **changes: Any) -> OpenAISettings:
    made = OpenAISettings(url=f"{peer.url}/v1", served_as=f"m/{scenario}", key=KEY, read_timeout_s=5.0)
    return replace(made, pauses=Pauses(first_s=0.05, cap_s=0.1), look_s=0.1, **changes)


@asynccontextmanager
async def started(chosen: OpenAISettings) -> AsyncIterator[OpenAIBackend]:
    backend = OpenAIBackend(name="openai", model="qwen", settings=chosen, refusals=REFUSALS)
    await backend.start()
    try:
        await backend.wait_ready(5)
        yield backend
    finally:
        await backend.close()


def request(**changes: object) -> Request:
    fields: dict[str, object] = {"turns": (Turn("user", WORDS),), "system": "Be kind.", "max_tokens": 100}
    return Request(**{**fields, **changes})  # type: ignore[arg-type] - the fields of Request by name


async def heard(backend: OpenAIBackend, asked: Request | None = None) -> tuple[str, BackendError | None]:
    """The text that arrived and the error that ended it; no other kind of exception gets past."""
    pieces: list[str] = []
    try:
        async for piece in backend.stream(asked or request()):
            pieces.append(piece)
    except BackendError as error:
        return "".join(pieces), error
    return "".join(pieces), None


FIRST, TWO = SENTENCES[0], "".join(SENTENCES[:2])
BROKEN: dict[str, tuple[str, type[BackendError]]] = {
    **dict.fromkeys(("401", "402", "403", "404", "404-vllm", "400-prefill", "400-roles"), ("", BackendMisconfigured)),
    **dict.fromkeys(
        ("400", "413", "422", "500", "redirect", "html", "html-error", "reset-at-once", "200-whole"),
        ("", BackendUnavailable),
    ),
    **dict.fromkeys(("429", "503", "200-error"), ("", BackendThrottled)),
    "200-string-error": ("", BackendUnavailable),
    "504": ("", BackendTimeout),
    **dict.fromkeys(
        ("too-long", "too-long-llama", "filtered-400", "refusal", "empty", "only-blanks"), ("", BackendRefused)
    ),
    **dict.fromkeys(("cut", "reset", "gigantic", "no-finish"), (TWO, BackendUnavailable)),
    **dict.fromkeys(
        (
            "malformed",
            "not-utf8",
            "wrong-shape",
            "no-choices",
            "no-delta",
            "text-is-a-number",
            "error-object-inside",
        ),
        (FIRST, BackendUnavailable),
    ),
    "overloaded-inside": (FIRST, BackendThrottled),
    "timeout-inside": (FIRST, BackendTimeout),
    "key-inside": (FIRST, BackendMisconfigured),
    "content-filter": (TWO, BackendRefused),
}
HANGING = {"silence": "", "late": "", "late-empty": "", "stalled": TWO}
ANSWERED = {
    "ok": REPLY,
    "pings": REPLY,
    "no-done": REPLY,
    "thinks": REPLY,
    "split": "¿Estás a salvo? Sí… ",
    "carriage-returns": "¿Estás a salvo? Sí… ",
    "length": TWO,
    "two-choices": FIRST,
}
ON_THEIR_OWN = {"echo", "endless", "slow"}


def test_every_scenario_of_the_peer_is_tried() -> None:
    assert set(SCENARIOS) == {*BROKEN, *HANGING, *ANSWERED, *ON_THEIR_OWN}


@pytest.mark.parametrize("scenario", ANSWERED)
async def test_an_answer_arrives_whole(peer: Peer, scenario: str) -> None:
    async with started(settings(peer, scenario)) as backend:
        assert await heard(backend) == (ANSWERED[scenario], None)
        assert backend.stats.finish == ("length" if scenario == "length" else "stop")


@pytest.mark.parametrize("scenario", BROKEN)
async def test_a_broken_answer_becomes_one_of_our_errors_and_tells_nothing(
    peer: Peer, scenario: str, caplog: pytest.LogCaptureFixture
) -> None:
    text, kind = BROKEN[scenario]
    async with started(settings(peer, scenario)) as backend:
        began = time.monotonic()
        with caplog.at_level(logging.DEBUG):
            said, error = await heard(backend)
        assert time.monotonic() - began < 4.0
    assert (said, type(error)) == (text, kind)
    assert_silent(error, caplog)


@pytest.mark.parametrize("scenario", HANGING)
async def test_a_hanging_answer_ends_when_its_time_is_up(
    peer: Peer, scenario: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with started(settings(peer, scenario, read_timeout_s=0.3)) as backend:
        began = time.monotonic()
        with caplog.at_level(logging.DEBUG):
            said, error = await heard(backend)
        assert 0.25 < time.monotonic() - began < 4.0
    assert (said, type(error)) == (HANGING[scenario], BackendTimeout)
    assert_silent(error, caplog)


def assert_silent(error: BackendError | None, caplog: pytest.LogCaptureFixture) -> None:
    told = [repr(error), str(error), *(record.getMessage() for record in caplog.records)]
    for secret in (KEY, WORDS, "lighthouse", "Be kind", "heavy"):
        assert not [text for text in told if secret in text]
    assert error is not None
    assert error.__cause__ is None
    assert error.__context__ is None, "the library's exception carries the request, so nothing may hang on to it"


@pytest.mark.parametrize("scenario", ["reset", "401", "gigantic", "content-filter", "stalled"])
async def test_in_the_chain_the_reply_goes_on_after_what_was_heard(peer: Peer, scenario: str) -> None:
    async with started(settings(peer, scenario)) as backend:
        chain = Chain([backend, StaticBackend(Wording.load())], Deadlines(first_text_s=0.5, between_s=0.3, total_s=5.0))
        reply = "".join([text async for text in chain.stream(request(level="high", kind="direct"))])
    heard_before = BROKEN[scenario][0] if scenario in BROKEN else HANGING[scenario]
    assert reply.startswith(heard_before)
    assert sentences_of(reply.removeprefix(heard_before)), "our own words must end the reply"


async def test_an_endless_answer_is_bounded_by_its_tokens(peer: Peer) -> None:
    async with started(settings(peer, "endless")) as backend:
        said, error = await heard(backend, request(max_tokens=20))
    assert error is None
    assert 0 < len(said) <= 20 * 8


async def test_closing_the_iterator_hangs_up(peer: Peer) -> None:
    before = peer.shapes()["hangups"]
    async with started(settings(peer, "slow")) as backend:
        pieces = backend.stream(request())
        assert await anext(pieces) == "word "
        await pieces.aclose()  # type: ignore[attr-defined] - an async generator
        await hung_up(peer, before)


async def test_a_cancelled_caller_hangs_up(peer: Peer) -> None:
    before = peer.shapes()["hangups"]
    async with started(settings(peer, "slow")) as backend:
        task = asyncio.create_task(heard(backend, request(max_tokens=3000)))
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


async def test_more_requests_than_agreed_are_told_at_once_that_it_is_busy(peer: Peer) -> None:
    async with started(settings(peer, "slow", parallel=2)) as backend:
        running = [backend.stream(request(max_tokens=3000)) for _ in range(2)]
        for pieces in running:
            await anext(pieces)
        said, error = await heard(backend)
        assert (said, type(error)) == ("", BackendBusy)
        for pieces in running:
            await pieces.aclose()  # type: ignore[attr-defined] - an async generator
        third = backend.stream(request())
        assert await anext(third) == "word "
        await third.aclose()  # type: ignore[attr-defined] - an async generator


# What leaves the machine


async def test_nothing_but_the_listed_headers_leaves_and_the_environment_decides_nothing(
    peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-from-elsewhere")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    async with started(settings(peer, "ok")) as backend:
        assert await heard(backend) == (REPLY, None)
    asked = peer.asked("ok")[-1]
    assert asked["headers"] == sorted(
        [
            "accept",
            "accept-encoding",
            "authorization",
            "connection",
            "content-length",
            "content-type",
            "host",
            "user-agent",
        ]
    )
    assert asked["bearer_length"] == len(KEY)
    assert asked["fields"] == sorted(
        ["max_tokens", "messages", "model", "stream", "stream_options", "temperature", "top_p"]
    )


async def test_a_redirect_takes_nothing_elsewhere(peer: Peer) -> None:
    async with started(settings(peer, "redirect")) as backend:
        await heard(backend)
    assert {shape["path"] for shape in peer.shapes()["asked"]} == {"/v1/chat/completions"}


def test_the_key_shows_nowhere(peer: Peer) -> None:
    chosen = settings(peer, "ok")
    backend = OpenAIBackend(name="openai", model="qwen", settings=chosen, refusals=REFUSALS)
    assert KEY not in repr(backend) + str(backend) + repr(chosen)


@pytest.mark.parametrize(
    ("url", "allowed", "says"),
    [
        ("http://example.org/v1", {}, "remote = true"),
        ("https://example.org/v1", {}, "remote = true"),
        ("http://192.0.2.7:8000/v1", {"remote": True}, "unencrypted"),
        ("ftp://127.0.0.1", {}, "http or https"),
        ("https://me:pw@127.0.0.1", {}, "without a password"),
        ("https://127.0.0.1/?key=x", {}, "query"),
        ("https://", {}, "address"),
        ("file:///etc/passwd", {}, "http or https"),
        ("http://[::1", {}, "address"),
        ("http://127.0.0.1:99999", {}, "address"),
    ],
)
def test_an_address_that_would_leak_is_refused(url: str, allowed: dict[str, bool], says: str) -> None:
    with pytest.raises(BackendMisconfigured, match=says) as refused:
        checked_url(url, option="url", **{"remote": False, **allowed})
    assert "pw" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("http://127.0.0.1:8000/v1/", {}),
        ("http://localhost/v1", {}),
        ("http://[::1]:8000", {}),
        ("https://models.example.org/v1", {"remote": True}),
        ("http://192.0.2.7:8000/v1", {"remote": True, "plain_http": True}),
    ],
)
def test_an_address_that_was_allowed_is_taken(url: str, allowed: dict[str, bool]) -> None:
    assert checked_url(url, option="url", **{"remote": False, **allowed}) == url.rstrip("/")


# How the reply's beginning is given


async def test_without_prefill_the_beginning_is_an_instruction(peer: Peer) -> None:
    async with started(settings(peer, "ok")) as backend:
        assert await heard(backend, request(prefix=BEGUN)) == (REPLY, None)
    asked = peer.asked("ok")[-1]
    assert asked["roles"] == ["system", "user"]
    assert asked["lengths"][0] > len("Be kind.") + len(BEGUN)
    assert asked["continues"] is None


@pytest.mark.parametrize(("prefill", "continues"), [("assistant", None), ("continue_final_message", True)])
async def test_with_prefill_the_beginning_is_the_last_message(peer: Peer, prefill: str, continues: bool | None) -> None:
    async with started(settings(peer, "ok", prefill=prefill)) as backend:
        assert await heard(backend, request(prefix=BEGUN)) == (REPLY, None)
        asked = peer.asked("ok")[-1]
        assert asked["roles"] == ["system", "user", "assistant"]
        assert asked["continues"] is continues
        assert not asked["ends_blank"]
        await heard(backend)
        assert peer.asked("ok")[-1]["continues"] is None


async def test_a_repeated_beginning_is_not_said_twice(peer: Peer) -> None:
    async with started(settings(peer, "echo")) as backend:
        assert await heard(backend, request(prefix=BEGUN)) == (REPLY, None)


async def test_a_model_without_a_system_role_gets_the_protocol_in_the_first_message(peer: Peer) -> None:
    async with started(settings(peer, "ok", system_role=False)) as backend:
        await heard(backend)
    asked = peer.asked("ok")[-1]
    assert asked["roles"] == ["user"]
    assert asked["lengths"] == [len(f"Be kind.\n\n{WORDS}")]


async def test_further_fields_are_sent_and_may_not_replace_ours(peer: Peer) -> None:
    async with started(settings(peer, "ok", extra={"top_k": 40, "temperature": 0.1})) as backend:
        await heard(backend)
    assert "top_k" in peer.asked("ok")[-1]["fields"]
    with pytest.raises(BackendMisconfigured, match="extra may not set messages, model"):
        OpenAIBackend(
            name="o", model="m", settings=settings(peer, "ok", extra={"model": "x", "messages": []}), refusals=REFUSALS
        )


async def test_a_conversation_that_may_not_fit_loses_its_oldest_turns_before_it_is_sent(peer: Peer) -> None:
    turns = tuple(Turn(("user", "assistant")[n % 2], f"{n} " + "tell me more " * 50) for n in range(41))
    async with started(settings(peer, "ok", context=2048)) as backend:
        assert (await heard(backend, request(turns=turns)))[1] is None
        assert 20 < backend.stats.n_dropped < 41
        assert sum(peer.asked("ok")[-1]["lengths"]) < 2048 * 3
        said, error = await heard(backend, request(turns=turns, max_tokens=2040))
        assert (said, type(error)) == ("", BackendRefused)


# Whether it is there


async def test_a_server_that_is_not_there_is_unavailable_at_once_and_found_when_it_comes(peer: Peer) -> None:
    late = settings(peer, "ok")
    backend = OpenAIBackend(
        name="openai", model="qwen", settings=replace(late, url="http://127.0.0.1:9/v1"), refusals=REFUSALS
    )
    await backend.start()
    with pytest.raises(BackendUnavailable, match="no connection"):
        await backend.wait_ready(5)
    began = time.monotonic()
    said, error = await heard(backend)
    assert time.monotonic() - began < 0.6
    assert (said, type(error)) == ("", BackendNotReady)
    await backend.close()
    assert backend.state == "stopped"


@pytest.mark.parametrize(
    ("url", "model", "says"),
    [
        ("/v1", "m/never-heard-of", "does not serve m/never-heard-of"),
        ("/v1", "m/mistral-7b-instruct", "reports a Mistral model, which is refused: the client's ruling"),
        ("/v1", "m/renamed", "reports a Mistral model, which is refused: the client's ruling"),
        ("/v1", "m/small", "gives each conversation 1024 tokens, 4096 were asked for"),
        ("/elsewhere", "m/ok", "cannot be read"),
    ],
)
async def test_a_model_that_must_not_answer_never_does(peer: Peer, url: str, model: str, says: str) -> None:
    chosen = replace(settings(peer, "ok"), url=f"{peer.url}{url}", served_as=model)
    before = len(peer.shapes()["asked"])
    backend = OpenAIBackend(name="openai", model="qwen", settings=chosen, refusals=REFUSALS)
    await backend.start()
    with pytest.raises(BackendUnavailable, match=says):
        await backend.wait_ready(5)
    assert backend.state == "failed"
    assert type((await heard(backend))[1]) is BackendNotReady
    await backend.close()
    assert len(peer.shapes()["asked"]) == before


async def test_a_gateway_that_lists_no_models_may_be_asked(peer: Peer) -> None:
    async with started(replace(settings(peer, "ok"), url=f"{peer.url}/unlisted")) as backend:
        assert backend.state_reason == "it lists no models"
        assert await heard(backend) == (REPLY, None)


async def test_a_server_that_goes_away_is_noticed_and_found_again() -> None:
    first = Peer.start("openai_api")
    async with started(settings(first, "ok")) as backend:
        first.stop()
        async with asyncio.timeout(5):
            while backend.state == "ready":  # noqa: ASYNC110 - it changes without an event
                await asyncio.sleep(0.02)
        assert type((await heard(backend))[1]) is BackendNotReady
