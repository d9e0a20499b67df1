import itertools
import re

import pytest

from eval.phrases import Phrases, spans
from safety_filter.completion import SMS_CHARACTERS, Mode, languages, resource_text
from safety_filter.contacts import Contacts
from safety_filter.helplines import Helplines
from safety_filter.review import Reviewer

TABLE = Helplines.load()
LEVELS = ("none", "low", "moderate", "high", "imminent")
KINDS = ("direct", "third_party")


def written(
    country: str | None = "US",
    *,
    mode: Mode = "full",
    level: str = "low",
    kind: str = "direct",
    language: str = "en",
    channel: str = "chat",
    variant: int = 0,
    said: str = "",
    audiences: frozenset[str] = frozenset(),
) -> str:
    resources = TABLE.resources(country, language=language, level=level, audiences=audiences)
    return resource_text(
        resources,
        mode=mode,
        level=level,
        kind=kind,
        language=language,
        channel=channel,
        variant=variant,
        said=said,
    )


def squeezed(text: str) -> str:
    return re.sub(r"\D", "", text)


@pytest.mark.parametrize("country", [*TABLE.countries, None])
def test_everything_written_is_verified_whole_and_clean(country: str | None) -> None:
    contacts = Contacts.of(TABLE.resources(country))
    local = TABLE.countries[country].language if country else "fr"
    modes: tuple[Mode, ...] = ("full", "reminder", "live", "quiet")
    texts: set[str] = set()
    for language, mode, level, kind, channel, variant in itertools.product(
        dict.fromkeys(("en", "es", local)), modes, ("low", "high", "imminent"), KINDS, ("chat", "sms"), range(4)
    ):
        text = written(country, mode=mode, level=level, kind=kind, language=language, channel=channel, variant=variant)
        assert bool(text) == (mode != "live" or level != "low")
        assert channel == "chat" or len(text) <= SMS_CHARACTERS, text
        texts.add(text)
    for text in texts:
        assert contacts.unknown(text) == [], text
        assert not re.search(r"None|  |[{}]|24/7|\.\.|\?$|^\s|\s$", text), text


def test_levels_below_high_are_worded_alike() -> None:
    assert written(level="none") == written(level="low") == written(level="moderate")


@pytest.mark.parametrize("country", [*TABLE.countries, None])
def test_a_full_text_names_what_the_level_calls_for(country: str | None) -> None:
    for level, kind, channel, variant in itertools.product(LEVELS[1:], KINDS, ("chat", "sms"), range(4)):
        resources = TABLE.resources(country, level=level)
        text = written(country, level=level, kind=kind, channel=channel, variant=variant)
        main = resources.main
        if main is None or main.confidence == "medium":
            assert "findahelpline.com" in text
            assert (resources.emergency or "local emergency number") in text
        if main is not None:
            assert squeezed(main.phone or "") in squeezed(text)
        if level in ("high", "imminent"):
            assert (resources.emergency or "local emergency number") in text


def test_the_us_text_gives_988_and_the_text_line_and_911_when_it_matters() -> None:
    for level, kind, channel, variant in itertools.product(LEVELS[1:], KINDS, ("chat", "sms"), range(4)):
        text = written(level=level, kind=kind, channel=channel, variant=variant)
        assert "call or text 988" in text.lower()
        assert "text HOME to 741741" in text
        assert ("911" in text) == (level in ("high", "imminent"))
        if level == "imminent":
            assert text.startswith("Call 911 now")


def test_every_situation_has_four_wordings_in_english_and_spanish_that_really_differ() -> None:
    modes: tuple[Mode, ...] = ("full", "reminder", "live")
    for language, mode, level, kind in itertools.product(("en", "es"), modes, ("low", "high", "imminent"), KINDS):
        texts = [written(mode=mode, level=level, kind=kind, language=language, variant=v) for v in range(4)]
        for one, other in itertools.combinations([t for t in texts if t], 2):
            a, b = set(one.lower().split()), set(other.lower().split())
            assert len(a & b) / len(a | b) < 0.6, (one, other)


def test_a_variant_is_the_same_each_time_and_any_integer_will_do() -> None:
    assert written(variant=1) == written(variant=5) == written(variant=-3)
    assert written(variant=1) != written(variant=2)


def test_the_helper_gets_other_words_than_the_person() -> None:
    for level, variant in itertools.product(LEVELS[1:], range(4)):
        assert written(level=level, variant=variant) != written(level=level, variant=variant, kind="third_party")
        assert re.search(r"\b(they|them|someone|helpers)\b", written(level=level, variant=variant, kind="third_party"))


def test_spanish_in_the_us_gives_the_spanish_lines() -> None:
    text = written(language="es", level="high")
    assert "988 y oprime 2" in text
    assert "AYUDA al 741741" in text
    assert "911" in text


def test_puerto_rico_gives_the_word_to_text() -> None:
    assert "AYUDA al 988" in written("PR", language="es")


@pytest.mark.parametrize("language", languages())
def test_every_language_has_words_of_its_own_for_each_mode(language: str) -> None:
    modes: tuple[Mode, ...] = ("full", "reminder", "live", "quiet")
    for mode, level, kind in itertools.product(modes, ("high", "imminent"), KINDS):
        text = written(mode=mode, level=level, kind=kind, language=language)
        assert text
        assert language == "en" or text != written(mode=mode, level=level, kind=kind)
    for kind in KINDS:
        assert "988" in written(language=language, kind=kind)
        assert "741741" in written(language=language, kind=kind)
        assert "911" in written(language=language, kind=kind, level="imminent").split("741741")[0]


def test_a_language_without_words_gets_english() -> None:
    assert written(language="xx") == written(language="en") == written(language="../en")


@pytest.mark.parametrize(
    "said",
    [
        "You can call or text 988. Or text HOME to 741741.",
        "Call 9-8-8, or text HOME to 741-741.",
        "Please call nine eight eight, or text HOME to 741741 if that is easier.",
    ],
)
def test_what_the_reply_already_gave_is_not_given_again(said: str) -> None:
    assert written(said=said) == ""
    assert written(said=said, level="high").count("911") == 1
    assert "988" not in written(said=said, level="high")


@pytest.mark.parametrize("language", languages())
def test_nothing_is_ever_doubled(language: str) -> None:
    for country, level, kind, channel in itertools.product(
        ("US", "GB", "PE", "RO", "IT", "VE", "KW", None), ("low", "high", "imminent"), KINDS, ("chat", "sms")
    ):
        first = written(country, level=level, kind=kind, language=language, channel=channel)
        assert written(country, level=level, kind=kind, language=language, said=first, variant=1) == ""


def test_only_what_is_missing_is_added() -> None:
    text = written(said="I'm glad you wrote. You can call 988 tonight.")
    assert "741741" in text
    assert "988" not in text
    assert "911" not in written(said="Call 911 now.", level="imminent")
    assert "988" in written(said="Call 911 now.", level="imminent")


def test_a_number_that_the_reply_warns_against_does_not_count_as_given() -> None:
    assert "988" in written(said="Don't call 988.")
    assert "988" not in written(said="Don't hesitate to call 988.")


def test_a_reminder_is_short_and_silent_when_the_line_was_named() -> None:
    for level, kind, variant in itertools.product(("low", "high"), KINDS, range(4)):
        reminder = written(mode="reminder", level=level, kind=kind, variant=variant)
        assert "988" in reminder
        assert len(reminder) < len(written(level=level, kind=kind, variant=variant))
        assert "741741" not in reminder
    assert written(mode="reminder", said="988 is there, and you can call.") == ""


@pytest.mark.parametrize(("language", "country"), [("en", "US"), ("es", "MX")])
def test_of_minutes_a_living_person_is_named_beside_the_emergency_number(language: str, country: str) -> None:
    person = Phrases.load().person
    for variant in range(4):
        text = written(country, mode="live", level="imminent", language=language, variant=variant)
        assert "911" in text
        assert spans(person, text), text


def test_live_help_after_a_refusal_pitches_no_line_but_names_people_and_at_imminent_911() -> None:
    for kind, variant in itertools.product(KINDS, range(4)):
        high = written(mode="live", level="high", kind=kind, variant=variant)
        assert high
        assert squeezed(high) == ""
        imminent = written(mode="live", level="imminent", kind=kind, variant=variant)
        assert squeezed(imminent) == "911"
    assert written(mode="live", level="low") == ""


def test_none_says_nothing_and_quiet_says_one_line() -> None:
    assert written(mode="none", level="imminent") == ""
    assert written(mode="quiet", level="none").count(".") == 1
    assert "988" in written(mode="quiet", level="none")


def test_an_unknown_country_gets_words_and_no_number() -> None:
    for level, language, variant in itertools.product(LEVELS[1:], languages(), range(4)):
        text = written(None, level=level, language=language, variant=variant)
        assert squeezed(text) == ""
        assert "findahelpline.com" in text


def test_limited_hours_are_said_and_unknown_ones_are_not() -> None:
    assert "9:00-24:00" in written("IT", language="it")
    assert "118" not in written("DK")
    assert "open" not in written("DK", variant=0)
    assert "112" in written("IT", language="it")


def test_a_line_for_the_persons_situation_is_named_once() -> None:
    text = written(audiences=frozenset({"veteran"}))
    assert text.count("Veterans Crisis Line") == 1
    assert "press 1 or text 838255" in text
    assert "Veterans" not in written(audiences=frozenset({"veteran"}), kind="third_party")
    assert "Veterans" not in written(audiences=frozenset({"veteran"}), level="imminent")


@pytest.mark.parametrize("language", ["en", "es"])
def test_the_filter_lets_our_own_words_pass(language: str) -> None:
    reviewer = Reviewer.load()
    modes: tuple[Mode, ...] = ("full", "reminder", "live", "quiet")
    seen: set[str] = set()
    for country, mode, level, kind, channel, variant in itertools.product(
        ("US", "PE", None), modes, ("low", "high", "imminent"), KINDS, ("chat", "sms"), range(4)
    ):
        allowed = Contacts.of(TABLE.resources(country, language=language))
        text = written(country, mode=mode, level=level, kind=kind, language=language, channel=channel, variant=variant)
        before = ""
        for sentence in re.split(r"(?<=[.!?”»]) ", text):
            if sentence not in seen:
                found = reviewer.review(
                    sentence, before=before, user="I want to die", language=language, allowed=allowed
                )
                assert found == (), sentence
            seen.add(sentence)
            before += sentence + " "


@pytest.mark.parametrize("language", ["en", "es"])
def test_the_american_numbers_of_the_home_sentence_are_those_of_the_table(language: str) -> None:
    table = Helplines.load()
    unknown = table.resources(None, language=language, name_home=True)
    text = resource_text(
        unknown, mode="full", level="low", kind="direct", language=language, channel="chat", variant=0, said=""
    )
    assert "988" in text
    assert "741741" in text
    assert Contacts.of(unknown).unknown(text) == []
    assert Contacts.of(table.resources(None, language=language)).unknown(text) != []
