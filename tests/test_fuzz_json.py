"""Thousands of JSON bodies that no client should send: each is answered whole, or refused with help in the refusal.

The same seed makes the same bodies. In the suite a few hundred; `make test-schema` sends 10,000 (FUZZ_CASES).
"""

import json
import logging
import os
import time
from collections import Counter
from functools import cache
from typing import Any

import httpx
import jsonschema_rs
import pytest
from http_fakes import FakeResponder
from json_fuzz import CANARY, Body, bodies

from serving.backends.scripted import ScriptedBackend
from serving.http.app import create_app
from serving.http.service import HttpOptions
from serving.lineup import Lineup
from serving.service import Service
from serving.settings import ReplySettings, Settings
from serving.wiring import build_responder

CASES = int(os.environ.get("FUZZ_CASES", "300"))
PARTS = max(1, CASES // 1_000)
SEED = int(os.environ.get("FUZZ_SEED", "4"))
ANSWERS = {
    "/crisis/respond": "Answer",
    "/v1/chat/completions": "ChatCompletion",
    "/crisis/assess": "Assessed",
    "/crisis/filter": "Filtered",
}
SETTINGS = Settings(reply=ReplySettings(default_country="US"))


@cache
def promised(name: str) -> Any:
    """A validator of one schema of our own OpenAPI document."""
    document = create_app(FakeResponder(), HttpOptions()).openapi()
    schema = {"$ref": f"#/components/schemas/{name}", "components": document["components"]}
    return jsonschema_rs.Draft202012Validator(schema)


def checked(body: Body, response: httpx.Response) -> str:
    """Raises AssertionError unless the answer is what the contract promises; gives what came of the body."""
    told = f"{body.how} to {body.path}: {response.status_code} {response.text[:200]!r}"
    if response.status_code == 200 and response.headers["content-type"].startswith("text/event-stream"):
        promised("Answer").validate(last_event(response.text))
        return "streamed"
    content = response.json()
    if response.status_code == 200:
        promised(ANSWERS[body.path]).validate(content)
        return "answered"
    assert response.status_code in (400, 413, 422), told
    promised("OpenAIError" if body.path.startswith("/v1/") else "Error").validate(content)
    assert CANARY not in response.text, told
    return str(response.status_code)


def last_event(text: str) -> Any:
    """The whole answer that a stream ends with."""
    data = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: {")]
    whole = [json.loads(line) for line in data]
    return next(event.get("crisis", event) for event in reversed(whole) if "reply" in event.get("crisis", event))


@pytest.fixture(scope="module")
def http() -> httpx.AsyncClient:
    model = ScriptedBackend(["You sound ", "worn out by all of this. What happened today?"])
    service = Service(Lineup(build_responder(SETTINGS, [model]), settings=SETTINGS))
    transport = httpx.ASGITransport(app=create_app(service, HttpOptions()))
    return httpx.AsyncClient(transport=transport, base_url="http://test", headers={"content-type": "application/json"})


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(PARTS))
async def test_every_body_is_answered_whole_or_refused_with_help(
    http: httpx.AsyncClient, caplog: pytest.LogCaptureFixture, part: int
):
    caplog.set_level(logging.DEBUG)
    outcomes: Counter[str] = Counter()
    slowest: tuple[float, str] = (0.0, "")
    seed, count = SEED * 1_000 + part, CASES // PARTS
    for body in bodies(seed, count):
        began = time.process_time()
        outcomes[checked(body, await http.post(body.path, content=body.raw))] += 1
        slowest = max(slowest, (time.process_time() - began, f"{body.how} to {body.path}, {len(body.raw)} bytes"))
        assert CANARY not in caplog.text
        assert not [record for record in caplog.records if record.levelno >= logging.ERROR]
        caplog.clear()
    print(f"\n{count} bodies, seed {seed}: {dict(outcomes)}; most work: {slowest[0]:.2f} s of CPU for {slowest[1]}")
    assert sum(outcomes.values()) == count
    assert {"answered", "streamed", "400", "413", "422"} <= set(outcomes)
    assert slowest[0] < 5, slowest


def test_the_same_seed_makes_the_same_bodies():
    assert list(bodies(1, 20)) == list(bodies(1, 20)) != list(bodies(2, 20))
