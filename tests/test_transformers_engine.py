"""The transformers engine with a real model in a real process: streaming, cancelling, a crash, the whole service."""

import asyncio
import logging
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
import pytest_asyncio
import tiny_model
from running import service

from serving.backend import BackendRefused, BackendUnavailable, Request
from serving.llama.settings import Sampling
from serving.transformers.engine import TransformersEngine
from serving.transformers.settings import TransformersSettings
from shield.assessment import Turn

pytestmark = [tiny_model.needs_transformers, pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(400)]

PROTOCOL = "Be calm and kind. Listen first. " * 6
SECRET = "zanzibar-lighthouse"  # stands for the text of a person
START_S = 180  # importing torch and transformers takes 8 s of a free core


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model.make(tmp_path_factory.mktemp("tiny"))


def ask(text: str = "I feel alone.", *, level: str = "Level: low.", max_tokens: int = 16, prefix: str = "") -> Request:
    turns = (Turn("user", text),)
    return Request(turns, PROTOCOL + level, protocol_prefix=PROTOCOL, max_tokens=max_tokens, prefix=prefix)


async def say(engine: TransformersEngine, request: Request) -> str:
    return "".join([piece async for piece in engine.stream(request)])


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine(folder: Path) -> AsyncIterator[TransformersEngine]:
    settings = TransformersSettings(
        folder, context=512, batch=32, sampling=Sampling(temperature=0.0), backoff_s=0.1, queue=2, stall_s=60
    )
    engine = TransformersEngine(name="local", model="tiny", settings=settings)
    await engine.warm(PROTOCOL)
    began = time.perf_counter()
    await engine.start()
    assert time.perf_counter() - began < 0.6
    with pytest.raises(BackendUnavailable, match="loading the model"):
        await say(engine, ask())
    await engine.wait_ready(START_S)
    await asyncio.wait_for(engine.warmed.wait(), 60)
    yield engine
    await engine.close()


async def test_it_says_what_it_loaded(engine: TransformersEngine) -> None:
    info = engine.info
    assert info
    assert info.description == f"qwen2, nf4 on {'cuda' if info.gpu else 'cpu'}"
    assert (info.context, info.context_trained, info.system_role) == (512, tiny_model.CONTEXT, True)
    assert engine.restarts == 0


async def test_the_first_request_finds_the_protocol_evaluated(engine: TransformersEngine) -> None:
    reply = await say(engine, ask())
    assert reply
    first = engine.stats
    assert first.n_cached > len(PROTOCOL.split())
    assert first.n_evaluated < 60
    assert await say(engine, ask()) == reply
    assert engine.stats.n_evaluated == 1
    await say(engine, ask("Something else.", level="Level: imminent."))
    assert engine.stats.n_cached >= first.n_cached


async def test_text_comes_piece_by_piece_and_a_beginning_is_continued(engine: TransformersEngine) -> None:
    pieces = [piece async for piece in engine.stream(ask(max_tokens=24))]
    assert len(pieces) > 5
    whole = "".join(pieces)
    begun = ask(max_tokens=12, prefix="I hear you. Are you safe right now? ")
    continued = await say(engine, begun)
    assert continued
    assert not continued[0].isspace()
    assert not continued.startswith("I hear you")
    assert continued != whole[: len(continued)]


async def test_leaving_stops_the_model_within_a_token(engine: TransformersEngine) -> None:
    before, seen = engine.stats, 0
    async with aclosing(engine.stream(ask(max_tokens=300))) as pieces:
        async for _ in pieces:
            seen += 1
            if seen == 3:
                break
    async with asyncio.timeout(10):
        while engine.stats is before:  # noqa: ASYNC110 - the worker's account comes after its reader left
            await asyncio.sleep(0.01)
    assert engine.stats.finish == "cancelled"
    assert engine.stats.n_generated <= seen + 20  # bytes that are no character give no piece
    assert await say(engine, ask())


async def test_what_cannot_fit_is_refused_and_what_is_long_loses_its_oldest_turns(engine: TransformersEngine) -> None:
    with pytest.raises(BackendRefused, match="does not fit the model's context"):
        await say(engine, ask("please " * 40, max_tokens=500))
    turns = tuple(Turn(("user", "assistant")[n % 2], f"{n} tell me more") for n in range(41))
    await say(engine, replace(ask(max_tokens=4), turns=turns))
    assert 10 < engine.stats.n_dropped < 41


async def test_a_death_in_the_middle_of_a_reply_is_told_at_once_and_mends_itself(
    engine: TransformersEngine, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    pid = engine.pid
    assert pid
    expected = await say(engine, ask())
    async with aclosing(engine.stream(ask(SECRET, max_tokens=300))) as pieces:
        await anext(pieces)
        os.kill(pid, signal.SIGKILL)
        struck = time.perf_counter()
        with pytest.raises(BackendUnavailable, match="ended by SIGKILL") as caught:
            async for _ in pieces:
                pass
    assert time.perf_counter() - struck < 2
    assert engine.state == "restarting"
    async with asyncio.timeout(START_S):
        while engine.pid in (None, pid) or engine.state != "ready":  # noqa: ASYNC110 - it changes without an event
            await asyncio.sleep(0.05)
    await asyncio.wait_for(engine.warmed.wait(), 60)
    assert await say(engine, ask()) == expected, "the same protocol, kept again, the same reply"
    out, err = capfd.readouterr()
    assert SECRET not in str(caught.value)
    assert (out, err) == ("", "")
    assert SECRET not in caplog.text
    off = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert off
    assert all("ended by SIGKILL" in line for line in off), "only why the engine is off"


async def test_a_folder_that_breaks_later_is_a_reason_and_no_answer(folder: Path, tmp_path: Path) -> None:
    settings = TransformersSettings(tmp_path / "nothing", backoff_s=5)
    engine = TransformersEngine(name="local", model="tiny", settings=settings)
    await engine.start()
    try:
        with pytest.raises(BackendUnavailable, match=r"config\.json is missing"):
            await engine.wait_ready(60)
        assert engine.state == "failed"
    finally:
        await engine.close()


CATALOGUE = """
[[model]]
name = "tiny"
title = "Tiny Qwen2 of a test"
file = "tiny.gguf"
status = "approved"
reason = "made by a test"
licence = "Apache-2.0"
approved_by = "a test"
approved_on = "2026-11-21"
stop = ["<|im_end|>"]
family = "tiny"
"""
CONFIG = """
weights_dir = "{weights}"
catalogue = "{own}"
[reply]
first_text_s = 30
between_s = 30
total_s = 40
max_tokens_chat = 24
[[chain]]
engine = "transformers"
name = "local"
model = "tiny"
context = 2048
load = "none"
"""


async def test_gibberish_through_the_whole_service_ends_in_a_safe_reply(folder: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text(CATALOGUE, encoding="utf-8")
    (tmp_path / "tiny").symlink_to(folder)
    config = CONFIG.format(weights=tmp_path, own=own)
    env = {"XDG_CONFIG_HOME": str(tmp_path / "none"), "XDG_STATE_HOME": str(tmp_path / "state")}
    with service(tmp_path, config, env=env) as running:
        first = running.respond("I want to kill myself", country="US")
        running.wait_for("ready", START_S)
        (worker,) = [
            one for one in psutil.Process(running.process.pid).children() if "transformers" in str(one.cmdline())
        ]
        assert not any("libtorch" in each.path for each in psutil.Process(running.process.pid).memory_maps())
        assert any("libtorch" in each.path for each in worker.memory_maps())
        for message in ("I want to kill myself", "Hello, how are you?"):
            answered = running.respond(message, country="US")
            assert answered["source"] == "static"
            assert answered["degraded"], "the model was asked and what it said was not sent"
            assert answered["filter"]["verdict"] in ("pass", "repair")
            assert answered["reply"].isprintable() or "\n" in answered["reply"]
            assert all(resource["phone"] or resource["url"] for resource in answered["resources"])
        assert "988" in first["reply"]
    assert not worker.is_running()
