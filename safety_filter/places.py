"""Where a person is: country codes in any spelling, and the place that they name as where they are.

Only a place said of oneself and of now counts: "I live in Dublin", "estoy en México", "ich komme aus Berlin". Places
that one loves, left, wishes to see, or where someone else lives do not; ambiguous ones need a country beside them.
"""

import functools
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

from textrules.database import Database
from textrules.normalise import fold

_HERE = re.compile(
    r"\b(?:"
    r"(?:i|we) (?:live|stay|reside|study|work) (?:here )?(?:in|near|outside|close to)|"
    r"(?:i|we) moved (?:here )?(?:back )?to|"
    r"(?:im|i am|we are) in (?:a|my) (?:hotel|hostel|hospital|flat|apartment|dorm|shelter|motel|room|house) in|"
    r"(?:im|i am|we are)(?: (?:currently|still|now|here|also|actually|stuck|living|staying|located|based|homeless|"
    r"alone|at home|a student|right now|all alone|over here|a teen(?:ager)?|\d\d)){0,3},? in|"
    r"(?:living|based|located) (?:here )?in|(?:calling|writing|texting|messaging|typing)(?: you| this| to you)? from|"
    r"(?P<origin>(?:im|i am) (?:actually |\d\d,? )?from)|"
    r"(?:vivo|vivimos|resido|estoy|estamos)(?: (?:viviendo|aqui|ahora|solo|sola|en casa)){0,2} en|"
    r"(?:les |te |os )?escribo desde|aqui en|(?P<origen>(?:yo )?soy de)|"
    r"(?:eu )?(?:moro|vivo|estou)(?: (?:morando|aqui))? (?:em|no|na|nos|nas)|aqui (?:em|no|na)|"
    r"(?:jhabite|je vis|je suis|jsuis|on est|nous sommes)(?: (?:actuellement|seule?|ici))? (?:en|au|aux|a)|"
    r"jecris (?:de|depuis)|"
    r"(?:ich )?(?:bin|sitze|lebe|wohne|schreibe|komme)"
    r"(?: (?:hier|gerade|jetzt|derzeit|dir|euch|ihnen)){0,2} (?:in|aus)|hier in|"
    r"(?:abito|vivo|sono|mi trovo) (?:a|in)|scrivo da|ik (?:woon|zit|ben) in|mieszkam w|jestem w"
    r") (?:the (?:north|south|east|west) of |"
    r"(?:north|south|east|west|central|downtown|northern|southern|rural|der|den|la|el) )?",
)
_ELSEWHERE = re.compile(
    r"\b(?:originally|born|grew up|used to|moved (?:from|away|out)|immigra\w+|emigr\w+|nacid[oa]|ursprunglich)\b"
)
_WISH = re.compile(
    r"\b(?:if|wish|when|imagine|pretend|dream\w*|before|si|ojala|cuando|wenn|falls|als)\s(?:\w+\s){0,2}$"
)
_WORD = re.compile(r"[^\W\d_][\w.'-]*")
_LONGEST = 5  # words in the longest name
_READ = 4_000  # characters


@dataclass(frozen=True, slots=True)
class _Places:
    codes: Mapping[str, str]
    names: Mapping[str, str]
    languages: Mapping[str, str]


@functools.cache
def _places() -> _Places:
    data = tomllib.loads(files("safety_filter").joinpath("data/places.toml").read_text(encoding="utf-8"))
    codes: dict[str, str] = {"UK": "GB", "EL": "GR"}
    names: dict[str, str] = {}
    for code, (alpha3, countries, cities) in data["places"].items():
        codes |= {code: code, alpha3: code}
        names |= {name: code for name in (*countries.split("|"), *cities.split("|")) if name}
    return _Places(codes, names, data["languages"])


@functools.cache
def _mentions() -> Mapping[str, str]:
    """The names of places.toml, and those of larger cities (scripts/city-names), many of which are words, too."""
    rows = files("safety_filter").joinpath("data/cities.txt").read_text(encoding="utf-8").splitlines()[1:]
    cities = {name: code for code, _, names in (row.partition(" ") for row in rows) for name in names.split("|")}
    return cities | dict(_places().names)


@functools.cache
def _here() -> Database:
    """Where `_HERE` can match at all, seen in a tenth of the time."""
    return Database([_HERE.pattern])


def country_code(given: str) -> str | None:
    """The ISO 3166 alpha-2 code of a code or a name in any case ("us", "USA", "Deutschland"), None when unknown."""
    places = _places()
    return places.codes.get(given.strip().upper()) or places.names.get(fold(given.strip()).text)


def country_of_language(language: str | None) -> str | None:
    """The country that a language tag decides: by its region ("pt-BR"), or by a language of one country ("ja").

    "en-US" decides nothing, because most software in the world says it.
    """
    parts = re.split(r"[-_]", (language or "").strip())
    tongue, region = parts[0].lower(), parts[-1].upper()
    if len(parts) > 1 and len(region) == 2 and region in _places().codes and (tongue, region) != ("en", "US"):
        return _places().codes[region]
    return _places().languages.get(tongue)


def named_country(text: str) -> str | None:
    """The country of the place in which the person says they are, the last one if several; None when they name none."""
    folded = fold(text).text
    if folded.isascii() and not _here().scan(folded.encode()):
        return None
    weak: str | None = None
    strong: str | None = None
    for match in _HERE.finditer(folded):
        if _WISH.search(folded[max(0, match.start() - 30) : match.start()]):
            continue
        country = _place_at(folded, match.end())
        if match["origin"] or match["origen"]:
            weak = country or weak
        else:
            strong = country or strong
    return strong or (None if _ELSEWHERE.search(folded) else weak)


def spoken_of(text: str) -> frozenset[str]:
    """The countries of all places that a text names, whoever is there: for what a reply may mention, not for where the
    person is.
    """
    names = _mentions()
    words = [word.rstrip(".'-") for word in _WORD.findall(fold(text[:_READ]).text)]
    told = (" ".join(words[at : at + size]) for at in range(len(words)) for size in range(1, _LONGEST + 1))
    return frozenset(names[name] for name in told if name in names)


def _place_at(text: str, start: int) -> str | None:
    """The country of the place whose name begins at `start`; what follows a comma decides ("London, Ontario")."""
    country, end = _name_at(text, start)
    if country is None:
        skipped = re.match(r"\w[\w'-]*(?: \w[\w'-]*)?, ", text[start:])
        return _name_at(text, start + skipped.end())[0] if skipped else None
    if text.startswith(", georgia", end):
        return "GE" if country == "GE" else "US"
    if text.startswith(", ", end):
        return _name_at(text, end + 2)[0] or country
    return country


def _name_at(text: str, start: int) -> tuple[str | None, int]:
    words = [match.span() for match in _WORD.finditer(text[start : start + 60])][:_LONGEST]
    for _, end in reversed(words):
        name = text[start : start + end]
        for candidate in (name, name.rstrip(".")):
            if code := _places().names.get(candidate.removeprefix("the ")) or _places().names.get(candidate):
                return code, start + len(candidate)
    return None, start
