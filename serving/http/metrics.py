"""Counts and times for Prometheus. Label values come from closed sets: nothing anybody wrote can be one."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector

from serving.events import Source
from serving.http.chain_metrics import Chain
from serving.records import Records
from serving.referrals import How
from shield.assessment import LEVELS

MEDIA_TYPE = CONTENT_TYPE_LATEST
OTHER = "other"

_FAST = (0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)
_SLOW = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 13.0, 30.0, 60.0)
_SOURCES: frozenset[Source] = frozenset({"local", "claude", "static"})
_VERDICTS = frozenset({"pass", "repair", "block"})
_WORD = re.compile(r"[a-z][a-z0-9:_.-]{0,47}")
_MOST_WORDS = 64


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
        self._writing = Histogram(
            "crisis_writing_seconds", "First sentence to the end", ["source"], buckets=_SLOW, registry=registry
        )
        self._violations = Counter(
            "crisis_filter_violations", "Violations kept from people, by category", ["category"], registry=registry
        )
        self._referrals = Counter(
            "crisis_referrals", "Answers with a crisis service's lines in them", ["level", "how"], registry=registry
        )
        self._children: dict[tuple[str, int], Any] = {}
        self._reasons = ClosedWords()
        self._categories = ClosedWords()
        ProcessCollector(registry=registry)

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
            self._degraded.labels(self._reasons.known(reason)).inc()
        for violation in done["filter"]["violations"]:
            self._violations.labels(self._categories.known(violation["category"])).inc()
        first_ms, total_ms = done["timings"]["first_sentence_ms"], done["timings"]["total_ms"]
        self._writing.labels(source if source in _SOURCES else OTHER).observe(max(0.0, total_ms - first_ms) / 1000)
        self._shield.observe(done["timings"]["shield_ms"] / 1000)
        self._total.observe(seconds)

    def referred(self, level: str, how: How) -> None:
        """An answer with the lines of a crisis service in it reached its caller."""
        self._referrals.labels(level if level in LEVELS else OTHER, how).inc()

    def chain_from(self, rows: Callable[[], Iterable[Mapping[str, Any]]]) -> None:
        """The chain as /readyz shows it, looked at when it is asked for."""
        self._registry.register(Chain(rows))

    def records_from(self, records: Records) -> None:
        """Whether what should be written down is."""
        waiting = Gauge("crisis_records_waiting", "Counts and audit lines not written yet", registry=self._registry)
        failures = Gauge("crisis_records_failures", "Failed attempts to write them", registry=self._registry)
        dropped = Gauge("crisis_audit_lines_dropped", "Audit lines that nothing could hold", registry=self._registry)
        waiting.set_function(lambda: records.waiting)
        failures.set_function(lambda: records.failures)
        dropped.set_function(lambda: records.dropped)

    def swaps_from(self, counts: Callable[[], Mapping[str, int]]) -> None:
        """Counts of changes of the chain, which are kept elsewhere."""
        self._registry.register(_Swaps(counts))

    def exposition(self) -> bytes:
        return generate_latest(self._registry)

    def _histogram(self, name: str, what: str, buckets: tuple[float, ...]) -> Histogram:
        return Histogram(name, what, buckets=buckets, registry=self._registry)


class ClosedWords:
    """Words of the code or of the settings: a new one is let in while there are few, and anything odd never."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def known(self, word: str) -> str:
        """The word, or "other"."""
        if word in self._known:
            return word
        if len(self._known) >= _MOST_WORDS or not _WORD.fullmatch(word):
            return OTHER
        self._known.add(word)
        return word


class _Swaps(Collector):
    """crisis_swap_total, read when it is asked for."""

    def __init__(self, counts: Callable[[], Mapping[str, int]]) -> None:
        self._counts = counts

    def collect(self) -> Iterable[Metric]:
        family = CounterMetricFamily("crisis_swap", "Changes of the chain, by outcome", labels=["outcome"])
        for outcome, count in self._counts().items():
            family.add_metric([outcome], count)
        yield family
