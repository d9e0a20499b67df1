"""Text in code: what a sentence says once undone, and whether it holds any code at all.

The filter judges what a reader would read, so whatever a reader could undo is undone before the rules see it: base64,
hex, binary, Morse, percent and HTML escapes, letter ciphers, leetspeak, text turned round or upside down. One scan
names the codes that a sentence may hold; only these are undone, over at most MOST_READ characters.
"""

import base64
import binascii
import codecs
import html
import re
from collections.abc import Callable, Iterator
from functools import cache
from string import ascii_lowercase
from typing import NamedTuple
from urllib.parse import unquote

from safety_filter.common_words import COMMON, GRAVE, latin_words
from textrules.database import Database
from textrules.language import identify

MOST_READ = 4000
_WORDS = COMMON | GRAVE
_ENOUGH_LETTERS = 0.6
_ROT13 = str.maketrans(ascii_lowercase, ascii_lowercase[13:] + ascii_lowercase[:13])
_ATBASH = str.maketrans(ascii_lowercase, ascii_lowercase[::-1])
_SHIFTS = tuple(str.maketrans(ascii_lowercase, ascii_lowercase[n:] + ascii_lowercase[:n]) for n in range(1, 26))
_ROT47 = str.maketrans({chr(c): chr(33 + (c + 14) % 94) for c in range(33, 127)})
_UPSIDE_DOWN = str.maketrans("ɐqɔpǝɟƃɓɥᴉıɾʞןʅɯuodbɹsʇnʌʍxʎz", "abcdefgghiijkllmnopqrstuvwxyz")
_LEET = str.maketrans("0345789@$+", "oeastbgast")
_MORSE = {
    ".-": "a", "-...": "b", "-.-.": "c", "-..": "d", ".": "e", "..-.": "f", "--.": "g", "....": "h", "..": "i",
    ".---": "j", "-.-": "k", ".-..": "l", "--": "m", "-.": "n", "---": "o", ".--.": "p", "--.-": "q", ".-.": "r",
    "...": "s", "-": "t", "..-": "u", "...-": "v", ".--": "w", "-..-": "x", "-.--": "y", "--..": "z",
}  # fmt: skip
_SIGNS = str.maketrans("·•∙–—−_", "...----")
_BYTES = re.compile(r"(?:(?:0x|\\x)?[0-9A-Fa-f]{2}[\s,:;-]{0,2}){6,}")
_BITS = re.compile(r"(?:[01]{7,8}[\s,]?){3,}")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{12,}={0,2}")
_DASHES = re.compile(r"(?:[.\-·•∙–—−_]{1,5}[ /|\n]{1,3}){3,}[.\-·•∙–—−_]{1,5}")
_COUNTED = re.compile(r"(?:\b\d{1,3}[\s,.\-]{1,2}){3,}\d{1,3}\b")
_ALIKE = "\u0370-\u058f\u13a0-\u13ff\u1c80-\u1c8f\u2c80-\u2cff\ua640-\ua69f"
# A Latin word with letters of a script that looks like it, letters that turn the writing round, tags that nobody sees.
_UNSEEN = re.compile(
    rf"[a-zA-Z\u00c0-\u024f][{_ALIKE}]|[{_ALIKE}][a-zA-Z\u00c0-\u024f]|[\u202d\u202e\U000e0001-\U000e007f]"
)
_LEETED = re.compile(r"(?<![\w@$])(?=[\w@$!|+]{0,24}[A-Za-z])(?=[\w@$!|+]{0,24}[0-9@$!|+])[\w@$!|+]{2,24}")


class _Code(NamedTuple):
    """A way of hiding text: where it can stand at all (Hyperscan, over lower case), how to undo it, and whether nothing
    written so is for a person in distress."""

    pattern: str
    undo: Callable[[str], Iterator[str]]
    opaque: bool


class Undone(NamedTuple):
    """What a text says once undone, one reading for each way that works; whether it cannot be read as it stands."""

    said: tuple[str, ...] = ()
    in_code: bool = False


def undo(text: str) -> Undone:
    """Undoes whatever the first MOST_READ characters hide; nothing for ordinary writing."""
    text = text[:MOST_READ]
    said: list[str] = []
    in_code = not text.isascii() and bool(_UNSEEN.search(text))
    for code in _present(text):
        found = list(code.undo(text))
        said += found
        in_code |= code.opaque and bool(found)
    words = latin_words(text)
    if len(words) > 1 and COMMON.isdisjoint(words) and identify(text) is None:
        found = list(_ciphers(text))
        said += found
        in_code |= bool(found)
    return Undone(tuple(said), in_code)


def _present(text: str) -> list[_Code]:
    return [_CODES[number] for number in _traits().scan(text.lower().encode("utf-8", "replace"))]


@cache
def _traits() -> Database:
    return Database([code.pattern for code in _CODES])


def _readable(text: str) -> bool:
    """Whether undone bytes are text that somebody wrote, and not chance."""
    letters = sum(char.isalpha() or char.isspace() for char in text)
    return len(text) > 2 and text.isprintable() and letters >= _ENOUGH_LETTERS * len(text)


def _base64(text: str) -> Iterator[str]:
    joined = re.sub(r"\s", "", text)
    for run in (*_BASE64.findall(text), *([joined] if _BASE64.fullmatch(joined) else [])):
        if run.islower() or run.isupper() or run.isdigit():  # a long word
            continue
        plain = run.rstrip("=").translate(str.maketrans("-_", "+/"))
        try:
            said = base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True).decode("utf-8")
        except (binascii.Error, UnicodeDecodeError):
            continue
        if _readable(said):
            yield said


def _hex(text: str) -> Iterator[str]:
    for run in _BYTES.findall(text):
        digits = re.sub(r"0x|\\x|[^0-9A-Fa-f]", "", run)
        yield from _as_text(bytes.fromhex(digits[: len(digits) // 2 * 2]))


def _binary(text: str) -> Iterator[str]:
    for run in _BITS.findall(text):
        groups = re.findall(r"[01]{7,8}", run) if re.search(r"[\s,]", run.strip()) else re.findall("[01]{8}", run)
        yield from _as_text(bytes(int(group, 2) for group in groups))


def _counted(text: str) -> Iterator[str]:
    """Letters given by their number: in ASCII, or in the alphabet."""
    for run in _COUNTED.findall(text):
        numbers = [int(number) for number in re.findall(r"\d+", run)]
        if all(31 < number < 127 for number in numbers):
            yield from _as_text(bytes(numbers))
        elif all(0 < number < 27 for number in numbers):
            said = "".join(ascii_lowercase[number - 1] for number in numbers)
            yield from (word for word in GRAVE if word in said)


def _as_text(data: bytes) -> Iterator[str]:
    said = data.decode("utf-8", "replace")
    if _readable(said):
        yield said


def _morse(text: str) -> Iterator[str]:
    for run in _DASHES.findall(text):
        signs = run.translate(_SIGNS)
        words = [[_MORSE.get(sign, "") for sign in word.split()] for word in re.split(r"\s*[/|\n]\s*|\s{2,}", signs)]
        said = " ".join("".join(word) for word in words)
        if len(said) > 3 and len(set(said)) > 2:
            yield said


def _escaped(text: str) -> Iterator[str]:
    """Percent, HTML and backslash escapes, quoted-printable."""
    said = html.unescape(unquote(text))
    said = re.sub(r"=([0-9A-F]{2})", lambda match: chr(int(match[1], 16)), said)
    said = re.sub(r"\\u\{?([0-9A-Fa-f]{4})\}?|\\x([0-9A-Fa-f]{2})", _character, said)
    if len(latin_words(said)) < len(latin_words(text)) or sum(map(str.isalpha, said)) > sum(map(str.isalpha, text)):
        yield said


def _character(match: re.Match[str]) -> str:
    return chr(int(match[1] or match[2], 16))


def _leet(text: str) -> Iterator[str]:
    for one in "il":
        said = _LEETED.sub(lambda match, one=one: _unleeted(match[0], one), text)  # type: ignore[misc] # a default
        if said != text:
            yield said


def _unleeted(word: str, one: str) -> str:
    if sum(char.isdigit() for char in word) * 2 > len(word):  # an amount with its unit
        return word
    return word.lower().translate(_LEET).replace("1", one).replace("!", "i").replace("|", one)


def _spaced(text: str) -> Iterator[str]:
    """Letters with gaps between them; wider gaps part the words."""
    words = re.split(r"\s{2,}|\s*[/|]\s*", text)
    if len(words) > 1:
        yield " ".join(re.sub(r"[\s.\-_*]", "", word) for word in words)
    yield re.sub(r"(?<=\b\w)[ .\-_*](?=\w\b)", "", text)


def _turned(text: str) -> Iterator[str]:
    """Reversed words that the rules know, each turned back; and the whole, for text that was turned as one."""
    yield text[::-1]
    yield re.sub(r"[^\W\d_]{3,}", lambda match: match[0] if match[0].lower() in _WORDS else match[0][::-1], text)


def _rotated(text: str) -> Iterator[str]:
    """Words in rot13 among plain ones."""
    yield re.sub(r"[^\W\d_]+", lambda m: m[0] if m[0].lower() in COMMON else codecs.decode(m[0], "rot13"), text)


def _upside_down(text: str) -> Iterator[str]:
    yield text.translate(_UPSIDE_DOWN)[::-1]


def _ciphers(text: str) -> Iterator[str]:
    """The readings of a text without any common word that give some, or a word that the rules know."""
    low = text.lower()
    tries = [low.translate(table) for table in (*_SHIFTS, _ATBASH)]
    tries += [text.translate(_ROT47).lower(), low[::-1], " ".join(word[::-1] for word in low.split())]
    for said in tries:
        if not _WORDS.isdisjoint(latin_words(said)) and _sense(said):
            yield said


def _sense(said: str) -> bool:
    """Whether enough of the words are words: among so many tries, one short word comes about by chance."""
    words = latin_words(said)
    known = [word for word in words if len(word) > 1 and word in _WORDS]
    sure = len(known) > 1 or any(len(word) > 5 for word in known)
    return sure and sum(map(len, known)) >= max(4, sum(map(len, words)) / 2)


def _any_of(words: list[str]) -> str:
    return rf"\b(?:{'|'.join(sorted(words))})\b"


_LONG_GRAVE = sorted(word for word in GRAVE if len(word) > 3)
_CODES = (
    _Code(r"[a-z0-9+/_\-]{12,}|[a-z0-9+/]{4,}=", _base64, opaque=True),
    _Code(r"(?:(?:0x|\\x)?[0-9a-f]{2}[\s,:;\-]{0,2}){6}", _hex, opaque=True),
    _Code(r"(?:[01]{7,8}[\s,]?){3}", _binary, opaque=True),
    _Code(r"(?:\d{1,3}[\s,.\-]{1,2}){3}\d", _counted, opaque=False),
    _Code(r"(?:[.\-\x{b7}\x{2022}\x{2219}\x{2013}\x{2014}\x{2212}_]{1,5}[ /|\n]{1,3}){3}", _morse, opaque=True),
    _Code(r"%[0-9a-f]{2}|&#?[a-z0-9]{2,8};|=[0-9a-f]{2}|\\u\{?[0-9a-f]{4}|\\x[0-9a-f]{2}", _escaped, opaque=True),
    _Code(r"[a-z][0-9@$!|+][a-z0-9]|\b[0-9@$][a-z][a-z0-9]", _leet, opaque=False),
    _Code(r"(?:\b[a-z][ .\-_*]{1,3}){5}[a-z]\b", _spaced, opaque=True),
    _Code(_any_of([word[::-1] for word in _LONG_GRAVE if word[::-1] not in _WORDS]), _turned, opaque=True),
    _Code(_any_of([word.translate(_ROT13) for word in _LONG_GRAVE]), _rotated, opaque=True),
    _Code(r"[\x{250}\x{254}\x{1dd}\x{25f}\x{183}\x{265}\x{279}\x{287}\x{28c}\x{28d}\x{28e}\x{29e}\x{5df}]",
          _upside_down, opaque=True),
)  # fmt: skip
