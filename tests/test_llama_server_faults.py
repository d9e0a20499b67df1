"""What goes wrong with a llama.cpp server of our own: each ends in a clear reason and an engine that comes back."""

import asyncio
import os
import signal
import socket
import stat
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio
from llama_server_binary import BINARY, MODEL, needs_server

from serving.backend import BackendUnavailable, Request
from serving.llama.settings import Sampling
from serving.llama_server.engine import LlamaServerEngine
from serving.llama_server.settings import Launch, LlamaServerSettings
from serving.supervision import Pauses
from shield.assessment import Turn

pytestmark = [pytest.mark.engine, pytest.mark.asyncio(loop_scope="module"), needs_server]

LAUNCH = Launch(BINARY, MODEL)
SETTINGS = LlamaServerSettings(
    LAUNCH,
    context=512,
    parallel=2,
    sampling=Sampling(temperature=0.0),
    stall_s=4.0,
    stop_timeout_s=1.0,
    pauses=Pauses(first_s=0.1, cap_s=0.4, healthy_s=0.0),
)
SECRET = "zanzibar-lighthouse"  # stands for the text of a person
REQUEST = Request((Turn("user", f"I feel alone, {SECRET}."),), "Be kind.", protocol_prefix="Be kind.", max_tokens=300)


@asynccontextmanager
async def running(settings: LlamaServerSettings) -> AsyncIterator[LlamaServerEngine]:
    engine = LlamaServerEngine(name="local", model="smollm2", settings=settings)
    await engine.start()
    try:
        yield engine
    finally:
        await engine.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine() -> AsyncIterator[LlamaServerEngine]:
    async with running(SETTINGS) as engine:
        await engine.wait_ready(60)
        yield engine


async def say(engine: LlamaServerEngine, max_tokens: int = 3) -> str:
    return "".join([piece async for piece in engine.stream(replace(REQUEST, max_tokens=max_tokens))])


async def ready_again(engine: LlamaServerEngine, dead: int | None = None) -> None:
    async with asyncio.timeout(30):
        while engine.pid in (None, dead) or engine.state != "ready" or engine._server is None:  # noqa: ASYNC110 - it changes without an event
            await asyncio.sleep(0.02)


async def drain(pieces: AsyncIterator[str], timeout_s: float = 20) -> None:
    async with asyncio.timeout(timeout_s):
        async for _ in pieces:
            pass


async def test_a_death_in_the_middle_of_replies_is_told_at_once_to_all_and_mends_itself(
    engine: LlamaServerEngine,
) -> None:
    pid = engine.pid
    assert pid
    replies = [engine.stream(REQUEST) for _ in range(2)]
    for pieces in replies:
        assert await anext(pieces)
    waiter = asyncio.create_task(say(engine))
    await asyncio.sleep(0)
    os.kill(pid, signal.SIGKILL)
    struck = time.perf_counter()
    for pieces in replies:
        with pytest.raises(BackendUnavailable, match=r"ended by SIGKILL|connection to llama-server broke"):
            await drain(pieces)
    with pytest.raises(BackendUnavailable):
        await waiter
    assert time.perf_counter() - struck < 2.0
    async with asyncio.timeout(5):
        while engine.state == "ready":  # noqa: ASYNC110 - it changes without an event
            await asyncio.sleep(0.005)
    with pytest.raises(BackendUnavailable, match="ended by SIGKILL, as the system does when memory runs out"):
        await say(engine)
    await ready_again(engine, pid)
    assert await say(engine)


async def test_a_server_that_stops_moving_is_killed_and_replaced(engine: LlamaServerEngine) -> None:
    """Nobody asks anything, and one person waits in vain: it is found either way."""
    await ready_again(engine)
    pid = engine.pid
    assert pid
    async with aclosing(engine.stream(REQUEST)) as pieces:  # type: ignore[type-var]  # an async generator
        await anext(pieces)
        os.kill(pid, signal.SIGSTOP)
        with pytest.raises(TimeoutError):
            await drain(pieces, 0.3)
    reasons = set()
    async with asyncio.timeout(30):
        while engine.pid in (None, pid) or engine.state != "ready":
            reasons.add(engine.state_reason.partition(";")[0])
            await asyncio.sleep(0.02)
    assert "the engine made no move for 4 s" in reasons
    assert await say(engine)


async def test_a_server_that_is_well_is_left_alone(engine: LlamaServerEngine) -> None:
    await ready_again(engine)
    pid = engine.pid
    await asyncio.sleep(SETTINGS.stall_s + 0.5)
    assert engine.pid == pid
    assert engine.state == "ready"


# what cannot be started


def broken(tmp_path: Path, how: str) -> LlamaServerSettings:
    path = tmp_path / "model.gguf"
    if how == "truncated":
        path.write_bytes(MODEL.read_bytes()[:3_000_000])
    elif how == "not a GGUF":
        path.write_bytes(b"this is a text, not a model" * 1000)
    elif how == "never done":
        return replace(SETTINGS, start_timeout_s=0.05)
    elif how == "another program":
        return replace(SETTINGS, site=replace(LAUNCH, binary=program(tmp_path, "exit 3")))
    elif how == "an older server":
        complaint = "echo 'error: invalid argument: --fit'; exit 1"
        return replace(SETTINGS, site=replace(LAUNCH, binary=program(tmp_path, complaint)))
    return replace(SETTINGS, site=replace(LAUNCH, model_path=path))


def program(folder: Path, script: str) -> Path:
    path = folder / "llama-server"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("missing", "the model file is missing"),
        ("truncated", "incomplete or damaged"),
        ("not a GGUF", "not a GGUF file"),
        ("never done", r"not loaded within 0\.05 s"),
        ("another program", "ended with status 3"),
        ("an older server", "does not know an option that we need"),
    ],
)
async def test_what_cannot_be_started_is_a_clear_reason_and_no_answer(tmp_path: Path, how: str, reason: str) -> None:
    async with running(broken(tmp_path, how)) as engine:
        with pytest.raises(BackendUnavailable, match=reason):
            await engine.wait_ready(60)
        assert engine.state == "failed"
        began = time.perf_counter()
        with pytest.raises(BackendUnavailable, match=reason):
            await say(engine)
        assert time.perf_counter() - began < 0.6


async def test_a_port_in_use_is_named_and_nobody_is_sent_to_the_stranger() -> None:
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", 0))
        stranger.listen()
        taken = replace(SETTINGS, site=replace(LAUNCH, port=stranger.getsockname()[1]))
        async with running(taken) as engine:
            with pytest.raises(BackendUnavailable, match="its port is taken by another program"):
                await engine.wait_ready(30)
            stranger.close()
            await ready_again(engine)
            assert await say(engine)


async def test_a_missing_file_that_is_put_in_place_is_loaded_without_a_restart_of_the_service(tmp_path: Path) -> None:
    async with running(broken(tmp_path, "missing")) as engine:
        with pytest.raises(BackendUnavailable):
            await engine.wait_ready(30)
        (tmp_path / "model.gguf").symlink_to(MODEL)
        await ready_again(engine)
        assert await say(engine)


async def test_nothing_that_a_person_wrote_is_printed_or_logged_or_in_an_error(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    async with running(SETTINGS) as engine:
        await engine.wait_ready(60)
        assert await say(engine, 20)
        pid = engine.pid
        assert pid
        async with aclosing(engine.stream(REQUEST)) as pieces:  # type: ignore[type-var]  # an async generator
            await anext(pieces)
            os.kill(pid, signal.SIGKILL)
            with pytest.raises(BackendUnavailable) as caught:
                await drain(pieces)
    out, err = capfd.readouterr()
    assert SECRET not in str(caught.value)
    assert SECRET not in repr(engine.stats)
    assert (out, err, caplog.text) == ("", "", "")
