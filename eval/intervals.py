"""Shares with their uncertainty: a figure without an interval claims more than a small corpus can know."""

import math
from dataclasses import dataclass
from typing import Any

Z_95 = 1.959963984540054


def wilson(hits: float, of: float, z: float = Z_95) -> tuple[float, float]:
    """The two-sided Wilson score interval for `hits` in `of` trials; 95 % unless told. Nothing tried: 0 to 1.

    Wilson (1927), without continuity correction. Unlike the normal approximation it stays inside 0 to 1 and is
    honest at the ends: 0 of 25 gives an upper bound of 0.133, not 0.
    """
    if not 0 <= hits <= of:
        raise ValueError(f"{hits} of {of} is no share")
    if of == 0:
        return 0.0, 1.0
    share, square = hits / of, z * z / of
    centre = share + square / 2
    spread = z * math.sqrt(share * (1 - share) / of + square / (4 * of))
    low, high = (centre - spread) / (1 + square), (centre + spread) / (1 + square)
    return (0.0 if hits == 0 else max(0.0, low)), (1.0 if hits == of else min(1.0, high))


@dataclass(frozen=True, slots=True)
class Proportion:
    """How many of how many. `share` is None where nothing was tried: unknown is not zero.

    `each`: how many of them come from one trial, such as three figures of one scenario. They are not independent, so
    that the interval claims no more than the trials can.
    """

    hits: int
    of: int
    each: int = 1

    @classmethod
    def count(cls, outcomes: list[bool]) -> "Proportion":
        return cls(sum(outcomes), len(outcomes))

    @property
    def share(self) -> float | None:
        return self.hits / self.of if self.of else None

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % Wilson interval."""
        return wilson(self.hits / self.each, self.of / self.each)

    def to_json(self) -> dict[str, Any]:
        low, high = self.interval
        share = None if self.share is None else round(self.share, 4)
        return {"hits": self.hits, "of": self.of, "share": share, "low": round(low, 4), "high": round(high, 4)}

    def __str__(self) -> str:
        if self.share is None:
            return "-"
        low, high = self.interval
        return f"{self.share:6.1%}  [{low:.1%}, {high:.1%}]"
