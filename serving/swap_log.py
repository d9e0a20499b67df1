"""What became of each change of [[chain]] while the service ran: for /readyz, the metrics and `crisis models use`."""

from collections import Counter, deque
from dataclasses import dataclass
from typing import Any, Literal, get_args

Outcome = Literal["swapped", "unchanged", "rolled-back"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
IDLE = "idle"
_REMEMBERED = 16


@dataclass(frozen=True, slots=True)
class Swap:
    """One change that was asked for. digest: the SHA-256 of the settings file that was read, "" where there is none.

    reason: one line; what went wrong for rolled-back, what the operator should know for the others, "" for nothing.
    seconds: until the new chain answered, or the old one again. at: when, in ISO 8601 and UTC.
    """

    number: int
    outcome: Outcome
    reason: str
    digest: str
    seconds: float
    at: str

    def to_json(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "outcome": self.outcome,
            "reason": self.reason or None,
            "seconds": round(self.seconds, 2),
            "at": self.at,
            "digest": self.digest,
        }


class SwapLog:
    """The newest swaps, the count of all by outcome, and what is being done at the moment."""

    def __init__(self) -> None:
        self.state = IDLE
        self.recent: deque[Swap] = deque(maxlen=_REMEMBERED)
        self._counts: Counter[Outcome] = Counter()

    @property
    def counts(self) -> dict[str, int]:
        """Every outcome, also those that never came."""
        return {outcome: self._counts[outcome] for outcome in OUTCOMES}

    @property
    def number(self) -> int:
        """How many there were."""
        return self._counts.total()

    def add(self, swap: Swap) -> None:
        self.recent.append(swap)
        self._counts[swap.outcome] += 1
        self.state = IDLE

    def recent_json(self) -> list[dict[str, Any]]:
        """The newest ones, oldest first."""
        return [swap.to_json() for swap in self.recent]

    def to_json(self) -> dict[str, Any]:
        """For /readyz."""
        last = self.recent[-1].to_json() if self.recent else None
        return {"state": self.state, "swaps": self.number, "last": last}
