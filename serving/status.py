"""What an operator sees of the chain: a state and a reason for every entry, and the next step that would mend it."""

from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class LinkStatus:
    """One chain entry. state: off, starting, ready, restarting, failed, stopped."""

    name: str
    engine: str
    model: str
    state: str
    reason: str

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
    waiting = next((link for link in links if link.state in ("starting", "restarting")), None)
    if waiting is not None:
        return f"wait: {waiting.name} is {waiting.state}{f' ({waiting.reason})' if waiting.reason else ''}"
    return f"mend {links[0].name}: {links[0].reason or links[0].state}"
