"""More people than there is room for, and callers who do not read: everybody else is answered as ever."""

import asyncio
import contextlib
import json
import socket
import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from http_fakes import LINES, OPENING, FakeResponder
from http_server import running

from eval.bench import load
from serving.admission import Admission
from serving.backend import Backend, BackendBusy
from serving.backends.scripted import ScriptedBackend
from serving.conversation import Conversation
from serving.events import Answer, DoneEvent
from serving.http.app import create_app
from serving.http.server import Protocol
from serving.http.service import HttpOptions
from serving.respond import Responder
from serving.settings import Settings
from serving.workshop import Workshop
from shield.assessment import Level, Turn

CRISIS = "I can't do this anymore. I want to end my life."


@cache
def workshop() -> Workshop:
    return Workshop.open()


def made(settings: Settings, backends: Sequence[Backend]) -> Responder:
    return workshop().responder(settings, backends)


async def answer(responder: Any, text: str, **more: Any) -> Answer:
    events = [event async for event in responder.respond(Conversation((Turn("user", text),), country="US"), **more)]
    assert isinstance(events[-1], DoneEvent)
    return events[-1].answer


# who is let in


def test_beyond_the_limit_only_who_is_in_danger_is_let_in_and_of_them_a_quarter_more():
    admission = Admission(4)
    asked: list[Level] = ["none"] * 5 + ["imminent", "high"]
    held = [admission.entered() for _ in asked]
    let_in = [one.__enter__()(level) for one, level in zip(held, asked, strict=True)]
    assert let_in == [True, True, True, True, False, True, False]
    assert admission.running == 5
    for one in held:
        one.__exit__(None, None, None)
    assert admission.running == 0


async def test_who_is_not_let_in_gets_the_static_reply_at_once_and_no_model_is_asked():
    backend = ScriptedBackend(("It sounds like a long night. ", "Who is near you?"))
    done = await answer(made(Settings(), [backend]), CRISIS, admits=lambda level: level == "none")
    assert (done.source, done.degraded[-1]) == ("static", "overload")
    assert backend.requests == []
    assert "988" in done.reply
    let_in = await answer(made(Settings(), [backend]), "Tell me about rice.", admits=lambda level: True)
    assert "overload" not in let_in.degraded


async def test_when_every_backend_is_busy_the_reply_says_overload():
    busy = [ScriptedBackend((BackendBusy("full"),), name=name) for name in ("local", "backup")]
    done = await answer(made(Settings(), busy), CRISIS)
    assert done.source == "static"
    assert done.degraded == ("local-busy", "backup-busy", "overload")
    rested = [busy[0], ScriptedBackend(("It sounds like a long night. ", "Who is near you? "), name="backup")]
    assert "overload" not in (await answer(made(Settings(), rested), CRISIS)).degraded


async def test_a_backend_may_let_people_wait_for_a_part_of_its_time_only():
    backend = ScriptedBackend(("It sounds like a long night. ", "Who is near you?"))
    settings = Settings.model_validate({"reply": {"first_text_s": 2.0}})
    await answer(made(settings, [backend]), CRISIS)
    assert backend.requests[0].patience_s == 1.5


async def test_people_in_danger_reach_a_model_when_the_house_is_full_of_others():
    fake = FakeResponder(script=(0.5, LINES), level="none")
    app = create_app(fake, HttpOptions(max_concurrent=2))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://test") as http:
        others = [asyncio.create_task(http.post("/crisis/respond", json={"message": "x"})) for _ in range(3)]
        while len(fake.seen) < 3:  # noqa: ASYNC110 - what is waited for is in other hands
            await asyncio.sleep(0.01)
        fake.level = "high"
        grave = [http.post("/crisis/respond", json={"message": "x"}) for _ in range(2)]
        first, second = [reply.json()["degraded"] for reply in await asyncio.gather(*grave)]
        ordinary = sorted(reply.json()["degraded"] for reply in await asyncio.gather(*others))
    assert sorted([first, second]) == [[], ["overload"]]
    assert ordinary == [[], [], ["overload"]]


# callers who do not read


def caller(url: str, *, reads: bool) -> socket.socket:
    parts = urlsplit(url)
    made = socket.socket()
    if not reads:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    made.connect((parts.hostname or "", parts.port or 0))
    return made


def soon(happened: Callable[[], bool], *, within_s: float = 30.0) -> bool:
    ends = time.monotonic() + within_s
    while not happened():
        if time.monotonic() > ends:
            return False
        time.sleep(0.02)
    return True


def test_who_does_not_read_is_cut_and_the_others_are_answered(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Protocol, "slow_s", 1.0)
    fake = FakeResponder(script=(OPENING, *["Take your time. " * 10_000] * 8))
    body = json.dumps({"message": "x", "stream": True}).encode()
    head = f"POST /crisis/respond HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    with running(create_app(fake, HttpOptions())) as url:
        slow = [caller(url, reads=False) for _ in range(5)]
        for one in slow:
            one.sendall(head + body)
        assert soon(lambda: len(fake.seen) == 5)
        assert fake.closed == 0
        with httpx.stream("POST", f"{url}/crisis/respond", json={"message": "x", "stream": True}, timeout=30) as reply:
            text = reply.read().decode()
        assert "event: done" in text
        assert soon(lambda: fake.closed == 6), fake.closed
        for one in slow:
            one.close()


def test_answers_that_nobody_fetches_do_not_pile_up(monkeypatch: pytest.MonkeyPatch):
    """Many questions on one connection, and not one answer read: after a while no further question is looked at."""
    monkeypatch.setattr(Protocol, "slow_s", 1.0)
    fake = FakeResponder(script=(OPENING, "Take your time. " * 1000))
    body = b'{"message":"x"}'
    question = f"POST /crisis/respond HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    with running(create_app(fake, HttpOptions())) as url, caller(url, reads=False) as greedy:
        greedy.settimeout(0.5)
        with contextlib.suppress(OSError):  # it is not even read any more
            greedy.sendall(question * 500)
        assert soon(lambda: fake.closed == len(fake.seen) > 0 and _cut(greedy))
        assert len(fake.seen) < 100


def _cut(sock: socket.socket) -> bool:
    """Whether the other end has closed the connection, for all that is left to be read."""
    try:
        return sock.send(b"x") == 0
    except TimeoutError:
        return False
    except OSError:
        return True


# the load benchmark, small


@pytest.mark.timeout(300)
def test_the_load_benchmark_times_whole_answers_of_both_servers():
    report = load.measure((1, 20), rounds=1)
    assert [row["streams"] for row in report["rows"]] == [1, 20]
    for row in report["rows"]:
        for what in ("resources", "last_byte"):
            times = row["service_ms"][what]
            assert 0 < times["p50"] <= times["p95"] <= times["p99"]
            assert row["ratio"][what]["p50"] > 0
        assert row["service_ms"]["resources"]["p50"] <= row["service_ms"]["last_byte"]["p50"]
    assert report["memory_mb"]["after"] < 1000
    assert len(list(load.table(report))) == 6
