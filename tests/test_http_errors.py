"""Every error carries resources, says what to do, and quotes nobody."""

import asyncio
import json
from typing import Any

import httpx
import pytest
from http_fakes import FakeResponder
from hypothesis import example, given, settings
from hypothesis import strategies as st

from serving.http.app import create_app
from serving.http.service import HttpOptions
from serving.keys import hashed

CANARY = "nobody-would-miss-me"
JSON = {"content-type": "application/json"}


def app_client(fake: FakeResponder, options: HttpOptions | None = None) -> httpx.AsyncClient:
    app = create_app(fake, options or HttpOptions())
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://test")


async def send(method: str, path: str, *, fake: FakeResponder | None = None, **request: Any) -> httpx.Response:
    async with app_client(fake or FakeResponder(), HttpOptions(max_body_bytes=10_000)) as http:
        return await http.request(method, path, **request)


def assert_error(response: httpx.Response, status: int, code: str) -> dict[str, Any]:
    body: dict[str, Any] = response.json()
    assert response.status_code == status
    assert body["error"]["code"] == code
    assert body["error"]["message"]
    assert body["resources"]
    assert CANARY not in response.text
    return body


NOT_JSON = {
    "empty": b"",
    "cut off": b'{"message": "' + CANARY.encode(),
    "not an utf-8 text": b'{"message": "' + CANARY.encode() + b'\xff"}',
    "utf-16": f'{{"message": "{CANARY}"}}'.encode("utf-16"),
    "deeply nested": b'{"message": "' + CANARY.encode() + b'", "x": ' + b"[" * 4_000,
    "deeply nested and closed": b'{"message": "x", "x": ' + b"[" * 2_000 + b"]" * 2_000 + b"}",
    "a lone surrogate in broken json": b'{"message": "\\ud83d", ' + CANARY.encode(),
    "a control character": b'{"message": "\x01' + CANARY.encode() + b'"}',
    "words": CANARY.encode(),
}


@pytest.mark.parametrize("path", ["/crisis/respond", "/crisis/assess", "/crisis/filter", "/v1/chat/completions"])
@pytest.mark.parametrize("raw", NOT_JSON.values(), ids=NOT_JSON.keys())
async def test_what_is_not_json_is_a_400_with_resources(path, raw):
    assert_error(await send("POST", path, content=raw, headers=JSON), 400, "malformed_request")


def user(text: Any) -> dict[str, Any]:
    return {"role": "user", "content": text}


INVALID = {
    "a list": [CANARY],
    "a string": CANARY,
    "nothing": {},
    "no messages": {"messages": []},
    "message is a number": {"message": 5},
    "message is an object": {"message": {CANARY: CANARY}},
    "blank": {"message": " \n\t "},
    "too long": {"message": CANARY * 2_000},
    "a system role": {"messages": [{"role": "system", "content": CANARY}, user("x")]},
    "a tool role": {"messages": [{"role": "tool", "content": CANARY}, user("x")]},
    "a made-up role": {"messages": [{"role": CANARY, "content": "x"}]},
    "no content": {"messages": [{"role": "user"}]},
    "content is null": {"messages": [user(None)]},
    "last is the assistant's": {"messages": [user("x"), {"role": "assistant", "content": CANARY}]},
    "channel is a list": {"message": "x", "channel": [CANARY]},
    "country is a number": {"message": CANARY, "country": 49},
    "stream is a word": {"message": "x", "stream": CANARY},
    "context without text": {"message": "x", "context": [{"id": CANARY}]},
    "a long id": {"message": "x", "conversation_id": CANARY * 10},
}


@pytest.mark.parametrize("body", INVALID.values(), ids=INVALID.keys())
async def test_json_of_another_shape_is_a_422_with_resources(body):
    raw = json.dumps(body)
    async with app_client(FakeResponder()) as http:
        assert_error(await http.post("/crisis/respond", content=raw, headers=JSON), 422, "invalid_request")


async def test_an_error_says_where_and_how_to_mend_it():
    body = {"messages": [user("x"), {"role": "system", "content": CANARY}, user("y")]}
    error = assert_error(await send("POST", "/crisis/respond", json=body), 422, "invalid_request")
    assert "messages.1.role" in error["error"]["message"]
    assert "'user' and 'assistant'" in error["error"]["message"]


async def test_an_errors_resources_are_those_of_the_country_in_the_request():
    body = {"messages": [], "country": "GB", "message": None}
    error = assert_error(await send("POST", "/crisis/respond", json=body), 422, "invalid_request")
    assert error["resources"][0]["country"] == "GB"


async def test_an_unknown_path_and_a_wrong_method():
    error = assert_error(await send("GET", f"/{CANARY}"), 404, "not_found")
    assert "/crisis/respond" in error["error"]["message"]
    response = await send("GET", "/crisis/respond")
    assert "POST" in assert_error(response, 405, "method_not_allowed")["error"]["message"]
    assert response.headers["allow"] == "POST"


@pytest.mark.parametrize("declared", [True, False], ids=["declared", "chunked"])
async def test_a_large_body_is_a_413(declared):
    raw = json.dumps({"message": CANARY * 1_000}).encode()

    async def chunks() -> Any:
        for start in range(0, len(raw), 1_000):
            yield raw[start : start + 1_000]

    content = raw if declared else chunks()
    assert_error(await send("POST", "/crisis/respond", content=content, headers=JSON), 413, "too_large")


@pytest.mark.parametrize(
    "headers",
    [
        {"content-type": "text/plain"},
        {"content-type": "application/x-www-form-urlencoded"},
        JSON | {"content-encoding": "gzip"},
    ],
)
async def test_another_media_type_is_a_415(headers):
    response = await send("POST", "/crisis/respond", content=b'{"message": "x"}', headers=headers)
    assert_error(response, 415, "unsupported_media_type")


async def test_a_body_that_never_ends_is_a_408():
    async def slow() -> Any:
        yield b'{"message": "'
        await asyncio.sleep(30)

    async with app_client(FakeResponder(), HttpOptions(body_deadline_s=0.05)) as http:
        response = await http.post("/crisis/respond", content=slow(), headers=JSON)
    assert_error(response, 408, "body_timeout")


async def test_a_crash_is_a_500_with_resources_and_a_log_without_words(caplog):
    fake = FakeResponder(broken=frozenset({"assess"}))
    response = await send("POST", "/crisis/assess", json={"text": CANARY}, fake=fake)
    assert_error(response, 500, "internal_error")
    assert "RuntimeError at http_fakes.py" in caplog.text
    assert "want to die" not in caplog.text
    assert CANARY not in caplog.text


async def test_an_error_has_resources_when_the_helplines_are_gone_too():
    fake = FakeResponder(broken=frozenset({"resources"}))
    error = assert_error(await send("GET", "/nowhere", fake=fake), 404, "not_found")
    assert {line["phone"] or line["sms"] for line in error["resources"]} >= {"988", "741741", "911"}


async def test_not_ready_is_a_503_with_resources():
    assert_error(await send("GET", "/readyz", fake=FakeResponder(is_ready=False)), 503, "unavailable")


@pytest.mark.parametrize(
    "headers", [{}, {"x-api-key": "wrong"}, {"authorization": "Bearer wrong"}, {"authorization": "x"}]
)
async def test_a_wrong_key_is_a_401_with_resources(headers):
    async with app_client(FakeResponder(), HttpOptions(api_keys=(hashed("right"),))) as http:
        for path in ("/crisis/respond", "/crisis/assess", "/crisis/filter"):
            response = await http.post(path, json={"message": "x"}, headers=headers)
            assert_error(response, 401, "unauthorized")
            assert response.headers["www-authenticate"].startswith("Bearer")
        for path in ("/crisis/resources", "/metrics", "/openapi.json", "/v1/models"):
            assert_error(await http.get(path, headers=headers), 401, "unauthorized")


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/models", "/v1/nothing"])
async def test_openai_routes_have_openais_error_shape_and_resources(path):
    async with app_client(FakeResponder(), HttpOptions(api_keys=(hashed("right"),))) as http:
        response = await http.post(path, json={"messages": [user(CANARY)]})
    assert set(response.json()["error"]) == {"message", "type", "param", "code"}
    assert response.json()["error"]["type"] == "authentication_error"
    assert response.json()["resources"]


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
)
FIELDS = st.sampled_from(
    [
        "message",
        "messages",
        "text",
        "reply",
        "user",
        "role",
        "content",
        "country",
        "language",
        "context",
        "stream",
        "channel",
    ]
)
BODIES = st.binary(max_size=40) | st.dictionaries(FIELDS, VALUES, max_size=5).map(
    lambda body: json.dumps(body).encode()
)
ANY_APP = create_app(FakeResponder(), HttpOptions())


@given(
    path=st.sampled_from(["/crisis/respond", "/crisis/assess", "/crisis/filter", "/v1/chat/completions"]), raw=BODIES
)
@example(path="/crisis/respond", raw=b'{"message": "x", "country": "\\ud800"}')
@example(path="/crisis/respond", raw=b'{"message": "\\u0000", "language": "\\u0000"}')
@example(path="/crisis/filter", raw=b'{"reply": "\\udfff"}')
@settings(max_examples=150)
def test_whatever_is_sent_is_answered_with_resources_and_never_breaks(path, raw):
    async def post() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=ANY_APP), base_url="http://test") as http:
            return await http.post(path, content=raw, headers=JSON)

    response = asyncio.run(post())
    body = response.json()
    assert response.status_code in {200, 400, 422}
    assert body.get("resources") or body["crisis"]["resources"]


def test_a_byte_order_mark_costs_nobody_an_answer() -> None:
    from serving.http.body import parse
    from serving.http.schemas import AssessBody

    assert parse(AssessBody, b'\xef\xbb\xbf{"text": "hello"}').text == "hello"
