import datetime
import json
import re
from importlib.resources import files
from typing import Any

import pytest

from safety_filter.helplines import Helplines, Resources, resolve_country
from safety_filter.places import country_code, country_of_language, named_country, spoken_of

TABLE = Helplines.load()
KEYS = {"id", "name", "phone", "sms", "url", "hours", "languages", "country", "verified_at"}


def read(name: str) -> Any:
    return json.loads(files("safety_filter").joinpath(f"data/{name}").read_text(encoding="utf-8"))


def violations(value: Any, schema: dict[str, Any], path: str = "$") -> list[str]:
    """The part of JSON Schema that helplines.schema.json uses; an unknown keyword is a failure too."""
    known = {"$schema", "title", "type", "enum", "pattern", "items", "minItems", "properties", "required"}
    found = [f"{path}: keyword {key}" for key in schema.keys() - known - {"additionalProperties"}]
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{path}: {value!r}")
    names = schema.get("type", [])
    kinds = {"object": dict, "array": list, "string": str, "null": type(None)}
    if names and not isinstance(value, tuple(kinds[n] for n in ([names] if isinstance(names, str) else names))):
        return [*found, f"{path}: not {names}"]
    if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
        found.append(f"{path}: {value!r}")
    if isinstance(value, list):
        found += [f"{path}: too few"] if len(value) < schema.get("minItems", 0) else []
        found += [v for i, item in enumerate(value) for v in violations(item, schema.get("items", {}), f"{path}[{i}]")]
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        found += [f"{path}: no {key}" for key in schema.get("required", []) if key not in value]
        found += [f"{path}: {key}" for key in value.keys() - properties.keys() if not schema["additionalProperties"]]
        found += [v for k, item in value.items() for v in violations(item, properties.get(k, {}), f"{path}.{k}")]
    return found


def ids(resources: Resources) -> list[object]:
    return [entry["id"] for entry in resources.to_json()]


def test_the_table_follows_its_schema() -> None:
    assert violations(read("helplines.json"), read("helplines.schema.json")) == []


def test_the_schema_check_finds_what_is_wrong() -> None:
    data = read("helplines.json")
    data["countries"][0]["helplines"][0] |= {"phone": "nine", "fax": "1"}
    assert len(violations(data, read("helplines.schema.json"))) == 2


def test_every_country_of_the_table_is_there_and_every_id_is_its_own() -> None:
    lines = [line.id for country in TABLE.countries.values() for line in country.lines]
    assert len(TABLE.countries) == 114
    assert len(lines) == len(set(lines)) >= 317


@pytest.mark.parametrize("level", ["none", "high", "imminent"])
def test_every_answer_has_all_keys_an_emergency_entry_and_the_directory(level: str) -> None:
    for code in (*TABLE.countries, None, "XX", ""):
        entries = TABLE.resources(code, level=level).to_json()
        assert all(entry.keys() >= KEYS for entry in entries)
        assert [entry["kind"] for entry in entries].count("emergency") == 1
        assert entries[-1]["kind"] == "directory"
        assert json.dumps(entries)


def test_no_low_line_is_ever_shown_or_known() -> None:
    for code in TABLE.countries:
        resources = TABLE.resources(code, audiences=frozenset({"minor", "abuse", "veteran"}))
        assert "low" not in {line.confidence for line in (*resources.lines, *resources.known)}


def test_what_is_not_sure_never_stands_alone() -> None:
    """Beside every line that is not of high confidence: the emergency number and the international directory."""
    for code in TABLE.countries:
        entries = TABLE.resources(code).to_json()
        if any(entry["confidence"] != "high" for entry in entries):
            assert next(entry["phone"] for entry in entries if entry["kind"] == "emergency")
            assert any(entry["kind"] == "directory" for entry in entries)


def test_a_country_with_low_lines_alone_gets_its_emergency_number_and_the_directory() -> None:
    unsure = [code for code, country in TABLE.countries.items() if not country.known]
    assert unsure
    for code in unsure:
        assert ids(TABLE.resources(code)) == [f"{code.lower()}-emergency", "directory"]


def test_the_us_gets_988_first_then_the_text_line_then_911() -> None:
    entries = TABLE.resources("us").to_json()
    assert [e["id"] for e in entries] == ["us-988", "us-crisis-text-line", "us-emergency", "directory"]
    assert (entries[0]["phone"], entries[0]["sms"], entries[0]["hours"]) == ("988", "988", "24/7")
    assert (entries[1]["sms"], entries[1]["sms_body"], entries[2]["phone"]) == ("741741", "HOME", "911")


def test_at_imminent_the_emergency_entry_comes_first() -> None:
    assert ids(TABLE.resources("US", level="imminent"))[:3] == ["us-emergency", "us-988", "us-crisis-text-line"]


@pytest.mark.parametrize(
    ("audience", "line"),
    [
        ("veteran", "us-veterans"),
        ("veterans", "us-veterans"),
        ("lgbtq", "us-trevor"),
        ("maternal", "us-maternal"),
        ("abused_at_home", "us-domestic-violence"),
        ("farmer", "us-agristress-helpline"),
        ("act_under_way", "us-poison"),
        ("spanish_speaker", "us-988-es"),
    ],
)
def test_a_line_for_the_persons_situation_stands_right_after_the_main_ones(audience: str, line: str) -> None:
    assert ids(TABLE.resources("US", audiences=frozenset({audience})))[2] == line


def test_a_spanish_speaker_in_the_us_gets_the_spanish_lines_first() -> None:
    entries = TABLE.resources("US", language="es-MX").to_json()
    assert [(e["phone"], e["option"], e["sms"], e["sms_body"]) for e in entries[:2]] == [
        ("988", "press 2", "988", "AYUDA"),
        (None, None, "741741", "AYUDA"),
    ]


def test_a_french_speaker_in_belgium_gets_the_french_line() -> None:
    main = TABLE.resources("BE", language="fr").main
    assert main is not None
    assert main.phone == "0800 32 123"


@pytest.mark.parametrize("country", [None, "", "XX", "SN", "nonsense"])
def test_an_unknown_country_gets_the_directory_and_no_number(country: str | None) -> None:
    resources = TABLE.resources(country)
    emergency, directory = resources.to_json()
    assert (emergency["name"], emergency["phone"]) == ("Your local emergency number", None)
    assert directory["url"] == "https://findahelpline.com/"
    assert not re.search(r"\d", json.dumps(resources.to_json()))


def test_a_country_with_a_line_for_children_alone_has_no_main_line_but_lists_it() -> None:
    resources = TABLE.resources("TZ")
    assert resources.main is None
    assert resources.lines[0].phone == "116"


def test_unverified_hours_stay_unknown() -> None:
    for country in read("helplines.json")["countries"]:
        for line in country["helplines"]:
            assert line["hours"] != ""
            assert "planned" not in (line["hours"] or "")
    denmark = TABLE.resources("DK").main
    assert denmark is not None
    assert denmark.hours is None


def test_a_retired_number_is_in_no_line() -> None:
    def digits(number: str) -> str:
        return re.sub(r"\D", "", number)

    for country in TABLE.countries.values():
        shown = {digits(n) for line in country.lines for n in (line.phone, line.sms, *line.other_phones) if n}
        assert not shown & {digits(number) for number in country.retired}


def test_stale_names_lines_that_no_source_has_confirmed_lately() -> None:
    today = datetime.date.fromisoformat(TABLE.compiled_at)
    stale = {line.id for line in TABLE.stale(today)}
    assert "us-poison" in stale  # its source bears no date
    assert not stale & {"us-988", "us-crisis-text-line", "gb-samaritans", "ca-988"}
    assert len(TABLE.stale(today + datetime.timedelta(days=4000))) == sum(
        line.confidence != "low" for country in TABLE.countries.values() for line in country.lines
    )


def test_the_place_named_wins_over_request_setting_and_language() -> None:
    assert resolve_country("US", default="GB", named="IE", language="ja") == "IE"
    assert resolve_country("ca", default="US", named=None, language="ja") == "CA"
    assert resolve_country(None, default="US", named=None, language="ja") == "US"
    assert resolve_country(None, default=None, named=None, language="ja") == "JP"
    assert resolve_country(None, default=None, named=None, language="en") is None


@pytest.mark.parametrize("asked", ["XX", "zz", "\x00", "12", "not a country", "🇺🇸" * 50])
def test_an_unknown_code_gives_no_country_and_never_the_setting(asked: str) -> None:
    assert resolve_country(asked, default="US", named=None, language="en") is None


@pytest.mark.parametrize(
    ("given", "code"),
    [("us", "US"), ("USA", "US"), ("UK", "GB"), (" gbr ", "GB"), ("Deutschland", "DE"), ("México", "MX"), ("SN", "SN")],
)
def test_country_codes_are_read_in_every_spelling(given: str, code: str) -> None:
    assert country_code(given) == code


def test_every_country_of_the_table_is_known_by_code_and_name() -> None:
    for country in TABLE.countries.values():
        assert country_code(country.code.lower()) == country_code(country.name) == country.code


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("ja", "JP"),
        ("ko", "KR"),
        ("pt-BR", "BR"),
        ("en-GB", "GB"),
        ("en-US", None),
        ("es", None),
        ("zz", None),
        (None, None),
    ],
)
def test_a_language_decides_a_country_only_where_it_can(language: str | None, code: str | None) -> None:
    assert country_of_language(language) == code


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("I live in Dublin and nobody knows", "IE"),
        ("i’m in canada rn", "CA"),
        ("estoy en México", "MX"),
        ("Ich bin 17 und schreibe aus Berlin", "DE"),
        ("Bin aus Berlin, Student", "DE"),
        ("I'm in London, Ontario.", "CA"),
        ("I live in Cambridge, Massachusetts", "US"),
        ("We moved to New Zealand last year", "NZ"),
        ("moro no Brasil", "BR"),
        ("j'habite à Lyon", "FR"),
        ("I'm texting from Cape Town", "ZA"),
        ("i'm from Chicago", "US"),
        ("I live in Senegal", "SN"),
        ("I used to live in Canada but now I live in Spain", "ES"),
        ("I am in Athens, Georgia", "US"),
        ("I live near Manchester", "GB"),
        ("i'm 15, from texas", "US"),
        ("I'm in a hotel in Rome and I can't sleep", "IT"),
    ],
)
def test_a_place_where_the_person_says_they_are_is_found(text: str, code: str) -> None:
    assert named_country(text) == code


@pytest.mark.parametrize(
    "text",
    [
        "I love Paris",
        "my dad is from Ireland",
        "My sister lives in Canada",
        "I wish I was in Paris",
        "if I live in Canada by then",
        "I used to live in Canada",
        "I'm originally from Mexico",
        "I was born in Spain",
        "we were in Rome",
        "I want to move to Canada",
        "I'm in love",
        "I'm in pain",
        "I live in fear",
        "I'm in Georgia",
        "estou na praia",
        "estoy en la montaña",
        "I'm in male company",
        "vivo en libertad condicional",
        "I'm in corona quarantine",
        "estoy en casa",
        "je suis en vie",
        "",
    ],
)
def test_other_places_and_other_people_decide_nothing(text: str) -> None:
    assert named_country(text) is None


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("Wellington here. Partner's on nights", {"NZ"}),
        ("fracasé otra vez en la U (chile)", {"CL"}),
        ("Ich will nicht mehr leben. Bin aus Kassel.", {"DE"}),
        ("my brother is in London and I'm in Québec!", {"GB", "CA"}),
        ("nice reading, orange!", set()),
        ("", set()),
    ],
)
def test_every_place_that_is_spoken_of_is_one_whose_lines_may_be_named(text: str, codes: set[str]) -> None:
    assert spoken_of(text) == codes
