"""What a caller sends, after parsing: the one input of the respond pipeline."""

from dataclasses import dataclass
from typing import Literal

from shield.assessment import Turn

Channel = Literal["chat", "sms"]
MAX_TURNS = 40
MAX_CHARACTERS = 16_000


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of the person's own history that the agent hands over as context."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Conversation:
    """The turns, oldest first, the last one the user's; and what is known of the person. None means not known."""

    turns: tuple[Turn, ...]
    country: str | None = None
    language: str | None = None
    channel: Channel = "chat"
    id: str = ""
    context: tuple[Passage, ...] = ()


def bounded(turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
    """The newest turns that fit the limits. The last turn is always kept, cut at its end."""
    kept: list[Turn] = []
    room = MAX_CHARACTERS
    for turn in reversed(turns[-MAX_TURNS:]):
        if kept and len(turn.text) > room:
            break
        kept.append(Turn(turn.role, turn.text[:room]))
        room -= len(kept[-1].text)
    return tuple(reversed(kept))
