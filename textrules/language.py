"""Which language a text is written in: chooses a reply's language and holds back replies in the wrong one.

Script first (it decides Greek, Hebrew, Hindi, Korean, … alone), then common words, elisions and letters. Made for chat:
short, unaccented, misspelled. It prefers None to a guess, because a wrong answer here puts a person before a text they
cannot read. The word lists are everyday function words and the words people use about themselves; a word that several
languages share counts little for each. Words that were counted (words_by_language.toml, scripts/language-words) say
less than those listed by hand, and may be of any subject: a short message ("perdí toda esperanza") may have no others.
"""

import re
import tomllib
from collections.abc import Collection, Mapping
from importlib.resources import files

from textrules.language_words import CYRILLIC, LATIN, LETTERS, RARE, WORD_ENDS

_SAMPLE = 2000  # characters looked at; more never changes the answer and would cost time
_ENOUGH = 0.68  # one word that only one language has
_MARGIN = 0.72  # the second best must stay below this share of the best
_COUNTED = 0.6  # what a counted word says, beside 1.0 of a listed one: one alone, which may be a name, is not enough
_LIKELY, _LIKELY_MARGIN = 0.3, 0.8  # the same two for a choice among few languages
_KIN = frozenset({"es", "pt"})  # who writes one reads the other more easily than a third
_OWNERS = 6  # a word that more languages have says nothing
_COVERAGE = 0.11  # score per word below which a longer text is in some other language


_ELISIONS = re.compile(
    r"(?:(?P<fr>[jcnstm]|qu|jusqu|lorsqu|puisqu)|(?P<both>[ld])|(?P<it>un|dell|all|nell|quest|c)|.*)'.*"
)
_ENDINGS = re.compile(r".*(?:n't|'(?:s|m|re|ve|ll|d))")
_WORD = re.compile(r"[a-z\xdf-\xf6\xf8-\u024f\u1e00-\u1eff]+(?:['-][a-z\xdf-\xf6\xf8-\u024f\u1e00-\u1eff]+)*")
_CYRILLIC_WORD = re.compile(r"[\u0400-\u04ff]+(?:'[\u0400-\u04ff]+)*")
_PLAIN = str.maketrans(
    "áàâãäåçéèêëíìîïñóòôõöúùûüýÿăąćčďęěğıłńňőřśşșšťţțůűźżž", "aaaaaaceeeeiiiinooooouuuuyyaaccdeegilnnorsssstttuuzzz"
)
_DEVANAGARI_WORD = re.compile(r"[\u0900-\u0963\u0971-\u097f]+")
_MARATHI = re.compile("आहे.*|नाही(?:ये|त)?|मला|आणि|माझ्या|माझे|माझी|नको")
_NEPALI = re.compile("छु|छैनन?्?|हुन्छ|लाग्छ|तपाईं|.+(?:न्छु|र्छु|क्छु|न्छ)")
_OTHER_CYRILLIC = re.compile("[ўђјљњћџәғқңөұүһ]")
_UKRAINIAN, _RUSSIAN = re.compile("[іїєґ]"), re.compile("[ыэё]")
_MARKS = re.compile("[’‘ʼ´`]")
_WEB = re.compile(r"(?:https?://|www\.)\S+|\.(?:com|org|net)\b")  # "com" is a Portuguese word

_BLOCKS: tuple[tuple[int, int, str], ...] = (
    (0x0060, 0x007F, "latin"), (0x00D0, 0x024F, "latin"), (0x0370, 0x03FF, "el"), (0x0400, 0x052F, "cyrillic"),
    (0x0530, 0x058F, "hy"), (0x0590, 0x05FF, "he"), (0x0600, 0x06FF, "arabic"), (0x0750, 0x077F, "arabic"),
    (0x0900, 0x097F, "devanagari"), (0x0980, 0x09FF, "bn"), (0x0A00, 0x0A7F, "pa"), (0x0A80, 0x0AFF, "gu"),
    (0x0B80, 0x0BFF, "ta"), (0x0C00, 0x0C7F, "te"), (0x0C80, 0x0CFF, "kn"), (0x0D00, 0x0D7F, "ml"),
    (0x0D80, 0x0DFF, "si"), (0x0E00, 0x0E7F, "th"), (0x0E80, 0x0EFF, "lo"), (0x1000, 0x109F, "my"),
    (0x10A0, 0x10FF, "ka"), (0x1100, 0x11FF, "ko"), (0x1200, 0x137F, "am"), (0x1780, 0x17FF, "km"),
    (0x1E00, 0x1EFF, "latin"), (0x3040, 0x30FF, "ja"), (0x3130, 0x318F, "ko"), (0x3400, 0x4DBF, "han"),
    (0x4E00, 0x9FFF, "han"), (0xAC00, 0xD7AF, "ko"), (0xFB50, 0xFDFF, "arabic"),
)  # fmt: skip
_SCRIPT_OF = {part: name for start, end, name in _BLOCKS for part in range(start >> 4, (end >> 4) + 1)}
_MIXED = re.compile(r"[a-z\xdf-\u024f\u3040-\u30ff]")
_FOREIGN = re.compile(r"[\u0370-\u1dff\u3040-\ud7af\ufb50-\ufdff]")

Votes = Mapping[str, tuple[tuple[str, float], ...]]


def unaccented(word: str) -> str:
    """The word as it is typed without accents, which is looked up, too."""
    return word.translate(_PLAIN)


def _owners(lists: Mapping[str, str], *, plain: bool) -> dict[str, dict[str, float]]:
    """The languages that list each word, with what each claims of it."""
    owners: dict[str, dict[str, float]] = {}
    for language, listed in lists.items():
        spellings = set(listed.split())
        if plain and language != "vi":
            spellings |= {unaccented(w) for w in spellings if len(w) > 2}
        for word in sorted(spellings):
            owners.setdefault(word, {})[language] = 1.0
    return owners


def _votes(listed: Mapping[str, Mapping[str, float]], among: Collection[str], *, plain: bool) -> Votes:
    """What each word says, listed or counted; of the counted ones those of the languages `among`."""
    owners = {word: dict(claims) for word, claims in listed.items()}
    for word, claims in _owners({who: _COUNTED_WORDS[who] for who in among}, plain=plain).items():
        own = owners.setdefault(word, {})
        claim = _COUNTED if not own or "en" in own else 1.0
        for language in claims:
            own.setdefault(language, claim)
    return {word: _shares(word, claims) if len(claims) <= _OWNERS else () for word, claims in owners.items()}


def _shares(word: str, owners: Mapping[str, float]) -> tuple[tuple[str, float], ...]:
    """What a word says for each language that has it: less where several do, least for the ones rarely met here."""
    whole = 0.3 if len(word) == 1 else 0.6 if len(word) == 2 else 1.0
    claim = {who: own * (0.35 if who in RARE and not RARE.issuperset(owners) else 1.0) for who, own in owners.items()}
    return tuple((who, whole * claim[who] / max(1.0, sum(claim.values())) ** 1.2) for who in owners)


_COUNTED_WORDS: Mapping[str, str] = tomllib.loads(
    (files("textrules") / "words_by_language.toml").read_text(encoding="utf-8")
)
_LISTED = _owners(LATIN, plain=True)
_WORDS = _votes(_LISTED, [who for who in _COUNTED_WORDS if who not in CYRILLIC], plain=True)
_LISTED_CYRILLIC = _owners(CYRILLIC, plain=False)
_CYRILLIC_WORDS = _votes(_LISTED_CYRILLIC, [who for who in _COUNTED_WORDS if who in CYRILLIC], plain=False)
_ENDS = {
    end: tuple((who, 0.4 / len(langs)) for who in langs)
    for end in {e for ends in WORD_ENDS.values() for e in ends.split()}
    if (langs := [who for who, ends in WORD_ENDS.items() if end in ends.split()])
}
_LETTER_VOTES = {
    char: tuple((who, 0.8 / sum(char in own for own in LETTERS.values())) for who in LETTERS if char in LETTERS[who])
    for char in set("".join(LETTERS.values()))
}
_MARKED = re.compile(f"[{''.join(_LETTER_VOTES)}]")


def identify(text: str) -> str | None:
    """The ISO 639-1 code of the language of `text`, or None when unsure: too short, only a name, or not known here."""
    sample = _WEB.sub(" ", text[:_SAMPLE].lower())
    if not sample.isascii():
        sample = _MARKS.sub("'", sample)
        if foreign := _FOREIGN.search(sample):
            return _by_script(sample, foreign[0])
    return _latin(sample)


def words(text: str) -> list[str]:
    """The words of a text in Latin or Cyrillic letters, as they are looked up."""
    sample = _plain_marks(text)
    return _WORD.findall(sample) + _CYRILLIC_WORD.findall(sample)


def _plain_marks(text: str) -> str:
    """In lower case, with one kind of apostrophe and without addresses."""
    return _MARKS.sub("'", _WEB.sub(" ", text.lower()))


def hand_listed() -> dict[str, set[str]]:
    """The words that are listed by hand, with the languages that they are listed for."""
    return {word: set(owners) for word, owners in (*_LISTED.items(), *_LISTED_CYRILLIC.items())}


def likely(text: str, among: Collection[str]) -> str | None:
    """The likeliest of these languages for a text in Latin letters that `identify` is not sure of; None where nothing
    speaks for one. Only for choosing between languages that the reader of the text knows anyway.
    """
    scores, number = _latin_scores(_plain_marks(text[:_SAMPLE]))
    ranked = sorted((-scores.get(one, 0.0), one) for one in among)
    language, best = ranked[0][1], -ranked[0][0]
    second = max((-score for score, one in ranked[1:] if {language, one} != _KIN), default=0.0)
    return language if number and best >= _LIKELY and second < _LIKELY_MARGIN * best else None


def _by_script(sample: str, first: str) -> str | None:
    alone = not _MIXED.search(sample)  # no Latin letter, and nothing Japanese among the Han: the first letter tells all
    script = _SCRIPT_OF.get(ord(first) >> 4) if alone else _script(sample)
    if script == "latin":
        return _latin(sample)
    if script == "cyrillic":
        return _cyrillic(sample)
    if script == "arabic":
        return _arabic(sample)
    if script == "devanagari":
        return _devanagari(sample)
    return "zh" if script == "han" else script


def _script(sample: str) -> str | None:
    """The script that most of the letters are in; two of its letters weigh as much as seven Latin ones."""
    chars = set(sample)
    present = {name for part in {ord(char) >> 4 for char in chars} if (name := _SCRIPT_OF.get(part))}
    if len(present) == 1:
        return present.pop()
    counts = dict.fromkeys(present, 0)
    for char in chars:
        if name := _SCRIPT_OF.get(ord(char) >> 4):
            counts[name] += sample.count(char)
    latin = counts.pop("latin", 0)
    if "ja" in counts and counts["ja"] * 8 > counts.get("han", 0):
        counts["ja"] += counts.pop("han", 0)
    name = max(counts, key=lambda script: counts[script], default="latin")
    return name if counts.get(name, 0) * 3.5 > latin else "latin"


def _latin(sample: str) -> str | None:
    return _best(*_latin_scores(sample))


def _latin_scores(sample: str) -> tuple[dict[str, float], int]:
    """What speaks for each language, and the number of words."""
    found = _WORD.findall(sample)
    scores: dict[str, float] = {}
    for word in found:
        votes = _WORDS.get(word)
        if votes is None:
            votes = _elided(word) if "'" in word else (_ENDS.get(word[-4:]) or _ENDS.get(word[-3:], ()))
        for language, weight in votes:
            scores[language] = scores.get(language, 0.0) + weight
    if not sample.isascii():
        for char in set(_MARKED.findall(sample)):
            for language, weight in _LETTER_VOTES[char]:
                scores[language] = scores.get(language, 0.0) + weight
    return scores, len(found)


def _elided(word: str) -> tuple[tuple[str, float], ...]:
    head = _ELISIONS.fullmatch(word)
    if head and head["both"]:
        return (("fr", 0.4), ("it", 0.3), ("ca", 0.2))
    if head and head.lastgroup:
        return ((head.lastgroup, 0.7),)
    return (("en", 0.6),) if _ENDINGS.fullmatch(word) else ()


def _best(scores: Mapping[str, float], number: int) -> str | None:
    if not scores:
        return None
    ranked = sorted(scores.items(), key=lambda item: -item[1])
    language, best = ranked[0]
    second = ranked[1][1] if len(ranked) > 1 else 0.0
    enough = best >= _ENOUGH and best >= _COVERAGE * number
    return language if enough and second < _MARGIN * best else None


def _cyrillic(sample: str) -> str | None:
    if other := _OTHER_CYRILLIC.search(sample):
        return "be" if other[0] == "ў" else "sr" if other[0] in "ђјљњћџ" else "kk"
    found = _CYRILLIC_WORD.findall(sample)
    scores = {"ru": 0.0, "uk": 0.0, "bg": 0.0}
    for word in found:
        for language, weight in _CYRILLIC_WORDS.get(word) or _cyrillic_end(word):
            scores[language] += weight
    scores["uk"] += 2.5 * (_UKRAINIAN.search(sample) is not None)
    scores["ru"] += 2.5 * (_RUSSIAN.search(sample) is not None)
    scores["bg"] += 0.5 * ("ъ" in sample)
    best = _best(scores, len(found))
    return best or ("ru" if len(found) >= 3 and scores["ru"] >= max(scores.values()) else None)


def _cyrillic_end(word: str) -> tuple[tuple[str, float], ...]:
    if word.endswith("тися"):
        return (("uk", 0.7),)
    return (("ru", 0.4),) if len(word) > 4 and word.endswith(("тся", "ать", "ить")) else ()


def _devanagari(sample: str) -> str:
    """By whole words: "हमला" ends as the Marathi for "to me" does, "कलाई" as a Nepali object; "छ:" is a Hindi six."""
    found = _DEVANAGARI_WORD.findall(sample)
    if any(map(_MARATHI.fullmatch, found)):
        return "mr"
    return "ne" if any(map(_NEPALI.fullmatch, found)) else "hi"


def _arabic(sample: str) -> str:
    if any(char in sample for char in "ٹڈڑےںھ"):
        return "ur"
    return "fa" if any(char in sample for char in "پچژگ") or "می‌" in sample or "هستم" in sample else "ar"
