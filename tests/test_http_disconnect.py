"""Real sockets, real uvicorn: who leaves ends the work for them at once; who speaks no HTTP gets help too."""

import json
import socket
import time
from collections.abc import Callable
from http.client import HTTPResponse
from urllib.parse import urlsplit

import pytest
from http_fakes import OPENING, FakeResponder
from http_server import running

from serving.http.app import create_app
from serving.http.service import HttpOptions

PATHS = {
    "json": ("/crisis/respond", {"message": "x"}),
    "stream": ("/crisis/respond", {"message": "x", "stream": True}),
    "openai": ("/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}]}),
    "openai stream": ("/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}], "stream": True}),
}


def post(url: str, path: str, body: object) -> socket.socket:
    raw = json.dumps(body).encode()
    parts = urlsplit(url)
    caller = socket.create_connection((parts.hostname or "", parts.port or 0), timeout=5)
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(raw)}\r\n\r\n"
    caller.sendall(head.encode() + raw)
    return caller


def answer(caller: socket.socket) -> tuple[int, bytes]:
    response = HTTPResponse(caller)
    response.begin()
    return response.status, response.read()


def soon(happened: Callable[[], bool], *, within_s: float) -> bool:
    deadline = time.monotonic() + within_s
    while not happened():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


@pytest.mark.parametrize(("path", "body"), PATHS.values(), ids=PATHS.keys())
def test_leaving_closes_the_responder_at_once_and_frees_the_place(path, body):
    fake = FakeResponder(script=(OPENING, 60.0))
    with running(create_app(fake, HttpOptions(max_concurrent=1))) as url:
        caller = post(url, path, body)
        assert soon(lambda: len(fake.seen) == 1, within_s=2)
        time.sleep(0.1)
        assert fake.closed == 0
        caller.close()
        assert soon(lambda: fake.closed == 1, within_s=2)
        fake.script = (OPENING,)
        with post(url, "/crisis/respond", {"message": "x"}) as next_caller:
            assert b'"degraded":[]' in answer(next_caller)[1]


def test_leaving_in_the_middle_of_the_body_breaks_nothing():
    fake = FakeResponder()
    with running(create_app(fake, HttpOptions())) as url:
        parts = urlsplit(url)
        with socket.create_connection((parts.hostname or "", parts.port or 0)) as caller:
            caller.sendall(b"POST /crisis/respond HTTP/1.1\r\nHost: x\r\nContent-Length: 999\r\n\r\n{")
            time.sleep(0.1)
        with post(url, "/crisis/respond", {"message": "x"}) as other:
            assert answer(other)[0] == 200
    assert len(fake.seen) == 1


def test_a_caller_who_stays_is_answered_on_the_same_connection_again():
    fake = FakeResponder(script=(0.05, OPENING))
    with running(create_app(fake, HttpOptions())) as url, post(url, "/crisis/respond", {"message": "x"}) as caller:
        assert answer(caller)[0] == 200
        caller.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert answer(caller) == (200, b'{"status":"ok"}')


@pytest.mark.parametrize("raw", [b"I want to die\r\n\r\n", b"POST /crisis/respond HTTP/1.1\r\nI want to die\r\n\r\n"])
def test_what_is_no_http_is_refused_with_resources(raw: bytes):
    with running(create_app(FakeResponder(), HttpOptions())) as url:
        parts = urlsplit(url)
        with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=5) as caller:
            caller.sendall(raw)
            status, body = answer(caller)
    assert status == 400
    assert json.loads(body)["error"]["code"] == "malformed_request"
    assert json.loads(body)["resources"][0]["phone"] == "988"
    assert b"want to die" not in body
