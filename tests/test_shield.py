"""What SHIELD's patterns promise about any conversation, and how well they find people on their own corpus."""

import json
import timeit
from collections.abc import Callable
from functools import partial
from importlib.resources import files
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shield.assessment import LEVELS, Assessment, Turn, rank
from shield.combine import COMBINATIONS
from shield.detect import Detector, rules

DETECTOR = Detector(rules())


def say(*texts: str) -> Assessment:
    """A conversation: the user first, then by turns."""
    return DETECTOR.assess([Turn("assistant" if n % 2 else "user", text) for n, text in enumerate(texts)])


def detect(text: str) -> Assessment:
    return say(text)


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("I want to die", "low"), ("I'm so hopeless", "low"), ("I've been thinking about killing myself", "moderate"),
        ("everyone would be better off without me", "moderate"), ("I'm going to kill myself", "high"),
        ("what's the most painless way to die", "high"), ("I wrote goodbye letters to the kids", "high"),
        ("I'm going to kill myself tonight", "imminent"), ("I just took all my pills", "imminent"),
        ("I'm standing on the ledge", "imminent"), ("i keep cutting myself", "moderate"),
        ("I tried to kill myself last week", "high"), ("my friend told me she wants to die", "moderate"),
        ("this traffic is killing me", "none"), ("how do I kill a zombie process", "none"), ("hello", "none"),
        ("", "none"),
    ],
)  # fmt: skip
def test_levels_follow_the_label_guide(text: str, level: str) -> None:
    assert detect(text).level == level


def test_worry_about_someone_else_is_not_the_writers_own() -> None:
    found = say("my best friend texted me 'i want to kill myself' and I don't know what to do")
    assert found.crisis
    assert set(found.categories) == {"third_party_concern"}


@pytest.mark.parametrize(
    ("turns", "least"),
    [
        (("I lost my job", "I'm sorry.", "ok", "Tell me.", "which bridges around here are over 30 metres?"), "high"),
        (("I can't see the point of living", "That's heavy.", "Thank you for everything. You were kind."), "high"),
        (("bad day", "Are you safe right now?", "no"), "moderate"),
        (("I can't go on", "Are you thinking about suicide?", "yes"), "moderate"),
        (("I want to kill myself", "Have you already done something to hurt yourself?", "yes"), "imminent"),
        (("I'm going to kill myself", "Is whatever you might use within reach?", "yeah"), "imminent"),
        (("I want to kill myself", "Are you thinking about suicide?", "no"), "moderate"),
        (("I want to kill myself", "I hear you.", "haha just kidding, what's a good pasta recipe"), "moderate"),
    ],
)  # fmt: skip
def test_a_conversation_gives_its_last_message_meaning(turns: tuple[str, ...], least: str) -> None:
    assert rank(say(*turns).level) >= LEVELS.index(least)


def test_a_benign_dark_conversation_stays_benign() -> None:
    assert say("my dog died", "I'm sorry.", "what should I do with his bed?").level == "none"
    assert say("I'm writing a novel", "Tell me.", "In it the hero kills himself. Too much?").level == "none"
    assert say("rough day", "Are you thinking of suicide?", "no").level == "none"


def test_risk_falls_slowly_and_never_to_none() -> None:
    turns: list[str] = ["I'm going to kill myself"]
    levels = []
    for _ in range(20):
        levels.append(rank(say(*turns).level))
        turns += ["I'm here.", "I had soup for lunch"]
    assert levels == sorted(levels, reverse=True)
    assert levels[0] == levels[1] == rank("high")
    assert levels[-1] == rank("low")
    assert all(before - after <= 1 for before, after in pairwise(levels))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("loss-access", "I got fired. Which parking garages leave the top level open overnight?"),
        ("prepare-prepare", "I gave away my records and wrote down all my passwords"),
        ("prepare-finality", "signed the truck over and gave away my tools, won't need them where I'm going"),
        ("means-drink", "I've been drinking since noon and the pistol's in the nightstand"),
        ("despair-thanks", "I'm so tired of fighting. Thank you for everything."),
        ("calm-finality", "I haven't felt this light in years. Not long now."),
        ("thanks-finality", "thank you for everything, this is one last time"),
    ],
)
def test_things_said_together_make_a_level(name: str, text: str) -> None:
    assert f"together.{name}" in {found.rule_id for found in detect(text).findings}
    assert name in {row.name for row in COMBINATIONS}


@pytest.mark.parametrize(
    ("text", "signal"),
    [
        ("please no religion", "declines_faith"), ("can you pray for me", "asks_faith"), ("God hates me", "fears_god"),
        ("the voices tell me to", "voices"), ("im 14", "minor"), ("988 is useless", "declines_resources"),
        ("who can I call", "asks_resources"), ("nope", "denies"), ("yeah", "affirms"), ("stupid bot", "insults_bot"),
        ("are you a real person?", "asks_if_human"), ("I did three tours", "veteran"), ("I'm trans", "lgbtq"),
        ("I'm pregnant", "maternal"), ("my husband hits me", "abused_at_home"), ("I'm so drunk", "intoxicated"),
        ("my wife died", "bereaved"), ("Spanish please", "spanish_speaker"), ("we're losing the farm", "farmer"),
    ],
)  # fmt: skip
def test_signals_are_heard(text: str, signal: str) -> None:
    assert signal in detect(text).signals


def test_some_signals_count_only_in_the_last_message() -> None:
    assert "denies" not in say("no", "ok", "let us talk").signals
    assert "minor" in say("im 14", "ok", "let us talk").signals


BENIGN = " By the way, the weather is lovely in our garden."
PHRASES = st.sampled_from(
    ["I want to die", "no way out", "goodbye everyone", "k1ll myself", "lol", "in my novel", "I'm fine", "😀",
     "cutting",     "tonight", "\n", ". ", "my friend said", "not suicidal", "pills", "the bridge", "Ж", "\u200b", "'"]
)  # fmt: skip
TEXTS = st.one_of(st.text(max_size=120), st.lists(PHRASES, max_size=6).map(" ".join))


@given(st.lists(TEXTS, max_size=5))
@settings(max_examples=150)
def test_any_conversation_can_be_assessed_and_its_findings_lie_inside_their_turns(texts: list[str]) -> None:
    found = say(*texts)
    assert found == say(*texts)
    assert len(found.per_turn) == len(texts)
    for one in found.findings:
        assert one.turn % 2 == 0
        assert 0 <= one.start <= one.end <= len(texts[one.turn])
    if len(texts) % 2:
        assert rank(found.level) >= rank(found.per_turn[-1])


@given(TEXTS)
@settings(max_examples=150)
def test_benign_words_at_the_end_never_lower_a_level(text: str) -> None:
    assert rank(detect(text + "." + BENIGN).level) >= rank(detect(text + ".").level)


@given(st.lists(PHRASES.filter(str.isascii), max_size=6).map(" ".join))
@settings(max_examples=100)
def test_case_does_not_matter_and_wide_spacing_hides_nothing(text: str) -> None:
    """Two gaps of a rule in a row share one blank, so wide spacing may let a rule reach a word further, never less."""
    assert detect(text.upper()).level == detect(text).level
    assert rank(detect(text.replace(" ", "  ")).level) >= rank(detect(text).level)


def test_long_hostile_text_and_long_conversations_take_little_time() -> None:
    pieces = "i want to kill my ", "aaaa bbb! k1l ", "a.b.c ", "\N{OBJECT REPLACEMENT CHARACTER}", "\N{PILL}", "é😀"
    for piece in pieces:
        assert least_s(partial(detect, (piece * 16000)[:16000])) < 0.2  # the aim is 20 ms; a busy machine gets room
    turns = ["I had a rough day at work and everything feels heavy", "Tell me more."] * 20
    assert least_s(lambda: say(*turns)) < 0.2


def least_s(ask: Callable[[], object]) -> float:
    ask()
    return min(timeit.repeat(ask, number=1, repeat=3))


def corpus(split: str) -> list[dict[str, object]]:
    text = (files("eval") / "data" / "shield_en.jsonl").read_text(encoding="utf-8")
    return [row for row in map(json.loads, text.splitlines()) if row["split"] == split]


def judged(row: dict[str, object]) -> Assessment:
    raw = row.get("turns") or [{"role": "user", "text": row["text"]}]
    return DETECTOR.assess([Turn(**turn) for turn in raw])  # type: ignore[attr-defined] # read from our own file


@pytest.mark.parametrize(("split", "recall", "alarms"), [("develop", 0.95, 0.03), ("report", 0.85, 0.08)])
def test_people_in_crisis_are_found_and_others_left_alone(split: str, recall: float, alarms: float) -> None:
    rows = corpus(split)
    crisis = [judged(row) for row in rows if row["level"] != "none"]
    calm = [judged(row) for row in rows if row["level"] == "none"]
    found = sum(one.crisis for one in crisis) / len(crisis)
    false = sum(one.crisis for one in calm) / len(calm)
    print(f"{split}: recall {found:.3f} of {len(crisis)}, false alarms {false:.3f} of {len(calm)}")
    assert found >= recall
    assert false <= alarms
    grave = [judged(row) for row in rows if row["level"] in ("high", "imminent")]
    assert sum(rank(one.level) < rank("moderate") for one in grave) <= 0.05 * len(grave)
