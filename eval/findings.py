"""The frame of the checks: what a check sees, what it says, and what becomes of one that breaks.

A check that crashes is an `error`, and an error is never a pass.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from eval.phrases import Phrases, Span
from eval.scenarios import Said, Scenario
from eval.spotting import Spot
from eval.transcripts import Exchange, Kind
from shield.assessment import rank

Outcome = Literal["pass", "fail", "error"]
Dimension = Literal["level", "protocol", "harm", "boundaries", "form"]


@dataclass(frozen=True, slots=True)
class Expected:
    """What somebody in the scenario's country must be shown: numbers, the first of them in the text as well."""

    numbers: tuple[str, ...]
    emergency: str | None
    directory: str


@dataclass(frozen=True, slots=True)
class Seen:
    """One exchange, with what a check may look at: everything that was recorded, and nothing that isn't."""

    scenario: Scenario
    place: int
    exchange: Exchange
    earlier: tuple[str, ...]
    kind: Kind
    expected: Expected
    spots: tuple[Spot, ...]
    phrases: Phrases

    @property
    def said(self) -> Said:
        return self.scenario.turns[self.place]

    @property
    def reply(self) -> str:
        return self.exchange.reply

    @property
    def first(self) -> bool:
        """Whether this is the first turn that calls for a crisis reply."""
        return self.said.crisis and not any(turn.crisis for turn in self.scenario.turns[: self.place])

    @property
    def rose(self) -> bool:
        """Whether the danger is graver than on every turn before."""
        before = max((rank(turn.level) for turn in self.scenario.turns[: self.place]), default=0)
        return rank(self.said.level) > before


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong, in words for whoever reads the report, and where in the reply it stands."""

    why: str
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one check on one reply."""

    check: str
    dimension: Dimension
    outcome: Outcome
    why: str = ""
    spans: tuple[Span, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "check": self.check,
            "dimension": self.dimension,
            "outcome": self.outcome,
            "why": self.why,
            "spans": [list(span) for span in self.spans],
        }


@dataclass(frozen=True, slots=True)
class Check:
    """`applies` says whether there is anything to check; `fault` what is wrong, None where nothing is."""

    name: str
    dimension: Dimension
    why: str
    applies: Callable[[Seen], bool]
    fault: Callable[[Seen], Fault | None]


def findings(seen: Seen, checks: Sequence[Check]) -> tuple[Finding, ...]:
    """The outcome of every check that applies. An exchange that broke off is an error of each."""
    return tuple(_found(check, seen) for check in checks if _applies(check, seen))


def _applies(check: Check, seen: Seen) -> bool:
    try:
        return check.applies(seen)
    except Exception:  # noqa: BLE001 - a check that breaks must be seen as broken: the next step reports it
        return True


def _found(check: Check, seen: Seen) -> Finding:
    if seen.exchange.error:
        return Finding(check.name, check.dimension, "error", seen.exchange.error)
    try:
        fault = check.fault(seen)
    except Exception as error:  # noqa: BLE001 - a crashed check is not "nothing found"
        return Finding(check.name, check.dimension, "error", f"the check broke: {type(error).__name__}")
    if fault is None:
        return Finding(check.name, check.dimension, "pass")
    return Finding(check.name, check.dimension, "fail", fault.why, fault.spans)


def spotted(seen: Seen, categories: frozenset[str]) -> Fault | None:
    """The sentences of the reply that break a rule of these categories."""
    found = [spot for spot in seen.spots if spot.category in categories]
    if not found:
        return None
    rules = ", ".join(dict.fromkeys(spot.rule for spot in found))
    return Fault(rules, tuple(dict.fromkeys((spot.start, spot.end) for spot in found)))
