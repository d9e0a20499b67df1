"""The HTTP face on the real pipeline: the same contract, with a scripted model behind it and without any."""

import json
from typing import Any

import httpx
import pytest

from serving.backends.scripted import ScriptedBackend
from serving.http.app import create_app
from serving.http.service import HttpOptions
from serving.lineup import Lineup
from serving.service import Service
from serving.settings import ReplySettings, Settings
from serving.wiring import build_responder

MODELS = {
    "no model": [],
    "a model": [ScriptedBackend(["You sound ", "worn out by all of this. What happened today?"])],
    "a model that breaks": [ScriptedBackend(["You sound worn out. And", RuntimeError("gone")])],
    "a model that harms": [ScriptedBackend(["You would be better off dead. ", "Call 1-900-555-0199."])],
}
SETTINGS = Settings(reply=ReplySettings(default_country="US"))


@pytest.fixture(scope="module", params=MODELS.values(), ids=MODELS.keys())
def service(request: pytest.FixtureRequest) -> Service:
    return Service(Lineup(build_responder(Settings(), request.param), settings=SETTINGS))


async def send(service: Service, method: str, path: str, **request: Any) -> httpx.Response:
    app = create_app(service, HttpOptions())
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://test") as http:
        return await http.request(method, path, **request)


@pytest.mark.parametrize("message", ["I want to die", "My sister says she wants to die", "how do I castle in chess?"])
async def test_respond_keeps_the_contract(service: Service, message: str):
    done = (await send(service, "POST", "/crisis/respond", json={"message": message, "country": "US"})).json()
    assert {line["phone"] for line in done["resources"]} >= {"988", "911"}
    assert done["source"] in {"local", "static"}
    assert done["reply"]
    assert "better off dead" not in done["reply"]
    assert "900-555" not in done["reply"]
    if done["assessment"]["crisis"]:
        assert "988" in done["reply"]
        assert "AI" in done["reply"]


async def test_the_stream_is_the_reply(service: Service):
    body = {"message": "I want to die", "country": "US", "stream": True}
    response = await send(service, "POST", "/crisis/respond", json=body)
    told = [tuple(line.split(": ", 1)[1] for line in block.split("\n")) for block in response.text.split("\n\n")[:-1]]
    names = [name for name, _ in told]
    assert names[:3] == ["assessment", "resources", "sentence"]
    assert names[-1] == "done"
    done = json.loads(told[-1][1])
    assert done["reply"].split() == "".join(json.loads(d)["text"] for n, d in told if n == "sentence").split()


async def test_the_openai_route_says_the_same(service: Service):
    body = {"messages": [{"role": "user", "content": "I want to die"}], "country": "US"}
    said = (await send(service, "POST", "/v1/chat/completions", json=body)).json()
    assert said["choices"][0]["message"]["content"] == said["crisis"]["reply"]
    assert "988" in said["crisis"]["reply"]


async def test_the_tools_work(service: Service):
    level = (await send(service, "POST", "/crisis/assess", json={"text": "I want to die"})).json()["level"]
    body = {"user": "I want to die", "reply": "You would be better off dead.", "country": "GB"}
    verdict = (await send(service, "POST", "/crisis/filter", json=body)).json()
    lines = (await send(service, "GET", "/crisis/resources?country=GB")).json()["resources"]
    assert level != "none"
    assert verdict["verdict"] == "block"
    assert "better off" not in verdict["text"]
    assert verdict["violations"][0]["rule"]
    assert verdict["text"]
    assert lines[0]["phone"] == "116 123"


async def test_errors_readiness_and_the_page_work(service: Service):
    error = await send(service, "POST", "/crisis/respond", content=b"{", headers={"content-type": "application/json"})
    ready = await send(service, "GET", "/readyz")
    page = await send(service, "POST", "/", data={"message": "I want to die", "country": "US"})
    assert error.json()["resources"][0]["phone"] == "988"
    assert ready.json()["ready"] is True
    assert 'href="tel:988"' in page.text
    assert 'class="turn assistant"' in page.text


async def test_overload_is_answered_by_the_real_static_reply(service: Service):
    app = create_app(service, HttpOptions(max_concurrent=0))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://test") as http:
        done = (await http.post("/crisis/respond", json={"message": "I want to die", "country": "US"})).json()
    assert "overload" in done["degraded"]
    assert done["source"] == "static"
    assert "988" in done["reply"]
