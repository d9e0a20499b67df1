"""Reads what is written in disguise: leetspeak, spaced and dotted letters, stretched words, misspellings, slang, emoji.

Only words that matter to the rules are read, from the closed lists of disguises.toml: disguise alone means nothing.
`unmasked` gives the edits that turn the plain reading into the meant one; `textrules.normalise` keeps the positions.
"""

import re
import tomllib
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.resources import files
from itertools import product
from string import ascii_lowercase
from typing import NamedTuple

from textrules.database import Database

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
    ordered: tuple[str, ...]
    small: frozenset[str]
    meant: dict[str, str]
    emoji: dict[str, str]


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
    return _Lists(lexicon, tuple(raw["words"]), frozenset(raw["small"]), slips | raw["meant"], raw["emoji"])


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
    if not meant.keys().isdisjoint(_WORD.findall(text)) and (
        not meant.keys().isdisjoint(text.split()) or any(c in text for c in ".,!?") or " " not in text
    ):
        edits += [
            (m.start(), m.end(), meant[m[0]])
            for m in _WORD.finditer(text)
            if m[0] in meant and not _unit(text, m.start())
        ]
    if not text.isascii() or _hints().scan(text.encode()):
        edits += _tricks(text)
    return _apart(edits)


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
    if not text.isascii():
        emoji = _lists().emoji
        yield from ((at, at + 1, f" {emoji[char]} ") for at, char in enumerate(text) if char in emoji)


def _spaced(said: str) -> str:
    letters = re.sub(r"[^\w]|_", "", said)
    return _split(letters) or _split(_leet(letters))


def _split(letters: str) -> str:
    """The letters as words of the list, longest first; empty if they cannot be read so."""
    words: list[str] = []
    while letters:
        for size in range(min(len(letters), 10), 0, -1):
            if letters[:size] in _lists().lexicon or letters[:size] in _lists().small:
                words.append(letters[:size])
                letters = letters[size:]
                break
        else:
            return ""
    return " ".join(words) if any(word in _lists().lexicon for word in words) else ""


def _inner(said: str) -> str:
    letters = re.sub(r"[^a-z]", "", said)
    return letters if letters in _lists().lexicon else ""


@lru_cache(maxsize=2048)
def _leet(said: str) -> str:
    """The word of the list that is meant, trying every reading of each sign; a starred letter stands for any."""
    if len(said) > 14:
        return ""
    choices = [_LEET.get(char, char) for char in said]
    if sum(len(choice) > 1 for choice in choices) <= 4:
        for reading in map("".join, product(*choices)):
            if reading in _lists().lexicon or reading in _lists().meant:
                return _lists().meant.get(reading, reading)
    if any(char in _WILD for char in said) and sum(char in _WILD for char in said) <= len(said) // 2:
        shape = re.compile("".join("[a-z]" if char in _WILD else re.escape(char) for char in said))
        return next((word for word in _lists().ordered if shape.fullmatch(word)), "")
    return ""


@lru_cache(maxsize=2048)
def _longer(said: str) -> str:
    if not (runs := re.split(r"(([a-z])\2{2,})", said))[1:]:
        return ""
    pieces = [[piece] for piece in runs[::3]]
    doubled = runs[2::3]
    for mask in product((1, 2), repeat=min(len(doubled), 6)):
        word = pieces[0][0] + "".join(c * n + p[0] for c, n, p in zip(doubled, mask, pieces[1:], strict=False))
        if word in _lists().lexicon or word in _lists().meant:
            return _lists().meant.get(word, word)
    return re.sub(r"([a-z])\1{2,}", r"\1", said)


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
