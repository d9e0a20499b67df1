"""Known words tell a word in disguise from a new one, and letters without blanks are read as few frequent words."""

import pytest

from textrules.normalise import views
from textrules.vocabulary import Vocabulary, known

WORDS = Vocabulary(["i", "the", "a", "to", "end", "ending", "it", "all", "want", "wan", "tit"])


@pytest.mark.parametrize(
    ("letters", "words"),
    [
        ("iwanttoendit", "i want to end it"),
        ("ending", "ending"),
        ("wantit", "want it"),  # as few words as "wan tit", and more frequent ones
        ("xit", ""),
        ("e", ""),
        ("", ""),
    ],
)
def test_letters_are_split_into_few_frequent_words(letters: str, words: str) -> None:
    assert WORDS.split(letters) == words


def test_the_words_that_are_not_known_are_told_once_each() -> None:
    assert WORDS.unknown(["the", "zzz", "end", "zzz", "qqq"]) == {"zzz", "qqq"}
    assert known().unknown(["the"]) == set()


def test_a_stretched_word_is_read_to_its_end() -> None:
    assert views("my eeennndddiiinnngggsss")[-1].text == "my endings"
