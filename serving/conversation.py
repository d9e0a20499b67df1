"""What a caller sends, after parsing: the one input of the respond pipeline."""

from dataclasses import dataclass
from typing import Literal

from shield.assessment import Turn

Channel = Literal["chat", "sms"]
MAX_TURNS = 40
MAX_CHARACTERS = 16_000
MAX_EARLIER, MAX_EARLIER_CHARACTERS = 400, 64_000  # of what is older: only SHIELD's patterns read it


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of the person's own history that the agent hands over as context."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Conversation:
    """The turns, oldest first, the last one the user's; and what is known of the person. None means not known.

    `earlier` are the turns before these, which are too many to be answered: a disclosure there is not forgotten.
    """

    turns: tuple[Turn, ...]
    country: str | None = None
    language: str | None = None
    channel: Channel = "chat"
    id: str = ""
    context: tuple[Passage, ...] = ()
    earlier: tuple[Turn, ...] = ()


def bounded(turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
    """The newest turns that fit the limits. The last turn is always kept, cut at its end."""
    return _newest(turns, MAX_TURNS, MAX_CHARACTERS)


def before(turns: tuple[Turn, ...], kept: tuple[Turn, ...]) -> tuple[Turn, ...]:
    """The newest of the turns that `bounded` left out of a conversation, within limits of their own."""
    return _newest(turns[: len(turns) - len(kept)], MAX_EARLIER, MAX_EARLIER_CHARACTERS)


def _newest(turns: tuple[Turn, ...], most: int, room: int) -> tuple[Turn, ...]:
    kept: list[Turn] = []
    for turn in reversed(turns[-most:]):
        if kept and len(turn.text) > room:
            break
        kept.append(Turn(turn.role, turn.text[:room]))
        room -= len(kept[-1].text)
    return tuple(reversed(kept))
