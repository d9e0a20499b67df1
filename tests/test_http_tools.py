"""The other routes, and what surrounds every one of them: keys, headers, metrics, the log."""

import logging
from typing import Any

import httpx
import pytest
from http_fakes import FakeResponder
from http_server import running

from serving.http.app import create_app
from serving.http.auth import Keys
from serving.http.metrics import Metrics
from serving.http.service import HttpOptions
from serving.keys import hashed

CANARY = "nobody-would-miss-me"


def client(fake: FakeResponder | None = None, options: HttpOptions | None = None) -> httpx.AsyncClient:
    app = create_app(fake or FakeResponder(), options or HttpOptions())
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://test")


async def test_assess_gives_the_assessment_and_a_level_for_every_turn():
    messages = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": "c"},
    ]
    async with client() as http:
        one = (await http.post("/crisis/assess", json={"text": "x"})).json()
        many = (await http.post("/crisis/assess", json={"messages": messages})).json()
    assert set(one) == {"level", "crisis", "categories", "findings", "per_turn", "resources"}
    assert one["per_turn"] == ["high"]
    assert many["per_turn"] == ["high", "none", "high"]


async def test_assess_says_which_turns_it_did_not_read():
    messages = [{"role": "user", "content": str(n)} for n in range(43)]
    async with client() as http:
        said = (await http.post("/crisis/assess", json={"messages": messages})).json()
    assert said["per_turn"] == [None] * 3 + ["high"] * 40
    assert said["findings"][0]["turn"] == 42


@pytest.mark.parametrize("body", [{}, {"text": "x", "messages": [{"role": "user", "content": "x"}]}, {"messages": []}])
async def test_assess_wants_either_text_or_messages(body):
    async with client() as http:
        response = await http.post("/crisis/assess", json=body)
    assert response.status_code == 422
    assert "'text' or 'messages'" in response.json()["error"]["message"]


async def test_filter_gives_verdict_violations_and_text():
    async with client() as http:
        passed = (await http.post("/crisis/filter", json={"user": "x", "reply": "I hear you."})).json()
        mended = (await http.post("/crisis/filter", json={"reply": "calm down", "country": "GB"})).json()
    assert (passed["verdict"], passed["violations"], passed["text"]) == ("pass", [], "I hear you.")
    assert mended["verdict"] == "repair"
    assert mended["violations"][0]["rule"] == "minimising.calm-down"
    assert mended["resources"][0]["country"] == "GB"


async def test_a_filter_that_crashes_lets_nothing_through():
    async with client(FakeResponder(broken=frozenset({"filter"}))) as http:
        said = (await http.post("/crisis/filter", json={"user": "x", "reply": CANARY})).json()
    assert said["verdict"] == "block"
    assert CANARY not in str(said)
    assert "AI" in said["text"]
    assert said["resources"]


@pytest.mark.parametrize(
    ("query", "first"), [("?country=GB", "116 123"), ("?country=US&language=en", "988"), ("", "988")]
)
async def test_resources_of_a_country(query, first):
    async with client() as http:
        lines = (await http.get(f"/crisis/resources{query}")).json()["resources"]
    assert lines[0]["phone"] == first


async def test_resources_of_an_unknown_country_are_the_directory_and_nobody_elses_number():
    async with client() as http:
        lines = (await http.get("/crisis/resources?country=ZZ")).json()["resources"]
    assert lines
    assert not any(line["phone"] for line in lines)


async def test_health_and_readiness():
    async with client() as http:
        assert (await http.get("/healthz")).json() == {"status": "ok"}
        ready = (await http.get("/readyz")).json()
    assert ready["ready"] is True
    assert ready["answers_from"] == "local"
    assert ready["chain"][0]["state"] == "ready"


@pytest.mark.parametrize(
    "headers", [{"authorization": "Bearer two"}, {"authorization": "bearer two"}, {"x-api-key": "one"}]
)
async def test_a_known_key_opens(headers):
    options = HttpOptions(api_keys=(hashed("one"), hashed("two")))
    async with client(options=options) as http:
        response = await http.post("/crisis/respond", json={"message": "x"}, headers=headers)
    assert response.status_code == 200


async def test_health_and_the_page_are_open_with_keys_set():
    async with client(options=HttpOptions(api_keys=(hashed("one"),))) as http:
        for path in ("/healthz", "/", "/page.css", "/page.js", "/icon.svg"):
            assert (await http.get(path)).status_code == 200


def test_keys_are_compared_as_hashes_and_a_bad_hash_is_refused_at_once():
    keys = Keys([hashed("one")])
    assert keys.admit([(b"x-api-key", b"one")])
    assert not keys.admit([(b"x-api-key", hashed("one").encode())])
    assert not keys.admit([(b"authorization", b"Basic one")])
    with pytest.raises(ValueError, match="SHA-256"):
        HttpOptions(api_keys=("one",))


async def test_every_response_has_a_request_id_and_is_not_cached():
    async with client() as http:
        responses = [await http.get(path) for path in ("/healthz", "/", "/nowhere")]
        responses.append(await http.post("/crisis/respond", json={"message": "x"}))
    assert len({response.headers["x-request-id"] for response in responses}) == 4
    for response in responses:
        assert response.headers["cache-control"] == "no-store"
        assert response.headers["x-content-type-options"] == "nosniff"


async def test_cors_is_off_by_default_and_open_to_the_listed_origins():
    here = {"origin": "https://here.example"}
    async with client() as http:
        assert "access-control-allow-origin" not in (await http.get("/healthz", headers=here)).headers
    options = HttpOptions(cors_origins=("https://here.example",), api_keys=(hashed("one"),))
    async with client(options=options) as http:
        preflight = await http.options("/crisis/respond", headers=here)
        refused = await http.post("/crisis/respond", json={"message": "x"}, headers=here)
        elsewhere = await http.get("/healthz", headers={"origin": "https://elsewhere.example"})
    assert preflight.status_code == 204
    assert preflight.headers["access-control-allow-origin"] == "https://here.example"
    assert refused.status_code == 401
    assert refused.headers["access-control-allow-origin"] == "https://here.example"
    assert "access-control-allow-origin" not in elsewhere.headers


async def test_metrics_count_answers_and_hold_no_text():
    async with client(FakeResponder(degraded=("demo-model", CANARY * 3, "I want"))) as http:
        await http.post("/crisis/respond", json={"message": CANARY, "conversation_id": CANARY, "stream": True})
        await http.get(f"/{CANARY}?{CANARY}={CANARY}")
        response = await http.get("/metrics")
    text = response.text
    assert response.headers["content-type"].startswith("text/plain")
    assert 'crisis_answers_total{level="high",source="local",verdict="pass"} 1.0' in text
    assert 'crisis_http_requests_total{route="other",status="404"} 1.0' in text
    assert 'crisis_degraded_total{reason="demo-model"} 1.0' in text
    assert 'crisis_degraded_total{reason="other"} 2.0' in text
    assert "crisis_resources_seconds_count 1.0" in text
    assert "crisis_first_sentence_seconds_count 1.0" in text
    assert "crisis_answers_in_flight 0.0" in text
    assert CANARY not in text


def test_two_apps_share_no_metrics_and_reasons_stay_few():
    metrics = Metrics()
    done = {
        "source": "x",
        "assessment": {"level": "y"},
        "filter": {"verdict": "z", "violations": []},
        "timings": {"shield_ms": 1.0, "first_sentence_ms": 1.0, "total_ms": 2.0},
    }
    for n in range(200):
        metrics.answered({**done, "degraded": [f"reason-{n}"]}, 0.1)
    text = metrics.exposition().decode()
    assert text.count("crisis_degraded_total{") == 65
    assert 'level="other",source="other",verdict="other"' in text
    assert "crisis_degraded_total{" not in Metrics().exposition().decode()


async def test_the_log_has_one_line_a_request_and_not_a_word_of_it(caplog):
    caplog.set_level(logging.INFO, logger="crisis.http")
    async with client() as http:
        await http.post(f"/crisis/respond?q={CANARY}", json={"message": CANARY, "conversation_id": CANARY})
        await http.get(f"/{CANARY}")
    lines = [record.getMessage() for record in caplog.records if record.name == "crisis.http"]
    assert len(lines) == 2
    assert "/crisis/respond 200" in lines[0]
    assert "level=high source=local" in lines[0]
    assert "other 404" in lines[1]
    assert CANARY not in caplog.text


def test_uvicorn_logs_no_paths_or_queries(caplog):
    caplog.set_level(logging.INFO)
    with running(create_app(FakeResponder(), HttpOptions())) as url:
        response = httpx.get(f"{url}/crisis/resources?country={CANARY}")
    assert response.status_code == 200
    assert "server" not in response.headers
    assert CANARY not in "".join(record.getMessage() for record in caplog.records if not record.name.startswith("http"))


async def test_the_openapi_document_describes_every_route():
    async with client() as http:
        document = (await http.get("/openapi.json")).json()
        docs = await http.get("/docs")
    assert set(document["paths"]) == {
        "/crisis/respond", "/crisis/assess", "/crisis/filter", "/crisis/resources", "/v1/chat/completions",
        "/v1/models", "/healthz", "/readyz", "/metrics", "/crisis/report",
    }  # fmt: skip
    assert _references(document) <= {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert docs.status_code == 404


def _references(node: Any) -> set[str]:
    if isinstance(node, dict):
        own = {node["$ref"]} if "$ref" in node else set()
        return own.union(*map(_references, node.values()))
    return set().union(*map(_references, node)) if isinstance(node, list) else set()


def test_start_and_stop_run_around_the_service():
    calls: list[str] = []

    async def start() -> None:
        calls.append("start")

    async def stop() -> None:
        calls.append("stop")

    app = create_app(FakeResponder(), HttpOptions(), on_start=start, on_stop=stop)
    with running(app) as url:
        assert httpx.get(f"{url}/healthz").status_code == 200
        assert calls == ["start"]
    assert calls == ["start", "stop"]
