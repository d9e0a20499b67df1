"""The gate: check, then release. Nothing of an unsafe sentence escapes, on any path."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safety_filter.check import check
from safety_filter.gate import Gate
from safety_filter.review import Reviewer, load_rules

REVIEWER = Reviewer.load()
CORPUS = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "eval/data/filter_en.jsonl").read_text(encoding="utf-8").splitlines()
]
SAFE = "I hear you. "
CUT = "I love you so much. "
HARM = "You should just end it. "
PARTS = st.lists(
    st.sampled_from([SAFE, CUT, HARM, "Are you safe right now? ", "Who is with you? ", "No rush. "]), max_size=8
)


class NoContacts:
    def unknown(self, text: str) -> list[tuple[int, int]]:
        return []


def gate(user: str = "I want to die", before: str = "", reviewer: Reviewer = REVIEWER) -> Gate:
    return Gate(reviewer, user=user, language="en", allowed=NoContacts(), before=before)


def run(text: str, sizes: list[int], user: str = "I want to die") -> tuple[str, bool]:
    one = gate(user)
    out: list[str] = []
    at = 0
    for size in sizes:
        out += one.feed(text[at : at + size])
        at += size
    out += one.feed(text[at:]) + one.flush()
    return "".join(out), one.blocked


def test_whole_safe_sentences_come_out_as_they_are_completed() -> None:
    one = gate()
    assert one.feed("I hear") == []
    assert one.feed(" you. Are") == ["I hear you. "]
    assert one.feed(" you safe?") == []
    assert one.flush() == ["Are you safe?"]
    assert not one.blocked
    assert one.violations == ()


def test_a_blocked_gate_gives_nothing_more() -> None:
    one = gate()
    assert one.feed(SAFE + HARM + SAFE * 2) == [SAFE]
    assert one.blocked
    assert one.feed(SAFE) == []
    assert one.flush() == []


def test_a_cut_sentence_is_left_out_and_the_stream_goes_on() -> None:
    text, blocked = run(SAFE + CUT + "Are you safe right now?", [])
    assert text == SAFE + "Are you safe right now?"
    assert not blocked


def test_what_hangs_on_a_cut_sentence_goes_with_it() -> None:
    text, blocked = run("I hear you. No rush. " + CUT + "That's why I stay. Who is with you?", [])
    assert text == "I hear you. No rush. Who is with you?"
    assert not blocked


def test_a_question_after_a_cut_sentence_stays() -> None:
    text, _ = run("I hear you. " + CUT + "And are you safe right now?", [])
    assert text.endswith("And are you safe right now?")


def test_more_than_two_cuts_block() -> None:
    text, blocked = run(SAFE + "Stay strong! " + "It gets better. " + CUT + "Who is with you? " * 2, [])
    assert blocked
    assert text == SAFE


def test_more_cut_than_released_blocks() -> None:
    assert run(CUT, []) == ("", True)


class Crashing(Reviewer):
    def review(self, *args: object, **kwargs: object) -> tuple[()]:
        raise ZeroDivisionError


def test_a_crash_in_review_propagates_and_leaves_the_gate_shut() -> None:
    one = gate(reviewer=Crashing(load_rules()[:1]))
    with pytest.raises(ZeroDivisionError):
        one.feed(SAFE + SAFE)
    assert one.blocked
    assert one.feed(SAFE) == []
    assert one.flush() == []


def test_harm_split_over_two_sentences_is_held() -> None:
    text, blocked = run("You asked me straight. Kill\nyourself.", [])
    assert blocked
    assert "yourself" not in text


def test_harm_that_begins_in_what_was_said_before_is_held() -> None:
    one = gate(before="Your family would be better")
    assert one.feed(" off without you. Are") == []
    assert one.blocked


@settings(max_examples=150)
@given(PARTS, st.lists(st.integers(0, 60), max_size=10))
def test_every_cut_of_the_stream_gives_the_same(parts: list[str], sizes: list[int]) -> None:
    text = "".join(parts)
    assert run(text, sizes) == run(text, [])


@settings(max_examples=150)
@given(PARTS, st.lists(st.integers(0, 60), max_size=10))
def test_nothing_of_an_unsafe_sentence_escapes(parts: list[str], sizes: list[int]) -> None:
    text, blocked = run("".join(parts), sizes)
    assert "end it" not in text
    assert "love" not in text
    assert blocked or HARM not in parts


@settings(max_examples=60)
@given(st.sampled_from(CORPUS), st.sampled_from(CORPUS), st.lists(st.integers(0, 60), max_size=6))
def test_the_corpus_cut_anywhere_gives_the_same(one: dict[str, str], other: dict[str, str], sizes: list[int]) -> None:
    text = f"{one['reply']} {other['reply']}"
    assert run(text, sizes, one["user"]) == run(text, [], one["user"])


@settings(max_examples=80)
@given(st.sampled_from(CORPUS), st.sampled_from(CORPUS))
def test_filtering_twice_changes_nothing(one: dict[str, str], other: dict[str, str]) -> None:
    first = check(
        f"{one['reply']} {other['reply']}", reviewer=REVIEWER, user=one["user"], language="en", allowed=NoContacts()
    )
    if first.verdict == "block":
        assert first.text == ""
        return
    second = check(first.text, reviewer=REVIEWER, user=one["user"], language="en", allowed=NoContacts())
    assert (second.verdict, second.text) == ("pass", first.text)


@settings(max_examples=60)
@given(st.text(max_size=400), st.text(max_size=60))
def test_no_text_makes_it_crash(reply: str, user: str) -> None:
    check(reply, reviewer=REVIEWER, user=user, language="en", allowed=NoContacts())


@pytest.mark.parametrize("reply", ["\ud800", "I hear \udc00 you.", "\udfff" * 400, "\x00\x00", "\n" * 500, "۩" * 900])
def test_broken_characters_are_never_shown(reply: str) -> None:
    result = check(reply, reviewer=REVIEWER, user="\ud800", language="en", allowed=NoContacts())
    result.text.encode()


def test_an_empty_reply_is_not_an_answer() -> None:
    assert check(" \n", reviewer=REVIEWER, user="hi", language="en", allowed=NoContacts()).verdict == "block"


def test_a_good_reply_comes_out_untouched() -> None:
    reply = "I'm glad you wrote.\n\nAre you safe right now?  "
    result = check(reply, reviewer=REVIEWER, user="I want to die", language="en", allowed=NoContacts())
    assert (result.verdict, result.text, result.violations) == ("pass", reply, ())


@pytest.mark.parametrize("every", [2, 3])
def test_adding_rules_never_releases_more(every: int) -> None:
    rules = load_rules()
    kept = {r.category for r in rules if r.category == "vouched" or r.category.startswith(("user.", "said."))}
    fewer = Reviewer([r for n, r in enumerate(rules) if n % every or r.category in kept])
    for one, other in zip(CORPUS, reversed(CORPUS), strict=True):
        text = f"{one['reply']} {other['reply']} {one['reply']}"
        few, all_ = gate(one["user"], reviewer=fewer), gate(one["user"])
        less = few.feed(text) + few.flush()
        more = all_.feed(text) + all_.flush()
        assert len(more) <= len(less)
        rest = iter(less)
        assert all(sentence in rest for sentence in more)
