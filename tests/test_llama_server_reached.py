"""One real llama.cpp server that somebody else runs, and the three engines that can use it: an independent peer.

Its native interface for llama_server, OpenAI's for openai, Anthropic's for claude.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

import httpx
import pytest
import pytest_asyncio
from llama_server_binary import BINARY, MODEL, needs_server

from models.catalogue import Catalogue
from serving.backend import BackendError, BackendMisconfigured, BackendRefused, BackendUnavailable, Request
from serving.backends.claude import ClaudeBackend
from serving.backends.claude_models import Capabilities
from serving.backends.openai_chat import OpenAIBackend
from serving.backends.openai_request import OpenAISettings
from serving.backends.reported import Refusals
from serving.llama.settings import Sampling
from serving.llama_server.engine import LlamaServerEngine
from serving.llama_server.process import ServerProcess, Ticket, command_line
from serving.llama_server.settings import Launch, LlamaServerSettings, Reach
from shield.assessment import Turn

pytestmark = [pytest.mark.engine, pytest.mark.asyncio(loop_scope="module"), needs_server]

REFUSALS = Refusals.of(Catalogue.load())
BEGUN = "I hear how alone you feel. Are you safe right now? "
GREEDY = Sampling(temperature=0.0)
SETTINGS = LlamaServerSettings(Launch(BINARY, MODEL, batch=128), context=512, parallel=2, sampling=GREEDY)


@dataclass(frozen=True)
class Standing:
    """A server that runs whether or not anybody of ours looks at it."""

    ticket: Ticket
    process: ServerProcess

    async def processing(self) -> int:
        """How many of its slots are at work."""
        headers = {"authorization": f"Bearer {self.ticket.key}"}
        async with httpx.AsyncClient(trust_env=False, timeout=10) as client:
            slots = (await client.get(f"{self.ticket.url}/slots", headers=headers)).json()
        return sum(slot["is_processing"] for slot in slots)

    async def falls_silent(self) -> None:
        async with asyncio.timeout(5):
            while await self.processing():  # noqa: ASYNC110 - what is waited for is outside this process
                await asyncio.sleep(0.05)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def standing() -> AsyncIterator[Standing]:
    ticket = Ticket.draw(0)
    assert isinstance(SETTINGS.site, Launch)
    process = await ServerProcess.start(command_line(SETTINGS, SETTINGS.site, ticket), key=ticket.key)
    async with httpx.AsyncClient(trust_env=False) as client, asyncio.timeout(60):
        while not process.ended.is_set():
            try:
                if (await client.get(f"{ticket.url}/health")).status_code == 200:
                    break
            except httpx.TransportError:
                pass
            await asyncio.sleep(0.05)
    yield Standing(ticket, process)
    await process.close(3.0)


def ask(text: str = "I feel alone today.", **more: Any) -> Request:
    made = Request((Turn("user", text),), "Be calm and kind. Listen first.", max_tokens=16)
    return replace(made, **more)


async def say(backend: Any, request: Request) -> str:
    return "".join([piece async for piece in backend.stream(request)])


async def failure(backend: Any, request: Request) -> BackendError:
    with pytest.raises(BackendError) as raised:
        await say(backend, request)
    return raised.value


# its native interface


async def reached(standing: Standing, *, key: str | None = None, **changes: Any) -> LlamaServerEngine:
    site = Reach(standing.ticket.url, standing.ticket.key if key is None else key)
    settings = replace(SETTINGS, site=site, **changes)
    engine = LlamaServerEngine(name="reached", model="smollm2", settings=settings, refuse=REFUSALS.why)
    await engine.start()
    return engine


async def test_llama_server_by_its_address(standing: Standing) -> None:
    engine = await reached(standing, context=0, parallel=0)
    await engine.wait_ready(10)
    assert engine.pid is None
    assert await say(engine, ask())
    assert "2 slots of 512 tokens" in engine.state_reason
    await engine.close()
    assert not standing.process.ended.is_set(), "a server that is not ours is left as it is"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"context": 4096}, "gives each conversation 512 tokens, 4096 were asked for"),
        ({"parallel": 9}, "has 2 slots, 9 were asked for"),
        ({"key": "wrong"}, "the key is not accepted"),
    ],
)
async def test_a_server_that_gives_less_than_asked_for_is_not_used(
    standing: Standing, changes: dict[str, Any], says: str
) -> None:
    engine = await reached(standing, **changes)
    with pytest.raises(BackendUnavailable, match=says):
        await engine.wait_ready(10)
    assert engine.state == "failed"
    await engine.close()


# OpenAI's


async def openai(standing: Standing, **changes: Any) -> OpenAIBackend:
    made = OpenAISettings(
        url=f"{standing.ticket.url}/v1",
        served_as=standing.ticket.alias,
        key=standing.ticket.key,
        context=512,
        sampling=GREEDY,
        prefill="assistant",
    )
    backend = OpenAIBackend(name="openai", model="smollm2", settings=replace(made, **changes), refusals=REFUSALS)
    await backend.start()
    await backend.wait_ready(10)
    return backend


async def test_openai_answers_and_counts(standing: Standing) -> None:
    backend = await openai(standing)
    assert await say(backend, ask())
    assert backend.stats.finish == "length"
    assert backend.stats.n_generated == 16
    assert backend.stats.n_prompt > 10
    await backend.close()


@pytest.mark.parametrize("prefill", ["assistant", "continue_final_message"])
async def test_openai_continues_an_unfinished_beginning_as_the_native_interface_does(
    standing: Standing, prefill: str
) -> None:
    """This server sends the beginning back, to the letter, before it goes on: nobody must read it twice."""
    native, backend = await reached(standing), await openai(standing, prefill=prefill)
    await native.wait_ready(10)
    request = ask(prefix="I'm glad you wrote. It sounds like you are going through")
    assert await say(backend, request) == await say(native, request)
    assert backend.stats.n_prompt == native.stats.n_prompt
    await backend.close()
    await native.close()


async def test_openai_without_prefill_is_told_of_the_beginning(standing: Standing) -> None:
    backend = await openai(standing, prefill="off")
    await say(backend, ask(prefix=BEGUN, max_tokens=1))
    told = backend.stats.n_prompt
    await say(backend, ask(max_tokens=1))
    assert told > backend.stats.n_prompt + 30
    await backend.close()


async def test_openai_hangs_up_and_the_server_stops(standing: Standing) -> None:
    backend = await openai(standing)
    async with aclosing(backend.stream(ask("Tell me a long story.", max_tokens=300))) as pieces:  # type: ignore[type-var]
        await anext(pieces)
        assert await standing.processing() == 1
    await standing.falls_silent()
    await backend.close()


async def test_openai_tells_what_does_not_fit_apart(standing: Standing) -> None:
    """With a context larger than the server's in the settings, the server itself says so."""
    backend = OpenAIBackend(
        name="openai",
        model="smollm2",
        settings=OpenAISettings(
            url=f"{standing.ticket.url}/v1", served_as=standing.ticket.alias, key=standing.ticket.key, context=512
        ),
        refusals=REFUSALS,
    )
    await backend.start()
    await backend.wait_ready(10)
    backend.settings = replace(backend.settings, context=100_000)
    assert type(await failure(backend, ask("why " * 3000))) is BackendRefused
    await backend.close()


async def test_openai_with_a_wrong_key_or_model(standing: Standing) -> None:
    for changes, says in (({"key": "wrong"}, "the key is not accepted"), ({"served_as": "x"}, "does not serve x")):
        with pytest.raises(BackendUnavailable, match=says):
            await openai(standing, **changes)


# Anthropic's


def claude(standing: Standing, *, key: str = "", takes: Capabilities | None = None) -> ClaudeBackend:
    return ClaudeBackend(
        name="claude",
        model=standing.ticket.alias,
        api_key=key or standing.ticket.key,
        base_url=standing.ticket.url,
        takes=takes or Capabilities(thinking="off", temperature=True, prefill=True),
        temperature=0.0,
    )


async def test_claude_answers_and_continues_an_unfinished_beginning(standing: Standing) -> None:
    native, backend = await reached(standing), claude(standing)
    await native.wait_ready(10)
    for request in (ask(), ask(prefix="I'm glad you wrote. It sounds like you are going through")):
        assert await say(backend, request) == await say(native, request)
    await backend.aclose()
    await native.close()


async def test_claude_hangs_up_and_the_server_stops(standing: Standing) -> None:
    backend = claude(standing)
    async with aclosing(backend.stream(ask("Tell me a long story.", max_tokens=300))) as pieces:  # type: ignore[type-var]
        await anext(pieces)
    await standing.falls_silent()
    await backend.aclose()


async def test_claude_with_a_wrong_key(standing: Standing) -> None:
    backend = claude(standing, key="sk-wrong")
    assert type(await failure(backend, ask())) is BackendMisconfigured
    await backend.aclose()


async def test_claude_is_told_what_does_not_fit(standing: Standing) -> None:
    backend = claude(standing)
    assert isinstance(await failure(backend, ask("why " * 3000)), BackendError)
    await backend.aclose()


async def test_claude_side_by_side(standing: Standing) -> None:
    backend = claude(standing)
    replies = await asyncio.gather(*(say(backend, ask(f"Person {n} here.", max_tokens=6)) for n in range(4)))
    assert all(replies)
    await backend.aclose()
