"""Finds which rules match a text, in time linear in its length.

Hyperscan looks for the literals of all patterns at once, and for those without telling literals as a whole; RE2 then
locates the few that may occur. Both run in linear time on any input, so hostile text cannot stall a check. Neither
knows look-around: context is expressed as `unless`.
"""

import bisect
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import re2

from textrules.database import Database
from textrules.regexp import Regexp
from textrules.required import squeezed
from textrules.rules import SPACE, Rule, RuleError, scanned
from textrules.wanted import wanted

_STOPS = r"[.!?;\n。！？।…؟۔]+"
_CLAUSE_END = re.compile(_STOPS)
# Each branch begins with one certain character: a third of the time of one that begins with what may be left out.
_TURNING_END = re.compile(rf"{_STOPS}|, (?:but|pero|mais|aber|mas)\b| (?:- )?(?:but|pero|mais|aber)\b")
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
        marks = [mark.span() for mark in _clause_end(text).finditer(text)]
        self._starts = [0, *(end for _, end in marks)]
        self._ends = [*(start for start, _ in marks), len(text)]

    def around(self, start: int, end: int) -> tuple[int, int]:
        """The half-open span from the beginning of the clause holding `start` to the end of the one holding `end`."""
        left = self._starts[bisect.bisect_right(self._starts, start) - 1]
        after = bisect.bisect_left(self._ends, end)
        return left, max(end, self._ends[min(after, len(self._ends) - 1)])


def _clause_end(text: str) -> re.Pattern[str]:
    """What ends the clauses of this text: most have stops only, and those alone are found in half the time."""
    turns = " but" in text or " pero" in text or " mais" in text or " aber" in text or ", mas" in text
    return _TURNING_END if turns else _CLAUSE_END


class Matcher:
    """All rules compiled once; `hits` may be called from one thread at a time. `marks`: words that every text has."""

    def __init__(self, rules: Sequence[Rule], *, marks: Sequence[str] = ()) -> None:
        self.rules = tuple(rules)
        self._patterns = [(p, index) for index, rule in enumerate(self.rules) for p in rule.patterns]
        self._compiled: dict[str, Regexp] = {}  # filled on first use: most patterns never locate anything
        self._silencers: dict[int, Sequence[Regexp]] = {}
        needs = wanted([pattern for pattern, _ in self._patterns], marks)
        self._words = Prefilter(needs)
        self._rest = [number for number, sets in enumerate(needs) if not sets]
        try:
            self._database = Database([scanned(self._patterns[number][0]) for number in self._rest])
        except RuleError as error:
            raise self._blamed() or error from error

    def hits(self, text: str) -> list[Hit]:
        """Matches of every rule that no `unless` of the same clause silences, in the order of the rules."""
        return [hit for hit, silent in self._tried(text) if not silent]

    def silenced(self, text: str) -> list[Hit]:
        """Matches that their rule's own `unless` silences: what an explanation names."""
        return [hit for hit, silent in self._tried(text) if silent]

    def _tried(self, text: str) -> Iterator[tuple[Hit, bool]]:
        data = text.encode("utf-8", "replace")
        numbers = self._words.candidates(squeezed(data))
        numbers += [self._rest[i] for i in self._database.scan(data)]
        if not numbers:
            return
        context = _Context(text)
        for number in sorted(numbers):
            pattern, index = self._patterns[number]
            rule = self.rules[index]
            for start, end in self._located(data, text, pattern):
                silent = bool(rule.unless) and context.silences(index, self._unless(index), start, end)
                yield Hit(rule, start, end), silent

    def _located(self, data: bytes, text: str, pattern: str) -> list[tuple[int, int]]:
        compiled = self._compiled.get(pattern)
        if compiled is None:
            compiled = self._compiled[pattern] = regexp(pattern)
        spans = compiled.spans(data, _MATCHES_PER_PATTERN)
        if not spans or len(data) == len(text):
            return spans
        return [(_characters(data, start), _characters(data, end)) for start, end in spans]

    def _unless(self, index: int) -> Sequence[Regexp]:
        """A rule's `unless` in one pattern, or in two where some are plain and some are not."""
        found = self._silencers.get(index)
        if found is None:
            parts = self.rules[index].unless
            alike = [[part for part in parts if _plain(part) is plain] for plain in (True, False)]
            joined = ["|".join(f"(?:{part})" for part in group) for group in alike if group]
            found = self._silencers[index] = [regexp(one) for one in joined]
        return found

    def _blamed(self) -> RuleError | None:
        """The rule whose pattern cannot be compiled, found one by one once the whole set has failed."""
        whole = set(self._rest)
        for number, (pattern, index) in enumerate(self._patterns):
            given = scanned(pattern)
            try:
                regexp(pattern)
                Database([given] if number in whole else [], cached=False)
            except re2.error as error:
                return RuleError(f"rule {self.rules[index].id}: the pattern {pattern!r} is not valid: {error}")
            except RuleError as error:
                why = f"{error} Hyperscan was given {given!r}, for lack of a rare word to look for instead"
                return RuleError(f"rule {self.rules[index].id}: the pattern {pattern!r} is not valid: {why}")
        return None


class Prefilter:
    """Names the patterns whose required literals all occur. Patterns that require nothing are not its business."""

    def __init__(self, needs: Sequence[tuple[frozenset[str], ...]]) -> None:
        wanting: tuple[dict[str, list[int]], ...] = (defaultdict(list), defaultdict(list))
        for number, sets in enumerate(needs):
            for numbers, one in zip(wanting, sets, strict=False):
                for literal in one:
                    numbers[literal].append(number)
        literals = sorted({*wanting[0], *wanting[1]})
        mask = _Masks()
        self._first, self._second = ([mask.of(numbers.get(one, ())) for one in literals] for numbers in wanting)
        self._single = mask.of([number for number, sets in enumerate(needs) if len(sets) == 1])
        self._database = Database(literals, literal=True)

    def candidates(self, data: bytes) -> list[int]:
        """The numbers of the patterns that may occur in the squeezed text `data`."""
        first, second = 0, self._single
        for literal in self._database.scan(data):
            if mask := self._first[literal]:
                first |= mask
            if mask := self._second[literal]:
                second |= mask
        return _bits(first & second)


class _Masks:
    """Numbers as the bits of one integer. The same numbers are the same object: a tenth of the memory to fetch."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, ...], int] = {}

    def of(self, numbers: Iterable[int]) -> int:
        key = tuple(numbers)
        mask = self._known.get(key)
        if mask is None:
            mask = self._known[key] = sum(1 << number for number in key)
        return mask


class _Context:
    """The clauses of one text as bytes, and which `unless` silences which of them: each asked once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._clauses: Clauses | None = None
        self._known: dict[tuple[int, int, int], bool] = {}

    def silences(self, index: int, unless: Sequence[Regexp], start: int, end: int) -> bool:
        """Whether any of the patterns, which are those of rule `index`, matches in the clause around a span."""
        if self._clauses is None:
            self._clauses = Clauses(self._text)
        part = self._clauses.around(start, end)
        key = (index, *part)
        known = self._known.get(key)
        if known is None:
            data = self._text[part[0] : part[1]].encode("utf-8", "replace")
            known = self._known[key] = any(one.occurs(data) for one in unless)
        return known


def _plain(pattern: str) -> bool:
    return pattern.replace(SPACE, "").isascii() and r"\p" not in pattern


def regexp(pattern: str) -> Regexp:
    """The pattern as it is located. Raises re2.error."""
    return Regexp(pattern, plain=_plain(pattern))


def _characters(data: bytes, at: int) -> int:
    return len(data[:at].decode(errors="ignore"))


def _bits(mask: int) -> list[int]:
    """The numbers of the bits that are set, in order; read from the top, where what is left becomes shorter."""
    found = []
    while mask:
        top = mask.bit_length() - 1
        found.append(top)
        mask ^= 1 << top
    return found[::-1]
