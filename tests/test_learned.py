"""The learned stage: it may only raise, it cannot be crashed, and its two files belong together."""

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shield.assessment import Turn, rank
from shield.detect import Detector
from shield.features import BUCKETS, buckets, windows
from shield.learned import LearnedStage, Thresholds

STAGE = LearnedStage.load()
PATTERNS = Detector.load(learned=False)
BOTH = Detector.load()


@given(st.text(max_size=400))
@settings(max_examples=200, deadline=None)
def test_any_unicode_gives_probabilities(text: str) -> None:
    found = STAGE.likelihood(text)
    assert 0 <= found.crisis <= 1
    assert 0 <= found.grave <= 1
    assert all(0 <= bucket < BUCKETS for bucket in buckets(text))


@given(
    st.lists(
        st.sampled_from(
            [
                "i",
                "my",
                "the",
                "gun",
                "pills",
                "tired",
                "done",
                "goodbye",
                "happy",
                "pasta",
                "nobody",
                "sleep",
                "forever",
                "mom",
            ]
        ),
        max_size=14,
    )
)
@settings(max_examples=200, deadline=None)
def test_it_only_raises_what_patterns_found(words: list[str]) -> None:
    turns = [Turn("user", " ".join(words))]
    assert rank(BOTH.assess(turns).level) >= rank(PATTERNS.assess(turns).level)


def test_its_finding_says_that_it_was_learned_and_how_likely() -> None:
    eager = Detector(PATTERNS.rules, dataclasses.replace(STAGE, thresholds=Thresholds(0.0, 1.1, 1.1)))
    (found,) = eager.assess([Turn("user", "The boxes are labelled now, one for each of them.")]).findings
    assert found.rule_id == "learned.crisis"
    assert found.level == "low"
    assert found.probability is not None
    assert (found.start, found.end) == (0, 49)


def test_it_is_not_asked_about_languages_it_never_learned() -> None:
    eager = Detector(PATTERNS.rules, dataclasses.replace(STAGE, thresholds=Thresholds(0.0, 1.1, 1.1)))
    assert eager.assess([Turn("user", "Сегодня мы варили суп и смотрели старое кино.")]).level == "none"


@given(
    st.lists(st.sampled_from(["I am done. ", "Pasta tonight!\n", "They will find the letters? ", "ok "]), max_size=12)
)
@settings(max_examples=100, deadline=None)
def test_what_is_added_never_dilutes_what_was_said(pieces: list[str]) -> None:
    said = "".join(pieces) + "."
    before, after = STAGE.likelihood(said), STAGE.likelihood(said + " What a lovely day it was at the market.")
    assert after.crisis >= before.crisis
    assert after.grave >= before.grave


def test_a_long_text_is_read_at_both_ends() -> None:
    middle = "and then we talked about the weather. " * 300
    assert any("zebra" in window for window in windows("zebra. " + middle))
    assert any("zebra" in window for window in windows(middle + " zebra."))
    assert sum(map(len, windows(middle * 5))) < 20_000


def test_files_of_different_trainings_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shield.learned.BUCKETS", BUCKETS * 2)
    with pytest.raises(ValueError, match="make train"):
        LearnedStage.load()
