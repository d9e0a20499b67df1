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
        costs: list[tuple[int, int, str]] = [(0, 0, "")]
        for end in range(1, len(letters) + 1):
            costs.append(min(self._ways(costs, letters, end), default=(_UNKNOWN, 0, "")))
        return costs[-1][2].strip() if costs[-1][0] < _UNKNOWN else ""

    def _ways(self, costs: list[tuple[int, int, str]], letters: str, end: int) -> Iterator[tuple[int, int, str]]:
        for start in range(max(0, end - _LONGEST), end):
            word = letters[start:end]
            rank = self._rank.get(word, _UNKNOWN) if len(word) > 1 or word in "ai" else _UNKNOWN
            if rank < _UNKNOWN and costs[start][0] < _UNKNOWN:
                yield costs[start][0] + 1, costs[start][1] + rank, f"{costs[start][2]} {word}"


@cache
def known() -> Vocabulary:
    """The words of words.txt."""
    return Vocabulary((files("textrules") / "words.txt").read_text(encoding="utf-8").split())


def _without_one(word: str) -> Iterator[str]:
    return (word[:at] + word[at + 1 :] for at in range(1, len(word) - 1))


def _undoubled(word: str) -> Iterator[str]:
    return (word[:at] + word[at + 1 :] for at in range(1, len(word)) if word[at] == word[at - 1])


def _swapped(word: str) -> Iterator[str]:
    pairs = range(len(word) - 1)
    return (word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in pairs if word[at] != word[at + 1])
