"""How likely a message holds a string: what decides which words of a pattern are worth looking for.

The words of words.txt stand in the order of how often they are written; a word's share of all text follows from its
place (Zipf's law, with Mandelbrot's shift). A string that is a part of words has the shares of all of them. Rough, but
measured on 5,162 messages of the judged parts it puts patterns in almost the order of how often they are candidates.
"""

import math
import re
from collections import defaultdict
from collections.abc import Set
from functools import cache
from itertools import pairwise

from textrules.vocabulary import listed

_WORDS = 14  # of a shorter message; the median of the judged ones is 17
_SHIFT = 3  # the first words are not as much more frequent than the next as Zipf alone would have it
_RARE = 5e-6  # the share of a string that no listed word holds
_COMPANY = 3  # how much likelier a word is behind one that it is written with than anywhere
_LONGEST = 5  # characters, blanks at a word's edges among them, of which the shares are counted
_OTHER_LETTERS = {1: 0.1, 2: 0.01}  # the chance of so many characters that are not ASCII; longer ones are rare
_RARELY = 0.002
_BLANKS = re.compile(" +")


class Commonness:
    """The chance (0 to 1) of strings in a message. `marks` are words that every text has.

    A string with a blank at its edge begins or ends with a whole word.
    """

    def __init__(self, marks: Set[str] = frozenset()) -> None:
        self._marks = marks

    def of(self, literal: str) -> float:
        """The chance that a message holds the string."""
        unmarked = " ".join("" if word in self._marks else word for word in literal.split(" "))
        return _chance(_BLANKS.sub(" ", unmarked))

    def expected(self, literals: Set[str]) -> float:
        """How many of the strings a message is likely to hold."""
        return sum(map(self.of, literals))

    def any_of(self, literals: Set[str]) -> float:
        """The chance that a message holds one of the strings, as if they had nothing to do with each other."""
        return 1 - math.prod(1 - self.of(literal) for literal in literals)


@cache
def _chance(literal: str) -> float:
    words = literal.split()
    if not words:
        return 1.0
    if not literal.isascii():
        return _OTHER_LETTERS.get(len(literal.strip()), _RARELY)
    padded = " ".join(words)
    padded = f"{' ' if literal[0] == ' ' else ''}{padded}{' ' if literal[-1] == ' ' else ''}"
    cuts = [-1, *(at for at, char in enumerate(padded) if char == " " and 0 < at < len(padded) - 1), len(padded)]
    shares = [_share(padded[max(0, left) : right + 1]) for left, right in pairwise(cuts)]
    share = shares[0] * math.prod(min(1.0, _COMPANY * one) for one in shares[1:])
    return 1 - math.exp(-_WORDS * share)


def _share(part: str) -> float:
    """How large a share of all words holds the string; of a long one, at most."""
    counted = _counted()
    if len(part) <= _LONGEST:
        return counted.get(part, _RARE)
    return min(counted.get(part[at : at + _LONGEST], _RARE) for at in range(len(part) - _LONGEST + 1))


@cache
def _counted() -> dict[str, float]:
    """The share of every short string, one blank before and behind each word."""
    words = listed()
    whole = sum(1 / (place + _SHIFT) for place in range(len(words)))
    counted: dict[str, float] = defaultdict(float)
    for place, word in enumerate(words):
        share = 1 / ((place + _SHIFT) * whole)
        padded = f" {word} "
        held = {padded[at : at + n] for n in range(1, _LONGEST + 1) for at in range(len(padded) - n + 1)}
        for one in held:
            counted[one] += share
    return counted
