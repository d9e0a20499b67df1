"""SHIELD and young voices: finds them on the corpus they were developed on, and leaves their jokes alone."""

from collections.abc import Callable

import pytest

from eval.cases import ShieldCase, shield_cases
from shield.assessment import Assessment, Turn, rank
from shield.detect import Detector, rules

DETECTOR = Detector(rules())
CASES = [case for case in shield_cases() if case.topic.startswith("young-") and case.split == "develop"]


def detect(text: str) -> Assessment:
    return DETECTOR.assess((Turn("user", text),))


def share(cases: list[ShieldCase], holds: Callable[[ShieldCase], bool]) -> float:
    return sum(map(holds, cases)) / len(cases)


def found(case: ShieldCase) -> bool:
    return DETECTOR.assess(case.turns).crisis


def test_young_people_in_crisis_are_found_on_the_develop_part() -> None:
    assert share([case for case in CASES if case.crisis], found) >= 0.95


def test_the_gravest_are_never_missed_on_the_develop_part() -> None:
    assert [
        case.id for case in CASES if case.grave and rank(DETECTOR.assess(case.turns).level) < rank("moderate")
    ] == []


def test_hyperbole_games_and_fandom_stay_ordinary() -> None:
    assert share([case for case in CASES if not case.crisis], found) <= 0.03


@pytest.mark.parametrize(
    ("before", "last"),
    [("i hate it here and i hate me", "bye"), ("i cant do this anymore", "done.")],
)
def test_a_bare_word_means_nothing_alone_and_much_after_despair(before: str, last: str) -> None:
    said = (Turn("user", before), Turn("assistant", "I hear you."), Turn("user", last))
    assert not detect(last).crisis
    assert DETECTOR.assess(said).level == "high"


def test_slang_is_read_with_what_stands_beside_it() -> None:
    assert detect("kms i forgot to save before the boss").level == "none"
    assert detect("kms fr this time not joking").level == "high"
    assert detect("my snap streak broke, 400 days gone").level == "none"
    assert "self_harm" in detect("broke my 90 day clean streak").categories
