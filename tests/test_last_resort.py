"""The answer when everything else has failed still says first what is most urgent."""

import pytest

from safety_filter.helplines import Helplines
from serving import last_resort

TABLE = Helplines.load()


def words(level: str, country: str | None, language: str) -> str:
    shown = TABLE.resources(country, language=language, level=level)
    return last_resort.text(shown.to_json(), language=language)


@pytest.mark.parametrize(
    ("country", "language", "number"), [("US", "en", "911"), ("ES", "es", "112"), ("GB", "en", "999")]
)
def test_in_danger_of_minutes_the_emergency_number_is_in_the_first_sentence(
    country: str, language: str, number: str
) -> None:
    first = words("imminent", country, language).split(". ")[0]
    assert number in first.split(";")[0]


@pytest.mark.parametrize("level", ["none", "low", "moderate", "high", "imminent"])
@pytest.mark.parametrize(("language", "says"), [("en", "I'm an AI"), ("es", "Soy una IA")])
def test_at_every_level_it_says_what_it_is_and_names_help(level: str, language: str, says: str) -> None:
    told = words(level, "US", language)
    assert says in told
    assert all(number in told for number in ("988", "741741", "911"))
    assert told.count("911") == 1


def test_where_the_country_is_unknown_the_local_number_comes_first() -> None:
    told = words("imminent", None, "en")
    assert "your local emergency number" in told.split(";")[0]
    assert "findahelpline.com" in told
