"""Suites as data: TOML files of people, what they write, and what a reply to them must and must not do.

Read strictly, because a scenario that is skipped flatters every figure. docs/evaluation.md describes every key.

    SuiteError   a suite that cannot be used: the file, the scenario, and what is wrong with it
"""

import hashlib
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self, get_args

from serving.conversation import Channel
from shield.assessment import LEVELS, Level, rank

FOLDER = Path(__file__).parent / "suites"
_KEYS = frozenset(
    {"id", "category", "persona", "why", "country", "language", "channel", "must", "must_not", "turn"}
)  # fmt: skip
_TURN_KEYS = frozenset({"says", "level", "includes", "excludes", "refuses_numbers"})
_WRITTEN = ("id", "category", "persona", "why")


class SuiteError(ValueError):
    """The suite cannot be used: says which file and scenario, and what is wrong."""


@dataclass(frozen=True, slots=True)
class Said:
    """One message of the person. `level` is what the conversation as it then stands calls for; `includes` and
    `excludes` are patterns (re, case ignored) of which the reply must match each, or none. `refuses_numbers`: they
    plainly want no numbers, and must still be pointed to a living person."""

    says: str
    level: Level
    includes: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    refuses_numbers: bool = False

    @property
    def crisis(self) -> bool:
        return self.level != "none"

    @property
    def grave(self) -> bool:
        return rank(self.level) >= rank("high")


@dataclass(frozen=True, slots=True)
class Scenario:
    """One person. `numbers` and `emergency` are what somebody there must be shown, written down apart from the
    service's own table; empty and None where the suite does not say."""

    id: str
    category: str
    persona: str
    why: str
    turns: tuple[Said, ...]
    country: str | None = None
    language: str = "en"
    channel: Channel = "chat"
    must: tuple[str, ...] = ()
    must_not: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    emergency: str | None = None

    @property
    def crisis(self) -> bool:
        return any(turn.crisis for turn in self.turns)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """The inverse of to_json."""
        turns = tuple(Said(**_tupled(turn)) for turn in values["turns"])
        return cls(**_tupled(values) | {"turns": turns})


@dataclass(frozen=True, slots=True)
class Suite:
    """A file of scenarios. `digest` is its SHA-256: a run goes on only with the suite that it began with."""

    name: str
    about: str
    scenarios: tuple[Scenario, ...]
    digest: str

    def only(self, ids: Iterable[str]) -> "Suite":
        """The suite with these scenarios alone; all of them for none. Ids of other suites are passed over."""
        wanted = frozenset(ids)
        kept = tuple(one for one in self.scenarios if one.id in wanted) if wanted else self.scenarios
        return Suite(self.name, self.about, kept, self.digest)


def names() -> tuple[str, ...]:
    """The suites that ship with the project."""
    return tuple(sorted(file.stem for file in FOLDER.glob("*.toml")))


def load(name: str) -> Suite:
    """A suite by its name in eval/suites, or by the path of a TOML file. Raises SuiteError."""
    file = Path(name) if name.endswith(".toml") else FOLDER / f"{name}.toml"
    try:
        raw = file.read_bytes()
        table = tomllib.loads(raw.decode("utf-8"))
    except FileNotFoundError:
        raise SuiteError(f"{name}: no such suite; there are {', '.join(names())}, or name a .toml file") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SuiteError(f"{file.name}: cannot be read as TOML: {error}") from error
    try:
        return _suite(file.stem, table, hashlib.sha256(raw).hexdigest())
    except SuiteError as error:
        raise SuiteError(f"{file.name}: {error}") from None


def _suite(name: str, table: Mapping[str, Any], digest: str) -> Suite:
    rows = table.get("scenario") or []
    if not rows:
        raise SuiteError("it holds no [[scenario]]")
    numbers, emergency = table.get("numbers", {}), table.get("emergency", {})
    scenarios = tuple(_scenario(row, number, numbers, emergency) for number, row in enumerate(rows, 1))
    if twice := [one for one, times in Counter(each.id for each in scenarios).items() if times > 1]:
        raise SuiteError(f"two scenarios are called {twice[0]}")
    return Suite(name, str(table.get("about", "")), scenarios, digest)


def _scenario(
    row: Mapping[str, Any], number: int, numbers: Mapping[str, Any], emergency: Mapping[str, Any]
) -> Scenario:
    where = str(row.get("id") or f"scenario {number}")
    _only_keys(row, _KEYS, where)
    for key in _WRITTEN:
        if not isinstance(row.get(key), str) or not row[key].strip():
            raise SuiteError(f"{where}: {key} is missing")
    if row.get("channel", "chat") not in get_args(Channel):
        raise SuiteError(f"{where}: channel {row['channel']!r} is none of {', '.join(get_args(Channel))}")
    turns = tuple(_said(turn, f"{where}, turn {place}") for place, turn in enumerate(row.get("turn") or (), 1))
    if not turns:
        raise SuiteError(f"{where}: it has no [[scenario.turn]]")
    country = row.get("country")
    given: dict[str, Any] = {key: value for key, value in _tupled(row).items() if key not in ("turn", "country")}
    return Scenario(
        **given,
        turns=turns,
        country=country,
        numbers=tuple(numbers.get(country or "", ())),
        emergency=emergency.get(country or ""),
    )


def _said(row: Mapping[str, Any], where: str) -> Said:
    _only_keys(row, _TURN_KEYS, where)
    if not isinstance(row.get("says"), str) or not row["says"].strip():
        raise SuiteError(f"{where}: says is missing")
    turn = Said(**_tupled({"level": "none"} | dict(row)))
    if not isinstance(turn.refuses_numbers, bool):
        raise SuiteError(f"{where}: refuses_numbers is true or false")
    if turn.level not in LEVELS:
        raise SuiteError(f"{where}: level {turn.level!r} is none of {', '.join(LEVELS)}")
    for pattern in (*turn.includes, *turn.excludes):
        try:
            re.compile(pattern)
        except re.error as error:
            raise SuiteError(f"{where}: {pattern!r} is no pattern: {error}") from None
    return turn


def _only_keys(row: Mapping[str, Any], known: frozenset[str], where: str) -> None:
    if strange := sorted(row.keys() - known):
        raise SuiteError(f"{where}: {strange[0]} is no key; there are {', '.join(sorted(known))}")


def _tupled(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
