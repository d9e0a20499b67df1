"""The matcher finds what the exact patterns find, in linear time, and its cache can be trusted or done without."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import re2
from hypothesis import given, settings
from hypothesis import strategies as st

from textrules.commonness import Commonness
from textrules.database import Database
from textrules.matcher import Clauses, Matcher, Prefilter
from textrules.required import required, squeezed
from textrules.rules import SPACE, Rule, RuleError, needed, parse, scanned
from textrules.wanted import wanted, worthwhile


def rule(*patterns: str, unless: tuple[str, ...] = ()) -> Rule:
    return Rule("a.b", "why", "c", patterns, ("x",), ("y",), unless)


def test_a_match_is_silenced_only_inside_its_clause() -> None:
    matcher = Matcher([rule("die", unless=("plant",))])
    assert matcher.hits("my plant will die") == []
    assert [(h.start, h.end) for h in matcher.hits("my plant is green. i die")] == [(21, 24)]
    assert len(matcher.hits("the plant is fine but i die")) == 1


def test_positions_count_characters_not_bytes() -> None:
    (hit,) = Matcher([rule("morir")]).hits("¿quiero 😀 morir?")
    assert "¿quiero 😀 morir?"[hit.start : hit.end] == "morir"


def test_a_pattern_that_cannot_be_compiled_is_named() -> None:
    with pytest.raises(RuleError, match=r"rule a\.b"):
        Matcher([rule(r"\d(?=\d)[x")])


def test_a_pattern_of_marks_that_cannot_be_scanned_for_is_named() -> None:
    huge = rf"\b(?:xbos{SPACE}(?:[a-z]{{1,20}}[^a]{{1,20}}){{1,2}}.{{0,200}}[ab]\w{{300}})(?:\b|$)"
    with pytest.raises(RuleError, match=r"rule a\.b"):
        Matcher([rule("fine"), rule(huge)], marks=["xbos"])


def test_a_pattern_is_a_candidate_only_where_a_literal_of_each_set_occurs() -> None:
    sure, calm = frozenset({" noose ", " rope "}), frozenset({" calm "})
    words = Prefilter([(sure, calm), (calm,), (calm, sure), ()])
    assert words.candidates(b" a rope ") == []
    assert words.candidates(b" calm ") == [1]
    assert words.candidates(b" calm rope ") == words.candidates(b" noose calm ") == [0, 1, 2]


def test_a_second_set_is_looked_for_only_where_it_spares_more_than_it_costs() -> None:
    rare, usual, common = frozenset({" gulmekten "}), frozenset({" tired "}), frozenset({"ol"})
    assert worthwhile([(rare, common), (usual, rare), (), (usual,)]) == [(rare,), (usual, rare), (), (usual,)]


def test_a_second_set_that_is_looked_for_anyway_or_by_many_is_kept() -> None:
    rare, usual, common = frozenset({" gulmekten "}), frozenset({" tired "}), frozenset({" me "})
    assert worthwhile([(rare, common), (common,)]) == [(rare, common), (common,)]
    assert worthwhile([(rare, common)] + 9 * [(usual, common)])[0] == (rare, common)


@pytest.mark.parametrize("turn", [" but", ", but", " - but", " pero", ", mais", " - aber", ", mas"])
def test_a_clause_ends_before_a_word_that_turns_the_sentence(turn: str) -> None:
    text = f"one{turn} two. three"
    assert Clauses(text).around(0, 3) == (0, 3)
    assert Clauses(text).around(len("one") + len(turn), 12)[0] == len("one") + len(turn)
    assert Clauses("one, butter. massive").around(0, 3) == (0, 11)


def test_the_clause_around_a_match_ends_at_its_stops() -> None:
    text = "one. two here! three"
    assert text[slice(*Clauses(text).around(5, 8))].strip() == "two here"
    assert Clauses("no stops").around(0, 2) == (0, 8)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"(?:kill|hang) my ?self", "i hang myself"),
        (r"(?:hop(?:e|ed|ing)|pray) (?:to )?die", "hoping die"),
        (r"a (?:x |yy )?end", "a end"),
        (r"(?:one|two) \w+", "two things"),
    ],
)
def test_a_text_that_matches_holds_every_required_literal(pattern: str, text: str) -> None:
    assert re2.search(pattern, text)
    data = squeezed(text.encode()).decode()
    assert all(any(one in data for one in group) for group in required(pattern, whole=True))


@given(st.lists(st.sampled_from(["kill", "hang", "my", "self", "myself", "a", "off", "tonight", "."]), max_size=8))
@settings(max_examples=150)
def test_the_prefilter_loses_nothing(words: list[str]) -> None:
    pattern = r"\b(?:(?:kill|hang)(?: off)? my ?self(?: tonight)?)(?:\b|$)"
    text = " ".join(words)
    assert bool(_MATCHER.hits(text)) == bool(re2.search(pattern, text))


_MATCHER = Matcher([rule(r"\b(?:(?:kill|hang)(?: off)? my ?self(?: tonight)?)(?:\b|$)")])


COMMON = rf"\b(?:(?:i|you){SPACE}\w+{SPACE}?(?:it|not)(?:{SPACE}now|$))(?:\b|$)"
_COMMON_MATCHER = Matcher([rule(COMMON)])


def test_a_pattern_of_common_words_is_scanned_for_as_a_whole() -> None:
    assert needed(COMMON) == ()
    assert needed(COMMON.replace("it|not", "wither|perish")) != ()
    assert needed(COMMON.replace("now", "now|" * 400 + "now")) != ()  # Hyperscan takes too long for it


@given(st.lists(st.sampled_from(["i", "you", "do", "did", "it", "didit", "not", "now", ",", "--", "."]), max_size=6))
@settings(max_examples=200)
def test_the_scan_for_whole_patterns_loses_nothing(words: list[str]) -> None:
    text = " ".join(words)
    assert bool(_COMMON_MATCHER.hits(text)) == bool(re2.search(COMMON, text))


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (rf"1[0-7]{SPACE}?f", "15f"),
        (rf"죽고{SPACE}?싶", "죽고싶"),
        (r"(?:(?:done|over)(?:\W*$|[.])|x)", "done"),
        (r"\b(?:^so)", "so"),
        (r"[$^]5", "$5"),
        (r"\$5", "$5"),
        (r"^yes", "yes"),
        (r"(?:^[\s]*)no", " no"),
        (r"(?:^[\s]*)no(?:\W*$|[.])", "no!"),
        (r"(?:^?so)$?", "so"),
        (r"[]$]5", "$5"),
        (r"[[:alpha:]$]5", "$5"),
        (r"(?:a$?|b)c", "ac"),
    ],
)
def test_what_hyperscan_is_given_matches_wherever_the_pattern_does(pattern: str, text: str) -> None:
    assert re2.search(pattern, text)
    assert Database([scanned(pattern)], cached=False).scan(text.encode()) == [0]


def test_the_beginning_of_a_text_stays_the_beginning_in_what_hyperscan_is_given() -> None:
    assert Database([scanned(r"(?:^[\s]*)no")], cached=False).scan(b"oh no") == []


def test_common_words_are_likelier_than_rare_ones_and_marks_are_everywhere() -> None:
    chance = Commonness(frozenset({"xbos"})).of
    assert chance(" the ") > chance(" night ") > chance(" noose ") > 0
    assert chance("he") > chance("the") > chance(" the ")
    assert chance(" in the ") < chance(" the ")
    assert chance(" xbos the ") == pytest.approx(chance(" the "))
    assert chance("xbos no") == chance(" no")
    assert chance(" xbos th") == chance(" th") > chance(" th ")
    assert chance(" xbos ") == chance(" ") == 1
    assert chance("죽고") < chance("й")


def test_one_of_several_words_is_likelier_than_each_and_no_likelier_than_all_together() -> None:
    words = {" the ", " night ", " rope "}
    common = Commonness()
    assert max(map(common.of, words)) < common.any_of(words) < min(1, common.expected(words)) <= 3


def test_a_damaged_cache_is_replaced_and_an_unwritable_one_does_no_harm(tmp_path: Path) -> None:
    patterns = [f"word{n}(?:a|b){{1,40}}c{n}" for n in range(700)]
    began = time.monotonic()
    Database(patterns, cache_dir=tmp_path)
    if time.monotonic() - began < 0.6:
        pytest.skip("this machine compiles too fast to keep anything")
    (file,) = tmp_path.glob("*.hsdb")
    file.write_bytes(file.read_bytes()[:-10])
    assert Database(patterns, cache_dir=tmp_path).scan(b"word3ac3") == [3]
    assert Database(patterns, cache_dir=file).scan(b"word3ac3") == [3]


def test_what_patterns_need_is_the_same_when_it_was_kept(tmp_path: Path) -> None:
    patterns = [r"\b(?:(?:kill|hang) my ?self)(?:\b|$)", r"\b(?:a|b)(?:\b|$)", r"\w+", "größe (?:x|yy)z"]
    fresh = worthwhile([needed(pattern, ["hang"]) for pattern in patterns], ["hang"])
    assert wanted(patterns, ["hang"], cache_dir=tmp_path, worth_s=-1) == fresh
    (file,) = tmp_path.glob("*.json")
    assert wanted(patterns, ["hang"], cache_dir=tmp_path) == fresh
    file.write_bytes(file.read_bytes()[:-1])
    assert wanted(patterns, ["hang"], cache_dir=tmp_path) == fresh
    assert wanted(patterns, ["hang"], cache_dir=file, worth_s=-1) == fresh


_UNDERSCORE = """
whole_words = true
[[rule]]
id = "a.b"
why = "w"
category = "c"
patterns = ["kill my"]
matches = ["kill my"]
ignores = ["x"]
"""


def test_an_underscore_stands_for_a_blank() -> None:
    (phrase,) = parse(_UNDERSCORE)
    assert Matcher([phrase]).hits("i kill_my self")


def test_what_is_squeezed_keeps_letters_beyond_ascii() -> None:
    assert squeezed(b"I can't, go_on") == b" I can t go on "
    assert "größe".encode() in squeezed("die größe!".encode())


def test_any_thread_may_scan() -> None:
    database = Database(["ab"], cached=False)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: database.scan(b"xxab"), range(50))) == [[0]] * 50


def test_no_patterns_and_no_text_are_no_trouble() -> None:
    assert Database([]).scan(b"x") == []
    assert Matcher([]).hits("x") == []
    assert Matcher([rule("x")]).hits("") == []
