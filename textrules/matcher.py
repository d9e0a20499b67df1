"""Finds which rules match a text, in time linear in its length.

Hyperscan scans all patterns at once and names those that occur; RE2 then locates only these. Both run in linear time on
any input, so hostile text cannot stall a check. Neither knows look-around: context is expressed as `unless`.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import hyperscan
import re2

from textrules.rules import Rule, RuleError

_FLAGS = hyperscan.HS_FLAG_SINGLEMATCH | hyperscan.HS_FLAG_UTF8 | hyperscan.HS_FLAG_DOTALL
_CLAUSE_END = re.compile(r"[.!?;\n。！？।…]+|(?:,| -)? (?:but|pero|mas|mais|aber)\b")


@dataclass(frozen=True, slots=True)
class Hit:
    """A rule that matched, with its half-open span in the scanned text."""

    rule: Rule
    start: int
    end: int


class Matcher:
    """All rules compiled once; `hits` may be called from one thread at a time."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules = tuple(rules)
        expressions = [(p, index) for index, rule in enumerate(self.rules) for p in rule.patterns]
        self._patterns = [(_compile(p, self.rules[index]), index) for p, index in expressions]
        self._unless = [tuple(_compile(p, rule) for p in rule.unless) for rule in self.rules]
        self._database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        try:
            self._database.compile(
                expressions=[p.encode() for p, _ in expressions],
                ids=list(range(len(expressions))),
                flags=[_FLAGS] * len(expressions),
            )
        except hyperscan.error as error:
            raise RuleError(f"a pattern cannot be compiled: {error}") from error

    def hits(self, text: str) -> list[Hit]:
        """Every match of every rule that no `unless` of the same clause silences, in the order of the rules."""
        found: list[int] = []
        self._database.scan(text.encode("utf-8", "replace"), match_event_handler=lambda i, *_: found.append(i))
        hits: list[Hit] = []
        for number in sorted(set(found)):
            pattern, index = self._patterns[number]
            hits.extend(self._located(text, pattern, index))
        return hits

    def _located(self, text: str, pattern: "re2._Regexp[str]", index: int) -> Iterator[Hit]:
        for match in pattern.finditer(text):
            start, end = match.span()
            if end > start and not self._silenced(text, start, end, index):
                yield Hit(self.rules[index], start, end)

    def _silenced(self, text: str, start: int, end: int, index: int) -> bool:
        if not self._unless[index]:
            return False
        left, right = clause(text, start, end)
        part = text[left:right]
        return any(pattern.search(part) for pattern in self._unless[index])


def clause(text: str, start: int, end: int) -> tuple[int, int]:
    """The half-open span of the clause around text[start:end]."""
    left = 0
    for mark in _CLAUSE_END.finditer(text):
        if mark.end() <= start:
            left = mark.end()
        elif mark.start() >= end:
            return left, mark.start()
    return left, len(text)


def _compile(pattern: str, rule: Rule) -> "re2._Regexp[str]":
    try:
        return re2.compile(pattern)
    except re2.error as error:
        raise RuleError(f"rule {rule.id}: the pattern {pattern!r} is not valid: {error}") from error
