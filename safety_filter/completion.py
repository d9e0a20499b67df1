"""The words that end a reply with live help: in full, as a reminder, or without numbers for who refused them.

The wording is data, one file a language. A reply that already gave a contact correctly does not get it twice: each
piece of a wording is a sentence of its own, and one whose contact was given is left out.
"""

import functools
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

from safety_filter.contact_patterns import found, plain
from safety_filter.helplines import Helpline, Resources

Mode = Literal["full", "reminder", "live", "quiet", "none"]

SMS_CHARACTERS = 160
"""What the whole text may take in a text message."""

_BANDS = {"high": "high", "imminent": "imminent"}
_RANGE = re.compile(r"\d{1,2}:\d\d-\d{1,2}:\d\d")
_REFUSED = re.compile(
    r"\b(?:don'?t|do not|didn'?t|never|not|no|stop|nunca|não|ne|nicht|non|instead of)\s+"
    r"(?:(?!hesitate|dude|hésit)\w+\s+){0,3}$",
    re.IGNORECASE,
)
_LOCAL_EMERGENCY = re.compile(
    r"local emergency|emergency services|emergencias|emergência|urgence|Notruf", re.IGNORECASE
)


def resource_text(
    resources: Resources,
    *,
    mode: Mode,
    level: str,
    kind: str,
    language: str,
    channel: str,
    variant: int,
    said: str,
    earlier: str = "",
) -> str:
    """The sentences to append to a reply that so far reads `said`; "" where nothing is missing.

    `earlier` are our replies before this one: what only complements the main lines is not said again word for word.

    `kind` "third_party" gets words for the helper. `variant` picks the wording, any integer. For `channel` "sms" the
    text stays within SMS_CHARACTERS. A language without wording of its own gets English.
    """
    band = _BANDS.get(level, "steady")
    if mode == "none" or (mode == "live" and band == "steady"):
        return ""
    words = _words(re.split(r"[-_]", language.lower())[0])
    who = "third_party" if kind == "third_party" else "own"
    template = words.pick(mode, who, band, channel, variant)
    pieces = _Writer(resources, words, template, said, earlier, short=channel == "sms").pieces(mode, who, band)
    return _fitting(pieces, SMS_CHARACTERS if channel == "sms" else None)


def languages() -> tuple[str, ...]:
    """The languages that have wording of their own."""
    names = (file.name for file in files("safety_filter").joinpath("data").iterdir())
    return tuple(sorted(name.split(".")[1] for name in names if name.startswith("completion.")))


@dataclass(frozen=True, slots=True)
class _Words:
    """One language's wording. `templates` holds the variants by mode, addressee, band and channel."""

    language: str
    phrases: Mapping[str, str]
    templates: Mapping[tuple[str, str, str, str], tuple[Mapping[str, str], ...]]

    def pick(self, mode: str, who: str, band: str, channel: str, variant: int) -> Mapping[str, str]:
        """The wording for a situation, or for the nearest one that has words."""
        for key in (
            (mode, who, band, channel),
            (mode, who, "any", channel),
            (mode, who, band, "chat"),
            (mode, who, "any", "chat"),
            (mode, "own", band, "chat"),
            (mode, "own", "any", "chat"),
        ):
            if choices := self.templates.get(key):
                return choices[variant % len(choices)]
        return {}


@functools.cache
def _words(language: str) -> _Words:
    file = files("safety_filter").joinpath(f"data/completion.{language}.toml")
    if not re.fullmatch(r"[a-z]{2,3}", language) or not file.is_file():
        return _words("en")
    data: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
    templates: dict[tuple[str, str, str, str], list[Mapping[str, str]]] = {}
    for mode in ("full", "reminder", "live", "quiet"):
        for entry in data[mode]:
            key = (mode, entry["kind"], entry.get("band", "any"), entry.get("channel", "chat"))
            templates.setdefault(key, []).append(entry)
    return _Words(language, data["phrases"], {key: tuple(entries) for key, entries in templates.items()})


@dataclass(frozen=True, slots=True)
class _Piece:
    """One sentence; `spare` ones are dropped first where space is short, the highest first."""

    text: str
    spare: int = 0


@dataclass(frozen=True, slots=True)
class _Writer:
    """Fills one wording with one person's lines."""

    resources: Resources
    words: _Words
    template: Mapping[str, str]
    said: str
    earlier: str
    short: bool

    def pieces(self, mode: str, who: str, band: str) -> list[_Piece]:
        """The sentences in order, without those whose contact was given already."""
        if mode == "quiet":
            reliable = self.resources.main is not None and self.resources.main.confidence == "high"
            return self._line() if reliable else self._directory("only")
        if mode == "live":
            return self._live()
        emergency = self._emergency() if self._needs_emergency(band) else []
        middle = self._line() + (self._text() if mode == "full" else [])
        if mode == "full" and not self.short:
            middle += self._hours() + (self._special() if who == "own" and band != "imminent" else [])
        after = self._directory("directory") if self._unsure else []
        if self.resources.main is None:
            middle, after = self._directory("only") + (self._text() if mode == "full" else []), self._home(mode)
        return [*emergency, *middle, *after] if band == "imminent" else [*middle, *emergency, *after]

    @property
    def _unsure(self) -> bool:
        return self.resources.main is not None and self.resources.main.confidence != "high"

    def _needs_emergency(self, band: str) -> bool:
        main = self.resources.main
        return band != "steady" or main is None or self._unsure or _limited(main)

    def _write(self, piece: str, **values: str) -> list[_Piece]:
        template = self.template.get(piece)
        if not template:
            return []
        text = template.format_map(values)
        starts_with_name = text.startswith(values.get("directory", "\n"))
        return [_Piece(text if starts_with_name else text[:1].upper() + text[1:])]

    def _line(self) -> list[_Piece]:
        main = self.resources.main
        if main is None or main.phone is None or _given(main.phone, self.said):
            return []
        return self._write("main", **self._reach(main))

    def _reach(self, line: Helpline) -> dict[str, str]:
        phrases = self.words.phrases
        both = line.sms == line.phone and not line.sms_body and not line.option
        name = None if self.short else _spoken_name(line, self.words.language)
        number = phrases["named"].format(number=line.phone, name=name) if name else line.phone or ""
        filled = {"number": _keyed(number, line.option, phrases.get("key_noun", phrases["key"]))}
        for verb, key in (("call", "key"), ("to_call", "to_key")):
            phrase = phrases.get(f"{verb}_or_text" if both else verb, phrases["call"])
            filled[verb] = phrase.format(number=_keyed(number, line.option, phrases.get(key, phrases["key"])))
        return filled

    def _text(self) -> list[_Piece]:
        line = self.resources.text_line
        if line is None or line.sms is None or _given(line.sms, self.said):
            return []
        return self._write("text", text=self._by_text(line))

    def _by_text(self, line: Helpline) -> str:
        phrase = self.words.phrases["text" if line.sms_body else "text_plain"]
        return phrase.format(body=line.sms_body, sms=line.sms)

    def _emergency(self) -> list[_Piece]:
        number = self.resources.emergency
        local = self.words.phrases["local_emergency"]
        given = _given(number, self.said) if number else local in self.said or _LOCAL_EMERGENCY.search(self.said)
        return [] if given else self._write("emergency", emergency=number or local)

    def _live(self) -> list[_Piece]:
        number = self.resources.emergency or self.words.phrases["local_emergency"]
        if "main" not in self.template and _given(number, self.said):
            return []
        return self._write("main") or self._write("emergency", emergency=number)

    def _home(self, mode: str) -> list[_Piece]:
        """The United States' lines, said to be theirs, where nobody knows where the person is."""
        phrase = self.words.phrases.get("home")
        if mode != "full" or not self.resources.home or phrase is None or _given("988", self.said):
            return []
        return [_Piece(self.words.phrases.get("home_again", phrase) if phrase in self.earlier else phrase, 1)]

    def _directory(self, piece: str) -> list[_Piece]:
        host = re.sub(r"^https?://(?:www\.)?|/$", "", self.resources.directory)
        return [] if host in self.said.lower() else self._write(piece, directory=host)

    def _hours(self) -> list[_Piece]:
        main = self.resources.main
        if main is None or not _limited(main) or (main.phone and _given(main.phone, self.said)):
            return []
        hours = _spoken_hours(main, self.words.language)
        return [_Piece(self.words.phrases["hours"].format(hours=hours), 2)] if hours else []

    def _special(self) -> list[_Piece]:
        """One line for the person's own situation, where there is a reliable one."""
        phrases = self.words.phrases
        line = next((line for line in self.resources.lines if self._theirs(line)), None)
        if line is None or self.resources.main is None or "special" not in phrases:
            return []
        ways = [self._reach(line)["call"]] if line.phone else []
        ways += [self._by_text(line)] if line.sms and line.sms != line.phone else []
        if any(_given(number, self.said) for number in (line.phone, line.sms) if number and number != "988"):
            return []
        bare = re.sub(r" \(.*?\)", "", line.name)
        ways = [way.replace(f" ({bare})", "") for way in ways]
        text = phrases["special"].format(name=bare, ways=phrases["or"].join(ways))
        return [] if text in self.earlier else [_Piece(text, 1)]

    def _theirs(self, line: Helpline) -> bool:
        """Whether the text may call it theirs: who only told of being young is not sent to a line of LGBTQ people."""
        return (
            not line.everyone
            and line.area is None
            and line.confidence == "high"
            and "poisoning_overdose" not in line.audience
            and line.audience[0] in self.resources.wanted
        )


def _keyed(number: str, key: str | None, phrase: str) -> str:
    return phrase.format(number=number, key=key) if key else number


def _spoken_name(line: Helpline, language: str) -> str | None:
    """The name to say beside the number; None where it holds the number or belongs to another language."""
    name = line.name if language == "en" else line.local_name if language in line.languages else None
    if name is None or any(c.isdigit() for c in name):
        return None
    return re.sub(r" \(.*?\)", "", name)


def _limited(line: Helpline) -> bool:
    return line.hours is not None and bool(_RANGE.search(line.hours))


def _spoken_hours(line: Helpline, language: str) -> str | None:
    hours = line.hours or ""
    if language == "en":
        return hours
    if line.local_hours:
        return line.local_hours if language in line.languages else None
    return hours.removesuffix(" daily") if _RANGE.fullmatch(hours.removesuffix(" daily")) else None


def _given(number: str, said: str) -> bool:
    """Whether `said` gives the number, in any writing, and not to warn against it."""
    digits = re.sub(r"\D", "", number)
    if not said or not digits:
        return bool(said) and number.lower() in said.lower()
    text = plain(said).text
    starts: list[int] = []
    if digits[0] in text:
        written = re.finditer(rf"(?<!\d){r'[ .()/-]{0,2}'.join(digits)}(?!\d)", text)
        starts = [match.start() for match in written]
    if not starts and any(word in text.lower() for word in ("nine", "eight", "one", "nueve", "ocho", "uno")):
        starts = [piece.start for piece in found(text) if piece.value.replace(" ", "") == digits]
    return any(not _REFUSED.search(text[max(0, start - 40) : start]) for start in starts)


def _fitting(pieces: Iterable[_Piece], limit: int | None) -> str:
    kept = list(pieces)
    while limit and len(" ".join(piece.text for piece in kept)) > limit:
        spare = max(kept, key=lambda piece: piece.spare)
        if not spare.spare:
            break
        kept.remove(spare)
    return " ".join(piece.text for piece in kept)
