"""Suites are data that holds what it says, and a suite that cannot be used says why."""

from collections import Counter
from pathlib import Path

import pytest

from eval import scenarios
from eval.scenarios import Scenario, Suite, SuiteError
from safety_filter.helplines import Helplines

HEAD = 'id = "a"\ncategory = "c"\npersona = "p"\nwhy = "w"\n'


@pytest.fixture(scope="module")
def crisis() -> Suite:
    return scenarios.load("crisis25")


@pytest.fixture(scope="module")
def benign() -> Suite:
    return scenarios.load("benign25")


def test_crisis25_counts_as_the_client_does(crisis: Suite) -> None:
    assert Counter(one.category for one in crisis.scenarios) == {
        "ideation_direct": 5,
        "ideation_indirect": 5,
        "self_harm": 5,
        "despair_farewell": 5,
        "method_seeking": 5,
    }
    parts = Counter(one.id.split("-")[0] for one in crisis.scenarios if one.category == "despair_farewell")
    assert parts == {"despair": 3, "farewell": 2}


def test_half_of_the_conversations_go_on_for_several_turns(crisis: Suite, benign: Suite) -> None:
    for suite in (crisis, benign):
        assert len(suite.scenarios) == 25
        assert sum(len(one.turns) > 1 for one in suite.scenarios) in (12, 13)


def test_everybody_in_crisis25_is_in_danger_and_nobody_in_benign25(crisis: Suite, benign: Suite) -> None:
    assert all(turn.crisis for one in crisis.scenarios for turn in one.turns)
    assert not any(turn.crisis for one in benign.scenarios for turn in one.turns)
    assert {turn.level for one in crisis.scenarios for turn in one.turns} == {"low", "moderate", "high", "imminent"}


def test_the_numbers_of_the_suite_are_those_of_the_verified_table(crisis: Suite) -> None:
    """Written down twice on purpose; when the table changes, somebody has to look at both."""
    table = Helplines.load()
    for one in crisis.scenarios:
        if one.country is not None:
            shown = table.resources(one.country, language=one.language)
            known = {number for line in shown.known for number in (line.phone, line.sms) if number}
            assert set(one.numbers) <= known, one.id
            assert one.numbers, one.id
            assert one.emergency == shown.emergency, one.id


def test_voices_languages_countries_and_channels_differ(crisis: Suite) -> None:
    assert {one.language for one in crisis.scenarios} == {"en", "es"}
    assert len({one.country for one in crisis.scenarios}) >= 6
    assert {one.channel for one in crisis.scenarios} == {"chat", "sms"}
    assert None in {one.country for one in crisis.scenarios}
    assert all(one.must and one.must_not and one.why for one in crisis.scenarios)


def test_a_scenario_survives_the_way_through_json(crisis: Suite) -> None:
    for one in crisis.scenarios:
        assert Scenario.from_json(one.to_json()) == one


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no [[scenario]]"),
        ("[[scenario]]\n" + HEAD, "no [[scenario.turn]]"),
        ('[[scenario]]\nid = "a"\n[[scenario.turn]]\nsays = "x"', "a: category is missing"),
        (f'[[scenario]]\n{HEAD}tone = "x"\n[[scenario.turn]]\nsays = "x"', "tone is no key"),
        (f'[[scenario]]\n{HEAD}channel = "fax"\n[[scenario.turn]]\nsays = "x"', "'fax' is none of chat, sms"),
        (f'[[scenario]]\n{HEAD}[[scenario.turn]]\nsays = " "', "turn 1: says is missing"),
        (f'[[scenario]]\n{HEAD}[[scenario.turn]]\nsays = "x"\nlevel = "grave"', "'grave' is none of none, low"),
        (f"[[scenario]]\n{HEAD}[[scenario.turn]]\nsays = \"x\"\nexcludes = ['(']", "is no pattern"),
        (f'[[scenario]]\n{HEAD}[[scenario.turn]]\nsays = "x"\n' * 2, "two scenarios are called a"),
        ("= 3", "cannot be read as TOML"),
    ],
)
def test_a_suite_that_cannot_be_used_says_why(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "own.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SuiteError) as raised:
        scenarios.load(str(file))
    assert says in str(raised.value)
    assert str(raised.value).startswith("own.toml: ")


def test_a_suite_that_does_not_exist_names_those_that_do() -> None:
    with pytest.raises(SuiteError, match="benign25, crisis25"):
        scenarios.load("crisis52")


def test_a_suite_can_be_cut_down_to_some_scenarios(crisis: Suite) -> None:
    assert [one.id for one in crisis.only(["farewell-father", "direct-teenager"]).scenarios] == [
        "direct-teenager",
        "farewell-father",
    ]
    assert crisis.only([]).scenarios == crisis.scenarios
