"""Which verified helplines a person is shown: the table, and the choice from it by country, language and situation.

Low-confidence entries are never shown. Medium ones stand beside the emergency number and the international directory,
which every `Resources.to_json` carries. An unknown country gets these two alone, never another country's number.
"""

import datetime
import json
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import Any, Literal

from safety_filter.places import country_code, country_of_language
from safety_filter.places import named_country as named_country  # part of this module's interface

Kind = Literal["crisis_line", "text_line", "emergency", "directory"]
Confidence = Literal["high", "medium", "low"]

HOME = "US"
"""The country of the client's protocol."""

SHOWN_GENERAL = 3
"""How many lines for everybody are listed, the main one included; lines for the person's own situation come on top."""

# What SHIELD calls a person's situation -> what the table calls the audience of a line.
_AUDIENCES: Mapping[str, tuple[str, ...]] = {
    "veteran": ("veterans",),
    "minor": ("youth",),
    "farmer": ("farmers",),
    "spanish_speaker": ("spanish_speaking",),
    "abused_at_home": ("domestic_violence",),
    "abuse": ("domestic_violence", "sexual_violence", "child_abuse"),
    "act_under_way": ("poisoning_overdose",),
    "medical_emergency": ("poisoning_overdose",),
}
_SPANISH = "spanish_speaking"
_MOST_MADE = 2000
_LONGEST_TONGUE = 3


@dataclass(frozen=True, slots=True)
class Helpline:
    """One service. `option` is the key to press after `phone`, `sms_body` the word to send to `sms`.

    `hours` None means not verified, never "24/7". `verified_at` is the date (or year, or month) of the newest source.
    """

    id: str
    name: str
    phone: str | None = None
    sms: str | None = None
    url: str | None = None
    hours: str | None = None
    languages: tuple[str, ...] = ()
    country: str | None = None
    verified_at: str | None = None
    audience: tuple[str, ...] = ("general",)
    confidence: Confidence = "high"
    kind: Kind = "crisis_line"
    local_name: str | None = None
    option: str | None = None
    sms_body: str | None = None
    chat: str | None = None
    whatsapp: str | None = None
    other_phones: tuple[str, ...] = ()
    area: str | None = None
    local_hours: str | None = None
    sources: tuple[str, ...] = ()

    @property
    def everyone(self) -> bool:
        """Whether the line is for anybody in the whole country."""
        return "general" in self.audience and self.area is None

    def to_json(self) -> dict[str, object]:
        """The entry as the API gives it: the contract's keys, then those that were added."""
        return {
            "id": self.id,
            "name": self.name,
            "phone": self.phone,
            "sms": self.sms,
            "url": self.url,
            "hours": self.hours,
            "languages": list(self.languages),
            "country": self.country,
            "verified_at": self.verified_at,
            "kind": self.kind,
            "option": f"press {self.option}" if self.option else None,
            "sms_body": self.sms_body,
            "chat": self.chat,
            "audience": list(self.audience),
            "confidence": self.confidence,
            "sources": list(self.sources),
        }


@dataclass(frozen=True, slots=True)
class Resources:
    """What one person is shown. `lines` are helplines in the order to show them, without emergency and directory.

    `known` are all lines of the country that may be named, `emergencies` all its emergency numbers (`emergency` is the
    first), `retired` numbers that must not be named, `directories` the international sites. `country` is None where the
    table has no entry. `home` are the United States' own lines, for a person of whom nothing is known: always named as
    such, never as theirs. `wanted` are the audiences that the person told of.
    """

    country: str | None
    lines: tuple[Helpline, ...]
    emergency: str | None
    directory: str
    language: str = "en"
    level: str = "none"
    known: tuple[Helpline, ...] = ()
    emergencies: tuple[str, ...] = ()
    retired: tuple[str, ...] = ()
    directories: tuple[str, ...] = ()
    home: tuple[Helpline, ...] = ()
    wanted: frozenset[str] = frozenset()
    main: Helpline | None = field(init=False, repr=False, compare=False)
    """The line to name first: for everybody, by phone. None where the country has none that may be shown."""
    text_line: Helpline | None = field(init=False, repr=False, compare=False)
    """The line to text for those who cannot talk; None without one, or where the main number simply takes texts."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "main", _main(self.lines))
        object.__setattr__(self, "text_line", _text_line(self.lines, self.main))

    def to_json(self) -> list[dict[str, object]]:
        """The structured field: never empty; at imminent the emergency entry comes first."""
        lines = [line.to_json() for line in self.lines]
        emergency = _emergency(self).to_json()
        ordered = [emergency, *lines] if self.level == "imminent" or not lines else [*lines, emergency]
        return [*ordered, _directory(self.directory).to_json(), *(line.to_json() for line in self.home)]


def _main(shown: Sequence[Helpline]) -> Helpline | None:
    return next((line for line in shown if line.phone and line.everyone), None)


def _text_line(shown: Sequence[Helpline], main: Helpline | None) -> Helpline | None:
    lines = [line for line in shown if line.sms and line.everyone]
    lines.sort(key=lambda line: (line.confidence != "high" and _SPANISH not in line.audience, line.kind != "text_line"))
    by_text = [line for line in lines if line.kind == "text_line"]
    if main and main.sms and (main.sms != main.phone or main.sms_body) and not by_text:
        return main
    if main and main.sms:
        return by_text[0] if by_text else None
    return lines[0] if lines else None


@dataclass(frozen=True, slots=True)
class Country:
    """A country's part of the table, as loaded."""

    code: str
    name: str
    language: str
    emergency: tuple[str, ...]
    lines: tuple[Helpline, ...]
    retired: tuple[str, ...]
    known: tuple[Helpline, ...] = field(init=False, repr=False, compare=False)
    """The lines that may be named."""
    audiences: frozenset[str] = field(init=False, repr=False, compare=False)
    """Whom the lines are for."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "known", tuple(line for line in self.lines if line.confidence != "low"))
        object.__setattr__(self, "audiences", frozenset(name for line in self.lines for name in line.audience))


@dataclass(frozen=True, slots=True)
class Helplines:
    """The whole table. What it gives for a country, language, level and audience is put together once."""

    compiled_at: str
    directories: tuple[str, ...]
    countries: Mapping[str, Country]
    _made: dict[Hashable, Resources] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def load(cls) -> "Helplines":
        """The table that ships with the package."""
        return cls.parse(json.loads(files("safety_filter").joinpath("data/helplines.json").read_text(encoding="utf-8")))

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> "Helplines":
        """The table from the parsed JSON; its form is in data/helplines.schema.json."""
        retired: dict[str, list[str]] = {}
        for entry in data["retired"]:
            retired.setdefault(entry["country"], []).extend(entry["numbers"])
        countries = {entry["code"]: _country(entry, retired.get(entry["code"], ())) for entry in data["countries"]}
        return cls(data["compiled_at"], tuple(data["directories"]), countries)

    def resources(
        self,
        country: str | None,
        *,
        language: str = "en",
        level: str = "none",
        audiences: frozenset[str] = frozenset(),
        name_home: bool = False,
    ) -> Resources:
        """What a person in `country` is shown; `audiences` by the table's names ("veterans") or SHIELD's.

        name_home: where the country is unknown, also name the United States' lines, as theirs (protocol 2 to 4).
        """
        tongue = re.split(r"[-_]", language.lower())[0]
        entry = self.countries.get((country or "").upper())
        wanted = _wanted(audiences) & entry.audiences if entry else frozenset()
        key = (entry.code if entry else None, tongue, level, wanted, name_home)
        made = self._made.get(key)
        if made is None:
            made = self._resources(entry, tongue, level, wanted) if entry else self._abroad(tongue, level, name_home)
            if len(self._made) < _MOST_MADE and len(tongue) <= _LONGEST_TONGUE:
                self._made[key] = made
        return made

    def _resources(self, entry: Country, language: str, level: str, wanted: frozenset[str]) -> Resources:
        return Resources(
            country=entry.code,
            lines=_chosen(entry.known, language, wanted),
            emergency=entry.emergency[0],
            directory=self.directories[0],
            language=language,
            level=level,
            known=entry.known,
            emergencies=entry.emergency,
            retired=entry.retired,
            directories=self.directories,
            wanted=wanted,
        )

    def _abroad(self, language: str, level: str, name_home: bool) -> Resources:
        home = self._home(language) if name_home else ()
        return Resources(None, (), None, self.directories[0], language, level, directories=self.directories, home=home)

    def _home(self, language: str) -> tuple[Helpline, ...]:
        there = self.resources(HOME, language=language)
        lines = [line for line in (there.main, there.text_line, _emergency(there)) if line is not None]
        return tuple(replace(line, name=f"{line.name} (in the United States)") for line in lines)

    def stale(self, today: datetime.date, max_days: int = 180) -> tuple[Helpline, ...]:
        """The lines that may be shown and that no source has confirmed within `max_days`, undated ones included."""
        limit = (today - datetime.timedelta(days=max_days)).isoformat()
        lines = (line for country in self.countries.values() for line in country.lines if line.confidence != "low")
        return tuple(
            line for line in lines if line.verified_at is None or line.verified_at < limit[: len(line.verified_at)]
        )


def _country(entry: Mapping[str, Any], retired: Iterable[str]) -> Country:
    lines = tuple(_line(raw, entry["code"]) for raw in entry["helplines"])
    return Country(entry["code"], entry["name"], entry["language"], tuple(entry["emergency"]), lines, tuple(retired))


def _line(raw: Mapping[str, Any], country: str) -> Helpline:
    fields: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in raw.items() if key != "note"
    }
    return Helpline(country=country, kind="crisis_line" if raw.get("phone") else "text_line", **fields)


def _wanted(audiences: Iterable[str]) -> frozenset[str]:
    return frozenset(audience for name in audiences for audience in _AUDIENCES.get(name, (name,))) - {"general"}


def _chosen(lines: tuple[Helpline, ...], language: str, wanted: frozenset[str]) -> tuple[Helpline, ...]:
    """Main and text line, then lines for the person's situation, then what else is there for everybody."""
    everyone = [line for line in lines if line.everyone and (language == "es" or _SPANISH not in line.audience)]
    everyone = _spoken_first(everyone, language)
    main = [line for line in everyone if line.phone][:1]
    texts = [line for line in everyone if line.sms and line not in main]
    best_text = sorted(
        texts, key=lambda line: (line.confidence != "high" and language != "es", line.kind != "text_line")
    )
    special = [line for line in lines if wanted & set(line.audience)]
    return _unique([*main, *best_text[:1], *special, *everyone[:SHOWN_GENERAL]]) or lines[:1]


def _spoken_first(lines: list[Helpline], language: str) -> list[Helpline]:
    """Lines made for Spanish speakers first; else reliable ones in the person's language, if the first has it not."""
    spoken = [line for line in lines if _SPANISH in line.audience]
    if not spoken and lines and language not in lines[0].languages:
        spoken = [line for line in lines if language in line.languages and line.confidence == "high" and line.phone]
    return [*spoken, *[line for line in lines if line not in spoken]]


def _unique(lines: Iterable[Helpline]) -> tuple[Helpline, ...]:
    return tuple(dict.fromkeys(lines))


def _emergency(resources: Resources) -> Helpline:
    if resources.emergency is None:
        return Helpline("emergency", "Your local emergency number", kind="emergency", audience=("emergency",))
    code = resources.country or ""
    return Helpline(
        f"{code.lower()}-emergency",
        "Emergency services",
        phone=resources.emergency,
        country=code,
        kind="emergency",
        audience=("emergency",),
    )


def _directory(url: str) -> Helpline:
    return Helpline("directory", "Find A Helpline: lines in your country", url=url, kind="directory")


def resolve_country(asked: str | None, *, default: str | None, named: str | None, language: str | None) -> str | None:
    """The country whose lines to show: the place the person names, else the request's, the setting's, the language's.

    Takes any spelling that `places.country_code` knows. A code that is given and unknown decides too: None, not the
    next in the order, because a setting must not turn a person of an unlisted country into a neighbour.
    """
    for given in (named, asked, default):
        if given and given.strip():
            return country_code(given)
    return country_of_language(language)
