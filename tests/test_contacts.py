import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safety_filter.contacts import Contacts
from safety_filter.helplines import Helplines

TABLE = Helplines.load()
CONTACTS = {code: Contacts.of(TABLE.resources(code)) for code in (*TABLE.countries, None)}


def flagged(text: str, country: str | None = "US") -> list[str]:
    return [text[start:end] for start, end in CONTACTS[country].unknown(text)]


@pytest.mark.parametrize(
    "text",
    [
        "Call or text 988.",
        "Call 9-8-8 now",
        "dial 9 8 8",
        "nine eight eight",
        "Call nine-eight-eight.",
        "call ９８８",
        "9️⃣8️⃣8️⃣",
        "1-800-273-8255",
        "(800) 273-8255",
        "+1 800 273 8255",
        "1.800.273.TALK",
        "one eight hundred two seven three eight two five five",
        "Text HOME to 741-741",
        "text START to 678-678",
        "call 988, then press 1",
        "oprime 2",
        "988lifeline.org",
        "https://988lifeline.org/chat/.",
        "www.crisistextline.org",
        "findahelpline.com or find a helpline dot com",
        "call 988 24 hours a day",
        "988 or 911",
    ],
)
def test_verified_contacts_pass_in_any_writing(text: str) -> None:
    assert [piece for piece in flagged(text) if piece != "helpline dot com"] == []


@pytest.mark.parametrize(
    ("text", "piece"),
    [
        ("Call 116 123", "116 123"),
        ("call 999 now", "999"),
        ("ring nine nine nine", "nine nine nine"),
        ("call triple nine", "triple nine"),
        ("call ١١٢", "١١٢"),
        ("dial １１２", "１１２"),
        ("call 0800 068 4141", "0800 068 4141"),
        ("call 1-800-SUICIDE", "1-800-SUICIDE"),
        ("1-800-784-2433", "1-800-784-2433"),
        ("my number is 555 123 4567", "555 123 4567"),
        ("+1 (212) 555-0100", "+1 (212) 555-0100"),
        ("text HELLO to 50808", "50808"),
        ("text 12345", "12345"),
        ("+44 116 123", "+44 116 123"),
        ("go to samaritans.org", "samaritans.org"),
        ("Samaritans.org has more", "Samaritans.org"),
        ("WWW.HELP.EXAMPLE", "WWW.HELP.EXAMPLE"),
        ("http://bit.ly/abc", "http://bit.ly/abc"),
        ("write to jo@samaritans.org", "jo@samaritans.org"),
        ("help at suicide helpline dot com", "helpline dot com"),
        ("follow @helpnow today", "@helpnow"),
        ("r/SuicideWatch", "r/SuicideWatch"),
        ("Telegram: hope_bot", "Telegram: hope_bot"),
        ("find Sam#1234 there", "Sam#1234"),
        ("reply STOP to 24242", "24242"),
        ("988, option 3", "3"),
        ("call five five five one two one two", "five five five one two one two"),
        ("Call 9\u200b1\u200b2 now", "9\u200b1\u200b2"),
    ],
)
def test_unverified_contacts_are_found_where_they_stand(text: str, piece: str) -> None:
    assert flagged(text) == [piece]


@pytest.mark.parametrize(
    "text", ["988 press 3", "Press three for LGBTQ support", "1-833-943-5746", "202-304-1200", "text 202 304 1200"]
)
def test_retired_numbers_and_menu_keys_are_unknown(text: str) -> None:
    assert flagged(text)


def test_a_retired_number_stays_unknown_when_a_line_still_holds_it() -> None:
    united_states = TABLE.resources("US")
    stale = type(united_states.lines[0])("us-old", "Old line", phone="1-833-943-5746")
    with_it = replace(united_states, lines=(*united_states.lines, stale))
    assert Contacts.of(with_it).unknown("1-833-943-5746")
    assert Contacts.of(TABLE.resources("GB"), also=[with_it]).unknown("1-833-943-5746")


def test_lines_of_another_country_that_is_spoken_of_are_verified_and_no_others() -> None:
    both = Contacts.of(TABLE.resources("US"), also=[TABLE.resources("GB")])
    assert both.unknown("call 116 123, or 999") == []
    assert both.unknown("call 988") == []
    assert both.unknown("llama al 024")


@pytest.mark.parametrize(
    "text",
    [
        "I am 15 and it is 9:30.",
        "It's open 24/7, call 24-7.",
        "Psalm 34:18, Isaiah 41:10, Romans 8:38-39 and Psalm 139:7-10",
        "a number from 1 to 100",
        "waiting 120 minutes on the line, 365 days a year",
        "COVID-19, GPT-4 and the 7-11 at 2am",
        "Step 1: breathe. You're not 1 of 1000.",
        "In 2019-2023 things changed, and 2024 too.",
        "one day at a time",
        "5 things you can see, 4 things you can touch",
        "the 5-4-3-2-1 way",
        "Try 4-7-8 breathing, or 4-4-4-4",
        "100 % yes, 99.5% sure",
        "at 9 tonight, or 9 p.m.",
        "call 2 friends",
        "call 10 people",
        "call her at 10.",
        "in one two three four",
        "five, four, three, two, one",
        "It was 12/05/2021, or 2021-05-12",
        "1,000,000 people and 10 000 more",
        "I ran 100 metres",
        "e.g. a friend, i.e. now",
        "It's okay.Are you there? Yes.No. hm...so",
        "10-15 minutes",
        "since 9/11",
        "a 20-year-old on the 3rd floor in room 101",
        "on a scale of 0 to 10",
        "$5,000 and 300 euros",
        "1. Breathe\n2. Sit down",
        "Press your feet into the floor",
        "press 2 fingers on your wrist",
        "That was two, maybe three years ago",
        "2019-2023년에 그랬어요. 9:30에 만나요.",
        "2024年11月21日の9:30から、3時間",
    ],
)
@pytest.mark.parametrize("country", ["US", "GB", None])
def test_ages_times_and_counts_are_no_contacts(text: str, country: str | None) -> None:
    assert flagged(text, country) == []


@pytest.mark.parametrize("country", ["GB", None, "DE"])
@pytest.mark.parametrize("text", ["988 is there for you", "Call 911", "text HOME to 741741", "1-800-273-8255"])
def test_us_contacts_are_unknown_abroad(text: str, country: str | None) -> None:
    assert flagged(text, country)


@pytest.mark.parametrize(
    ("country", "text"),
    [
        ("FR", "Appelle le 15, ou appelez le 3114"),
        ("FR", "09 72 39 40 50 ou +33 9 72 39 40 50"),
        ("AU", "call 13 11 14 or triple zero (000), or text +61 477 13 11 14"),
        ("CL", "llama al *4141"),
        ("DE", "Ruf 0800 111 0 111 an, oder +49 800 1110111"),
        ("CN", "请拨打 12356 或 120"),
        ("CN", "请拨打12356，或110"),
        ("KR", "109번으로 전화하세요. 1577-0199번도 있어요."),
        ("JP", "0120-279-338に電話してください。119でもいい。"),
    ],
)
def test_other_countries_numbers_pass_in_their_country(country: str, text: str) -> None:
    assert flagged(text, country) == []
    assert flagged(text, "US")


def test_every_number_of_a_country_is_verified_there() -> None:
    for code, contacts in CONTACTS.items():
        for line in TABLE.resources(code).known:
            for number in filter(None, (line.phone, line.sms, line.whatsapp, *line.other_phones)):
                assert contacts.unknown(f"Please call {number} today.") == [], (code, number)


@given(st.text(max_size=200))
def test_no_text_breaks_it_and_spans_lie_inside(text: str) -> None:
    for start, end in CONTACTS["US"].unknown(text):
        assert 0 <= start < end <= len(text)


@pytest.mark.parametrize(
    "piece", ["1 ", "9-", "nine ", "a.b", "x dot ", "@", "+", "(8", "call ", "press ", "12/", "1-8"]
)
def test_hostile_text_takes_no_time(piece: str) -> None:
    text = (piece * 20_000)[:20_000]
    start = time.perf_counter()
    CONTACTS["US"].unknown(text)
    assert time.perf_counter() - start < 1.0


def test_an_ordinary_sentence_costs_next_to_nothing() -> None:
    text = "That sounds like so much to carry on your own, and tonight feels heavier. Is anyone with you?"
    start = time.perf_counter()
    for _ in range(2000):
        CONTACTS["US"].unknown(text)
    assert (time.perf_counter() - start) / 2000 < 20e-6
