"""Which words a pattern cannot do without: what a scan looks for before the pattern itself is tried.

A pattern is a sequence of parts. Each part that is a known list of strings is required: one of them must occur in the
text, or the pattern cannot match. Neighbouring parts are joined while the list stays short, because "cant do this" says
more than "cant" and "do this" apart. Strings of whole words stand in squeezed text: one blank for every run of
characters that belong to no word.
"""

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence, Set
from itertools import zip_longest
from re import _constants as op  # type: ignore[attr-defined] # the parser's names; public only through re's own modules
from re import _parser as parser  # type: ignore[attr-defined] # the only parser of this syntax in the standard library
from typing import Any

from textrules.commonness import Commonness

Literals = frozenset[str]
# Word boundaries are ASCII: an inverted question mark or an emoji is no letter. An underscore may stand for a blank.
_LETTERS = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_SQUEEZING = bytes(code if code in _LETTERS else 0x20 for code in range(256))
_PROPERTY = re.compile(r"\\p\{\w+\}|\\p\w")
_MOST = 1500  # strings of one part
_JOINED = 64  # strings of joined parts
_COMPARED = 200
_SETS = 2
_TELLING = 0.15  # a further set that more texts than this have is not worth looking for
_SAYS_LITTLE = 0.015  # a pattern that more texts than this are likely to be asked for is scanned for as a whole


def squeezed(data: bytes) -> bytes:
    """The text in which the literals are looked for: squeezed and, where letters beyond ASCII are lost by that, as it
    stands behind."""
    words = b" " + b" ".join(data.translate(_SQUEEZING).split()) + b" "
    return words if data.isascii() else words + b"\n" + data


def required(pattern: str, *, whole: bool, marks: Iterable[str] = ()) -> tuple[Literals, ...]:
    """Up to two sets of literals; a text without one literal of each cannot match. Empty: nothing is known.

    `whole`: the pattern stands between word boundaries, so that a literal at its edge is a whole word. `marks` are
    words that every text has.
    """
    try:
        items = parser.parse(_PROPERTY.sub(r"\\w", pattern))
    except (re.error, OverflowError):
        return ()
    commonness = Commonness(frozenset(marks))
    sets = dict.fromkeys(_Parts(commonness).of(items, left=whole, right=whole))
    rarest = sorted(sets, key=lambda one: (commonness.expected(one), sorted(one)))[:_SETS]
    return tuple(one for number, one in enumerate(rarest) if not number or commonness.expected(one) < _TELLING)


def says_little(sets: Iterable[Literals], marks: Iterable[str] = ()) -> bool:
    """Whether so many texts have literals of all sets that one scan for whole patterns costs less than asking for each.

    Only a few hundred patterns can be scanned for as a whole: Hyperscan takes seconds for them, and refuses some.
    """
    commonness = Commonness(frozenset(marks))
    return math.prod(map(commonness.any_of, sets)) > _SAYS_LITTLE


class _Parts:
    """What each stretch of a parsed pattern requires."""

    def __init__(self, commonness: Commonness) -> None:
        self._commonness = commonness

    def of(self, items: Sequence[Any], *, left: bool, right: bool) -> list[Literals]:
        """The sets of a sequence. left, right: a blank stands before it, after it."""
        found: list[Literals] = []
        run = frozenset({" "}) if left else _NOTHING
        for item, following in zip_longest(items, list(items)[1:]):
            strings = _strings(item)
            blank = all(one.endswith(" ") for one in run)
            if strings is None:
                found += _set(run)
                found += self._group(item, left=blank, right=_starts_blank(following, right))
                run = frozenset({" "}) if blank and _skips_words(item) else _NOTHING
            elif len(run) * len(strings) <= _JOINED:
                run = _product(run, strings)
            else:
                found += _set(run)
                run = _product(frozenset({" "}), strings) if blank else strings
        return found + _set(_product(run, frozenset({" "})) if right else run)

    def _group(self, item: Any, *, left: bool, right: bool) -> list[Literals]:
        code, value = item
        if code is op.MAX_REPEAT and value[0] > 0:
            once = value[0] == value[1] == 1
            return self.of(value[2], left=left and once, right=right and once)
        if code is op.SUBPATTERN:
            return self.of(value[3], left=left, right=right)
        if code is op.BRANCH:
            return self._branch(value[1], left=left, right=right)
        return []

    def _branch(self, branches: Sequence[Any], *, left: bool, right: bool) -> list[Literals]:
        """The rarest set of every alternative in one, or nothing if any alternative requires nothing."""
        union: set[str] = set()
        for branch in branches:
            sets = self.of(branch, left=left, right=right)
            if not sets:
                return []
            union |= min(sets, key=self._commonness.expected)
        return [_shortest(union)] if len(union) <= _MOST else []


_NOTHING: Literals = frozenset({""})


def _strings(item: Any) -> Literals | None:
    """All strings that an item can match, where it is a short list of words and blanks; else None."""
    code, value = item
    if code is op.LITERAL:
        char = chr(value)
        return frozenset({char}) if _of_a_word(char) or char == " " else None
    if code is op.AT:
        return _NOTHING if value is op.AT_BOUNDARY else None
    if code is op.IN:
        return _class(value)
    if code is op.SUBPATTERN:
        return _sequence(value[3])
    if code is op.BRANCH:
        return _union(map(_sequence, value[1]))
    if code is op.MAX_REPEAT and value[1] == 1:
        return _union([_sequence(value[2]), *([] if value[0] else [_NOTHING])])
    return None


def _class(members: Sequence[Any]) -> Literals | None:
    if len(members) > 4 or not all(code is op.LITERAL and _of_a_word(chr(value)) for code, value in members):
        return None
    return frozenset(chr(value) for _, value in members)


def _of_a_word(char: str) -> bool:
    """Whether it is a letter, a figure, or a sign that belongs to one, as vowels are in Hindi, Thai and Burmese."""
    return char.isalnum() or unicodedata.category(char) in ("Mn", "Mc")


def _sequence(items: Iterable[Any]) -> Literals | None:
    whole = _NOTHING
    for item in items:
        strings = _strings(item)
        if strings is None or (len(whole) > 1 < len(strings) and len(whole) * len(strings) > _JOINED):
            return None
        whole = _product(whole, strings)
    return whole


def _union(parts: Iterable[Literals | None]) -> Literals | None:
    union: set[str] = set()
    for part in parts:
        if part is None:
            return None
        union |= part
    return frozenset(union) if len(union) <= _MOST else None


def _product(first: Literals, second: Literals) -> Literals:
    """Every string of the one followed by every string of the other; two blanks that meet are one."""
    return frozenset(a + (b[1:] if a.endswith(" ") and b.startswith(" ") else b) for a in first for b in second)


def _starts_blank(item: Any, otherwise: bool) -> bool:
    if item is None:
        return otherwise
    strings = _strings(item)
    return strings is not None and all(one.startswith(" ") for one in strings)


def _skips_words(item: Any) -> bool:
    """Whether an item matches nothing, or ends with a blank."""
    code, value = item
    return code is op.MAX_REPEAT and list(value[2])[-1:] == [(op.LITERAL, ord(" "))]


def _set(run: Literals) -> list[Literals]:
    return [_shortest(run)] if all(len(one.strip()) > 1 for one in run) else []


def _shortest(literals: Set[str]) -> Literals:
    """Without those that hold another one: where they occur, the other does."""
    if len(literals) > _COMPARED:
        return frozenset(literals)
    return frozenset(one for one in literals if not any(other in one and other != one for other in literals))
