"""Where a text holds what looks like a way to reach someone: web addresses, handles, digits, spoken digits, menu keys.

Only shapes are found here; whether one is verified is for `safety_filter.contacts` to say. All functions work on text
as `plain` gives it.
"""

import functools
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from textrules.database import Database
from textrules.normalise import View

_WORDS: dict[str, str] = {
    word: str(digit)
    for digit, words in enumerate(
        (
            "zero oh cero zéro null",
            "one uno um un eins",
            "two dos dois deux zwei due",
            "three tres três trois drei tre",
            "four cuatro quatro quatre vier quattro",
            "five cinco cinq fünf cinque",
            "six seis sechs sei meia",
            "seven siete sete sept sieben sette",
            "eight ocho oito huit acht otto",
            "nine nueve nove neuf neun",
        )
    )
    for word in words.split()
}
_TEENS = ("ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_PAIRS = {word: str(n) for n, word in enumerate(_TEENS, 10)} | {word: str(n) for n, word in enumerate(_TENS, 2)}
"""Numbers below a hundred, as telephone numbers are said; a ten stands for its first digit, and a unit may follow."""
_TIMES = {"double": 2, "triple": 3, "doble": 2}
_WORD = "|".join(sorted([*_WORDS, *_PAIRS, "hundred"], key=len, reverse=True))
_TOKEN = rf"(?:(?:{'|'.join(_TIMES)})[ -])?(?:{_WORD}|\d)"

_TLDS = (
    "com|org|net|info|edu|gov|mil|int|app|chat|help|health|care|support|online|site|website|link|page|io|co|me|tv|gg|ly|"
    "uk|us|ca|au|nz|ie|de|fr|es|pt|it|nl|be|ch|at|lu|se|no|fi|dk|is|pl|cz|sk|hu|ro|bg|gr|cy|mt|hr|si|rs|ba|ee|lv|lt|ua|"
    "ru|by|kz|tr|il|ae|sa|eg|ma|za|ng|ke|gh|in|pk|bd|lk|np|jp|kr|cn|hk|tw|sg|my|th|vn|ph|id|br|ar|cl|mx|pe|uy|py|bo|ve|ec"
)
_NETWORKS = "instagram|telegram|discord|snapchat|tiktok|skype|kik|twitter|signal|whatsapp"
_ADDRESS = re.compile(
    r"(?<![\w.+-])(?P<email>[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,6}"
    r"|[\w.+-]{1,64} ?[\[(] ?(?i:at) ?[\])] ?[\w-]{1,64} ?[\[(] ?(?i:dot) ?[\])] ?\w{2,12})"
    r"|(?P<url>(?i:https?://|www\.)[^\s<>\"'()\[\]]+)"
    r"|(?<![\w@.-])(?P<host>(?:(?i:[a-z0-9][a-z0-9-]{1,62})\.){1,6}"
    rf"(?:{_TLDS}|COM|ORG|NET)\b(?!\.?\w)(?:/[^\s<>\"'()\[\]]*)?)"
    r"|\b(?P<said>(?i:[a-z0-9-]{3,63}+(?:\s+dot\s+[a-z0-9-]{2,63}){0,3}\s+dot\s+(?:com|org|net|gov|co|info|chat|help)))\b"
    r"|(?<![\w@./])(?P<handle>@[A-Za-z_][\w.]*\w|[ru]/\w{3,}|\w{2,32}#\d{4}\b|t\.me/\w+"
    rf"|[A-Za-z]\w{{0,30}}[_\d]\w{{0,30}} on (?i:{_NETWORKS})\b"
    rf"|(?i:(?:{_NETWORKS})(?: handle| user(?:name)?)? ?[:=] ?[\w.]{{3,}}))"
)

_NOT_CONTACT = re.compile(
    r"(?<!\d)24\s?[-–/]\s?7(?:/365)?(?!\d)"
    r"|(?<!\d)(?:19|20)\d\d[-/.](?:0?[1-9]|1[0-2])[-/.](?:[0-2]?\d|3[01])(?!\d)"
    r"|(?<!\d)\d{1,2}[/.]\d{1,2}[/.](?:19|20)\d\d(?!\d)"
    r"|(?<!\d)(?:19|20)\d\d ?[-–/ ] ?(?:19|20)\d\d(?!\d)(?![ .-]?\d)"
    r"|(?<!\d)\d{1,2}[:h]\d{2}(?: ?[-–] ?\d{1,2}[:h]\d{2})?(?::\d\d)?(?!\d)"
    r"|(?<!\d)\d{1,2}(?:[.:]\d\d)? ?[ap]\.?m\b"
    r"|(?<!\d)\d+(?:[.,]\d+)? ?(?:%|°)"
    r"|[$€£¥₹]\s?\d[\d,.]*"
    r"|(?<!\d)\d{1,3}(?:,\d{3})+(?!\d)"
    r"|(?<!\d)\d{1,3}(?: 000)+(?!\d)"
    r"|(?<!\d)\d{1,2}/\d{1,2}(?!\d)(?![/\d-])"
    r"|(?<!\d)\d+\.\d{1,2}(?!\d)(?![.\d-])"
    r"|(?m:^[^\S\n]*+\d{1,2}[.)](?= ))"
)
_RUN = re.compile(r"(?<![0-9A-Za-zÀ-ɏ_#.])[+*]?\(?\d+(?:(?: ?[-/()]{1,2} ?|\.| )\(?\d+)*(?![0-9A-Za-zÀ-ɏ])")
# Digits with letters that look like some: read as digits where a number is expected.
_ALIKE = re.compile(
    r"(?<![\w-])(?=[OoIlBSZ-]{0,20}\d)(?=[\d-]{0,20}[OoIlBSZ])[\dOoIlBSZ]{1,6}(?:-[\dOoIlBSZ]{1,6}){0,4}(?![\w-])"
)
_AS_DIGITS = str.maketrans("OoIlBSZ", "0011852")
_TEXTED = re.compile(r"\btext(?:ing)?\b[^.!?]{0,24} to $", re.IGNORECASE)
_VANITY = re.compile(
    r"(?<![\w-])(?:\+?1[ .-]?)?\(?8\d\d\)?[ .-](?:\d{3}[ .-])?(?:[A-Z]{3,8}(?:[ -][A-Z]{2,8})?|(?<=-)[a-z]{4,8})\b"
    r"|(?<![\w-])\+?\(?\d[\d-]{2,7}\)?-[A-Z]{3,8}(?:-[A-Z]{2,8})?\b"
)
_SPOKEN = re.compile(
    rf"(?<![^\W_])(?i:{_TOKEN})(?:(?:\s?[-–,.]\s?|\s)(?i:{_TOKEN})){{1,14}}(?![^\W_])"
    rf"|\b(?i:(?:{'|'.join(_TIMES)})[ -](?:{_WORD}))\b"
)
_SPOKEN_TOKEN = re.compile(rf"(?:({'|'.join(_TIMES)})[ -])?({_WORD}|\d)", re.IGNORECASE)
_KEY = re.compile(
    r"\b(?:press(?:ing)?|hit|push|pulsar?|pulse|presion[ae]r?|oprim[ae]|oprimir|marca|marque|tapez|appuyez sur|"
    r"dr[uü]cken?(?: sie)?|premi|prema|digite|tecle|tecla|aperte)\s+(?:the |el |la |le |die |il |o |a )?"
    r"(?:number |n[uú]mero |key |button |tecla |touche |taste )?(\d|one|two|three|four|five|uno|dos|tres|cuatro)\b"
    r"(?!\s+(?:finger|time|hand|palm|dedo|minut|second|feet|foot|more))",
    re.IGNORECASE,
)
_EXTENSION = re.compile(r"\b(?:extension|ext\.?) (\d)\b", re.IGNORECASE)
_OPTION = re.compile(
    r"(?<!\d)\d{3,}+[^.!?\n\d]{0,14}\b(?:option|opci[oó]n|op[cç][aã]o|then|luego|ext\.?|extension)\s+(\d)\b",
    re.IGNORECASE,
)
_CALLS = re.compile(
    r"(?:\b(?:call(?:ing|s)?|dial(?:l?ing)?|ring(?:ing)?|phon(?:e|ing)|text(?:ing)?|txt|messag(?:e|ing)|sms|whatsapp|"
    r"reach(?:ing)?|contact(?:ing)?|send(?:ing)?|reply|numbers?|hotline|helpline|lifeline|line|tel|"
    r"llam\w+|marc(?:a|ar|ando|que)|env[ií]\w+|mand[ae]\w*|mensaje|escrib\w+|tel[eé]fono|n[uú]mero|l[ií]nea|"
    r"lig(?:ue|ar|a|ando)|linha|disque|telefone|appel\w+|compos\w+|num[eé]ro|ligne|joign\w+|"
    r"ruf\w*|anruf\w*|w[aä]hl\w*|nummer|chiam\w+|numero|bel|zadzwo\w+|numer)\b|拨打|撥打|致电|致電|电话|電話|전화|"
    r"звон\w+|набер\w+|номер|اتصل|رقم|कॉल)[^\d.!?;\n。！？]{0,30}$",
    re.IGNORECASE,
)
_CALLS_DIRECTLY = re.compile(
    r"\b(?:call|dial|ring|text|llam[ae]r? al|marc[ae]r?(?: el)?|appel\w+ le|compos\w+ le|fait\w* le|"
    r"ligue(?: para)?(?: o)?|ruf\w*|w[aä]hl\w*(?: die)?|chiam\w+ il) $",
    re.IGNORECASE,
)
_LINE_FOLLOWS = re.compile(
    r"\W{0,3}(?:(?:is|are) )?(?:(?:the|a|an|your) )?(?:[\w-]+ ){0,2}?"
    r"(?:hotline|helpline|lifeline|crisis|line|suicide prevention)\b"
    r"|번|に(?:お)?電話|へ(?:お)?電話|に連絡| पर (?:कॉल|फ़ोन)",
    re.IGNORECASE,
)
_UNIT_FOLLOWS = re.compile(
    r"[ -]?(?:people|persons?|times|friends|days?|hours?|hrs?|minutes?|mins?|seconds?|secs?|weeks?|months?|years?|yrs?|"
    r"miles?|km|met(?:er|re)s?|feet|pounds?|lbs?|kg|kilos?|dollars?|bucks|euros?|percent|things?|steps?|breaths?|words?|"
    r"pages?|calls|texts|messages|reasons?|problems|of|more|or so|ways?|points?|veces|d[ií]as|horas|minutos|personas|"
    r"cosas|a[nñ]os|meses|semanas|heures?|jours?|fois|minuten|stunden|tage|jahre|mal|ore|giorni|volte|vezes)\b",
    re.IGNORECASE,
)
_CLOSES = re.compile(
    r"\s*(?:$|[.,;:!?)\n]|now\b|right now|if\b|or\b|for\b|immediately|ahora|si\b|tout de suite|maintenant)"
)

Shape = Literal["email", "url", "handle", "number", "key"]


@dataclass(frozen=True, slots=True)
class Found:
    """Something that looks like a contact; `value` is a host, the digits (groups separated by a space), or a key."""

    shape: Shape
    value: str
    start: int
    end: int


_DIGITS, _SIGNS, _SPELLED, _MENU, _SPELLED_KEY = range(5)


@functools.cache
def _prefilter() -> Database:
    words = "|".join([*_WORDS, *_PAIRS, "hundred"])
    spelled = (
        rf"(?:{'|'.join(_TIMES)})[ -]|(?:{words}|\d)[\s,.–-]{{1,3}}(?:{words})|(?:{words})[\s,.–-]{{1,3}}(?:{words}|\d)"
    )
    patterns = {
        _DIGITS: r"[\p{Nd}\p{No}]",
        _SIGNS: r"[@\x{ff20}]|[\[(] ?at ?[\])]|[a-z0-9]\.[a-z]|https?:|[ru]/[a-z]|\w#\d"
        r"|dot (?:com|org|net|gov|co|info|chat|help)"
        rf"|(?:{_NETWORKS})(?: [a-z]+)? ?[:=]|[_\d]\w* on (?:{_NETWORKS})",
        _SPELLED: spelled,
        _MENU: r"(?:press|hit|push|puls|oprim|marc|marque|tapez|appuyez|dr(?:u|\x{fc})ck|prem[ia]|digite|tecl|aperte"
        r"|option|opci(?:o|\x{f3})n|op(?:c|\x{e7})(?:a|\x{e3})o|then|luego|ext)",
        _SPELLED_KEY: r"(?:press|hit|push|oprim[ae]|presion[ae]|pulsa) (?:[a-z]+ ){0,2}"
        r"(?:one|two|three|four|five|uno|dos|tres)",
    }
    return Database([patterns[trait] for trait in range(len(patterns))], caseless=True)


def _traits(text: str) -> set[int]:
    return set(_prefilter().scan(text.encode("utf-8", "replace")))


def possible(text: str) -> bool:
    """Whether `text` can hold a contact at all: a scan of about a microsecond that most sentences do not pass."""
    return not _traits(text) <= {_MENU}  # menu words alone are ordinary words


def plain(text: str) -> View:
    """`text` with its case, but with ASCII digits, dashes, blanks and signs, and without invisible characters."""
    if text.isascii():
        return View(text)
    kept: list[str] = []
    cuts: list[tuple[int, int]] = []
    shift = 0
    for char in text:
        as_read = char if char.isascii() else _as_read(char)
        if as_read:
            kept.append(as_read)
        else:
            shift += 1
            cuts.append((len(kept), shift))
    return View("".join(kept), tuple(cuts))


@functools.lru_cache(maxsize=4096)
def _as_read(char: str) -> str:
    category = unicodedata.category(char)
    if category in ("Mn", "Me", "Cf"):
        return ""
    if category == "Pd":
        return "-"
    if category == "Zs":
        return " "
    digit = unicodedata.digit(char, None)
    if digit is not None:
        return str(digit)
    folded = unicodedata.normalize("NFKC", char)
    return folded if len(folded) == 1 and folded.isascii() else char


def found(text: str) -> Iterator[Found]:
    """Every contact-like piece of plain text, addresses first, then menu keys, then numbers."""
    traits = _traits(text)
    rest = text
    if _SIGNS in traits:
        for piece in _addresses(text):
            yield piece
            rest = _blank(rest, piece.start, piece.end)
    if _DIGITS in traits:
        for match in _VANITY.finditer(rest):
            digits = _keypad(match[0])
            if len(digits) >= 7:
                yield Found("number", digits, match.start(), match.end())
                rest = _blank(rest, match.start(), match.end())
    if _MENU in traits:
        yield from _keys(rest)
    if traits.isdisjoint((_DIGITS, _SPELLED)):
        return
    rest = _NOT_CONTACT.sub(lambda match: "#" * len(match[0]), rest)
    if _DIGITS in traits:
        yield from _written(rest)
        yield from _alike(rest)
    if _SPELLED in traits:
        yield from _spelled(rest)


def _blank(text: str, start: int, end: int) -> str:
    return text[:start] + "#" * (end - start) + text[end:]


def _addresses(text: str) -> Iterator[Found]:
    for match in _ADDRESS.finditer(text):
        kind = match.lastgroup
        raw = match[0].rstrip(".,;:!?*_")
        end = match.start() + len(raw)
        if kind == "email" or kind == "handle":
            yield Found("email" if kind == "email" else "handle", raw, match.start(), end)
        else:
            host = re.sub(r"\s+dot\s+", ".", raw.lower()).removeprefix("https://").removeprefix("http://")
            yield Found("url", re.split(r"[/?#:]", host)[0].removeprefix("www."), match.start(), end)


def _keypad(raw: str) -> str:
    keys = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "22233344455566677778889999")
    return "".join(c for c in raw.upper().translate(keys) if c.isdigit())


def _keys(text: str) -> Iterator[Found]:
    for pattern in (_KEY, _OPTION, _EXTENSION):
        for match in pattern.finditer(text):
            value = match[1].lower()
            yield Found(
                "key", _WORDS.get(value, value), match.start() if pattern is _KEY else match.start(1), match.end()
            )


def _written(text: str) -> Iterator[Found]:
    for match in _RUN.finditer(text):
        groups = re.findall(r"\d+", match[0])
        if _is_contact(text, match.start(), match.end(), groups):
            yield Found("number", " ".join(groups), match.start(), match.end())


def _spelled(text: str) -> Iterator[Found]:
    for match in _SPOKEN.finditer(text):
        digits = _spoken(match[0])
        worded = any(c.isalpha() for c in match[0])
        if worded and len(digits) >= 3 and _is_contact(text, match.start(), match.end(), list(digits)):
            yield Found("number", " ".join(digits), match.start(), match.end())


def _alike(text: str) -> Iterator[Found]:
    for match in _ALIKE.finditer(text):
        digits = re.sub(r"\D", "", match[0].translate(_AS_DIGITS))
        if len(digits) >= 7 or (len(digits) >= 3 and _CALLS.search(text[max(0, match.start() - 60) : match.start()])):
            yield Found("number", digits, match.start(), match.end())


def _spoken(raw: str) -> str:
    parts: list[str] = []
    ten = False
    for times, token in _SPOKEN_TOKEN.findall(raw):
        word = token.lower()
        if ten and word in ("ten", *_TEENS, *_TENS, "hundred", "zero", "oh"):
            parts.append("0")
        ten = word in _TENS
        digit = "00" if word == "hundred" else _PAIRS.get(word) or _WORDS.get(word, token)
        parts.append(digit * _TIMES.get(times.lower(), 1))
    return "".join(parts) + ("0" if ten else "")


# Codes that people know by heart: naming one is naming a contact, whatever stands around it.
_FAMOUS = frozenset(["988", "911", "999", "741741", "116123", "85258", "838255", "131114", "112", "45645", "1393"])


def _is_contact(text: str, start: int, end: int, groups: list[str]) -> bool:
    """Whether a run of digits is given as a way to reach someone, not as an age, a time or a count."""
    digits = "".join(groups)
    before = text[max(0, start - 60) : start]
    if text[start] in "+*":
        return len(digits) >= 3 or bool(_CALLS.search(before))
    if len(digits) < 3 and _TEXTED.search(before):
        return True
    if _counting(groups) or len(digits) == 1:
        return False
    if len(digits) >= 7:
        return True
    after = text[end : end + 40]
    if _UNIT_FOLLOWS.match(after):
        return False
    if len(digits) == 2:
        return bool(_CALLS_DIRECTLY.search(before) and _CLOSES.match(after))
    return digits in _FAMOUS or bool(_CALLS.search(before) or _LINE_FOLLOWS.match(after))


def _counting(groups: list[str]) -> bool:
    if len(groups) < 3 or max(map(len, groups)) > 2:
        return False
    steps = {int(b) - int(a) for a, b in pairwise(groups)}
    return steps in ({1}, {-1})
