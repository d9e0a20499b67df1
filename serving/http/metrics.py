"""Counts and times for Prometheus. Label values come from closed sets: nothing anybody wrote can be one."""

import re
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from serving.events import Source
from shield.assessment import LEVELS

MEDIA_TYPE = CONTENT_TYPE_LATEST
OTHER = "other"

_FAST = (0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)
_SLOW = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 13.0, 30.0, 60.0)
_SOURCES: frozenset[Source] = frozenset({"local", "claude", "static"})
_VERDICTS = frozenset({"pass", "repair", "block"})
_REASON = re.compile(r"[a-z][a-z0-9:_.-]{0,47}")
_MOST_REASONS = 64


class Metrics:
    """The service's own registry: two apps in one process don't share it."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self._requests = Counter("crisis_http_requests", "Requests", ["route", "status"], registry=registry)
        self.in_flight = Gauge("crisis_answers_in_flight", "Answers being made now", registry=registry)
        self._answers = Counter("crisis_answers", "Answers", ["source", "level", "verdict"], registry=registry)
        self._degraded = Counter("crisis_degraded", "Answers that fell short, by reason", ["reason"], registry=registry)
        self._left = Counter("crisis_callers_left", "Callers who left before their answer ended", registry=registry)
        self._shield = self._histogram("crisis_shield_seconds", "SHIELD's assessment", _FAST)
        self._resources = self._histogram("crisis_resources_seconds", "Request to the resources event", _FAST)
        self._first = self._histogram("crisis_first_sentence_seconds", "Request to the first sentence", _SLOW)
        self._total = self._histogram("crisis_answer_seconds", "Request to the end of the answer", _SLOW)
        self._children: dict[tuple[str, int], Any] = {}
        self._reasons: set[str] = set()

    def request(self, route: str, status: int) -> None:
        """`route` is one of the app's own paths, or "other"."""
        child = self._children.get((route, status))
        if child is None:
            child = self._children[route, status] = self._requests.labels(route, str(status))
        child.inc()

    def caller_left(self) -> None:
        self._left.inc()

    def resources_shown(self, seconds: float) -> None:
        self._resources.observe(seconds)

    def first_sentence(self, seconds: float) -> None:
        self._first.observe(seconds)

    def answered(self, done: dict[str, Any], seconds: float) -> None:
        """Counts a `done` object (design.md's contract)."""
        source, level, verdict = done["source"], done["assessment"]["level"], done["filter"]["verdict"]
        self._answers.labels(
            source if source in _SOURCES else OTHER,
            level if level in LEVELS else OTHER,
            verdict if verdict in _VERDICTS else OTHER,
        ).inc()
        for reason in done["degraded"]:
            self._degraded.labels(self._bounded(reason)).inc()
        self._shield.observe(done["timings"]["shield_ms"] / 1000)
        self._total.observe(seconds)

    def exposition(self) -> bytes:
        return generate_latest(self._registry)

    def _histogram(self, name: str, what: str, buckets: tuple[float, ...]) -> Histogram:
        return Histogram(name, what, buckets=buckets, registry=self._registry)

    def _bounded(self, reason: str) -> str:
        """Reasons are fixed words of the code; a new one is let in while there are few, and anything odd never."""
        if reason in self._reasons:
            return reason
        if len(self._reasons) >= _MOST_REASONS or not _REASON.fullmatch(reason):
            return OTHER
        self._reasons.add(reason)
        return reason
