"""What is looked for of each of many patterns, kept (see textrules.kept) because thousands take seconds to read.

Every literal that a text holds costs time, and so does every pattern that is tried in vain. So the second set of a
pattern is looked for only where it spares more than it costs: "ol" stands in one text of ten, and asking for it spares
nothing where "gulmekten" must occur as well.
"""

import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path

from textrules import kept
from textrules.commonness import Commonness
from textrules.rules import needed

Needs = tuple[frozenset[str], ...]
# What the answer depends on besides the patterns: when any of these changes, nothing kept before is used again.
_SOURCES = ("required.py", "rules.py", "commonness.py", "vocabulary.py", "words.txt", "wanted.py")
_TRIED = 25  # a pattern tried in vain costs as much time as so many literals found, or less: a long text makes it dear


def wanted(
    patterns: Sequence[str], marks: Sequence[str], *, cache_dir: Path | None = None, worth_s: float = 0.1
) -> list[Needs]:
    """What is worth looking for of `textrules.rules.needed` of each pattern; kept where that takes over `worth_s`."""
    code = [(files("textrules") / source).read_text(encoding="utf-8") for source in _SOURCES]
    file = (cache_dir or kept.folder()) / f"{kept.name(sys.version, *code, *marks, '', *patterns)}.json"
    body = kept.read(file)
    if body is not None:
        return _decoded(body)
    began = time.monotonic()
    needs = worthwhile([needed(pattern, marks) for pattern in patterns], marks)
    if time.monotonic() - began > worth_s:
        kept.write(file, _encoded(needs))
    return needs


def worthwhile(needs: Sequence[Needs], marks: Iterable[str] = ()) -> list[Needs]:
    """The needs without the second sets that cost more than they spare. A literal is paid for by all that want it."""
    commonness = Commonness(frozenset(marks))
    spared = _spared(needs, commonness)
    anyway = {literal for sets in needs for literal in (sets[0] if sets else ())}
    asked = {one: one - anyway for one in spared}
    worth: set[frozenset[str]] = set()
    left = set(spared)
    while left != worth:  # what a dear set no longer shares may make the next one dear
        worth = left
        sharers = Counter(literal for one in worth for literal in asked[one])
        share = {literal: commonness.of(literal) / number for literal, number in sharers.items()}
        left = {one for one in worth if spared[one] >= sum(map(share.__getitem__, asked[one]))}
    return [sets if sets[1:] and sets[1] in worth else sets[:1] for sets in needs]


def _spared(needs: Iterable[Needs], commonness: Commonness) -> dict[frozenset[str], float]:
    """What each second set spares a text, in literals found: the patterns that are not tried for want of it."""
    spared: dict[frozenset[str], float] = defaultdict(float)
    for first, *others in filter(None, needs):
        for second in others:
            spared[second] += _TRIED * commonness.any_of(first) * (1 - commonness.any_of(second))
    return spared


def _encoded(needs: Sequence[Needs]) -> bytes:
    """Each set once, then the numbers of each pattern's sets."""
    numbers: dict[frozenset[str], int] = {}
    rows = [[numbers.setdefault(one, len(numbers)) for one in sets] for sets in needs]
    return json.dumps([[sorted(one) for one in numbers], rows]).encode()


def _decoded(body: bytes) -> list[Needs]:
    listed, rows = json.loads(body)
    sets = [frozenset(one) for one in listed]
    return [tuple(sets[number] for number in row) for row in rows]
