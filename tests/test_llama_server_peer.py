"""The llama_server engine against a peer that speaks llama.cpp's native interface and misbehaves: real sockets."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from peers.llama_server_api import COMPLETIONS
from peers.process import Peer
from peers.streams import SENTENCES

from models.catalogue import Catalogue
from prompts.wording import Wording
from serving.backend import (
    BackendError,
    BackendMisconfigured,
    BackendNotReady,
    BackendRefused,
    BackendTimeout,
    BackendUnavailable,
    Request,
)
from serving.backends.reported import Refusals
from serving.backends.static import StaticBackend, sentences_of
from serving.chain import Chain
from serving.llama_server.engine import LlamaServerEngine
from serving.llama_server.settings import LlamaServerSettings, Reach
from serving.member import Deadlines
from serving.supervision import Pauses
from shield.assessment import Turn

KEY = "sk-secret-of-the-operator"
WORDS = "my lighthouse keeper's unmistakable words"
REPLY = "".join(SENTENCES)
REFUSALS = Refusals.of(Catalogue.load())


@pytest.fixture(scope="module")
def peer() -> Iterator[Peer]:
    running = Peer.start("llama_server_api")
    yield running
    running.stop()


def made(peer: Peer, scenario: str, **changes: Any) -> LlamaServerEngine:
    settings = LlamaServerSettings(
        Reach(f"{peer.url}/{scenario}", KEY),
        context=4096,
        parallel=2,
        stall_s=5.0,
        start_timeout_s=5.0,
        pauses=Pauses(first_s=0.05, cap_s=0.1),
    )
    return LlamaServerEngine(name="reached", model="qwen", settings=replace(settings, **changes), refuse=REFUSALS.why)


@asynccontextmanager
async def started(peer: Peer, scenario: str, **changes: Any) -> AsyncIterator[LlamaServerEngine]:
    engine = made(peer, scenario, **changes)
    await engine.start()
    try:
        await engine.wait_ready(5)
        yield engine
    finally:
        await engine.close()


def request(**changes: object) -> Request:
    fields: dict[str, object] = {"turns": (Turn("user", WORDS),), "system": "Be kind.", "max_tokens": 100}
    return Request(**{**fields, **changes})  # type: ignore[arg-type] - the fields of Request by name


async def heard(engine: LlamaServerEngine, asked: Request | None = None) -> tuple[str, BackendError | None]:
    """The text that arrived and the error that ended it; no other kind of exception gets past."""
    pieces: list[str] = []
    try:
        async for piece in engine.stream(asked or request()):
            pieces.append(piece)
    except BackendError as error:
        return "".join(pieces), error
    return "".join(pieces), None


FIRST, TWO = SENTENCES[0], "".join(SENTENCES[:2])
BROKEN: dict[str, tuple[str, type[BackendError]]] = {
    "401": ("", BackendMisconfigured),
    **dict.fromkeys(
        ("400", "500", "501", "503", "200-error", "redirect", "html", "html-error", "reset-at-once"),
        ("", BackendUnavailable),
    ),
    **dict.fromkeys(("too-long", "empty"), ("", BackendRefused)),
    **dict.fromkeys(("cut", "reset", "gigantic", "no-stop"), (TWO, BackendUnavailable)),
    **dict.fromkeys(
        (
            "malformed",
            "not-utf8",
            "wrong-shape",
            "no-content",
            "text-is-a-number",
            "crash-inside",
            "old-error-inside",
        ),
        (FIRST, BackendUnavailable),
    ),
    "error-inside": (FIRST, BackendRefused),
}
HANGING = {"silence": "", "stalled": TWO}
ANSWERED = {
    "ok": (REPLY, "stop"),
    "pings": (REPLY, "stop"),
    "split": ("¿Estás a salvo? Sí… ", "stop"),
    "length": (TWO, "length"),
    "word": (TWO, "stop"),
}
ON_THEIR_OWN = {"late", "endless", "slow"}


def test_every_scenario_of_the_peer_is_tried() -> None:
    assert set(COMPLETIONS) == {*BROKEN, *HANGING, *ANSWERED, *ON_THEIR_OWN}


@pytest.mark.parametrize("scenario", ANSWERED)
async def test_an_answer_arrives_whole_and_says_why_it_ended(peer: Peer, scenario: str) -> None:
    async with started(peer, scenario) as engine:
        assert await heard(engine) == (ANSWERED[scenario][0], None)
        assert engine.stats.finish == ANSWERED[scenario][1]
        assert (engine.stats.n_cached, engine.stats.n_evaluated, engine.stats.prompt_ms) == (5, 4, 1.5)


@pytest.mark.parametrize("scenario", BROKEN)
async def test_a_broken_answer_becomes_one_of_our_errors_and_tells_nothing(
    peer: Peer, scenario: str, caplog: pytest.LogCaptureFixture
) -> None:
    text, kind = BROKEN[scenario]
    async with started(peer, scenario) as engine:
        began = time.monotonic()
        with caplog.at_level(logging.DEBUG):
            said, error = await heard(engine)
        assert time.monotonic() - began < 4.0
    assert (said, type(error)) == (text, kind)
    assert_silent(error, caplog)


@pytest.mark.parametrize("scenario", HANGING)
async def test_a_hanging_answer_ends_when_its_time_is_up(
    peer: Peer, scenario: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with started(peer, scenario, stall_s=0.3) as engine:
        began = time.monotonic()
        with caplog.at_level(logging.DEBUG):
            said, error = await heard(engine)
        assert 0.25 < time.monotonic() - began < 4.0
    assert (said, type(error)) == (HANGING[scenario], BackendTimeout)
    assert_silent(error, caplog)


async def test_pings_give_no_more_time(peer: Peer) -> None:
    async with started(peer, "late", stall_s=0.3) as engine:
        assert type((await heard(engine))[1]) is BackendTimeout


def assert_silent(error: BackendError | None, caplog: pytest.LogCaptureFixture) -> None:
    told = [repr(error), str(error), *(record.getMessage() for record in caplog.records)]
    for secret in (KEY, WORDS, "lighthouse", "Be kind", "heavy"):
        assert not [text for text in told if secret in text]
    while error is not None:
        assert isinstance(error, BackendError), "the library's exception carries the request: nothing may hang on to it"
        error = error.__context__  # type: ignore[assignment]


@pytest.mark.parametrize("scenario", ["reset", "500", "gigantic", "error-inside", "stalled"])
async def test_in_the_chain_the_reply_goes_on_after_what_was_heard(peer: Peer, scenario: str) -> None:
    async with started(peer, scenario) as engine:
        chain = Chain([engine, StaticBackend(Wording.load())], Deadlines(first_text_s=0.5, between_s=0.3, total_s=5.0))
        reply = "".join([text async for text in chain.stream(request(level="high", kind="direct"))])
    heard_before = BROKEN[scenario][0] if scenario in BROKEN else HANGING[scenario]
    assert reply.startswith(heard_before)
    assert sentences_of(reply.removeprefix(heard_before)), "our own words must end the reply"


async def test_an_endless_answer_is_bounded(peer: Peer) -> None:
    async with started(peer, "endless") as engine:
        said, error = await heard(engine, request(max_tokens=20))
    assert error is None
    assert 0 < len(said) <= 20 * 8


async def test_closing_the_iterator_hangs_up(peer: Peer) -> None:
    before = peer.shapes()["hangups"]
    async with started(peer, "slow") as engine:
        pieces = engine.stream(request())
        assert await anext(pieces) == "word "
        await pieces.aclose()  # type: ignore[attr-defined] - an async generator
        for _ in range(100):
            if peer.shapes()["hangups"] > before:
                return
            await asyncio.sleep(0.02)
    pytest.fail("the peer still talks to somebody who left")


async def test_each_slot_is_warmed_with_the_protocol(peer: Peer) -> None:
    async with started(peer, "ok") as engine:
        before = len(peer.asked("ok"))
        await engine.warm("Be kind, always. " * 10)
        await asyncio.wait_for(engine.warmed.wait(), 5)
        warmings = peer.asked("ok")[before:]
    assert [(asked["id_slot"], asked["n_predict"]) for asked in warmings] == [(0, 0), (1, 0)]
    assert {asked["n_prompt"] for asked in warmings} == {len("<|im_start|>system\n" + "Be kind, always. " * 10)}


async def test_nothing_but_the_listed_headers_leaves_and_the_environment_decides_nothing(
    peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    async with started(peer, "ok") as engine:
        assert await heard(engine) == (REPLY, None)
    allowed = "accept accept-encoding authorization connection content-length content-type host user-agent"
    assert peer.asked("ok")[-1]["headers"] == allowed.split()


# Whether it is to be used


@pytest.mark.parametrize(
    ("scenario", "says"),
    [
        ("mistral-file", "reports a Mistral model, which is refused: the client's ruling"),
        ("mistral-template", "reports a Mistral model, which is refused: the client's ruling"),
        ("small", "gives each conversation 256 tokens, 4096 were asked for"),
        ("bad-template", "template does not take a plain conversation"),
        ("no-props", "is no llama.cpp server, or one of another version"),
        ("no-tokens", "does not tell tokens"),
    ],
)
async def test_a_server_that_must_not_answer_never_does(peer: Peer, scenario: str, says: str) -> None:
    engine = made(peer, scenario)
    await engine.start()
    with pytest.raises(BackendUnavailable, match=says):
        await engine.wait_ready(5)
    assert engine.state == "failed"
    assert type((await heard(engine))[1]) is BackendNotReady
    await engine.close()
    assert peer.asked(scenario) == []


async def test_tokens_that_cannot_be_told_apart_are_an_error_not_a_wrong_prompt(peer: Peer) -> None:
    async with started(peer, "few-tokens") as engine:
        said, error = await heard(engine)
    assert (said, type(error)) == ("", BackendUnavailable)
    assert peer.asked("few-tokens") == []


async def test_a_server_that_is_still_loading_is_waited_for() -> None:
    peer = Peer.start("llama_server_api")
    try:
        engine = made(peer, "loading")
        await engine.start()
        await asyncio.sleep(0.2)
        assert engine.state == "starting"
        with pytest.raises(BackendUnavailable, match="looking for the server"):
            engine._ready_server()
        await engine.wait_ready(5)
        assert await heard(engine) == (REPLY, None)
        await engine.close()
    finally:
        peer.stop()


async def test_nobody_listening_is_told_at_once_and_tried_again() -> None:
    settings = LlamaServerSettings(Reach("http://127.0.0.1:9"), pauses=Pauses(first_s=0.05, cap_s=0.1))
    engine = LlamaServerEngine(name="reached", model="qwen", settings=settings)
    await engine.start()
    with pytest.raises(BackendUnavailable, match="no connection to llama-server"):
        await engine.wait_ready(5)
    async with asyncio.timeout(5):
        while engine.restarts < 2:  # noqa: ASYNC110 - it changes without an event
            await asyncio.sleep(0.02)
    await engine.close()
    assert engine.state == "stopped"
