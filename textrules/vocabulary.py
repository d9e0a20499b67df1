"""Words that people write: so that a word in disguise can be told from one that is merely new.

words.txt has them one a line, the most frequent first, folded, of the languages with Latin letters. They were counted
in the project's own training text (`scripts/known-words`); a word that is not there is never unmasked to.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from importlib.resources import files
from itertools import islice

_LONGEST = 14  # letters of a word in spaced-out writing
_PREFIX = 4  # letters by which the longer words are found
_SHORT = 4  # letters; of a shorter word one slip makes many others
_COMMON, _USUAL = 700, 3_000  # ranks: a slip is believed of a usual word, one of four letters of a common one
_UNKNOWN = 1_000_000
_SHORTER = tuple(range(1, _PREFIX))
_DOUBLED = re.compile(r"(.)\1+")


class Vocabulary:
    """Known words with their ranks; what it answers is "" where it does not know."""

    def __init__(self, words: Iterable[str]) -> None:
        self._rank = {word: number for number, word in enumerate(words)}
        self._slips: dict[str, str] = {}
        for word, rank in islice(self._rank.items(), _USUAL):
            shortest = _SHORT if rank < _COMMON else _SHORT + 1
            for slip in _slips(word):
                if len(slip) >= shortest:
                    self._slips.setdefault(slip, word)  # the most frequent comes first
        for word in self._rank.keys() & self._slips.keys():
            del self._slips[word]

    def __contains__(self, word: object) -> bool:
        return word in self._rank

    def __iter__(self) -> Iterator[str]:
        return iter(self._rank)

    def unknown(self, words: Iterable[str]) -> set[str]:
        """Those of the words that are not known."""
        return set(words).difference(self._rank)

    def best(self, readings: Iterable[str]) -> str:
        """The most frequent of the readings that are known."""
        best, least = "", _UNKNOWN
        for one in readings:
            rank = self._rank.get(one, _UNKNOWN)
            if rank < least:
                best, least = one, rank
        return best

    def slip(self, word: str) -> str:
        """The usual word of which this unknown one is one slip of the finger: a letter left out, doubled, swapped."""
        return self._slips.get(word, "")

    def split(self, letters: str) -> str:
        """The letters as known words, as few and as frequent as they can be."""
        ranks, longer = self._rank, self._longer
        size = len(letters)
        worst = 2 * _UNKNOWN * (size + 1)  # more than any words cost
        costs = [0] + [worst] * size  # of the letters up to here
        starts = [0] * (size + 1)  # of the word that ends here
        for start in range(size):
            before = costs[start]
            if before == worst:  # no words end here
                continue
            lengths = longer.get(letters[start : start + _PREFIX], _SHORTER)
            for length in lengths if letters[start] in "ai" else lengths[1:]:
                end = start + length
                if end > size:
                    break
                if (rank := ranks.get(letters[start:end])) is not None and before + rank < costs[end] - _UNKNOWN:
                    costs[end] = before + _UNKNOWN + rank  # one word more outweighs all ranks
                    starts[end] = start
        words: list[str] = []
        end = size if costs[-1] < worst else 0
        while end:
            words.append(letters[starts[end] : end])
            end = starts[end]
        return " ".join(reversed(words))

    @cached_property
    def _longer(self) -> dict[str, tuple[int, ...]]:
        """By their first letters, how long words may be, the shortest first."""
        lengths: defaultdict[str, set[int]] = defaultdict(set)
        for word in self._rank:
            if _PREFIX <= len(word) <= _LONGEST:
                lengths[word[:_PREFIX]].add(len(word))
        return {first: (*_SHORTER, *sorted(found)) for first, found in lengths.items()}


@cache
def known() -> Vocabulary:
    """The words of words.txt."""
    return Vocabulary(listed())


def listed() -> list[str]:
    """The words of words.txt, the most frequent first."""
    return (files("textrules") / "words.txt").read_text(encoding="utf-8").split()


def undoubled(text: str) -> str:
    """The text with every letter that stands several times in a row only once."""
    return "".join(_DOUBLED.split(text))


def _slips(word: str) -> Iterator[str]:
    for at in range(1, len(word)):
        before, here, after = word[:at], word[at], word[at + 1 :]
        if after:
            yield before + after
        yield before + here + word[at:]
        if here != word[at - 1]:
            yield word[: at - 1] + here + word[at - 1] + after
    yield word[:1] + word
