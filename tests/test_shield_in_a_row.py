"""Messages that a person sends in a row, a piece of the sentence in each."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from shield.assessment import Turn, rank
from shield.detect import RUN, Detector

PATTERNS = Detector.load(learned=False)


def row(*texts: str) -> tuple[Turn, ...]:
    return tuple(Turn("user", text) for text in texts)


@pytest.mark.parametrize(
    ("texts", "least"),
    [
        (("i took", "all of", "my pills"), "imminent"),
        (("i want to", "kill", "myself"), "moderate"),
        (("im going to", "kill myself", "tonight"), "imminent"),
        (("quiero", "matarme"), "moderate"),
        (("hey", "you there", "i dont want", "to live"), "low"),
    ],
)
def test_a_sentence_in_pieces_is_read_as_one(texts: tuple[str, ...], least: str) -> None:
    assert rank(PATTERNS.assess(row(*texts)).level) >= rank(least)  # type: ignore[arg-type] # a level by its name


def test_pieces_with_an_answer_between_them_are_no_sentence() -> None:
    turns = (Turn("user", "i want to"), Turn("assistant", "Yes?"), Turn("user", "kill"), Turn("assistant", "Sorry?"))
    assert PATTERNS.assess((*turns, Turn("user", "this level boss"))).level == "none"


def test_a_piece_that_explains_makes_it_ordinary() -> None:
    assert PATTERNS.assess(row("i want to kill", "this final boss", "in elden ring")).level == "none"


def test_what_is_too_long_ago_is_no_piece() -> None:
    assert PATTERNS.assess(row("i took", "all of", "the garden " * (RUN // 10), "my pills")).level == "none"


@given(some.lists(some.text(max_size=40), min_size=2, max_size=5))
def test_findings_point_into_the_message_they_are_of(texts: list[str]) -> None:
    turns = row(*texts, "kill", "myself")
    for one in PATTERNS.assess(turns).findings:
        assert 0 <= one.start <= one.end <= len(turns[one.turn].text)


@given(
    some.lists(some.sampled_from(["i want to", "kill myself", "lol", "this boss", "tonight"]), min_size=1, max_size=4)
)
def test_one_message_more_never_loses_what_its_last_one_says(texts: list[str]) -> None:
    alone = PATTERNS.assess(row("kill myself"))
    assert rank(PATTERNS.assess(row(*texts, "i will kill myself")).level) >= rank(alone.level)
