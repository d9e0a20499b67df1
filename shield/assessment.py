"""What SHIELD says about a conversation: named, frozen results."""

from dataclasses import dataclass
from typing import Literal, get_args

Level = Literal["none", "low", "moderate", "high", "imminent"]
LEVELS: tuple[Level, ...] = get_args(Level)
_RANKS = {level: rank for rank, level in enumerate(LEVELS)}


def rank(level: Level) -> int:
    """0 for none … 4 for imminent, so that levels can be compared."""
    return _RANKS[level]


def higher(one: Level, other: Level) -> Level:
    """The graver of two levels."""
    return one if rank(one) >= rank(other) else other


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation. Only the user's turns are assessed; the assistant's give them their meaning."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class Finding:
    """Why a level was given: the rule, and the half-open span in the original text of the turn.

    probability is the learned stage's, None for a rule. `unsure`: it counts only where the learned stage is not as
    good as certain that the message is ordinary.
    """

    rule_id: str
    category: str
    level: Level
    turn: int
    start: int
    end: int
    probability: float | None = None
    unsure: bool = False


@dataclass(frozen=True, slots=True)
class Assessment:
    """The level of a conversation as it stands now, with the findings that carry it.

    `per_turn` has a level for every turn, "none" for the assistant's. `signals` are things that choose words and never
    raise or lower a level by themselves: what the person declined, asked for, denied, or told about themselves.
    """

    level: Level
    categories: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    per_turn: tuple[Level, ...] = ()
    signals: frozenset[str] = frozenset()

    @property
    def crisis(self) -> bool:
        return self.level != "none"
