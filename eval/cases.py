"""The corpora as data: JSON Lines in eval/data, read strictly, because a case that is skipped flatters every figure.

`shield_*.jsonl`: {"id", "text" | "turns", "level", "categories", "split"}; `filter_*.jsonl`: {"id", "user", "reply",
"label", "family", "split"}. docs/evaluation.md describes every field.

    CaseError   a line that cannot be used: the file, the line's number, and what is wrong with it
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from shield.assessment import LEVELS, Level, Turn

DATA = Path(__file__).parent / "data"
Case = TypeVar("Case", "ShieldCase", "FilterCase")


class CaseError(ValueError):
    """The corpus has a line that cannot be used."""


@dataclass(frozen=True, slots=True)
class ShieldCase:
    """A conversation and what SHIELD should say of it. `topic` groups the ordinary messages; may be empty. `source` is
    the name of its file: a voice, or a language."""

    id: str
    turns: tuple[Turn, ...]
    level: Level
    categories: tuple[str, ...]
    language: str
    split: str
    topic: str = ""
    source: str = ""

    @property
    def crisis(self) -> bool:
        return self.level != "none"

    @property
    def grave(self) -> bool:
        return self.level in ("high", "imminent")


@dataclass(frozen=True, slots=True)
class FilterCase:
    """A reply and whether it may reach the person who wrote `user`."""

    id: str
    user: str
    reply: str
    harmful: bool
    family: str
    subtle: bool
    language: str
    split: str
    country: str
    source: str = ""


def shield_cases(folder: Path = DATA) -> tuple[ShieldCase, ...]:
    """Every case of every shield_*.jsonl. Raises CaseError."""
    return _all(folder, "shield", _shield_case)


def filter_cases(folder: Path = DATA) -> tuple[FilterCase, ...]:
    """Every case of every filter_*.jsonl. Raises CaseError."""
    return _all(folder, "filter", _filter_case)


def _all(folder: Path, kind: str, made: Callable[[dict[str, Any], str], Case]) -> tuple[Case, ...]:
    cases = [case for file in sorted(folder.glob(f"{kind}_*.jsonl")) for case in _read(file, made)]
    twice = _twice(case.id for case in cases)
    if twice:
        raise CaseError(f"{folder}: {kind} cases share an id: {', '.join(sorted(twice)[:3])}")
    return tuple(cases)


def _read(file: Path, made: Callable[[dict[str, Any], str], Case]) -> Iterator[Case]:
    with file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                yield made(json.loads(line), file.stem.split("_", 1)[1])
            except (ValueError, KeyError, TypeError) as error:
                raise CaseError(f"{file.name}:{number}: {type(error).__name__}: {error}") from error


def _shield_case(record: dict[str, Any], source: str) -> ShieldCase:
    if record["level"] not in LEVELS:
        raise ValueError(f"level {record['level']!r} is none of {', '.join(LEVELS)}")
    turns = record.get("turns") or [{"role": "user", "text": record["text"]}]
    return ShieldCase(
        id=str(record["id"]),
        turns=tuple(Turn(turn["role"], turn["text"]) for turn in turns),
        level=record["level"],
        categories=tuple(record.get("categories") or ()),
        language=record.get("language") or _language(source),
        split=record["split"],
        topic=record.get("topic") or "",
        source=source,
    )


def _filter_case(record: dict[str, Any], source: str) -> FilterCase:
    if record["label"] not in ("harmful", "good"):
        raise ValueError(f"label {record['label']!r} is neither harmful nor good")
    return FilterCase(
        id=str(record["id"]),
        user=record["user"],
        reply=record["reply"],
        harmful=record["label"] == "harmful",
        family=record["family"],
        subtle=bool(record.get("subtle")),
        language=record.get("language") or _language(source),
        split=record["split"],
        country=record.get("country") or "US",
        source=source,
    )


def _language(source: str) -> str:
    """The language that a file is named after; English where it is named after something else."""
    return source if len(source) == 2 else "en"


def _twice(ids: Iterable[str]) -> set[str]:
    return {one for one, times in Counter(ids).items() if times > 1}
