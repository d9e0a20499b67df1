"""Questions that a model answers with one word: their wording stands in a file of its own, with a version.

Errors: QuestionError
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from prompts.protocol import protocol_prefix

RISK_LEVELS = ("none", "low", "moderate", "high")
"""The answers to risk_level.md, from no danger to the greatest that a model is asked about."""

_HEAD = re.compile(r"\A<!-- version: (\d+)\.[^>]*-->\n")
_MARKS = str.maketrans({"<": "‹", ">": "›", "|": "¦"})  # no template's own marks can be written in what is quoted
_TURNS = 6
_CHARACTERS = 1200
_LINE = "-----"


class QuestionError(ValueError):
    """A question's file cannot be used."""


@dataclass(frozen=True, slots=True)
class Question:
    """system begins with the protocol, which engines keep evaluated; version goes into the findings."""

    protocol: str
    system: str
    version: int

    @classmethod
    def load(cls, name: str) -> "Question":
        """prompts/NAME.md. Raises QuestionError."""
        text = (files("prompts") / f"{name}.md").read_text(encoding="utf-8")
        head = _HEAD.match(text)
        if head is None:
            raise QuestionError(f"prompts/{name}.md: the first line does not say its version")
        protocol = protocol_prefix()
        return cls(protocol, f"{protocol}\n{text[head.end() :]}", int(head[1]))


def quoted(turns: Sequence[tuple[str, str]]) -> str:
    """The end of a conversation, (role, text) pairs, as one text that the question is about."""
    names = {"user": "The person", "assistant": "The service"}
    said = [f"{names[role]}: {_bounded(text)}" for role, text in turns[-_TURNS:]]
    return "\n".join([_LINE, *said, _LINE, "One word:"])


def _bounded(text: str) -> str:
    """What people write most of stands at the beginning and at the end."""
    clean = " ".join(text.translate(_MARKS).split())
    half = _CHARACTERS // 2
    return clean if len(clean) <= _CHARACTERS else f"{clean[:half]} … {clean[-half:]}"
