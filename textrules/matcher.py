"""Finds which rules match a text, in time linear in its length.

Hyperscan scans all patterns at once and names those that occur; RE2 then locates only these. Both run in linear time on
any input, so hostile text cannot stall a check. Neither knows look-around: context is expressed as `unless`.
"""

import bisect
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import re2

from textrules.database import Database
from textrules.required import squeezed
from textrules.rules import SPACE, Rule, RuleError, needed

_CLAUSE_END = re.compile(r"[.!?;\n。！？।…؟۔]+|(?:,| -)? (?:but|pero|mais|aber)\b|, mas\b")
_MATCHES_PER_PATTERN = 8  # a hostile text repeats a phrase a thousand times; eight of them say all there is to say


@dataclass(frozen=True, slots=True)
class Hit:
    """A rule that matched, with its half-open span in the scanned text."""

    rule: Rule
    start: int
    end: int


class Clauses:
    """The clauses of one text, cut once."""

    def __init__(self, text: str) -> None:
        marks = [mark.span() for mark in _CLAUSE_END.finditer(text)]
        self._starts = [0, *(end for _, end in marks)]
        self._ends = [*(start for start, _ in marks), len(text)]

    def around(self, start: int, end: int) -> tuple[int, int]:
        """The half-open span from the beginning of the clause holding `start` to the end of the one holding `end`."""
        left = self._starts[bisect.bisect_right(self._starts, start) - 1]
        after = bisect.bisect_left(self._ends, end)
        return left, max(end, self._ends[min(after, len(self._ends) - 1)])


class Matcher:
    """All rules compiled once; `hits` may be called from one thread at a time. `marks`: words that every text has."""

    def __init__(self, rules: Sequence[Rule], *, marks: Sequence[str] = ()) -> None:
        self.rules = tuple(rules)
        self._patterns = [(p, index) for index, rule in enumerate(self.rules) for p in rule.patterns]
        self._compiled: dict[str, re2._Regexp[bytes]] = {}  # filled on first use: most patterns never locate anything
        wanted = [needed(pattern, marks) for pattern, _ in self._patterns]
        self._words = Prefilter(wanted)
        self._rest = [number for number, sets in enumerate(wanted) if not sets]
        try:
            self._database = Database([self._patterns[number][0] for number in self._rest])
        except RuleError as error:
            raise self._blamed() or error from error

    def hits(self, text: str) -> list[Hit]:
        """Matches of every rule that no `unless` of the same clause silences, in the order of the rules."""
        data = text.encode("utf-8", "replace")
        numbers = self._words.candidates(squeezed(data))
        numbers += [self._rest[i] for i in self._database.scan(data)]
        if not numbers:
            return []
        clauses: Clauses | None = None
        hits: list[Hit] = []
        for number in sorted(numbers):
            pattern, index = self._patterns[number]
            rule = self.rules[index]
            for start, end in self._located(data, text, pattern):
                if rule.unless:
                    clauses = clauses or Clauses(text)
                    if self._silenced(text, clauses.around(start, end), rule):
                        continue
                hits.append(Hit(rule, start, end))
        return hits

    def _located(self, data: bytes, text: str, pattern: str) -> Iterator[tuple[int, int]]:
        plain = len(data) == len(text)
        for match in islice(self._regexp(pattern).finditer(data), _MATCHES_PER_PATTERN):
            start, end = match.span()
            if end <= start:
                continue
            if not plain:
                start, end = len(data[:start].decode(errors="ignore")), len(data[:end].decode(errors="ignore"))
            yield start, end

    def _silenced(self, text: str, part: tuple[int, int], rule: Rule) -> bool:
        data = text[part[0] : part[1]].encode("utf-8", "replace")
        return any(self._regexp(pattern).search(data) for pattern in rule.unless)

    def _regexp(self, pattern: str) -> "re2._Regexp[bytes]":
        found = self._compiled.get(pattern)
        if found is None:
            found = self._compiled[pattern] = _regexp(pattern)
        return found

    def _blamed(self) -> RuleError | None:
        """The rule whose pattern cannot be compiled, found one by one once the whole set has failed."""
        for pattern, index in self._patterns:
            try:
                _regexp(pattern)
                Database([] if needed(pattern) else [pattern], cached=False)
            except (re2.error, RuleError) as error:
                return RuleError(f"rule {self.rules[index].id}: the pattern {pattern!r} is not valid: {error}")
        return None


class Prefilter:
    """Names the patterns whose required literals all occur. Patterns that require nothing are not its business."""

    def __init__(self, wanted: Sequence[tuple[frozenset[str], ...]]) -> None:
        literals = sorted({literal for sets in wanted for one in sets for literal in one})
        index = {literal: number for number, literal in enumerate(literals)}
        self._first, self._second = [0] * len(literals), [0] * len(literals)
        self._single = 0
        for number, sets in enumerate(wanted):
            for masks, one in zip((self._first, self._second), sets, strict=False):
                for literal in one:
                    masks[index[literal]] |= 1 << number
            if len(sets) == 1:
                self._single |= 1 << number
        self._database = Database(literals, literal=True)

    def candidates(self, data: bytes) -> list[int]:
        """The numbers of the patterns that may occur in the squeezed text `data`."""
        first, second = 0, self._single
        for literal in self._database.scan(data):
            first |= self._first[literal]
            second |= self._second[literal]
        return list(_bits(first & second))


def _regexp(pattern: str) -> "re2._Regexp[bytes]":
    """Over bytes where the pattern is plain (a class is then one byte, the automaton a tenth), else over characters."""
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 1 << 25
    if pattern.replace(SPACE, "").isascii() and r"\p" not in pattern:
        options.encoding = re2.Options.Encoding.LATIN1
    return re2.compile(pattern.encode(), options)


def _bits(mask: int) -> Iterator[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def clause(text: str, start: int, end: int) -> tuple[int, int]:
    """The half-open span of the clause around text[start:end]."""
    return Clauses(text).around(start, end)
