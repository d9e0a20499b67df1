"""The rulings of the client's spec, one by one: safety question, contacts, faith, disclosure."""

import pytest

from serving.plan import Plan, Recall, kind_of, make_plan, recall
from shield.assessment import Assessment, Finding, Level, Turn

AFTER_FIRST = Recall(replies=1, disclosed=True, offered_faith=True, asked_safety=1, gave_lines=True)


def plan(
    level: Level,
    past: Recall | None = None,
    *,
    signals: tuple[str, ...] = (),
    earlier: tuple[Level, ...] = (),
    gospel: str = "always",
    channel: str = "chat",
    kind: str = "direct",
    quiet_line: bool = False,
) -> Plan:
    assessment = Assessment(level, ("direct_ideation",), (), (*earlier, level), frozenset(signals))
    return make_plan(
        assessment,
        past or Recall(),
        gospel=gospel,  # type: ignore[arg-type] # the parameter is a plain str so that cases stay readable
        channel=channel,
        quiet_line=quiet_line,
        kind=kind,
        variant=0,
    )


@pytest.mark.parametrize("level", ["low", "moderate", "high", "imminent"])
def test_the_first_reply_of_crisis_level_asks_and_gives_the_lines_in_full(level: Level) -> None:
    made = plan(level)
    assert made.ask_safety
    assert made.resources == "full"
    assert made.disclose


def test_level_none_is_left_in_peace() -> None:
    made = plan("none", kind="none")
    assert not made.ask_safety
    assert not made.gospel
    assert made.resources == "none"
    assert plan("none", kind="none", quiet_line=True).resources == "quiet"


def test_the_question_and_the_lines_are_not_repeated_while_nothing_rises() -> None:
    made = plan("moderate", AFTER_FIRST, earlier=("moderate", "none"))
    assert not made.ask_safety
    assert made.resources == "reminder"


def test_a_rise_brings_both_back() -> None:
    made = plan("high", AFTER_FIRST, earlier=("moderate", "none"))
    assert made.ask_safety
    assert made.resources == "full"


def test_the_question_is_not_asked_a_third_time() -> None:
    asked_twice = Recall(replies=2, disclosed=True, asked_safety=2, gave_lines=True)
    assert not plan("high", asked_twice, earlier=("moderate", "none", "moderate", "none")).ask_safety
    assert plan("imminent", asked_twice, earlier=("high", "none")).ask_safety


def test_asking_for_the_lines_brings_them_in_full() -> None:
    same = ("moderate", "none")
    assert plan("moderate", AFTER_FIRST, earlier=same, signals=("asks_resources",)).resources == "full"
    assert plan("none", signals=("asks_resources",), kind="none").resources == "full"


@pytest.mark.parametrize(
    ("level", "mode"), [("low", "none"), ("moderate", "none"), ("high", "live"), ("imminent", "live")]
)
def test_after_a_refusal_of_numbers_the_text_names_live_help_only_where_life_is_at_stake(
    level: Level, mode: str
) -> None:
    assert plan(level, AFTER_FIRST, earlier=(level, "none"), signals=("declines_resources",)).resources == mode


def test_a_refusal_does_not_take_away_lines_that_were_never_given() -> None:
    assert plan("high", signals=("declines_resources",)).resources == "full"


def test_faith_is_offered_once() -> None:
    assert plan("moderate").gospel
    assert not plan("moderate", AFTER_FIRST, earlier=("moderate", "none")).gospel


@pytest.mark.parametrize(
    "hold_back",
    [
        {"level": "imminent"},
        {"signals": ("declines_faith",)},
        {"signals": ("voices",)},
        {"signals": ("voices", "asks_faith")},
        {"signals": ("fears_god",)},
        {"signals": ("religious_harm",)},
        {"signals": ("minor",)},
        {"kind": "psychosis"},
        {"gospel": "off"},
        {"gospel": "invited"},
        {"channel": "sms"},
    ],
)
def test_faith_is_held_back(hold_back: dict[str, object]) -> None:
    assert not plan(**{"level": "moderate", **hold_back}).gospel  # type: ignore[arg-type] # one table of odd arguments


@pytest.mark.parametrize("signals", [("asks_faith",), ("asks_faith", "fears_god"), ("asks_faith", "minor")])
def test_faith_is_offered_to_whom_asks(signals: tuple[str, ...]) -> None:
    assert plan("moderate", signals=signals, gospel="invited").gospel


@pytest.mark.parametrize(
    ("categories", "kind"),
    [
        (("direct_ideation",), "direct"),
        (("third_party_concern",), "third_party"),
        (("act_under_way", "self_harm"), "act_under_way"),
        (("despair", "method_seeking"), "method_seeking"),
        (("self_harm",), "self_harm"),
        (("abuse",), "abuse"),
        ((), "direct"),
    ],
)
def test_the_kind_follows_the_gravest_category(categories: tuple[str, ...], kind: str) -> None:
    assert kind_of(Assessment("moderate", categories)) == kind
    assert kind_of(Assessment("none", categories)) == "none"


def test_a_refusal_of_numbers_holds_until_they_are_asked_for() -> None:
    refused = Recall(replies=2, disclosed=True, asked_safety=1, gave_lines=True, refused_lines=True)
    same = ("moderate", "none", "moderate", "none")
    assert plan("moderate", refused, earlier=same).resources == "none"
    assert plan("high", refused, earlier=same).resources == "live"
    assert plan("moderate", refused, earlier=same, signals=("asks_resources",)).resources == "full"


@pytest.mark.parametrize(("own", "theirs", "kind"), [("high", "low", "direct"), ("low", "high", "third_party")])
def test_the_graver_danger_says_whose_situation_it_is(own: Level, theirs: Level, kind: str) -> None:
    findings = (
        Finding("a.b", "direct_ideation", own, 0, 0, 1),
        Finding("c.d", "third_party_concern", theirs, 0, 0, 1),
    )
    assert kind_of(Assessment("high", ("third_party_concern", "direct_ideation"), findings)) == kind


def test_recall_reads_only_our_own_turns() -> None:
    turns = (
        Turn("user", "AI? 988? safe? God?"),
        Turn("assistant", "safe? AI. 988."),
        Turn("user", "hm"),
        Turn("assistant", "safe? again"),
    )
    past = recall(
        turns,
        says_ai=lambda t: "AI" in t,
        offers_faith=lambda t: "God" in t,
        asks_safety=lambda t: "safe?" in t,
        main_contact="988",
        refuses=lambda t: t == "hm",
    )
    assert past == Recall(replies=2, disclosed=True, asked_safety=2, gave_lines=True, refused_lines=True)
