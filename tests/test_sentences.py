"""The splitter: every way of cutting the input gives the same sentences, and nothing is lost."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safety_filter.sentences import MAX_HELD, MAX_PIECE, Sentences

EXAMPLES = {
    "I hear you. Are you safe?": ["I hear you. ", "Are you safe?"],
    "Dr. Lee called. He waits.": ["Dr. Lee called. ", "He waits."],
    "Small steps, e.g. water. Then rest.": ["Small steps, e.g. water. ", "Then rest."],
    "At 3 a.m. it is loud. Here too.": ["At 3 a.m. it is loud. ", "Here too."],
    "It was 3 a.m. You wrote.": ["It was 3 a.m. ", "You wrote."],
    "You went quiet... and came back. Good.": ["You went quiet... and came back. ", "Good."],
    "Wait… No rush.": ["Wait… ", "No rush."],
    "About 2.5 hours. Then?": ["About 2.5 hours. ", "Then?"],
    "Call 1-800-273-8255. Or text 988.": ["Call 1-800-273-8255. ", "Or text 988."],
    "See https://988lifeline.org/chat?a=1 now. Yes?": ["See https://988lifeline.org/chat?a=1 now. ", "Yes?"],
    "I'm here. ❤️ Stay.": ["I'm here. ", "❤️ Stay."],
    "I'm here.❤️ Stay.": ["I'm here.", "❤️ Stay."],
    "You wrote “I can't.” I read it.": ["You wrote “I can't.” ", "I read it."],
    '(I mean it.) Write: "Can you come?" Then wait.': ["(I mean it.) ", 'Write: "Can you come?" ', "Then wait."],
    "¿Estás a salvo? ¡Gracias! Sigo aquí.": ["¿Estás a salvo? ", "¡Gracias! ", "Sigo aquí."],
    "我在。你安全吗？请说。": ["我在。", "你安全吗？", "请说。"],
    "Two things:\n1. Step back.\n2. Call 911.": ["Two things:\n1. Step back.\n", "2. Call 911."],
    "You could write:\n\n“I'm not okay.”\nThen wait.": ["You could write:\n\n“I'm not okay.”\n", "Then wait."],
    "Hola. Dos cosas:\n- agua\n- aire": ["Hola. ", "Dos cosas:\n- agua\n", "- aire"],
    "Ok 👍🏽 I read it 👩‍👩‍👧 all. 🙏 Yes": ["Ok 👍🏽 I read it 👩‍👩‍👧 all. ", "🙏 Yes"],
    "¡No! ¿Estás sola?Dime.": ["¡No! ", "¿Estás sola?", "Dime."],
    "- water\n- feet on the floor\n": ["- water\n", "- feet on the floor\n"],
    "```\ncode\n```\nText.": ["```\n", "code\n", "```\n", "Text."],
    "no stop at all": ["no stop at all"],
    "You did.Are you safe?Yes": ["You did.", "Are you safe?", "Yes"],
    "So am I. You too.": ["So am I. ", "You too."],
    "No. 5 is next. No. I stay.": ["No. 5 is next. ", "No. ", "I stay."],
    "Really?! Yes!!! Ok.": ["Really?! ", "Yes!!! ", "Ok."],
}


def cut(text: str, sizes: list[int]) -> list[str]:
    splitter = Sentences()
    pieces: list[str] = []
    at = 0
    for size in sizes:
        pieces += splitter.feed(text[at : at + size])
        at += size
    return pieces + splitter.feed(text[at:]) + splitter.flush()


@pytest.mark.parametrize("text", EXAMPLES)
def test_sentences_end_where_a_reader_says(text: str) -> None:
    assert cut(text, []) == EXAMPLES[text]


@pytest.mark.parametrize("text", EXAMPLES)
def test_character_by_character_gives_the_same(text: str) -> None:
    assert cut(text, [1] * len(text)) == EXAMPLES[text]


@settings(max_examples=300)
@given(
    st.text(alphabet=st.sampled_from("aA. .!?…。:\n \t\"')1-❤️¿é\ud800e.g"), max_size=400),
    st.lists(st.integers(0, 40), max_size=30),
)
def test_every_cut_gives_the_same_sentences(text: str, sizes: list[int]) -> None:
    whole = cut(text, [])
    assert cut(text, sizes) == whole
    assert "".join(whole) == text
    assert all(0 < len(piece) <= MAX_PIECE for piece in whole)


@settings(max_examples=100)
@given(st.text(max_size=700), st.lists(st.integers(0, 90), max_size=12))
def test_any_unicode_is_cut_and_kept(text: str, sizes: list[int]) -> None:
    assert cut(text, sizes) == cut(text, [])
    assert "".join(cut(text, sizes)) == text


@pytest.mark.parametrize("letter", ["x", "word ", ". ", "…", "\n", "a.", "。"])
def test_never_holds_back_more_than_promised(letter: str) -> None:
    splitter = Sentences()
    given_out = fed = 0
    for _ in range(2000):
        fed += len(letter)
        given_out += sum(len(piece) for piece in splitter.feed(letter))
        assert fed - given_out < MAX_HELD <= 300


def test_a_long_run_is_cut_between_words() -> None:
    pieces = cut("word " * 200, [])
    assert all(piece.endswith("word ") for piece in pieces)
