"""Which contacts of a text are not verified for this person: numbers, short codes, addresses, handles, menu keys.

Only what the table holds for the person's own country counts as verified, in any way of writing it, and for countries
whose places they speak of. A number that is right elsewhere is wrong here, and a retired one is wrong everywhere.
"""

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

import phonenumbers

from safety_filter.contact_patterns import Found, found, plain, possible
from safety_filter.helplines import Helpline, Resources
from safety_filter.mending import Mender

_GROUPS = 16
_LONGEST = 40
# No number is written in more groups of digits or in more characters.
_MOST_MENDED = 4


@dataclass(frozen=True, slots=True)
class Contacts:
    """What may be named to one person: digits of numbers in every way of dialling, host names, menu keys."""

    numbers: frozenset[str] = frozenset()
    hosts: frozenset[str] = frozenset()
    keys: frozenset[str] = frozenset()
    country: str | None = None
    mender: Mender | None = None

    @classmethod
    def of(cls, resources: Resources, also: Iterable[Resources] = ()) -> "Contacts":
        """The contacts of all lines of the country that may be shown, its emergency numbers and the directories.

        also: resources of other countries that the person speaks of. A reply may name theirs; it is not mended to them.
        """
        return _of(_Same(resources), tuple(map(_Same, also)))

    @classmethod
    def _made(cls, resources: Resources, also: Sequence[Resources]) -> "Contacts":
        every = (resources, *also)
        lines = [line for one in every for line in _lines(one)]
        urls = {url for line in lines for url in (line.url, line.chat) if url}
        return cls(
            numbers=frozenset().union(*map(_numbers, every)),
            hosts=frozenset(_host(url) for url in {*urls, resources.directory, *resources.directories}),
            keys=frozenset(line.option for line in lines if line.option),
            country=resources.country,
            mender=Mender.of(resources),
        )

    def unknown(self, text: str) -> list[tuple[int, int]]:
        """The half-open spans in `text` of everything that looks like a contact and is not a verified one."""
        if not possible(text):
            return []
        view = plain(text)
        return sorted({view.span(piece.start, piece.end) for piece in self._wrong(view.text)})

    def mended(self, text: str) -> str | None:
        """`text` with verified contacts in the place of others, where it still reads right; None where it would not."""
        said = plain(text).text
        for _ in range(_MOST_MENDED):
            piece = next(self._wrong(said), None)
            if piece is None:
                return said
            mended = self.mender.mended(said, piece) if self.mender else None
            if mended is None:
                return None
            said = mended
        return None

    def _wrong(self, text: str) -> Iterator[Found]:
        return (piece for piece in found(text) if not self._verified(piece, text))

    def _verified(self, piece: Found, text: str) -> bool:
        if piece.shape == "url":
            return piece.value in self.hosts
        if piece.shape == "key":
            return piece.value in self.keys
        if piece.shape == "number":
            raw = text[piece.start : piece.end]
            return self._number(piece.value.split(), abroad="+" in raw) or self._parsed(raw)
        return False

    def _number(self, groups: Sequence[str], *, abroad: bool = False) -> bool:
        """Whether the groups of digits are one verified number, or several in a row with small counts after."""
        if abroad:
            return "".join(groups) in self.numbers and len("".join(groups)) > 6
        if len(groups) > _GROUPS:
            return False
        if all(len(group) == 1 for group in groups):  # digit by digit: nothing of it is a count
            return "".join(groups) in self.numbers
        for size in range(len(groups), 0, -1):
            digits = "".join(groups[:size])
            if digits in self.numbers and all(len(g) < 3 or g in self.numbers for g in groups[size:]):
                return True
        return False

    def _parsed(self, raw: str) -> bool:
        if len(raw) > _LONGEST or sum(c.isdigit() for c in raw) < 7:
            return False
        try:
            number = phonenumbers.parse(raw, self.country)
        except phonenumbers.NumberParseException:
            return False
        return f"{number.country_code}{phonenumbers.national_significant_number(number)}" in self.numbers


def _lines(resources: Resources) -> tuple[Helpline, ...]:
    return (*resources.known, *resources.lines, *resources.home)


def _numbers(resources: Resources) -> frozenset[str]:
    """The digits of every number of one country's lines, in every way of dialling, without the retired ones."""
    given = {number for line in _lines(resources) for number in _numbers_of(line)} | set(resources.emergencies)
    retired = {digits for number in resources.retired for digits in _dialled(number, resources.country)}
    return frozenset(digits for number in given for digits in _dialled(number, resources.country)) - retired


def _numbers_of(line: Helpline) -> Iterable[str]:
    return (number for number in (line.phone, line.sms, line.whatsapp, *line.other_phones) if number)


def _host(url: str) -> str:
    return urlsplit(url).netloc.lower().removeprefix("www.")


@dataclass(frozen=True, slots=True, eq=False)
class _Same:
    """Resources compared by being the same object, of which `Helplines` gives one for each country and situation."""

    resources: Resources

    def __hash__(self) -> int:
        return id(self.resources)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.resources is other.resources


@functools.lru_cache(maxsize=2048)
def _of(same: _Same, also: tuple[_Same, ...]) -> Contacts:
    return Contacts._made(same.resources, [one.resources for one in also])


@functools.lru_cache(maxsize=4096)
def _dialled(number: str, country: str | None) -> frozenset[str]:
    """The digits of a number in every way to dial it. A short code has one: it does not work from abroad."""
    digits = re.sub(r"\D", "", number)
    forms = {digits}
    if len(digits) >= 7:
        try:
            parsed = phonenumbers.parse(number, country)
        except phonenumbers.NumberParseException:
            return frozenset(forms)
        national = phonenumbers.national_significant_number(parsed)
        forms |= {national, f"{parsed.country_code}{national}", f"{parsed.country_code}0{national}"}
        forms |= {f"00{parsed.country_code}{national}"}
    return frozenset(forms)
