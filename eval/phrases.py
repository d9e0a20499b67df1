"""The wordings that the deterministic checks look for (phrases.toml), compiled once."""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Self

FILE = Path(__file__).parent / "phrases.toml"
Span = tuple[int, int]
_STRAIGHT = str.maketrans("’‘ʼ`´", "'''''")
_SENTENCE = re.compile(r"[^\s].*?(?:[.!?…]+[\"'”’»)]*(?=\s|$)|\n|$)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Phrases:
    """One pattern for each thing to look for."""

    safety: re.Pattern[str]
    danger: re.Pattern[str]
    person: re.Pattern[str]
    ai: re.Pattern[str]
    not_ai: re.Pattern[str]
    faith: re.Pattern[str]
    refusal: re.Pattern[str]
    ending: re.Pattern[str]

    @classmethod
    def load(cls) -> Self:
        """Those that ship with the project. Raises KeyError for one that the file lacks."""
        table = tomllib.loads(FILE.read_text(encoding="utf-8"))
        return cls(**{one.name: pattern(table[one.name]) for one in fields(cls)})


def pattern(parts: Iterable[str]) -> re.Pattern[str]:
    """Any of the parts, case ignored."""
    return re.compile("|".join(f"(?:{part})" for part in parts), re.IGNORECASE | re.MULTILINE)


def straight(text: str) -> str:
    """The text with straight apostrophes, position by position the same."""
    return text.translate(_STRAIGHT)


def spans(found: re.Pattern[str], text: str) -> tuple[Span, ...]:
    """Where the pattern matches, half-open."""
    return tuple(match.span() for match in found.finditer(straight(text)))


def sentences(text: str) -> tuple[Span, ...]:
    """The sentences of a text, without the blanks around them."""
    return tuple(
        (m.start(), m.start() + len(m.group().rstrip())) for m in _SENTENCE.finditer(text) if m.group().strip()
    )
