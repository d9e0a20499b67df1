"""Where a person is: country codes in any spelling, and the place they name as where they are."""


def country_code(given: str) -> str | None:
    """The ISO 3166 alpha-2 code of a code or a name in any case ("us", "USA", "Deutschland"), None when unknown."""
    code = given.strip().upper()
    return code if len(code) == 2 else None


def country_of_language(language: str | None) -> str | None:
    """The country that a language decides by itself, None for languages of many countries."""
    return None


def named_country(text: str) -> str | None:
    """The country of the place in which the person says they are, None when they name none."""
    return None
