"""Reads what is written in disguise: leetspeak, spaced and dotted letters, stretched words, misspellings, slang, emoji.

Only known words are read, those of disguises.toml and of textrules.vocabulary: disguise alone means nothing.
`unmasked` gives the edits that turn the plain reading into the meant one; `textrules.normalise` keeps the positions.
"""

import re
import tomllib
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.resources import files
from itertools import groupby, product
from string import ascii_lowercase
from typing import NamedTuple

from textrules.database import Database
from textrules.vocabulary import known

Edit = tuple[int, int, str]  # half-open span of the plain reading, and what stands there instead

_PHRASES = re.compile(r"\b(?:sewer slide|s3wer slid[e3]|sue a side|soup a side|s word)\b")
_LEET = {
    "0": "o",
    "1": "il",
    "3": "e",
    "4": "a",
    "5": "s",
    "6": "g",
    "7": "t",
    "8": "b",
    "9": "g",
    "2": "z",
    "@": "a",
    "$": "s",
    "!": "i",
    "|": "il",
    "€": "e",
    "+": "t",
    "ı": "i",
    "£": "l",
    "(": "c",
    "¡": "i",
}
_CONFUSED = str.maketrans(
    "аеорсхуіјѕԁһкмтвнпгԛԝɡɩΙαερντοικυχγηωꞵßᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢłøđħ",
    "aeopcxyijsdhkmtbhnrqwgilaepvtoikuxynwbbabcdefghijklmnoprstuvwyzlodh",
)
_WILD = "*#_-%?^."
_DISGUISED = re.compile(
    r"(?<![\w@$!|*#])(?=\S{0,13}[a-z])(?=\S{0,13}[0-9@$!|*#%+€£^])[a-z0-9@$!|*#%+€£^]{3,14}(?![\w@$|*#])"
)
_SPACED = re.compile(r"(?<![^\W_])(?:[^\W_][ .\-_*|/,~+]{1,3}){3,40}[^\W_](?![^\W_])")
_INNER = re.compile(r"(?<![^\W_])[a-z]{1,9}(?:[.\-_*|/~][a-z]{1,9}){1,6}(?![^\W_])")
_LONGER = re.compile(r"(?<![a-z])[a-z]{3,120}(?![a-z])")
_WORD = re.compile(r"[a-z0-9]+")
_LETTERS = re.compile(r"(?<!\w)[a-z]{4,}(?!\w)")
_SIGNS = re.compile(r"(?<![\w@$!|+€£])[a-z0-9@$!|+€£]*[a-z0-9@$|+€£](?![\w@$|+€£])")
_MEASURE = re.compile(r"\d+(?:st|nd|rd|th|am|pm|m?g|kg|[ckm]?m|ml|yo|yrs?|mins?|h|hrs?|k|s|x|f|d|p|er|te|ter)")
_SIGN = r"[^\w\s\x00-\u2190\u3000-\u303f\uff00-\uffef]"
_PICTURE = re.compile(rf"(?<!{_SIGN}){_SIGN}++(?=\s*[^\W_])")  # each run is read once: a wall of pictures costs no more
_MIXED = re.compile(r"(?<!\S)\S{2,60}(?!\S)")
_HINT = "|".join(
    (
        "sewer sl|sue a side",
        *(letter * 3 for letter in ascii_lowercase),
        "[a-z][0-9@$!|*#%+^][a-z0-9]",
        r"(?:^|[\s\x1c-\x1f])[0-9@$][a-z]",
        r"[a-z][.\-_*|/~][a-z]",
        r"\b\w[ .\-_*|/,~+]{1,3}\w[ .\-_*|/,~+]{1,3}\w\b",
    )
)


class _Lists(NamedTuple):
    """disguises.toml as it is used."""

    lexicon: frozenset[str]
    by_length: dict[int, tuple[str, ...]]
    meant: dict[str, str]
    emoji: dict[str, str]
    done: dict[str, str]


@cache
def _hints() -> Database:
    """What no plain ASCII writing has. Anything beyond ASCII is a hint of its own."""
    return Database([_HINT], cached=False)


@cache
def _lists() -> _Lists:
    raw = tomllib.loads((files("textrules") / "disguises.toml").read_text(encoding="utf-8"))
    lexicon = frozenset((*raw["words"], *raw["long"]))
    real = frozenset(raw["real"]) | lexicon
    slips = {slip: word for word in raw["long"] for slip in _slips(word) if slip not in real}
    by_length = {length: tuple(words) for length, words in groupby(sorted(raw["words"], key=len), key=len)}
    return _Lists(lexicon, by_length, slips | raw["meant"], raw["emoji"], raw["done"])


def spelled() -> frozenset[str]:
    """Every word that something is unmasked to by a list."""
    lists = _lists()
    return frozenset(word for said in (*lists.lexicon, *lists.meant.values()) for word in said.split())


def _slips(word: str) -> Iterator[str]:
    for at in range(len(word)):
        if len(word) > 5:
            yield word[:at] + word[at + 1 :]
        yield word[: at + 1] + word[at:]
        if at + 1 < len(word):
            yield word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def unmasked(text: str) -> list[Edit]:
    """The edits, in order and apart from each other; none for a text without disguise."""
    edits: list[Edit] = []
    meant = _lists().meant
    words = _WORD.findall(text)
    if not meant.keys().isdisjoint(words) and (
        not meant.keys().isdisjoint(text.split()) or any(c in text for c in ".,!?") or " " not in text
    ):
        edits += [
            (m.start(), m.end(), meant[m[0]])
            for m in _WORD.finditer(text)
            if m[0] in meant and not _unit(text, m.start())
        ]
    edits += _slipped(text, words)
    if not text.isascii() or _hints().scan(text.encode()):
        edits += _tricks(text)
    return _apart(edits)


def _slipped(text: str, words: list[str]) -> Iterator[Edit]:
    """Slips of the finger in words that nobody knows, where most other words are known ones."""
    vocabulary, meant = known(), _lists().meant
    new = {word for word in vocabulary.unknown(words) if word not in meant and not word.isdigit()}
    if not new or 2 * len(new) > len(words):
        return
    slips = {word: said for word in new if (said := vocabulary.slip(word))}
    if slips:
        yield from ((m.start(), m.end(), slips[m[0]]) for m in _LETTERS.finditer(text) if m[0] in slips)


def _unit(text: str, at: int) -> bool:
    """Whether a number stands before the word: "5 kms" is a distance."""
    return text[:at].rstrip()[-1:].isdigit()


def _tricks(text: str) -> Iterator[Edit]:
    for match in _PHRASES.finditer(text):
        yield match.start(), match.end(), "suicide"
    for pattern, reader in _READERS:
        for match in pattern.finditer(text):
            meant = reader(match[0])
            if meant and meant != match[0]:
                yield match.start(), match.end(), meant
    yield from _leetspeak(text)
    if not text.isascii():
        yield from _pictures(text)
        yield from _confused(text)


def _pictures(text: str) -> Iterator[Edit]:
    """Pictures as the words that they stand for; those that only stand between words as nothing."""
    emoji, done = _lists().emoji, _lists().done
    yield from ((m.start(), m.end(), done[m[0]]) for m in _to_do().finditer(text))
    yield from ((at, at + 1, f" {emoji[char]} ") for at, char in enumerate(text) if char in emoji)
    for match in _PICTURE.finditer(text):
        if emoji.keys().isdisjoint(match[0]):
            yield match.start(), match.end(), " "


@cache
def _to_do() -> re.Pattern[str]:
    """A picture in the place of a verb."""
    return re.compile(f"(?<=\\bto )(?:{'|'.join(_lists().done)})")


def _confused(text: str) -> Iterator[Edit]:
    """Words all of whose letters look like Latin ones, in a text of Latin letters and of words that mix both."""
    if not any(map(_mixed, set(text.split()))):
        return
    for match in _ALIKE.finditer(text):
        plain = match[0].translate(_CONFUSED)
        if plain in known():
            yield match.start(), match.end(), plain


_ALIKE = re.compile(r"(?<!\w)[^\W\d_]+(?!\w)")
_LEETSPEAK = 3  # words in leetspeak make a text leetspeak, and its numbers words


def _leetspeak(text: str) -> list[Edit]:
    """Every word of a text that is leetspeak throughout: there "1" is a word, and no number."""
    signed = [match for match in _SIGNS.finditer(text) if not match[0].isalpha()]
    mixed = [match for match in signed if match[0].islower()]  # some letter among signs, which have no case
    meant = {word: known().best(_readings(word)) for word in {match[0] for match in signed}}
    read = sum(bool(meant[match[0]]) for match in mixed)
    if read < _LEETSPEAK or 2 * read < len(mixed):
        return []
    said = ((match, meant[match[0]] or _plainest(match[0])) for match in signed)
    return [(match.start(), match.end(), word) for match, word in said if word]


def _plainest(said: str) -> str:
    return "" if said.isdigit() else said.translate(_SIGNED)


def _readings(said: str) -> list[str]:
    """Each way to read the signs as letters; none where that would be too many."""
    ambiguous = sum(said.count(sign) for sign in _AMBIGUOUS)
    if not ambiguous:
        return [said.translate(_SIGNED)]
    if ambiguous > _MOST_AMBIGUOUS:
        return []
    return list(map("".join, product(*(_LEET.get(char, char) for char in said))))


_SIGNED = str.maketrans({sign: letters[0] for sign, letters in _LEET.items()})
_AMBIGUOUS = tuple(sign for sign, letters in _LEET.items() if len(letters) > 1)
_MOST_AMBIGUOUS = 4


@lru_cache(maxsize=2048)
def _spaced(said: str) -> str:
    """Spaced letters as known words; as one word where they are none, because nobody spells out a whole sentence."""
    letters = re.sub(r"[^\w]|_", "", said)
    if letters.isdigit():
        return ""
    words = known().split(letters) or _split(_leet(letters)) or (letters if letters.isalpha() else "")
    return " ".join(_lists().meant.get(word) or _longer(word) or word for word in words.split())


def _split(letters: str) -> str:
    """The letters of a list's word, as they stand."""
    return letters if letters in _lists().lexicon else ""


def _inner(said: str) -> str:
    """A word with marks between its letters or, of a listed one, between its parts."""
    letters = re.sub(r"[^a-z]", "", said)
    apart = len(said) - len(letters) >= len(letters) - 2 > 1
    return letters if letters in _lists().lexicon or (apart and letters in known()) else ""


_SURE = 4  # characters: three signs and letters are a grade, a gate or a size as often as a word


@lru_cache(maxsize=2048)
def _leet(said: str) -> str:
    """The word of the list that is meant, trying every reading of each sign; a starred letter stands for any."""
    if len(said) > 14:
        return ""
    lists, readings = _lists(), _readings(said)
    for reading in readings:
        if reading in lists.lexicon or reading in lists.meant:
            return lists.meant.get(reading, reading)
    if len(said) >= _SURE and not _MEASURE.fullmatch(said) and (word := known().best(readings)):
        return word
    if 0 < sum(map(said.count, _WILD)) <= len(said) // 2:
        alike = [word for word in lists.by_length.get(len(said), ()) if said[0] in (word[0], *_WILD)]
        return next((word for word in alike if all(a == b or a in _WILD for a, b in zip(said, word, strict=True))), "")
    return ""


_MOST_STRETCHED = 6  # letters of a word that may each be meant once or twice


@lru_cache(maxsize=2048)
def _longer(said: str) -> str:
    if not (runs := re.split(r"(([a-z])\2{2,})", said))[1:]:
        return ""
    readings = [runs[0]]
    for number, (letter, piece) in enumerate(zip(runs[2::3], runs[3::3], strict=True)):
        times = (1, 2) if number < _MOST_STRETCHED else (1,)
        readings = [reading + letter * often + piece for reading in readings for often in times]
    if word := next((one for one in readings if one in _lists().lexicon or one in _lists().meant), ""):
        return _lists().meant.get(word, word)
    return known().best(readings) or re.sub(r"([a-z])\1{2,}", r"\1", said)


def _mixed(said: str) -> str:
    if said.isascii():
        return ""
    plain = said.translate(_CONFUSED)
    core = re.sub(r"^\W+|\W+$", "", plain)
    return (
        plain
        if plain != said and plain.isascii() and (core in _lists().lexicon or any("a" <= c <= "z" for c in said))
        else ""
    )


_READERS = ((_SPACED, _spaced), (_DISGUISED, _leet), (_INNER, _inner), (_LONGER, _longer), (_MIXED, _mixed))


def _apart(edits: list[Edit]) -> list[Edit]:
    """In order, and of two that overlap the longer one."""
    kept: list[Edit] = []
    for edit in sorted(edits, key=lambda one: (one[0], one[0] - one[1])):
        if not kept or edit[0] >= kept[-1][1]:
            kept.append(edit)
        elif edit[1] - edit[0] > kept[-1][1] - kept[-1][0]:
            kept[-1] = edit
    return kept
