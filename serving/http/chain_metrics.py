"""The chain for Prometheus: of each entry its state, its circuit and its queue, looked at when it is asked for."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

STATES = ("off", "starting", "ready", "restarting", "failed", "stopped", "circuit-open")
CIRCUITS = ("closed", "half-open", "open")
_MOST_ENTRIES = 64
Rows = Callable[[], Iterable[Mapping[str, Any]]]


class Chain(Collector):
    """rows: each with `name`, `engine`, `state`, and where known `circuit` and `waiting`, as /readyz shows them."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def collect(self) -> Iterable[Metric]:
        rows = list({str(row["name"]): row for row in self._rows()}.values())[:_MOST_ENTRIES]
        yield _states("crisis_chain_entry_state", "1 for the state that a chain entry is in", "state", STATES, rows)
        yield _states("crisis_chain_circuit", "1 for the state of its circuit breaker", "circuit", CIRCUITS, rows)
        queue = GaugeMetricFamily("crisis_chain_waiting", "Requests that wait for an entry", labels=["entry"])
        for row in rows:
            if row.get("waiting") is not None:
                queue.add_metric([str(row["name"])], float(row["waiting"]))
        yield queue


def _states(
    name: str, what: str, field: str, states: tuple[str, ...], rows: Iterable[Mapping[str, Any]]
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, what, labels=["entry", "engine", field])
    for row in rows:
        now = row.get(field)
        for state in states if now is not None else ():
            family.add_metric([str(row["name"]), str(row["engine"]), state], float(now == state))
    return family
