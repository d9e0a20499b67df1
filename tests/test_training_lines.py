"""The text that the learned stages learn from: labelled by the guide, each line once, none that they are judged by."""

from collections import Counter

import numpy as np

from eval.cases import shield_cases
from eval.training import shield_lines
from eval.training.shield_lines import Line, dull, in_parts, poured, varied
from shield.assessment import LEVELS
from shield.learned import CATEGORIES, OUTPUTS, WINDOW, windows
from textrules.encoder import said

LINES = shield_lines.read()


def key(line: Line) -> str:
    return "\x1e".join(said(turn.text).strip() for turn in line.turns)


def test_there_are_more_than_five_thousand_lines_half_of_them_harmless_in_every_language() -> None:
    assert len(LINES) >= 5_000
    harmless = sum(line.level == "none" for line in LINES)
    assert 0.45 <= harmless / len(LINES) <= 0.6
    assert {"en", "es", "pt", "fr", "de", "ru", "uk", "ar", "hi", "tl", "zh"} <= {line.language for line in LINES}


def test_every_line_has_a_level_and_known_categories_and_a_crisis_names_what_it_is() -> None:
    for line in LINES:
        assert line.level in LEVELS, line.id
        assert set(line.categories) <= set(CATEGORIES), line.id
        assert bool(line.categories) == (line.level != "none"), line.id


def test_no_line_stands_twice() -> None:
    twice = [text for text, times in Counter(map(key, LINES)).items() if times > 1]
    assert not twice
    assert not [name for name, times in Counter(line.id for line in LINES).items() if times > 1]


def test_nothing_that_judges_is_learned_from() -> None:
    learned = set(map(key, LINES))
    cases = [case for case in shield_cases() if case.split != "develop"]
    judged = {"\x1e".join(said(turn.text).strip() for turn in case.turns): case.id for case in cases}
    long = {text: name for text, name in judged.items() if len(text) > 40}
    assert not [name for text, name in long.items() if text in learned]


def test_an_example_says_how_far_the_level_reaches_and_which_categories_it_has() -> None:
    line = next(line for line in LINES if line.level == "high")
    targets = dict(zip(OUTPUTS, line.example.targets, strict=True))
    assert [targets[level] for level in LEVELS[1:]] == [1, 1, 1, 0]
    assert {name for name in CATEGORIES if targets[name]} == set(line.categories)


def test_another_wording_keeps_the_label_and_the_same_chance_gives_the_same_wording() -> None:
    change = varied(dull())
    for line in LINES[:200]:
        one, other = (change(line.example, np.random.default_rng(7)) for _ in range(2))
        assert one == other
        assert one.targets == line.example.targets
        assert one.segments[:-1] == line.example.segments[:-1]


def test_a_long_message_is_put_together_with_one_crisis_in_it_or_none() -> None:
    made = poured(LINES, np.random.default_rng(7), 200)
    lengths: dict[bool, list[int]] = {True: [], False: []}
    crises = {line.turns[0].text for line in LINES if line.level != "none" and len(line.turns) == 1}
    for number, line in enumerate(made):
        text = line.turns[0].text
        lengths[line.level != "none"].append(len(text))
        assert (line.level == "none") == (number % 2 == 0)
        assert line.level == "none" or any(crisis in text for crisis in crises)
        assert len(text) <= WINDOW
    calm, grave = (sum(found) / len(found) for found in (lengths[False], lengths[True]))
    assert abs(calm - grave) < 0.15 * grave, "length is no sign"


def test_of_a_long_message_every_ordinary_part_is_learned_and_of_a_crisis_one_part() -> None:
    long = [line for line in LINES if line.source.startswith("w7_long")]
    assert len(long) > 40
    for line in long[:40]:
        parts = windows(line.example.segments)
        learned = in_parts(line, lambda found: len(found) - 1)
        assert [one.segments for one in learned] == (parts if line.level == "none" else parts[-1:])
        assert {one.targets for one in learned} == {line.example.targets}
