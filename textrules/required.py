"""Which words a pattern cannot do without: what a scan looks for before the pattern itself is tried.

A pattern is a sequence of parts. Of the two parts that say most, one literal each must occur in the text, or the
pattern cannot match. Those of whole words stand in squeezed text: one blank for every run of characters that belong
to no word.
"""

import re
from itertools import pairwise
from re import _constants as op  # type: ignore[attr-defined] # the parser's names; public only through re's own modules
from re import _parser as parser  # type: ignore[attr-defined] # the only parser of this syntax in the standard library
from typing import Any

Literals = frozenset[str]
_NOT_WORD = re.compile(
    rb"[^0-9A-Za-z_]+"
)  # word boundaries are ASCII: an inverted question mark or an emoji is no letter
_PROPERTY = re.compile(r"\\p\{\w+\}|\\p\w")
_MOST = 1500  # alternatives of one part
_NONE: Literals = frozenset()


def squeezed(data: bytes) -> bytes:
    """The text in which the literals are looked for: squeezed, for those of whole words, and as it stands."""
    return b" " + _NOT_WORD.sub(b" ", data) + b" \n" + data


def required(pattern: str, *, whole: bool) -> tuple[Literals, ...]:
    """Up to two sets of literals; a text without one literal of each cannot match. Empty: nothing is known.

    `whole`: the pattern stands between word boundaries, so that a literal at its edge is a whole word.
    """
    try:
        items = _opened(parser.parse(_PROPERTY.sub(r"\\w", pattern)))
    except (re.error, OverflowError):
        return ()
    sets = sorted(_parts(items, left=whole, right=whole), key=_worth, reverse=True)
    return tuple(dict.fromkeys(sets))[:2]


def _opened(items: Any) -> Any:
    while len(items) == 1 and items[0][0] is op.SUBPATTERN:
        items = items[0][1][3]
    return items


def _worth(literals: Literals) -> tuple[int, int]:
    return min(8, min(len(one) for one in literals)), -len(literals)


def _parts(items: Any, *, left: bool, right: bool) -> list[Literals]:
    """What each stretch of a sequence requires: its plain runs of characters, and its groups."""
    found: list[Literals] = []
    run = " " if left else ""
    marks = [None, *items, None]
    for (before, item), (_, after) in zip(pairwise(marks[:-1]), pairwise(marks[1:]), strict=True):
        char = _char(item)
        if char:
            run += char
            continue
        found += _whole(run)
        run = ""
        from_blank = _char(before) == " " or (before is None and left)
        to_blank = _char(after) == " " or (after is None and right)
        found += _group(item, left=from_blank, right=to_blank)
    found += _whole(run + " " if right and run else run)
    return found


def _char(item: Any) -> str:
    if item is None or item[0] is not op.LITERAL:
        return ""
    char = chr(item[1])
    return char if char.isalnum() or char in "_ " else ""


def _whole(run: str) -> list[Literals]:
    return [frozenset({run})] if len(run.strip()) > 1 else []


def _group(item: Any, *, left: bool, right: bool) -> list[Literals]:
    code, value = item
    if code is op.MAX_REPEAT and value[0] > 0:
        once = value[0] == value[1] == 1
        return _parts(value[2], left=left and once, right=right and once)
    if code is op.SUBPATTERN:
        return _parts(value[3], left=left, right=right)
    if code is op.BRANCH:
        return _branch(value[1], left=left, right=right)
    return []


def _branch(branches: Any, *, left: bool, right: bool) -> list[Literals]:
    """One literal for every alternative, or nothing if any alternative requires none."""
    union: set[str] = set()
    for branch in branches:
        sets = _parts(branch, left=left, right=right)
        if not sets:
            return []
        union |= sorted(sets, key=_worth)[-1]
    return [frozenset(union)] if len(union) <= _MOST else []
