"""What comes out of a backend's turn: checked sentences, what was kept back, its falling short; and its gate."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol

from safety_filter.judge import Outcome
from safety_filter.verdict import Violation
from serving.backend import Backend
from serving.cost import Cost

_WHOLE = re.compile(r"""[.!?…。！？।۔؟:;)\]"'”’»]\W*$|[^\w\s,\-–—(\[]\W*$""")


class Gate(Protocol):
    """Text in, whole checked sentences out (safety_filter.gate)."""

    @property
    def blocked(self) -> bool: ...
    @property
    def violations(self) -> tuple[Violation, ...]: ...
    def feed(self, text: str) -> list[str]: ...
    def flush(self) -> list[str]: ...


Opinion = Callable[[str, str], Awaitable[Outcome]]
"""Asks a judge about (the reply as released so far, the sentence that the gate let through)."""


@dataclass(frozen=True, slots=True)
class Said:
    """A checked sentence, with the blanks that followed it, and who said it."""

    text: str
    backend: Backend
    cost: Callable[[], Cost] = field(default=Cost, compare=False, repr=False)
    """What the backend's turn cost, once it is over."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Violations that were kept from the person, and whether they ended the backend's turn."""

    violations: tuple[Violation, ...]
    blocked: bool


@dataclass(frozen=True, slots=True)
class Faltered:
    """A backend fell short and goes on all the same: it is asked once more, or it is late and may still win."""

    backend: Backend
    reason: Literal["retried", "late"]


TurnEvent = Said | Kept | Faltered


@dataclass(slots=True)
class Unchecked:
    """A gate that lets everything through: for our own static words, and for measuring a bare chain."""

    blocked: bool = False
    violations: tuple[Violation, ...] = ()

    def feed(self, text: str) -> list[str]:
        return [text]

    def flush(self) -> list[str]:
        return []


def whole(sentence: str) -> bool:
    """Whether a sentence came to its end, or was cut by a token limit or a broken stream."""
    return bool(_WHOLE.search(sentence.rstrip()))


def join(first: str, second: str) -> str:
    """Two pieces of a reply, with one blank between them where neither brings one."""
    if not first or not second or first[-1].isspace() or second[0].isspace():
        return first + second
    return f"{first} {second}"
