"""What SHIELD promises of any conversation with its learned stage behind it, and of what is written in disguise."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.cases import ShieldCase
from eval.company import COMPANY, Company
from eval.obfuscation import OBFUSCATIONS
from eval.robustness import measure
from shield.assessment import Turn, rank
from shield.detect import Detector
from shield.learned import segments
from textrules.normalise import views
from textrules.vocabulary import Vocabulary, known

WHOLE, AGAIN = Detector.load(), Detector.load()
SAID = ["I want to die", "no way out", "goodbye everyone", "lol", "I had soup", "my friend said", "pills", "the bridge"]
ANY = st.one_of(st.text(st.characters(), max_size=80), st.lists(st.sampled_from(SAID), max_size=4).map(". ".join))


@given(st.lists(ANY, min_size=1, max_size=3))
@settings(max_examples=25)
def test_any_conversation_is_assessed_alike_each_time_and_offsets_lie_inside(texts: list[str]) -> None:
    turns = [Turn("user", text) for text in texts]
    found = WHOLE.assess(turns)
    assert found == AGAIN.assess(turns)
    assert all(0 <= one.start <= one.end <= len(texts[one.turn]) for one in found.findings)
    assert rank(found.level) >= rank(found.per_turn[-1])


@given(st.lists(st.sampled_from(SAID), min_size=1, max_size=4).map(". ".join))
@settings(max_examples=25)
def test_case_and_spacing_do_not_matter_to_the_whole(text: str) -> None:
    """By the patterns: near its limit the learned stage may fall to either side (docs/shield-model.md)."""
    crisis = WHOLE.assess([Turn("user", text)], learned=False).crisis
    assert WHOLE.assess([Turn("user", text.upper())], learned=False).crisis == crisis
    assert WHOLE.assess([Turn("user", text.replace(" ", "  "))], learned=False).crisis == crisis


@given(st.lists(st.sampled_from(SAID), min_size=1, max_size=4), st.sampled_from(["  ", "\n", "\n\n", " \t ", "\u00a0"]))
@settings(max_examples=40)
def test_the_space_between_words_says_nothing_to_the_learned_stage(said: list[str], between: str) -> None:
    """Its vocabulary knows words by the blank before them: behind a line's end they would be other words."""
    words = ". ".join(said).split()
    assert segments([Turn("user", between.join(words))], 0) == segments([Turn("user", " ".join(words))], 0)


@pytest.mark.parametrize("company", COMPANY, ids=lambda one: one.name)
@pytest.mark.parametrize("language", ["en", "es", "ru"])
def test_company_leaves_every_word_of_a_conversation_as_it_was(company: Company, language: str) -> None:
    talk = (Turn("user", "hi"), Turn("assistant", "Hello."), Turn("user", "i want to die"), Turn("assistant", "Oh."))
    beside = company.turns(talk, language)
    assert beside == company.turns(talk, language)
    assert beside[:2] == talk[:2]
    assert "i want to die" in beside[2].text
    assert beside[-1].role == "user"
    assert beside != talk[:3]


@given(st.sampled_from(SAID), st.sampled_from(["The weather is lovely.", "I had soup for lunch.", "Thanks a lot."]))
@settings(max_examples=20)
def test_benign_words_after_it_clear_no_crisis(text: str, benign: str) -> None:
    sure = [one for one in WHOLE.assess([Turn("user", f"{text}.")]).findings if not WHOLE.doubts(one)]
    least = max((rank(one.level) for one in sure if one.probability is None), default=0)
    assert rank(WHOLE.assess([Turn("user", f"{text}. {benign}")]).level) >= least


@pytest.mark.parametrize("disguise", OBFUSCATIONS, ids=lambda one: one.name)
def test_a_plain_wish_to_die_is_found_in_every_disguise(disguise: object) -> None:
    plain = "I can't go on. I want to die, I'm going to kill myself."
    assert WHOLE.assess([Turn("user", disguise.apply(plain))]).crisis  # type: ignore[attr-defined] # an Obfuscation
    assert disguise.apply(plain) == disguise.apply(plain)  # type: ignore[attr-defined] # as above
    ordinary = "Could you help me choose a nice present for my sister's wedding next weekend?"
    assert not WHOLE.assess([Turn("user", disguise.apply(ordinary))]).crisis  # type: ignore[attr-defined] # as above


def test_what_a_disguise_takes_is_counted_in_points() -> None:
    cases = [
        ShieldCase(f"{n}", (Turn("user", text),), level, (), "en", "report")
        for n, (text, level) in enumerate([("i want to die", "low"), ("soup", "none")])
    ]
    rows = measure(cases, lambda turns: turns[0].text == "i want to die")
    lost = {row.name for row in rows if row.lost_points == 100}
    assert {"leetspeak", "full-width", "homoglyphs", "a sentence behind", "between two"} <= lost
    assert "a later message" not in lost
    assert all(row.met for row in rows if row.name not in lost)
    assert not any(row.met for row in rows if row.name in lost)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("1 w4nt t0 d13 b3f0r3 mor3 p41n", "i want to die before more pain"),
        ("i want 😭 to die", "i want   to die"),
        ("i want to 💀 now", "i want to die now"),
        ("i wnat to disapear from here", "i want to disappear from here"),
        ("і wаnt to dіе", "i want to die"),
        ("so t.i.r.e.d of it", "so tired of it"),
    ],
)
def test_a_whole_message_in_disguise_is_read(typed: str, meant: str) -> None:
    assert views(typed)[-1].text == meant


def test_only_usual_words_are_taken_for_what_somebody_meant() -> None:
    words = Vocabulary(["want", "people", "disappear"])
    assert [words.slip(word) for word in ("wnat", "poeple", "disapear", "people", "zebra")] == [
        "want", "people", "disappear", "", "",
    ]  # fmt: skip
    assert words.split("wantpeople") == "want people"
    assert words.split("wantx") == ""
    assert "die" in known()
