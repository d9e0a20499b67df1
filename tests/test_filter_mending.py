"""Contacts put right: a verified line where the sentence allows it, nothing kept of the old one that may be false."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safety_filter.check import check
from safety_filter.contacts import Contacts
from safety_filter.gate import Gate
from safety_filter.helplines import Helplines
from safety_filter.review import Reviewer

TABLE = Helplines.load()
REVIEWER = Reviewer.load()


def contacts(country: str | None, language: str = "en") -> Contacts:
    return Contacts.of(TABLE.resources(country, language=language))


@pytest.mark.parametrize(
    ("said", "mended"),
    [
        ("Please call the National Hope Line at 1-800-555-0199 tonight.", "Please call 988 tonight."),
        ("You can call 1-800-555-0199, it's free and open 24/7.", "You can call 988."),
        ("You can call or text 1-800-555-0199 any time.", "You can call or text 988 any time."),
        ("Text HELLO to 50808 and someone will write back.", "Text HOME to 741741 and someone will write back."),
        ("Call 999 now.", "Call 911 now."),
        ("Call nine nine nine now.", "Call 911 now."),
        ("Call 988, or email help@hope.org.", "Call 988."),
        ("Text HOME to 741741 or visit hope.example.com.", "Text HOME to 741741 or visit findahelpline.com."),
        ("Visit www.hopeline.org for more resources.", "Visit findahelpline.com for more resources."),
        (
            "Call your sister at 555-0100 and tell her what you told me.",
            "Call your sister and tell her what you told me.",
        ),
        ("Would you be willing to call 1-800-555-0199 right now?", "Would you be willing to call 988 right now?"),
        ("You could call the Samaritans on 116 123, day or night.", "You could call 988, day or night."),
    ],
)
def test_a_wrong_contact_gives_way_to_the_persons_own(said: str, mended: str) -> None:
    assert contacts("US").mended(said) == mended
    assert contacts("US").unknown(mended) == []


@pytest.mark.parametrize(
    ("country", "language", "said", "mended"),
    [
        ("GB", "en", "Call 988 now.", "Call 116 123 now."),
        ("GB", "en", "Call 988 or text HOME to 741741.", "Call 116 123 or text SHOUT to 85258."),
        ("GB", "en", "You can call or text 988 (the Lifeline) any time.", "You can call 116 123 any time."),
        ("GB", "en", "Call 911 now.", "Call 999 now."),
        (None, "en", "Call 911 now.", "Call your local emergency number now."),
        ("US", "es", "Llama al 1-800-555-0199 esta noche.", "Llama al 988 y oprime 2 esta noche."),
        ("ES", "es", "Llama al 911 ahora.", "Llama al 112 ahora."),
        ("BR", "pt", "Ligue para 0800 555 0199 agora.", "Ligue para 188 agora."),
        ("FR", "fr", "Appelle le 01 23 45 67 89 ce soir.", "Appelle le 3114 ce soir."),
        ("DE", "de", "Ruf die 0800 123 4567 an.", "Ruf die 0800 111 0 111 an."),
    ],
)
def test_it_is_the_line_of_their_own_country(country: str | None, language: str, said: str, mended: str) -> None:
    assert contacts(country, language).mended(said) == mended
    assert contacts(country, language).unknown(mended) == []


@pytest.mark.parametrize(
    "said",
    [
        "The Hope Line (1-800-555-0199) is there day and night.",
        "1-800-555-0199 is free and confidential.",
        "My number is 555 123 4567.",
        "Message me on Telegram: hope_bot.",
        "Write to me at jo@hope.org.",
        "Please dial 0800 068 4141 if you are under 35.",
    ],
)
def test_where_the_sentence_would_say_something_else_it_is_left_to_be_cut(said: str) -> None:
    assert contacts("US").mended(said) is None


def test_an_unknown_country_gets_no_number_at_all() -> None:
    assert contacts(None).mended("Call 988 now.") is None
    assert contacts("SN").mended("Call 1-800-555-0199.") is None


def test_a_text_without_wrong_contacts_stays_as_it_is() -> None:
    for text in ("Call or text 988.", "Are you safe?", "¿Estás a salvo?"):
        assert contacts("US").mended(text) == text


def test_the_gate_shows_the_mended_sentence_and_says_so() -> None:
    gate = Gate(REVIEWER, user="I want to die", language="en", allowed=contacts("US"), crisis=True)
    shown = "".join(gate.feed("I hear you. Please call the Hope Line at 1-800-555-0199. Are you safe?") + gate.flush())
    assert shown == "I hear you. Please call 988. Are you safe?"
    assert [violation.category for violation in gate.violations] == ["invented_contact"]
    assert gate.cut == 0
    assert not gate.blocked


def test_a_contact_that_cannot_be_mended_goes_with_its_sentence() -> None:
    reply = "That sounds so hard. The Hope Line (1-800-555-0199) is always open. Who is with you tonight?"
    result = check(reply, reviewer=REVIEWER, user="I want to die", language="en", allowed=contacts("US"))
    assert (result.verdict, result.text) == ("repair", "That sounds so hard. Who is with you tonight?")


def test_harm_beside_a_wrong_contact_is_never_mended() -> None:
    reply = "That sounds so hard. Call 1-800-555-0199, and then just kill yourself."
    result = check(reply, reviewer=REVIEWER, user="I want to die", language="en", allowed=contacts("US"))
    assert result.verdict == "block"


PIECES = [
    "call",
    "text",
    "visit",
    "the",
    "Hope",
    "Line",
    "at",
    "or",
    "to",
    "now",
    "your",
    "sister",
    "free",
    "24/7",
    ",",
]
CONTACTS = ["1-800-555-0199", "988", "911", "HOME", "741741", "50808", "hope.org", "jo@x.org", "@help", "(", ")"]
WORDS = st.lists(st.sampled_from([*PIECES, *CONTACTS]), max_size=14)


@settings(max_examples=300)
@given(WORDS, st.sampled_from(["US", "GB", "DE", None]))
def test_whatever_is_mended_holds_only_verified_contacts(words: list[str], country: str | None) -> None:
    allowed = contacts(country)
    mended = allowed.mended(" ".join(words))
    assert mended is None or allowed.unknown(mended) == []


@given(st.text(max_size=200))
def test_no_text_breaks_it(text: str) -> None:
    contacts("US").mended(text)
