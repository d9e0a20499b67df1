"""The ollama engine against a peer that speaks Ollama's public interface and misbehaves: real sockets, no patches."""

import asyncio
import logging
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from peers.ollama_api import CHATS
from peers.process import TESTS, Peer
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
from serving.backends.ollama_chat import OllamaBackend
from serving.backends.ollama_request import OllamaSettings
from serving.backends.reported import Refusals
from serving.backends.static import StaticBackend, sentences_of
from serving.chain import Chain
from serving.llama.settings import Sampling
from serving.member import Deadlines
from serving.supervision import Pauses
from shield.assessment import Turn

KEY = "sk-secret-of-the-operator"
WORDS = "my lighthouse keeper's unmistakable words"
PROTOCOL = "Be kind. "
REPLY = "".join(SENTENCES)
BEGUN = "I hear how tired you are. Are you safe right now? "
REFUSALS = Refusals.of(Catalogue.load())


@pytest.fixture(scope="module")
def peer() -> Iterator[Peer]:
    running = Peer.start("ollama_api")
    yield running
    running.stop()


def settings(peer: Peer, tag: str, **changes: Any) -> OllamaSettings:
    made = OllamaSettings(url=peer.url, served_as=f"m:{tag}", key=KEY, read_timeout_s=5.0, look_s=0.1)
    return replace(made, pauses=Pauses(first_s=0.05, cap_s=0.1), **changes)


def made(chosen: OllamaSettings) -> OllamaBackend:
    return OllamaBackend(name="ollama", model="qwen", settings=chosen, refusals=REFUSALS)


@asynccontextmanager
async def started(chosen: OllamaSettings) -> AsyncIterator[OllamaBackend]:
    backend = made(chosen)
    await backend.start()
    try:
        await backend.wait_ready(5)
        yield backend
    finally:
        await backend.close()


def request(**changes: object) -> Request:
    fields: dict[str, object] = {"turns": (Turn("user", WORDS),), "system": PROTOCOL, "max_tokens": 100}
    return Request(**{**fields, **changes})  # type: ignore[arg-type] - the fields of Request by name


async def heard(backend: OllamaBackend, asked: Request | None = None) -> tuple[str, BackendError | None]:
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
    **dict.fromkeys(("401", "404-model", "404-page"), ("", BackendMisconfigured)),
    **dict.fromkeys(
        ("400", "500", "no-memory", "redirect", "html", "html-error", "reset-at-once"), ("", BackendUnavailable)
    ),
    "503": ("", BackendThrottled),
    "504": ("", BackendTimeout),
    **dict.fromkeys(("too-long", "empty", "only-blanks"), ("", BackendRefused)),
    **dict.fromkeys(("cut", "reset", "gigantic", "no-done"), (TWO, BackendUnavailable)),
    **dict.fromkeys(
        ("malformed", "not-utf8", "wrong-shape", "no-message", "text-is-a-number", "error-inside"),
        (FIRST, BackendUnavailable),
    ),
    "too-long-inside": (FIRST, BackendRefused),
    "truncated": (REPLY, BackendRefused),
}
HANGING = {"silence": "", "late": "", "stalled": TWO}
ANSWERED = {
    "ok": (REPLY, "stop"),
    "split": ("¿Estás a salvo? Sí… ", "stop"),
    "length": (TWO, "length"),
    "cached": (REPLY, "stop"),
}
ON_THEIR_OWN = {"echo", "endless", "slow"}


def test_every_scenario_of_the_peer_is_tried() -> None:
    assert set(CHATS) == {*BROKEN, *HANGING, *ANSWERED, *ON_THEIR_OWN}


@pytest.mark.parametrize("tag", ANSWERED)
async def test_an_answer_arrives_whole_and_says_why_it_ended(peer: Peer, tag: str) -> None:
    async with started(settings(peer, tag)) as backend:
        assert await heard(backend) == (ANSWERED[tag][0], None)
        assert backend.stats.finish == ANSWERED[tag][1]
        assert backend.stats.generate_ms == 3.0


@pytest.mark.parametrize("tag", BROKEN)
async def test_a_broken_answer_becomes_one_of_our_errors_and_tells_nothing(
    peer: Peer, tag: str, caplog: pytest.LogCaptureFixture
) -> None:
    text, kind = BROKEN[tag]
    async with started(settings(peer, tag)) as backend:
        began = time.monotonic()
        with caplog.at_level(logging.DEBUG):
            said, error = await heard(backend)
        assert time.monotonic() - began < 4.0
    assert (said, type(error)) == (text, kind)
    assert_silent(error, caplog)


@pytest.mark.parametrize("tag", HANGING)
async def test_a_hanging_answer_ends_when_its_time_is_up(
    peer: Peer, tag: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with started(settings(peer, tag, read_timeout_s=0.3)) as backend:
        began = time.monotonic()
        with caplog.at_level(logging.DEBUG):
            said, error = await heard(backend)
        assert 0.25 < time.monotonic() - began < 4.0
    assert (said, type(error)) == (HANGING[tag], BackendTimeout)
    assert_silent(error, caplog)


def assert_silent(error: BackendError | None, caplog: pytest.LogCaptureFixture) -> None:
    told = [repr(error), str(error), *(record.getMessage() for record in caplog.records)]
    for secret in (KEY, WORDS, "lighthouse", "Be kind", "heavy"):
        assert not [text for text in told if secret in text]
    assert error is not None
    assert error.__cause__ is None
    assert error.__context__ is None, "the library's exception carries the request, so nothing may hang on to it"


@pytest.mark.parametrize("tag", ["reset", "500", "gigantic", "truncated", "stalled"])
async def test_in_the_chain_the_reply_goes_on_after_what_was_heard(peer: Peer, tag: str) -> None:
    async with started(settings(peer, tag)) as backend:
        chain = Chain([backend, StaticBackend(Wording.load())], Deadlines(first_text_s=0.5, between_s=0.3, total_s=5.0))
        reply = "".join([text async for text in chain.stream(request(level="high", kind="direct"))])
    heard_before = BROKEN[tag][0] if tag in BROKEN else HANGING[tag]
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
        for _ in range(100):
            if peer.shapes()["hangups"] > before:
                return
            await asyncio.sleep(0.02)
    pytest.fail("the peer still talks to somebody who left")


async def test_more_requests_than_agreed_are_told_at_once_that_it_is_busy(peer: Peer) -> None:
    async with started(settings(peer, "slow", parallel=1)) as backend:
        running = backend.stream(request())
        await anext(running)
        assert type((await heard(backend))[1]) is BackendBusy
        await running.aclose()  # type: ignore[attr-defined] - an async generator


# What is asked


async def test_the_context_is_always_asked_for_and_nothing_may_be_cut(peer: Peer) -> None:
    sampling = Sampling(temperature=0.6, top_p=0.9, repeat_penalty=1.05, seed=3)
    async with started(settings(peer, "ok", context=2048, sampling=sampling, stop=("<|im_end|>",))) as backend:
        assert await heard(backend, request(stop=("User:",))) == (REPLY, None)
    load, *_, asked = peer.asked("ok")
    for one in (load, asked):
        assert one["options"]["num_ctx"] in (2048, 4096)
        assert one["keep_alive"] == "-1m"
        assert one["cuts"] == [False, False]
    assert asked["options"] | {"num_ctx": 2048} == asked["options"]
    assert asked["options"]["num_predict"] == 100
    assert asked["options"]["stop"] == ["<|im_end|>", "User:"]
    assert (asked["options"]["temperature"], asked["options"]["seed"]) == (0.6, 3)


async def test_the_model_is_loaded_and_the_protocol_read_before_anybody_asks(peer: Peer) -> None:
    backend = made(settings(peer, "ok"))
    await backend.warm(PROTOCOL * 20)
    before = len(peer.asked("ok"))
    await backend.start()
    await asyncio.wait_for(backend.warmed.wait(), 5)
    loading, warming = peer.asked("ok")[before:]
    await backend.close()
    assert loading["roles"] == []
    assert warming["roles"] == ["system", "user"]
    assert warming["lengths"][0] == len((PROTOCOL * 20).strip())
    assert warming["options"]["num_predict"] == 1


async def test_without_prefill_the_beginning_is_an_instruction(peer: Peer) -> None:
    async with started(settings(peer, "ok")) as backend:
        assert await heard(backend, request(prefix=BEGUN)) == (REPLY, None)
    assert peer.asked("ok")[-1]["roles"] == ["system", "user"]


async def test_with_prefill_the_beginning_is_the_last_message(peer: Peer) -> None:
    async with started(settings(peer, "ok", prefill=True)) as backend:
        assert await heard(backend, request(prefix=BEGUN)) == (REPLY, None)
    assert peer.asked("ok")[-1]["roles"] == ["system", "user", "assistant"]


async def test_a_repeated_beginning_is_not_said_twice(peer: Peer) -> None:
    async with started(settings(peer, "echo")) as backend:
        assert await heard(backend, request(prefix=BEGUN)) == (REPLY, None)


async def test_a_conversation_that_may_not_fit_loses_its_oldest_turns_before_it_is_sent(peer: Peer) -> None:
    turns = tuple(Turn(("user", "assistant")[n % 2], f"{n} " + "tell me more " * 50) for n in range(41))
    async with started(settings(peer, "cached", context=2048)) as backend:
        assert (await heard(backend, request(turns=turns)))[1] is None
        assert 20 < backend.stats.n_dropped < 41
        assert sum(peer.asked("cached")[-1]["lengths"]) < 2048 * 3
        before = len(peer.asked("cached"))
        assert type((await heard(backend, request(turns=turns, max_tokens=2040)))[1]) is BackendRefused
        assert len(peer.asked("cached")) == before


async def test_nothing_but_the_listed_headers_leaves_and_the_environment_decides_nothing(
    peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")
    monkeypatch.setenv("OLLAMA_API_KEY", "a-key-from-elsewhere")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    async with started(settings(peer, "ok", key="")) as backend:
        assert await heard(backend) == (REPLY, None)
    asked = peer.asked("ok")[-1]
    assert asked["headers"] == ["accept", "accept-encoding", "connection", "content-length", "content-type", "host"]
    assert asked["fields"] == ["keep_alive", "messages", "model", "options", "shift", "stream", "truncate"]


async def test_a_redirect_takes_nothing_elsewhere(peer: Peer) -> None:
    async with started(settings(peer, "redirect")) as backend:
        await heard(backend)
    assert {shape["path"] for shape in peer.shapes()["asked"]} == {"/api/chat"}


# Whether it is there


async def test_it_reports_the_servers_version(peer: Peer) -> None:
    async with started(settings(peer, "ok")) as backend:
        assert backend.state_reason == "Ollama 0.13.5, 4096 tokens for each conversation"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"served_as": "m:unheard"}, "Ollama does not have m:unheard; mend it with: ollama pull m:unheard"),
        ({"served_as": "m:mistral"}, "reports a Mistral model, which is refused: the client's ruling"),
        ({"served_as": "m:renamed"}, "reports a Mistral model, which is refused: the client's ruling"),
        ({"served_as": "m:template"}, "reports a Mistral model, which is refused: the client's ruling"),
        ({"served_as": "m:small"}, "m:small was made for 2048 tokens, 4096 were asked for"),
        ({"served_as": "m:less"}, "gives each conversation 2048 tokens, 4096 were asked for"),
        ({"served_as": "m:unloaded"}, "Ollama has unloaded m:unloaded"),
        ({"url": "/0.3.9"}, "Ollama 0.3.9 is too old"),
        ({"url": "/../x/api"}, "no Ollama server|cannot be read|too old"),
    ],
)
async def test_a_model_that_must_not_answer_never_does(peer: Peer, changes: dict[str, Any], says: str) -> None:
    url = peer.url + changes.pop("url", "")
    backend = made(replace(settings(peer, "ok"), url=url, **changes))
    await backend.start()
    with pytest.raises(BackendUnavailable, match=says):
        await backend.wait_ready(5)
    assert backend.state == "failed"
    assert type((await heard(backend))[1]) is BackendNotReady
    await backend.close()


async def test_a_name_without_a_tag_means_the_latest(peer: Peer) -> None:
    async with started(replace(settings(peer, "ok"), served_as="plain")) as backend:
        assert backend.state == "ready"


async def test_a_model_that_somebody_else_loaded_with_less_is_loaded_again(peer: Peer) -> None:
    """Ollama keeps one context for each model: whoever asked last decides. The next look finds it."""
    async with started(settings(peer, "ok")) as backend:
        before = len([asked for asked in peer.asked("ok") if not asked["roles"]])
        other = made(replace(settings(peer, "ok"), context=1024))
        await other.start()
        await other.wait_ready(5)
        await other.close()
        async with asyncio.timeout(5):
            while len([asked for asked in peer.asked("ok") if not asked["roles"]]) < before + 2:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        await backend.wait_ready(5)
        assert backend.state == "ready"


async def test_a_server_that_is_not_there_is_unavailable_at_once() -> None:
    backend = made(OllamaSettings(url="http://127.0.0.1:9", served_as="m"))
    await backend.start()
    with pytest.raises(BackendUnavailable, match="no connection to Ollama: is it running"):
        await backend.wait_ready(5)
    began = time.monotonic()
    assert type((await heard(backend))[1]) is BackendNotReady
    assert time.monotonic() - began < 0.6
    await backend.close()


def test_without_the_extra_it_says_which_install_mends_it() -> None:
    script = (
        "import sys; sys.modules['ollama'] = None\n"
        "from serving.backends.ollama_chat import OllamaBackend\n"
        "from serving.backends.ollama_request import OllamaSettings\n"
        "from serving.backends.reported import Refusals\n"
        "asked = OllamaSettings(url='http://127.0.0.1:9', served_as='m')\n"
        "try: OllamaBackend(name='o', model='m', settings=asked, refusals=Refusals(()))\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=TESTS.parent, capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("BackendMisconfigured")
    assert "pip install 'crisis-support[ollama]'" in done.stdout
