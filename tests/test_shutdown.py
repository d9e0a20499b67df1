"""The end of the service: every open answer is finished, or ended whole without a model; nobody is cut off."""

import asyncio
import contextlib
import json
import signal
import socket
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from http_fakes import OPENING, FakeResponder
from peers.process import Peer
from running import Running, service

from prompts.wording import Wording
from serving.admission import everyone
from serving.backends.scripted import ScriptedBackend
from serving.conversation import Conversation
from serving.events import DoneEvent, Event, SentenceEvent
from serving.http.app import create_app
from serving.http.server import Stopping, server_config
from serving.http.service import HttpOptions
from serving.settings import Settings
from serving.wiring import build_responder
from shield.assessment import Turn

CRISIS = "I can't do this anymore. I want to end my life."
WORDING = Wording.load()
SAID = (
    "It sounds like you have been carrying this alone for a long time. ",
    "Who is one person that could sit with you?",
)
ROUTES = [
    pytest.param(route, stream, id=f"{route} {'stream' if stream else 'json'}")
    for route in ("/crisis/respond", "/v1/chat/completions")
    for stream in (False, True)
]


async def until(happened: Callable[[], Any]) -> None:
    async with asyncio.timeout(60):
        while not happened():  # noqa: ASYNC110 - what is waited for is in other hands
            await asyncio.sleep(0.01)


# the pipeline


async def heard(backend: ScriptedBackend, why: str, *, spoken: int) -> list[Event]:
    """All events of one reply that is cancelled for this reason after so many sentences."""
    responder = build_responder(Settings(), [backend])
    events: list[Event] = []

    async def ask() -> None:
        async for event in responder.respond(Conversation((Turn("user", CRISIS),), country="US")):
            events.append(event)

    task = asyncio.create_task(ask())
    await until(lambda: backend.requests and sum(isinstance(event, SentenceEvent) for event in events) >= spoken)
    task.cancel(why)
    await task
    return events


@pytest.mark.parametrize("why", ["shutdown", "deadline"])
@pytest.mark.parametrize("script", [(60.0,), (*SAID, 60.0)], ids=["silent", "speaking"])
async def test_a_reply_that_has_to_end_now_ends_with_our_own_words(why, script):
    events = await heard(ScriptedBackend(script), why, spoken=min(2, len(script)))
    assert isinstance(events[-1], DoneEvent)
    answer = events[-1].answer
    assert answer.reply == "".join(event.text for event in events if isinstance(event, SentenceEvent))
    assert answer.degraded[-1] == why
    assert answer.verdict == "pass"
    assert "988" in answer.reply
    assert WORDING.says_ai(answer.reply, "en")
    assert (SAID[0].strip() in answer.reply) == (len(script) > 1)
    assert answer.source == ("local" if len(script) > 1 else "static")


async def test_any_other_cancellation_is_not_heeded():
    with pytest.raises(asyncio.CancelledError):
        await heard(ScriptedBackend((60.0,)), "left", spoken=1)


# a server that is stopped, over the app alone


@contextlib.asynccontextmanager
async def stopping(app: FastAPI, *, shutdown_s: float) -> AsyncIterator[tuple[str, Callable[[], None]]]:
    """Its address, and what stops it; leaving the block waits for its end."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = Stopping(server_config(app, shutdown_s=1), hurry=app.state.hurry, shutdown_s=shutdown_s)
    thread = Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    await until(lambda: server.started)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", lambda: setattr(server, "should_exit", True)
    finally:
        server.should_exit = True
        await asyncio.to_thread(thread.join, 20)
        assert not thread.is_alive()


async def test_short_answers_are_finished_and_long_ones_completed():
    fake = FakeResponder(script=(OPENING, 0.5, "Take your time."))
    async with (
        httpx.AsyncClient(timeout=30) as http,
        stopping(create_app(fake, HttpOptions()), shutdown_s=5.0) as (url, stop),
    ):
        answering = asyncio.create_task(http.post(f"{url}/crisis/respond", json={"message": "x"}))
        await until(lambda: fake.seen)
        stop()
        done = (await answering).json()
    assert done["degraded"] == []
    assert done["reply"] == f"{OPENING}Take your time."


@pytest.mark.parametrize(("route", "stream"), ROUTES)
async def test_what_takes_too_long_is_completed_on_every_route(route, stream):
    """By the second net too: this responder knows nothing of wishes to end, and is cut off."""
    fake = FakeResponder(script=(OPENING, 60.0))
    async with (
        httpx.AsyncClient(timeout=30) as http,
        stopping(create_app(fake, HttpOptions()), shutdown_s=0.3) as (url, stop),
    ):
        body = {"messages": [{"role": "user", "content": "x"}], "stream": stream}
        answering = asyncio.create_task(http.post(f"{url}{route}", json=body))
        await until(lambda: fake.seen)
        await asyncio.sleep(0.1)
        stop()
        text = (await answering).text
    done = last(text, stream=stream)
    assert done["degraded"] == ["shutdown"]
    assert done["reply"].startswith(OPENING)
    assert "988" in done["reply"]
    assert fake.closed == 1


async def test_who_is_still_writing_gets_the_lines():
    app = create_app(FakeResponder(), HttpOptions())
    async with stopping(app, shutdown_s=0.2) as (url, stop):
        parts = httpx.URL(url)
        reader, writer = await asyncio.open_connection(parts.host, parts.port)
        writer.write(b"POST /crisis/respond HTTP/1.1\r\nHost: x\r\nContent-Length: 999\r\n\r\n{")
        await asyncio.sleep(0.2)
        stop()
        answer = await asyncio.wait_for(reader.read(), 20)
        writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 503 ")
    assert json.loads(body)["resources"][0]["phone"] == "988"


def last(text: str, *, stream: bool) -> dict[str, Any]:
    """The whole answer, as `done` or as the contract's object in OpenAI's shape."""
    if not stream:
        answer: dict[str, Any] = json.loads(text)
        return answer.get("crisis", answer)
    data = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    if data[-1] != "[DONE]":
        whole: dict[str, Any] = json.loads(data[-1])
        return whole
    chunks = [json.loads(one) for one in data[:-1]]
    return next(chunk["crisis"] for chunk in chunks if chunk["choices"] and chunk["choices"][0]["finish_reason"])


# the real service

STALLED = """
[server]
shutdown_s = 1.0
[reply]
default_country = "US"
first_text_s = 30.0
between_s = 30.0
total_s = 60.0
[[chain]]
engine = "openai"
name = "primary"
model = "qwen2.5-7b-instruct-q4_k_m"
url = "{url}/v1"
served_as = "m/stalled"
prefill = "assistant"
"""


@pytest.mark.timeout(120)
def test_a_service_that_is_stopped_leaves_no_answer_open(tmp_path: Path):
    peer = Peer.start("faults")
    try:
        with service(tmp_path, STALLED.format(url=peer.url)) as running, ThreadPoolExecutor(8) as pool:
            running.wait_for("ready")
            asked = [pool.submit(ask, running, route, stream) for route, stream in (p.values for p in ROUTES * 2)]
            until_open(running, len(asked))
            running.process.send_signal(signal.SIGTERM)
            answers = [one.result(60) for one in asked]
            assert running.process.wait(30) in (0, -signal.SIGTERM)
        assert not any("Traceback" in line for line in running.lines)
    finally:
        peer.stop()
    for done in answers:
        assert done["degraded"][-1] == "shutdown"
        assert WORDING.says_ai(done["reply"], "en")
        assert "988" in done["reply"]
        assert done["reply"].rstrip()[-1] in '.!?…")'


def ask(running: Running, route: Any, stream: Any) -> dict[str, Any]:
    body = {"messages": [{"role": "user", "content": CRISIS}], "stream": stream}
    return last(httpx.post(f"{running.url}{route}", json=body, timeout=60).text, stream=stream)


def until_open(running: Running, count: int) -> None:
    """Until so many answers are under way."""
    ends = time.monotonic() + 30
    while f"crisis_answers_in_flight {count}.0" not in httpx.get(f"{running.url}/metrics", timeout=10).text:
        assert time.monotonic() < ends
        time.sleep(0.05)


def test_everyone_is_let_in_by_who_counts_nobody():
    assert everyone("none")
