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


def test_a_slip_is_told_of_unknown_words_only() -> None:
    assert [known().slip(word) for word in ("poeple", "peple", "peeople", "people", "qqqq")] == [
        *["people"] * 3,
        "",
        "",
    ]


@pytest.mark.parametrize(
    ("typed", "meant"), [("killlll", "kill"), ("biiill", "bill"), ("kkkk", "k"), ("zzzqqqq", "zq")]
)
def test_a_stretched_letter_is_meant_once_or_twice_and_others_as_they_stand(typed: str, meant: str) -> None:
    assert views(f"so {typed} there")[-1].text == f"so {meant} there"


def test_every_known_word_is_of_letters_alone() -> None:
    """Which `textrules.unmask` relies on where it leaves ordinary words out."""
    assert all(word.isascii() and word.isalpha() and word.islower() for word in known())
