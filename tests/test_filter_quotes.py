"""A quotation of the person claims nothing, in whatever quotes it stands; anybody else's words do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safety_filter.quotes import without_quotes

BURDEN = "everyone would be better off if i was dead. thats just math, i'm worthless"


@pytest.mark.parametrize(
    "sentence",
    [
        '"Everyone would be better off if I was dead" is the pain talking.',
        "“I'm worthless” is the pain talking.",
        "‘I’m worthless’ is the pain talking.",
        "'Better off dead, it's just math' is the pain talking.",
        "«better off if I was dead» is the pain talking.",
        "When your head says 'that's just math', it lies.",
    ],
)
def test_the_persons_words_are_left_out(sentence: str) -> None:
    left = without_quotes(sentence, BURDEN)
    assert "(…)" in left
    assert not {"dead", "worthless", "math"} & set(left.lower().replace('"', " ").split())


@pytest.mark.parametrize(
    "sentence",
    [
        '"They are better off without you" is what I think.',
        "'You should be dead' is all I can say.",
        "Don't say you're fine, it's not fine, and they're not fine.",
        'Say "do it tonight".',
    ],
)
def test_other_words_stay(sentence: str) -> None:
    assert without_quotes(sentence, BURDEN) == sentence


def test_words_from_all_over_a_long_message_are_no_quotation() -> None:
    spread = "you know what the doctor said. we should have gone to the coast. i do miss the sea. it rains tonight."
    assert without_quotes("'You should do it tonight.'", spread) == "'You should do it tonight.'"


@given(st.text(), st.text())
def test_any_text_is_read(sentence: str, user: str) -> None:
    left = without_quotes(sentence, user)
    assert left == sentence or "(…)" in left
