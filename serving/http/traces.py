"""Traces for an OpenTelemetry collector, where an operator names one: a span for each request, without a word of it.

Route, status, level, source, and when help and the first sentence left. Needs the extra `telemetry`. Errors:
TracesMissing, when it is not installed.
"""

import re
import time
from dataclasses import dataclass
from typing import Any, Self

from serving.http.visit import Visit

_TRACEPARENT = re.compile(rb"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")


class TracesMissing(Exception):
    """telemetry.otlp_endpoint is set and the packages for it are not installed."""


@dataclass(frozen=True, slots=True)
class Traces:
    """Made by `to`. Spans are sent by a thread of the SDK's; a collector that is gone holds nobody up."""

    _provider: Any
    _tracer: Any

    @classmethod
    def to(cls, endpoint: str, *, service_name: str) -> Self:
        """Traces that go to an OTLP collector over HTTP. Raises TracesMissing."""
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
        except ImportError:
            raise TracesMissing(
                "telemetry.otlp_endpoint is set, but OpenTelemetry is not installed; "
                "pip install 'crisis-support[telemetry]'"
            ) from None
        # The resource by hand: the SDK's own would tell of this machine.
        provider = TracerProvider(resource=Resource({"service.name": service_name}), shutdown_on_exit=False)
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint, timeout=5)))
        return cls(provider, provider.get_tracer("crisis"))

    def record(self, visit: Visit, traceparent: bytes | None) -> None:
        """The span of a request that has ended."""
        now_ns = time.time_ns()
        began_ns = now_ns - int(visit.elapsed_s() * 1e9)
        span = self._tracer.start_span(visit.route, context=_parent(traceparent), start_time=began_ns)
        span.set_attributes(
            {
                "http.route": visit.route,
                "http.response.status_code": visit.status,
                "crisis.request": visit.id,
                "crisis.level": visit.level,
                "crisis.source": visit.source,
            }
        )
        for name, after_s in visit.marks:
            span.add_event(name, timestamp=began_ns + int(after_s * 1e9))
        span.end(end_time=now_ns)

    def close(self) -> None:
        """Send what is waiting, for a few seconds at most."""
        self._provider.force_flush(2_000)
        self._provider.shutdown()


def _parent(traceparent: bytes | None) -> Any:
    """The caller's trace, so that an agent's and ours are one; None where it names none."""
    from opentelemetry import trace

    found = _TRACEPARENT.fullmatch(traceparent or b"")
    if found is None:
        return None
    ids = int(found[1], 16), int(found[2], 16)
    if not all(ids):
        return None
    known = trace.SpanContext(*ids, is_remote=True, trace_flags=trace.TraceFlags(int(found[3], 16) & 1))
    return trace.set_span_in_context(trace.NonRecordingSpan(known))
