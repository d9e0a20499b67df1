"""What stands between the network and the service: names, other sites' pages, headers, and callers who dawdle."""

import socket
import time
from http.client import HTTPResponse
from urllib.parse import urlsplit

import httpx
import pytest
from http_fakes import FakeResponder
from http_server import running

from serving.http.app import create_app
from serving.http.server import Protocol
from serving.http.service import HttpOptions
from serving.keys import hashed
from serving.settings import ServerSettings

MESSAGE = {"message": "x"}


def client(options: HttpOptions | None = None, base: str = "http://127.0.0.1:8600") -> httpx.AsyncClient:
    app = create_app(FakeResponder(), options or HttpOptions())
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url=base)


# the name that a caller uses

HERE = HttpOptions(hosts=ServerSettings().names())


@pytest.mark.parametrize("host", ["127.0.0.1:8600", "localhost", "LOCALHOST:1", "[::1]:8600"])
async def test_an_open_service_answers_to_the_names_of_this_machine(host: str):
    async with client(HERE) as http:
        assert (await http.post("/crisis/respond", json=MESSAGE, headers={"host": host})).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8600", "[", ""])
async def test_an_open_service_is_nobodys_under_another_name(host: str):
    async with client(HERE) as http:
        for path in ("/crisis/respond", "/"):
            response = await http.post(path, json=MESSAGE, headers={"host": host})
            assert response.status_code == 421
            assert response.json()["error"]["code"] == "unknown_host"
            assert response.json()["resources"]
            assert "evil" not in response.text
            assert "allowed_hosts" in response.json()["error"]["message"]


def test_with_keys_it_goes_by_any_name_unless_some_are_listed():
    key = ("0" * 64,)
    assert ServerSettings(host="0.0.0.0", api_keys=key).names() == ()  # noqa: S104 - nothing listens
    assert "care.example" in ServerSettings(api_keys=key, allowed_hosts=("care.example",)).names()
    assert "care.example" in ServerSettings(allowed_hosts=("care.example",)).names()


# other sites' pages


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_a_page_of_another_site_cannot_use_the_service_through_a_visitors_browser(site: str):
    headers = {"sec-fetch-site": site, "origin": "https://evil.example"}
    async with client() as http:
        for path in ("/", "/crisis/respond", "/v1/chat/completions"):
            response = await http.post(path, json=MESSAGE, headers=headers)
            assert response.status_code == 403
            assert response.json()["resources"]
    async with client(HttpOptions(cors_origins=("https://evil.example",))) as http:
        assert (await http.post("/crisis/respond", json=MESSAGE, headers=headers)).status_code == 200


@pytest.mark.parametrize("site", ["same-origin", "none"])
async def test_the_page_itself_can(site: str):
    async with client() as http:
        response = await http.post("/crisis/respond", json=MESSAGE, headers={"sec-fetch-site": site})
    assert response.status_code == 200


FOREIGN = {
    "https://evil.example": "care.example",
    "http://evil.example": "192.0.2.7:8600",
    "http://192.0.2.7:9000": "192.0.2.7:8600",
    "http://care.example.evil.example": "care.example",
    "null": "care.example",
    "file://": "127.0.0.1:8600",
    "http://[": "[",
    "evil": "",
}


@pytest.mark.parametrize("origin", FOREIGN)
async def test_where_a_browser_does_not_say_the_site_its_origin_does(origin: str):
    """Over plain http to a machine of the network no browser sends Sec-Fetch-Site; old ones never do."""
    headers = {"origin": origin, "host": FOREIGN[origin]}
    async with client(HttpOptions(api_keys=("0" * 64,))) as http:
        for path in ("/crisis/respond", "/v1/chat/completions", "/crisis/filter"):
            response = await http.post(path, json=MESSAGE, headers=headers)
            assert response.status_code == 403, path
            assert response.json()["resources"]
            assert "cors_origins" in response.json()["error"]["message"]
    async with client(HttpOptions(cors_origins=(origin,))) as http:
        assert (await http.post("/crisis/respond", json=MESSAGE, headers=headers)).status_code == 200


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://127.0.0.1:8600", "127.0.0.1:8600"),
        ("http://192.0.2.7", "192.0.2.7:80"),
        ("https://Care.example", "care.example"),  # a proxy took TLS off
        ("http://[::1]:8600", "[::1]:8600"),
        ("", "care.example"),  # no browser
    ],
)
async def test_the_pages_own_origin_and_none_are_let_in(origin: str, host: str):
    headers = {"host": host} | ({"origin": origin} if origin else {})
    async with client() as http:
        assert (await http.post("/crisis/respond", json=MESSAGE, headers=headers)).status_code == 200


async def test_the_pages_form_may_not_tell_its_origin_and_is_let_in():
    async with client() as http:
        headers = {"origin": "null", "content-type": "application/x-www-form-urlencoded"}
        assert (await http.post("/", content=b"message=x", headers=headers)).status_code == 200
        assert (await http.post("/", content=b"message=x", headers=headers | {"origin": "http://x"})).status_code == 403


# headers


async def test_every_response_is_told_to_be_kept_framed_and_guessed_by_nobody():
    paths = ("/", "/page.js", "/healthz", "/readyz", "/metrics", "/openapi.json", "/nowhere", "/crisis/resources")
    async with client() as http:
        responses = [await http.get(path) for path in paths]
        responses.append(await http.post("/crisis/respond", json=MESSAGE | {"stream": True}))
        responses.append(await http.post("/crisis/respond", content=b"{"))
    for response in responses:
        headers = response.headers
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        policy = headers.get_list("content-security-policy")
        assert len(policy) == 1
        assert policy[0].startswith("default-src 'none'; ")
        assert "frame-ancestors 'none'" in policy[0]
        assert "unsafe" not in policy[0]
        assert "server" not in headers
    assert "script-src 'self'" in responses[0].headers["content-security-policy"]
    assert "trusted-types 'none'" in responses[0].headers["content-security-policy"]
    assert "script-src" not in responses[3].headers["content-security-policy"]


# callers who dawdle


def connect(url: str) -> socket.socket:
    address = urlsplit(url)
    return socket.create_connection((address.hostname or "", address.port or 0), timeout=10)


def told(caller: socket.socket) -> HTTPResponse:
    response = HTTPResponse(caller)
    response.begin()
    return response


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Protocol, "head_s", 0.3)


@pytest.mark.usefixtures("hasty")
def test_a_head_that_never_ends_is_answered_with_help_and_closed():
    with running(create_app(FakeResponder(), HttpOptions())) as url, connect(url) as caller:
        caller.sendall(b"POST /crisis/respond HTTP/1.1\r\nHost: x\r\nX-Slow: ")
        response = told(caller)
        assert response.status == 408
        assert response.headers["x-content-type-options"] == "nosniff"
        assert b'"resources":[{"id":"us-988"' in response.read()
        assert caller.recv(1) == b""


@pytest.mark.usefixtures("hasty")
def test_dripping_bytes_buys_no_time_and_silence_is_closed():
    with running(create_app(FakeResponder(), HttpOptions())) as url, connect(url) as dripping, connect(url) as silent:
        assert silent.recv(1) == b""
        began = time.monotonic()
        try:
            while time.monotonic() - began < 8:
                dripping.sendall(b"X")
                time.sleep(0.05)
        except OSError:
            pass
        assert time.monotonic() - began < 8


@pytest.mark.usefixtures("hasty")
def test_the_next_request_of_a_connection_has_its_own_time_and_a_slow_answer_is_not_cut():
    head = b"POST /crisis/respond HTTP/1.1\r\nHost: x\r\nContent-Length: 15\r\n\r\n"
    fake = FakeResponder(script=(0.8, "I'm here."))
    with running(create_app(fake, HttpOptions())) as url, connect(url) as caller:
        for _ in range(2):
            caller.sendall(head + b'{"message":"x"}')
            response = told(caller)
            assert response.status == 200
            assert b"I'm here." in response.read()
        caller.sendall(head[:20])
        assert told(caller).status == 408


def test_a_body_that_drips_is_cut_at_its_deadline():
    head = b"POST /crisis/respond HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{"
    options = HttpOptions(body_deadline_s=0.3, api_keys=(hashed("k"),))
    with running(create_app(FakeResponder(), options)) as url, connect(url) as caller:
        caller.sendall(head.replace(b"Host: x", b"Host: x\r\nX-API-Key: k"))
        assert told(caller).status == 408
