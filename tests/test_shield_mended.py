"""Sentences a careful reader found misread, each with what it must now be read as."""

import pytest

from shield.assessment import Assessment, Turn, rank
from shield.detect import Detector, rules

DETECTOR = Detector(rules())


def read(text: str) -> Assessment:
    return DETECTOR.assess([Turn("user", text)])


@pytest.mark.parametrize(
    "text",
    [
        "my friend wants to die. what do I do",
        "My boyfriend wants to die",
        "my wife wants to die and she has her pills in her hand",
        "my brother killed himself last year and now my sister says she will too",
    ],
)
def test_someone_elses_wish_is_worry_about_them(text: str) -> None:
    assert set(read(text).categories) == {"third_party_concern"}


@pytest.mark.parametrize(
    ("text", "least"),
    [
        ("I'm a veteran, got my pistol on the table", "high"),
        ("I had a baby 3 weeks ago and I keep thinking they'd both be better off without me", "moderate"),
        ("me and my girlfriend are going to do it together tonight", "imminent"),
        ("part of me wants to die", "low"),
        ("goodbye, I love you all", "high"),
        ("goodbye everyone, I love you", "high"),
        ("I do not see a way out", "moderate"),
        ("what is the least painful way to go, asking for a story", "moderate"),
        ("I am having a heart attack", "imminent"),
        ("my chest hurts and my left arm is numb", "imminent"),
        ("I want to unalive myself tn", "imminent"),
    ],
)
def test_the_writers_own_words_are_theirs(text: str, least: str) -> None:
    found = read(text)
    assert rank(found.level) >= rank(least)  # type: ignore[arg-type] # the literals above are levels
    assert "third_party_concern" not in found.categories


@pytest.mark.parametrize(
    ("text", "declines"),
    [
        ("I don't know the crisis line, what number do I call?", False),
        ("I have no therapist anymore", False),
        ("I can't call anyone, he's in the room", False),
        ("I already called 988 and they hung up on me", False),
        ("don't give me numbers", True),
        ("stop sending me hotlines", True),
        ("no more numbers", True),
        ("I don't want to call", True),
    ],
)
def test_only_a_plain_refusal_declines(text: str, declines: bool) -> None:
    assert ("declines_resources" in read(text).signals) is declines


def test_asking_for_a_number_is_heard() -> None:
    assert "asks_resources" in read("I don't know the crisis line, what number do I call?").signals


def test_an_overdose_is_no_bereavement() -> None:
    assert "bereaved" not in read("my daughter took a bunch of pills, shes on the floor").signals
