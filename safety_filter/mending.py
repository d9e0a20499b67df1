"""Puts a verified contact in the place of one that a model made up, where the sentence still reads right.

Only sentences that tell the person to call, text or visit are mended: there the verified line does what the other was
named for. What was said of the other (its name, its hours, its price) goes with it. Everything else is left to be cut.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from urllib.parse import urlsplit

from safety_filter.contact_patterns import Found
from safety_filter.helplines import Helpline, Resources

_NAME = r"(?:[ ,:]+(?:[\w'’&-]+[ ,:]+){0,9}?)"
_WORD = r"(?: (?:the word |la palabra |a palavra |le mot |das wort )?[\"'“]?\w+[\"'”]?)?"
_OPENING = r"[ :]*[(\"'+]*$"
_LEAST_WORDS = 2
# Numbers by which the world calls an ambulance: named instead of the person's own, that one is meant.
_EMERGENCIES = frozenset(
    ["911", "999", "112", "000", "110", "119", "111", "100", "101", "102", "108", "113", "190", "192"]
)
_ELSEWHERE = re.compile(
    r"\b(?:[Ii]n|[Ff]rom|[Aa]cross|[Ff]or|[Ee]n|[Ee]m) (?:the |los |el |o )?(?:UK|US|USA|EU|[A-Z][a-z]{3,})\b"
)
_BRACKETS = re.compile(r"^\s*\([^)]*\)")
_PARTED = re.compile(r"[,;(]| [-–—]+ |[–—]| (?=(?:and|which|that|where|who|y|que|e|et|qui|und|die)\b)")


@dataclass(frozen=True)
class Mender:
    """What to say instead, for one person. `words` are the patterns of their language (data/mending.toml)."""

    words: Mapping[str, str]
    main: Helpline | None
    text_line: Helpline | None
    emergency: str | None
    directory: str

    @classmethod
    def of(cls, resources: Resources) -> "Mender | None":
        """The mender for what a person is shown; None for a language without words for it."""
        words = _words().get(resources.language[:2])
        if words is None:
            return None
        host = urlsplit(resources.directory).netloc.removeprefix("www.")
        return cls(words, _sure(resources.main), _sure(resources.text_line), resources.emergency, host)

    def mended(self, text: str, piece: Found) -> str | None:
        """`text` with another contact in the place of `piece`, or without the clause around it; None where neither is
        sensible. The result may hold further wrong contacts."""
        before, after = text[: piece.start], text[piece.end :]
        if _ELSEWHERE.search(text):
            return None
        rest = self._rest(after)
        if rest is not None:
            if piece.shape == "number" and (said := self._number(before, piece.value.replace(" ", ""))):
                return said + rest
            if piece.shape == "url" and (found := self._visit.search(before)):
                return f"{found[1]} {self.directory}{rest}"
        return self._without(before, after)

    def _number(self, before: str, digits: str) -> str | None:
        found = self._call.search(before)
        texting = self._text.search(before)
        if texting and not (found and found.end(1) >= texting.end(1)):
            line = self._to_text()
            return f"{texting[1]} {line}" if line else None
        if found is None:
            return None
        verb, name = self._verb(found[1]), found[2]
        if re.search(rf"\b(?:{self.words['who']})\b", name, re.IGNORECASE):
            return re.sub(rf"\s+{self.words['at']}?$", "", before.rstrip(" :(+"), flags=re.IGNORECASE)
        if digits in _EMERGENCIES:
            return f"{verb} {self.emergency or self.words['local_emergency']}"
        return f"{verb} {self._phone()}" if self.main else None

    def _verb(self, said: str) -> str:
        """The words up to the verb; without "or text" where the line takes no plain text messages."""
        main = self.main
        both = main is not None and main.sms == main.phone and not main.sms_body
        return said if both else re.sub(rf" (?:{self.words['or_text']})$", "", said, flags=re.IGNORECASE)

    def _phone(self) -> str:
        number, key = (self.main.phone, self.main.option) if self.main else (None, None)
        return self.words["key"].format(number=number, key=key) if key else number or ""

    def _to_text(self) -> str | None:
        for line in (self.text_line, self.main):
            if line is not None and line.sms:
                return self.words["to_text"].format(body=line.sms_body, sms=line.sms) if line.sms_body else line.sms
        return None

    def _rest(self, after: str) -> str | None:
        """What may stay of the words behind a contact; None where what they claim cannot be parted from it."""
        after = _BRACKETS.sub("", after.removeprefix(")"))
        claim = self._claims.search(after)
        if claim is None:
            return after
        parts = [match.start() for match in _PARTED.finditer(after, 0, claim.start())]
        return after[: parts[0]].rstrip() + _end(after) if parts else None

    def _without(self, before: str, after: str) -> str | None:
        """The text without the further way to reach somebody that ends with the contact, where enough is left of it."""
        starts = [match.start() for match in self._also.finditer(before)]
        if not starts or len(before[: starts[-1]].split()) < _LEAST_WORDS:
            return None
        rest = _end(after) == after or re.match(r"\)?(?=[.,;!?])", after)
        return before[: starts[-1]] + after.removeprefix(")") if rest else None

    @cached_property
    def _call(self) -> re.Pattern[str]:
        return self._before(rf"{_NAME}(?:{self.words['at']})?")

    @cached_property
    def _text(self) -> re.Pattern[str]:
        return re.compile(
            rf"^(.*\b{self.words['text']}){_WORD}(?: (?:to|al?|para|au|an))?{_OPENING}",
            re.IGNORECASE | re.DOTALL,
        )

    @cached_property
    def _visit(self) -> re.Pattern[str]:
        return re.compile(
            rf"^(.*\b{self.words['visit']})(?:{_NAME}(?:{self.words['at']}))?{_OPENING}", re.IGNORECASE | re.DOTALL
        )

    @cached_property
    def _claims(self) -> re.Pattern[str]:
        return re.compile(self.words["claims"], re.IGNORECASE)

    @cached_property
    def _also(self) -> re.Pattern[str]:
        return re.compile(self.words["also"], re.IGNORECASE)

    def _before(self, name: str) -> re.Pattern[str]:
        return re.compile(rf"^(.*\b{self.words['call']})({name}){_OPENING}", re.IGNORECASE | re.DOTALL)


def _end(text: str) -> str:
    """The marks, then the closing signs, then the blanks that a text ends with."""
    return text[len(text.rstrip().rstrip("\"'”’)*_").rstrip(".!?…")) :]


def _sure(line: Helpline | None) -> Helpline | None:
    """A line that may be named alone, or None."""
    return line if line is not None and line.confidence == "high" else None


@cache
def _words() -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads((files("safety_filter") / "data/mending.toml").read_text(encoding="utf-8"))
