"""How often help was named, counted by day: what California's SB 243 asks an operator to report each year.

Numbers only: no text, no ids, no times of day, nobody's country. A small SQLite file, so that counts outlive restarts,
and two services may share one. Errors: ReferralsError.

A referral is an answer that reached a caller with the lines of a crisis service in it. `level` is what SHIELD made of
the conversation; `how` is "words" where the reply itself named a line, "field" where only the structured field did.
"""

import datetime
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from shield.assessment import LEVELS

FILE_NAME = "referrals.sqlite"
How = Literal["words", "field"]
Row = tuple[str, str, How]
"""Day (ISO, UTC), level, how."""

_BUSY_S = 2.0
_SCHEMA = """CREATE TABLE IF NOT EXISTS referrals (
  day TEXT NOT NULL, level TEXT NOT NULL, how TEXT NOT NULL, answers INTEGER NOT NULL, PRIMARY KEY (day, level, how)
) WITHOUT ROWID"""
_ADD = """INSERT INTO referrals VALUES (?, ?, ?, ?)
  ON CONFLICT (day, level, how) DO UPDATE SET answers = answers + excluded.answers"""
_READ = """SELECT level, how, sum(answers) FROM referrals WHERE day BETWEEN ? AND ?
  GROUP BY level, how"""


class ReferralsError(Exception):
    """The counts cannot be read or written: says which file and why."""


@dataclass(frozen=True, slots=True)
class Period:
    """Both days included."""

    first: datetime.date
    last: datetime.date


@dataclass(frozen=True, slots=True)
class Report:
    """by_level: answers with the lines in them, by level. in_words: those whose text named a line, by level."""

    period: Period
    by_level: Mapping[str, int]
    in_words: Mapping[str, int]

    @property
    def referrals(self) -> int:
        """Answers to people in whom SHIELD saw a sign of a crisis."""
        return sum(count for level, count in self.by_level.items() if level != "none")

    def to_json(self) -> dict[str, Any]:
        crisis = {level: count for level, count in self.by_level.items() if level != "none"}
        return {
            "from": self.period.first.isoformat(),
            "to": self.period.last.isoformat(),
            "referrals": self.referrals,
            "by_level": crisis,
            "named_in_the_reply": sum(count for level, count in self.in_words.items() if level != "none"),
            "answers_without_sign_of_crisis": self.by_level.get("none", 0),
        }


def add(path: Path, counts: Mapping[Row, int]) -> None:
    """Adds to what is kept: all of it or, where that fails, nothing. Raises ReferralsError."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with closing(sqlite3.connect(path, timeout=_BUSY_S)) as store, store:
            store.execute(_SCHEMA)
            store.executemany(_ADD, [(*row, count) for row, count in counts.items()])
    except (sqlite3.Error, OSError) as error:
        raise ReferralsError(f"{path}: {_reason(error)}") from None


def read(path: Path, period: Period) -> Report:
    """The counts of a period; zeros where nothing was counted. Raises ReferralsError."""
    rows: list[tuple[str, str, int]] = []
    if path.exists():
        days = (period.first.isoformat(), period.last.isoformat())
        try:
            with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=_BUSY_S)) as store:
                rows = store.execute(_READ, days).fetchall()
        except sqlite3.Error as error:
            raise ReferralsError(f"{path}: {_reason(error)}") from None
    by_level: dict[str, int] = dict.fromkeys(LEVELS, 0)
    in_words: dict[str, int] = dict.fromkeys(LEVELS, 0)
    for level, how, count in rows:
        by_level[level] = by_level.get(level, 0) + count
        if how == "words":
            in_words[level] = in_words.get(level, 0) + count
    return Report(period, by_level, in_words)


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"cannot be written: {error.strerror}"
    return str(error)
