"""What an operator sees of the chain: a state and a reason for every entry, and the next step that would mend it."""

from dataclasses import dataclass, replace
from typing import Any

CIRCUIT_OPEN = "circuit-open"
"""The state of a backend that is left alone for a while because it failed (circuit.py)."""


@dataclass(frozen=True, slots=True)
class LinkStatus:
    """One chain entry. state: off, starting, ready, restarting, failed, stopped, circuit-open. notes: what an operator
    should know of one that works (fit.py). circuit: closed, half-open, open. waiting: requests in an engine's queue.
    """

    name: str
    engine: str
    model: str
    state: str
    reason: str
    notes: tuple[str, ...] = ()
    circuit: str | None = None
    waiting: int | None = None

    def because(self, reason: str) -> "LinkStatus":
        return replace(self, reason=reason)

    def now(self, state: str, reason: str) -> "LinkStatus":
        return replace(self, state=state, reason=reason)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "engine": self.engine,
            "model": self.model,
            "state": self.state,
            "reason": self.reason or None,
            "notes": list(self.notes),
            "circuit": self.circuit,
            "waiting": self.waiting,
        }


def next_step(links: tuple[LinkStatus, ...], *, demo: bool) -> str | None:
    """What the operator should do next, or None when a model that may speak to people is ready."""
    ready = [link for link in links if link.state == "ready"]
    if ready and not demo:
        return None
    if ready:
        return (
            "a demo model answers, which is not for people: put an approved model into [[chain]] (crisis models list)"
        )
    if not links:
        return (
            "no model is set: add a [[chain]] entry to crisis.toml (crisis.example.toml shows one), or try `make run`"
        )
    waiting = next((link for link in links if link.state in ("starting", "restarting", CIRCUIT_OPEN)), None)
    if waiting is not None:
        return f"wait: {waiting.name} is {waiting.state}{f' ({waiting.reason})' if waiting.reason else ''}"
    return f"mend {links[0].name}: {links[0].reason or links[0].state}"
