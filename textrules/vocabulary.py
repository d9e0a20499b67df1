"""Words that people write: so that a word in disguise can be told from one that is merely new.

words.txt has them one a line, the most frequent first, folded, of the languages with Latin letters. They were counted
in the project's own training text (`scripts/known-words`); a word that is not there is never unmasked to.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files

_LONGEST = 14  # letters of a word in spaced-out writing
_SHORT = 4  # letters; of a shorter word one slip makes many others
_COMMON, _USUAL = 700, 3_000  # ranks: a slip is believed of a usual word, one of four letters of a common one
_UNKNOWN = 1_000_000


class Vocabulary:
    """Known words with their ranks; what it answers is "" where it does not know."""

    def __init__(self, words: Iterable[str]) -> None:
        self._rank = {word: number for number, word in enumerate(words)}
        self._shortened: dict[str, str] = {}
        for word in self._rank:
            for short in _without_one(word):
                self._shortened.setdefault(short, word)  # the most frequent comes first

    def __contains__(self, word: object) -> bool:
        return word in self._rank

    def unknown(self, words: Iterable[str]) -> set[str]:
        """Those of the words that are not known."""
        return set(words).difference(self._rank)

    def best(self, readings: Iterable[str]) -> str:
        """The most frequent of the readings that are known."""
        return min((one for one in readings if one in self._rank), key=self._rank.__getitem__, default="")

    def slip(self, word: str) -> str:
        """The known word of which this unknown one is one slip of the finger: a letter left out, doubled, swapped."""
        if len(word) < _SHORT or word in self._rank:
            return ""
        meant = self.best([*_undoubled(word), *_swapped(word), self._shortened.get(word, "")])
        return meant if self._rank.get(meant, _UNKNOWN) < (_COMMON if len(word) == _SHORT else _USUAL) else ""

    def split(self, letters: str) -> str:
        """The letters as known words, as few and as frequent as they can be."""
        ranks = self._rank
        costs: list[int | None] = [0]  # of the letters up to here; None where no words end here
        starts = [0]  # of the word that ends here
        for end in range(1, len(letters) + 1):
            least, since = None, 0
            for start in range(max(0, end - _LONGEST), end):
                before, rank = costs[start], ranks.get(letters[start:end])
                if before is None or rank is None or (end - start == 1 and letters[start] not in "ai"):
                    continue
                cost = before + _UNKNOWN + rank  # one word more outweighs all ranks
                if least is None or cost < least:
                    least, since = cost, start
            costs.append(least)
            starts.append(since)
        words: list[str] = []
        end = len(letters) if costs[-1] is not None else 0
        while end:
            words.append(letters[starts[end] : end])
            end = starts[end]
        return " ".join(reversed(words))


@cache
def known() -> Vocabulary:
    """The words of words.txt."""
    return Vocabulary(listed())


def listed() -> list[str]:
    """The words of words.txt, the most frequent first."""
    return (files("textrules") / "words.txt").read_text(encoding="utf-8").split()


def _without_one(word: str) -> Iterator[str]:
    return (word[:at] + word[at + 1 :] for at in range(1, len(word) - 1))


def _undoubled(word: str) -> Iterator[str]:
    return (word[:at] + word[at + 1 :] for at in range(1, len(word)) if word[at] == word[at - 1])


def _swapped(word: str) -> Iterator[str]:
    pairs = range(len(word) - 1)
    return (word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in pairs if word[at] != word[at + 1])
