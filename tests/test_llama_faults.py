"""What goes wrong with an engine, with real processes: each ends in a clear reason and an engine that comes back."""

import asyncio
import logging
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from models.catalogue import Catalogue
from models.weights import locate
from serving.backend import BackendUnavailable, Request
from serving.llama.engine import LlamaEngine
from serving.llama.settings import LlamaSettings, Sampling
from shield.assessment import Turn

pytestmark = [pytest.mark.engine, pytest.mark.asyncio(loop_scope="module")]

MODEL = locate(Catalogue.load().get("smollm2-135m-instruct-q4_1"), weights_dir=None, path=None)
SETTINGS = LlamaSettings(
    MODEL,
    context=512,
    sampling=Sampling(temperature=0.0),
    backoff_s=0.1,
    backoff_cap_s=0.4,
    healthy_s=0.0,
    stall_s=1.5,
    stop_timeout_s=1.0,
)
SECRET = "zanzibar-lighthouse"  # stands for the text of a person
REQUEST = Request((Turn("user", f"I feel alone, {SECRET}."),), "Be kind.", protocol_prefix="Be kind.", max_tokens=300)


@asynccontextmanager
async def running(settings: LlamaSettings) -> AsyncIterator[LlamaEngine]:
    engine = LlamaEngine(name="local", model="smollm2", settings=settings)
    await engine.start()
    try:
        yield engine
    finally:
        await engine.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine() -> AsyncIterator[LlamaEngine]:
    async with running(SETTINGS) as engine:
        await engine.wait_ready(60)
        yield engine


async def say(engine: LlamaEngine, max_tokens: int = 3) -> str:
    return "".join([piece async for piece in engine.stream(replace(REQUEST, max_tokens=max_tokens))])


async def ready_again(engine: LlamaEngine, dead: int | None = None) -> None:
    async with asyncio.timeout(30):
        while engine.pid in (None, dead) or engine.state != "ready":  # noqa: ASYNC110 - it changes without an event
            await asyncio.sleep(0.02)


@pytest.mark.parametrize(
    ("blow", "reason"),
    [
        (signal.SIGKILL, "ended by SIGKILL, as the system does when memory runs out"),
        (signal.SIGSEGV, "ended by SIGSEGV"),
        (signal.SIGTERM, "ended by SIGTERM"),
    ],
)
async def test_a_death_in_the_middle_of_a_sentence_is_told_at_once_and_mends_itself(
    engine: LlamaEngine, blow: signal.Signals, reason: str
) -> None:
    await engine.wait_ready(30)
    pid = engine.pid
    assert pid
    async with aclosing(engine.stream(REQUEST)) as pieces:
        assert await anext(pieces)
        os.kill(pid, blow)
        struck = time.perf_counter()
        with pytest.raises(BackendUnavailable, match=reason):
            await drain(pieces)
    assert time.perf_counter() - struck < 1.0
    assert engine.state == "restarting"
    with pytest.raises(BackendUnavailable, match=reason):
        await say(engine)
    await ready_again(engine, pid)
    assert await say(engine)


async def drain(pieces: AsyncIterator[str], timeout_s: float = 20) -> None:
    async with asyncio.timeout(timeout_s):
        async for _ in pieces:
            pass


async def test_an_engine_that_stops_answering_is_left_by_its_reader_then_killed_and_replaced(
    engine: LlamaEngine,
) -> None:
    await engine.wait_ready(30)
    pid = engine.pid
    assert pid
    async with aclosing(engine.stream(REQUEST)) as pieces:
        await anext(pieces)
        os.kill(pid, signal.SIGSTOP)
        with pytest.raises(TimeoutError):
            await drain(pieces, 0.3)
    async with aclosing(engine.stream(REQUEST)) as pieces:
        with pytest.raises(BackendUnavailable, match=r"made no move for 1\.5 s"):
            await drain(pieces)
    await ready_again(engine, pid)
    assert await say(engine)


async def test_an_idle_engine_that_hangs_is_found_before_anyone_asks(engine: LlamaEngine) -> None:
    await engine.wait_ready(30)
    pid = engine.pid
    assert pid
    os.kill(pid, signal.SIGSTOP)
    await ready_again(engine, pid)
    assert await say(engine)


async def test_an_idle_engine_that_is_well_is_left_alone(engine: LlamaEngine) -> None:
    await engine.wait_ready(30)
    pid = engine.pid
    await asyncio.sleep(SETTINGS.stall_s + 1)
    assert engine.pid == pid
    assert engine.state == "ready"


async def test_those_who_wait_are_told_when_the_engine_dies(engine: LlamaEngine) -> None:
    await engine.wait_ready(30)
    pid = engine.pid
    assert pid
    async with aclosing(engine.stream(REQUEST)) as pieces:
        await anext(pieces)
        waiters = [asyncio.create_task(say(engine)) for _ in range(3)]
        await asyncio.sleep(0)
        os.kill(pid, signal.SIGKILL)
        with suppress(BackendUnavailable):
            await drain(pieces)
    async with asyncio.timeout(5):
        results = await asyncio.gather(*waiters, return_exceptions=True)
    assert all(isinstance(result, BackendUnavailable) for result in results)
    await ready_again(engine, pid)


# what cannot be loaded


def broken(tmp_path: Path, how: str) -> LlamaSettings:
    path = tmp_path / "model.gguf"
    if how == "truncated":
        path.write_bytes(MODEL.read_bytes()[:3_000_000])
    elif how == "cut in the header":
        path.write_bytes(MODEL.read_bytes()[:1000])
    elif how == "not a GGUF":
        path.write_bytes(b"this is a text, not a model" * 1000)
    elif how == "empty":
        path.touch()
    elif how == "a folder":
        path.mkdir()
    elif how == "out of memory":
        path.symlink_to(MODEL)
        return replace(SETTINGS, model_path=path, context=8192, memory_limit_bytes=400 * 2**20)
    elif how == "never done":
        path.symlink_to(MODEL)
        return replace(SETTINGS, model_path=path, start_timeout_s=0.01)
    return replace(SETTINGS, model_path=path)


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("missing", "the model file is missing"),
        ("truncated", "incomplete or damaged"),
        ("cut in the header", "incomplete or damaged"),
        ("not a GGUF", "not a GGUF file"),
        ("empty", "not a GGUF file"),
        ("a folder", "cannot be read"),
        ("out of memory", "not enough memory"),
        ("never done", r"not loaded within 0\.01 s"),
    ],
)
async def test_a_model_that_cannot_be_loaded_is_a_clear_reason_and_no_answer(
    tmp_path: Path, how: str, reason: str
) -> None:
    async with running(broken(tmp_path, how)) as engine:
        with pytest.raises(BackendUnavailable, match=reason):
            await engine.wait_ready(60)
        assert engine.state == "failed"
        began = time.perf_counter()
        with pytest.raises(BackendUnavailable, match=reason):
            await say(engine)
        assert time.perf_counter() - began < 0.6


async def test_a_missing_file_that_is_put_in_place_is_loaded_without_a_restart_of_the_service(tmp_path: Path) -> None:
    async with running(broken(tmp_path, "missing")) as engine:
        with pytest.raises(BackendUnavailable):
            await engine.wait_ready(30)
        (tmp_path / "model.gguf").symlink_to(MODEL)
        await ready_again(engine)
        assert await say(engine)


async def test_it_never_gives_up_but_slows_down(tmp_path: Path) -> None:
    pauses: dict[str, None] = {}  # in order, each once
    async with running(broken(tmp_path, "missing")) as engine, asyncio.timeout(30):
        while engine.restarts < 4:
            await asyncio.sleep(0.01)
            _, tried, pause = engine.state_reason.partition("tried again in ")
            if tried:
                pauses[pause] = None
    assert list(pauses) == ["0.1 s", "0.2 s", "0.4 s"]


async def test_a_request_may_be_let_wait_for_an_engine_that_is_loading() -> None:
    async with running(replace(SETTINGS, ready_wait_s=30)) as engine:
        assert engine.state == "starting"
        assert await say(engine)


async def test_before_it_is_ready_a_request_is_turned_away_at_once() -> None:
    async with running(SETTINGS) as engine:
        with pytest.raises(BackendUnavailable, match="loading the model"):
            await say(engine)


async def test_nothing_that_a_person_wrote_is_printed_or_logged_or_in_an_error(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    async with running(SETTINGS) as engine:
        await engine.wait_ready(60)
        assert await say(engine, 20)
        pid = engine.pid
        assert pid
        async with aclosing(engine.stream(REQUEST)) as pieces:
            await anext(pieces)
            os.kill(pid, signal.SIGKILL)
            with pytest.raises(BackendUnavailable) as caught:
                await drain(pieces)
    out, err = capfd.readouterr()
    assert SECRET not in str(caught.value)
    assert SECRET not in repr(engine.stats)
    assert (out, err) == ("", "")
    assert SECRET not in caplog.text
    off = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert off
    assert all("ended by SIGKILL" in line for line in off), "only why the engine is off"
