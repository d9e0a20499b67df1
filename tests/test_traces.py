"""Traces: a span for each request at the collector that the operator names: times, closed words, and no text."""

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import httpx
import pytest
from http_fakes import FakeResponder

from serving.http.app import create_app
from serving.http.service import HttpOptions
from serving.http.traces import Traces

pytest.importorskip("opentelemetry.sdk.trace", reason="the extra `telemetry` is not installed")
CANARY = "nobody-would-miss-me"
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def collector() -> Iterator[tuple[str, list[bytes]]]:
    """A server on loopback that keeps what it is sent."""
    taken: list[bytes] = []

    class Taker(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            taken.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Taker)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1/traces", taken
    server.shutdown()
    thread.join(5)
    server.server_close()


async def asked(traces: Traces, **headers: str) -> None:
    app = create_app(FakeResponder(), HttpOptions(), traces=traces)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://test") as http:
        body = {"message": CANARY, "conversation_id": CANARY, "stream": True}
        await http.post("/crisis/respond", json=body, headers=headers)
        await http.get(f"/{CANARY}", headers=headers)


def spans(taken: list[bytes]) -> list[Any]:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    sent = [ExportTraceServiceRequest.FromString(raw) for raw in taken]
    return [span for one in sent for rows in one.resource_spans for scope in rows.scope_spans for span in scope.spans]


async def test_a_request_is_one_span_of_the_callers_trace_without_a_word(collector: tuple[str, list[bytes]]):
    endpoint, taken = collector
    traces = Traces.to(endpoint, service_name="crisis-test")
    await asked(traces, traceparent=PARENT)
    traces.close()
    answer, stray = spans(taken)
    told = {attribute.key: attribute.value for attribute in answer.attributes}
    assert answer.name == "/crisis/respond"
    assert told["crisis.level"].string_value == "high"
    assert told["http.response.status_code"].int_value == 200
    assert [event.name for event in answer.events] == ["resources", "first sentence"]
    assert answer.start_time_unix_nano <= answer.events[0].time_unix_nano <= answer.end_time_unix_nano
    assert answer.trace_id.hex() == PARENT.split("-")[1]
    assert answer.parent_span_id.hex() == PARENT.split("-")[2]
    assert stray.name == "other"
    assert CANARY.encode() not in b"".join(taken)
    assert b"host.name" not in b"".join(taken)


@pytest.mark.parametrize("header", ["", "00-zz-1-01", "00-" + "0" * 32 + "-" + "0" * 16 + "-01", "x" * 5_000, CANARY])
async def test_a_trace_that_is_none_begins_a_new_one(collector: tuple[str, list[bytes]], header: str):
    endpoint, taken = collector
    traces = Traces.to(endpoint, service_name="crisis-test")
    await asked(traces, traceparent=header)
    traces.close()
    assert len(spans(taken)) == 2
    assert all(not span.parent_span_id for span in spans(taken))
    assert CANARY.encode() not in b"".join(taken)


async def test_a_collector_that_is_gone_holds_nobody_up():
    traces = Traces.to("http://127.0.0.1:9/v1/traces", service_name="crisis-test")
    began = time.monotonic()
    for _ in range(20):
        await asked(traces)
    assert time.monotonic() - began < 20
