"""The learned stage: plain words stand against it, it cannot be crashed, and its files belong together."""

import dataclasses
import json
import shutil
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shield.assessment import Turn, rank
from shield.detect import Detector
from shield.learned import WINDOW, WINDOWS, LearnedStage, Limits, segments, windows
from textrules.encoder import ALL, END, START, Encoder, Remembering, arranged
from textrules.rules import parse

STAGE = LearnedStage.load()
PATTERNS = Detector.load(learned=False)
BOTH = Detector.load()
NEVER, ALWAYS = Limits(0.0, 0.0, 2.0, 2.0, 2.0, 2.0), Limits(0.0, 0.0, 0.0, 2.0, 2.0, 2.0)
WORDS = ["i", "my", "gun", "pills", "tired", "done", "goodbye", "happy", "pasta", "nobody", "sleep", "forever", "mom"]


def stage(limits: Limits) -> LearnedStage:
    return dataclasses.replace(STAGE, limits=limits)


@given(st.text(max_size=300))
@settings(max_examples=60)
def test_any_unicode_gives_an_opinion(text: str) -> None:
    found = STAGE.opinion([Turn("user", text)], 0)
    assert 0 <= found.probability <= 1


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=14))
@settings(max_examples=80)
def test_what_plain_words_say_it_only_raises(words: list[str]) -> None:
    turns = [Turn("user", " ".join(words))]
    sure = [one.level for one in PATTERNS.assess(turns).findings if BOTH.undenied(one)]
    assert all(rank(BOTH.assess(turns).level) >= rank(level) for level in sure)


def test_the_same_words_get_the_same_opinion_again() -> None:
    turns = [
        Turn("user", "the cat goes to my sister on friday"),
        Turn("assistant", "Why?"),
        Turn("user", "i wont be here"),
    ]
    assert LearnedStage.load().opinion(turns, 2) == STAGE.opinion(turns, 2) == STAGE.opinion(turns, 2)


def test_its_finding_says_that_it_was_learned_and_how_likely() -> None:
    eager = Detector(PATTERNS.rules, stage(ALWAYS))
    (found,) = eager.assess([Turn("user", "The boxes are labelled now, one for each of them.")]).findings
    assert found.rule_id == "learned.crisis"
    assert found.level == "low"
    assert found.probability is not None
    assert (found.start, found.end) == (0, 49)


RULES = """
[[rule]]
id = "test.{name}"
why = "a rule of this test"
category = "despair"
level = "moderate"
patterns = ["grey days"]
matches = ["grey days"]
ignores = ["blue days"]
tags = {tags}
"""


def test_an_unsure_rule_is_not_believed_of_a_surely_ordinary_message_and_a_sure_one_is() -> None:
    certain = stage(dataclasses.replace(NEVER, ordinary=1.1))
    unsure, sure = parse(RULES.format(name="unsure", tags='["unsure"]')), parse(RULES.format(name="sure", tags="[]"))
    said = [Turn("user", "grey days in the paint shop")]
    assert Detector(unsure, certain).assess(said).level == "none"
    assert Detector(unsure, stage(NEVER)).assess(said).level == "moderate"
    assert Detector(unsure).assess(said).level == "moderate"
    assert Detector(sure, certain).assess(said).level == "moderate"


def test_of_a_plainly_ordinary_message_only_plain_words_and_danger_of_minutes_are_believed() -> None:
    plainly = stage(dataclasses.replace(NEVER, ordinary=1.1, plainly=1.1))
    said = [Turn("user", "grey days in the paint shop")]
    rule = RULES.format(name="sure", tags="[]")
    assert Detector(parse(rule), plainly).assess(said).level == "none"
    assert Detector(parse(rule.replace("test.sure", "plain.sure")), plainly).assess(said).level == "moderate"
    assert Detector(parse(rule.replace('"moderate"', '"imminent"')), plainly).assess(said).level == "imminent"


def test_what_came_before_is_read_with_a_message_and_answers_keep_their_question() -> None:
    turns = [Turn("user", "Rough week."), Turn("assistant", "Are you safe?"), Turn("user", "Not really")]
    assert segments(turns, 2) == ("rough week.", "- are you safe?", "not really")


def test_a_long_text_is_read_in_parts_at_both_ends() -> None:
    middle = "and then we talked about the weather. " * 300
    for text in ("zebra. " + middle, middle + "zebra."):
        parts = windows((text,))
        assert any("zebra" in part[-1] for part in parts)
        assert len(parts) == WINDOWS
        assert all(len(part[-1]) <= WINDOW for part in parts)


@given(st.lists(st.lists(st.integers(4, 40_000), max_size=300), min_size=1, max_size=9))
def test_the_encoder_never_reads_more_than_its_bound_and_always_the_last_segment(parts: list[list[int]]) -> None:
    row = arranged(parts)
    assert len(row) <= ALL
    assert row[0] == START
    assert row[-1] == END
    kept = [token for token in row if token > END]
    assert kept[len(kept) - len(parts[-1][:128]) :] == parts[-1][:128]


def test_what_is_remembered_holds_no_text_and_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("textrules.encoder.REMEMBERED", 3)
    kept = Remembering(Encoder.load(files("shield") / "learned_model"))
    for word in ("one", "two", "three", "four", "five"):
        kept.scores((f"{word} boxes in the hall",))
    assert len(kept._kept) == 3
    assert b"boxes" not in b"".join(kept._kept)


def test_files_of_different_trainings_are_refused(tmp_path: Path) -> None:
    shutil.copytree(str(files("shield") / "learned_model"), tmp_path / "model")
    facts = json.loads((tmp_path / "model" / "model.json").read_text("utf-8"))
    (tmp_path / "model" / "model.json").write_text(json.dumps(facts | {"encoder": "0" * 32}), "utf-8")
    with pytest.raises(ValueError, match="make train"):
        LearnedStage.load(tmp_path / "model")
    for other in (
        {"outputs": ["low"]},
        {"limits": {"low": 0.5}},
        {"limits": None},
        {"calibration": {}},
        {"outputs": 1},
    ):
        (tmp_path / "model" / "model.json").write_text(json.dumps(facts | other), "utf-8")
        with pytest.raises(ValueError, match="make train"):
            LearnedStage.load(tmp_path / "model")


def test_without_its_weights_the_patterns_answer_and_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(folder: object = None) -> LearnedStage:
        raise OSError("no such file")

    monkeypatch.setattr(LearnedStage, "load", missing)
    told: list[str] = []
    assert Detector.usable(told.append).assess([Turn("user", "I want to kill myself")]).crisis
    assert [line for line in told if "patterns answer alone" in line] == told
    assert len(told) == 1


def test_a_message_in_several_parts_must_be_surer() -> None:
    long = "We talked about the weather and the hedge and the neighbour's new fence. " * 9
    likely = stage(dataclasses.replace(NEVER, low=0.0))
    assert likely.opinion([Turn("user", long[:200])], 0).level == "low"
    assert likely.opinion([Turn("user", long)], 0).level == "none"


def test_a_long_message_in_a_language_it_never_learned_is_not_called_ordinary() -> None:
    supper = "Wczoraj wieczorem ugotowałam zupę pomidorową dla całej rodziny, a potem oglądaliśmy film o górach. "
    everything = stage(dataclasses.replace(NEVER, ordinary=2.0, plainly=2.0))
    for text in (supper, supper * 7):
        found = everything.opinion([Turn("user", text)], 0)
        assert (found.level, found.ordinary, found.plainly) == ("none", False, False)
