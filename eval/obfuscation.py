"""Twelve ways in which people disguise what they write, each a pure function: the same text, the same disguise.

They are applied to whole messages and not only to the telling words, because whoever tests a detector does not know its
lists; a third of the words where the way of writing could not be read by a person if every word had it.
"""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from shield.assessment import Turn

_WORD = re.compile(r"[^\W\d_]+")
_LETTERS = 4  # a word of fewer is not spaced, stretched or misspelled: nobody would know it again
_THIRD = 3
_APOSTROPHES = "’‘ʼ`´′＇"
_LEET = str.maketrans("aeios", "43105")
_HOMOGLYPHS = str.maketrans("aeopcxyisjAEOPCTXBHKM", "аеорсхуіѕјАЕОРСТХВНКМ")
_MARKS = "\u0301\u0308\u0300\u0302\u0303"
_INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff"
_EMOJI = {
    "die": "💀", "dead": "💀", "death": "💀", "gun": "🔫", "pills": "💊", "knife": "🔪", "blood": "🩸", "sad": "😢",
    "crying": "😭", "heart": "💔", "sleep": "😴", "love": "❤️", "tired": "😮‍💨", "goodbye": "👋", "pray": "🙏",
}  # fmt: skip
_ALGOSPEAK = {
    "kill myself": "unalive myself", "killing myself": "unaliving myself", "kill himself": "unalive himself",
    "kill herself": "unalive herself", "killed himself": "unalived himself", "killed herself": "unalived herself",
    "suicide": "sewer slide", "suicidal": "sewerslidal", "want to die": "wtd", "kill": "unalive", "killed": "unalived",
    "killing": "unaliving", "self harm": "sh", "self-harm": "sh", "dead": "unalive", "die": "unalive",
    "died": "unalived", "sex": "seggs", "gun": "pew pew", "depressed": "depressd", "people": "ppl", "right now": "rn",
}  # fmt: skip
_PHRASE = re.compile(r"\b(" + "|".join(sorted(_ALGOSPEAK, key=len, reverse=True)) + r")\b", re.IGNORECASE)

Disguise = Callable[[str, random.Random], str]


@dataclass(frozen=True, slots=True)
class Obfuscation:
    """A way of disguise; `apply` needs no more than the text."""

    name: str
    disguise: Disguise

    def apply(self, text: str) -> str:
        """The disguised text. What it draws by lot it draws from the text itself, so that every run is the same."""
        return self.disguise(text, random.Random(f"{self.name}\0{text}"))  # noqa: S311 - a lot, no secret

    def turns(self, turns: Sequence[Turn]) -> tuple[Turn, ...]:
        """The conversation with every message of the person disguised; what the assistant said stays."""
        return tuple(Turn(one.role, self.apply(one.text)) if one.role == "user" else one for one in turns)


def _apostrophes(text: str, lot: random.Random) -> str:
    return re.sub("['’]", lambda _: lot.choice(_APOSTROPHES), text)


def _case(text: str, lot: random.Random) -> str:
    if lot.random() < 0.5:
        return text.upper()
    return "".join(char.upper() if at % 2 else char.lower() for at, char in enumerate(text))


def _elongated(word: str, lot: random.Random) -> str:
    at = max((n for n, char in enumerate(word) if char.lower() in "aeiouy"), default=len(word) - 1)
    return word[:at] + word[at] * lot.randint(3, 6) + word[at + 1 :]


def _spaced(word: str, lot: random.Random) -> str:
    return lot.choice((" ", ".", "-")).join(word)


def _misspelled(word: str, lot: random.Random) -> str:
    """One slip of the finger: two letters swapped, one left out, one doubled. The first letter stays."""
    at = lot.randrange(1, len(word) - 1)
    slips = (
        word[:at] + word[at + 1] + word[at] + word[at + 2 :],
        word[:at] + word[at + 1 :],
        word[: at + 1] + word[at:],
    )
    return lot.choice(slips)


def _full_width(text: str, lot: random.Random) -> str:
    return "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in text)


def _zero_width(text: str, lot: random.Random) -> str:
    return _WORD.sub(lambda match: _joined(match[0], lambda: lot.choice(_INVISIBLE)), text)


def _diacritics(text: str, lot: random.Random) -> str:
    return re.sub("[aeiounAEIOUN]", lambda match: match[0] + lot.choice(_MARKS), text)


def _emoji(text: str, lot: random.Random) -> str:
    """Words as pictures where there is one, and a picture after every fourth word."""
    words = [_EMOJI.get(word.lower().strip(".,!?"), word) for word in text.split(" ")]
    return " ".join(f"{word} {lot.choice('😭😂🙃💔✨')}" if n % 4 == 3 else word for n, word in enumerate(words))


def _joined(word: str, between: Callable[[], str]) -> str:
    return word[0] + "".join(between() + char for char in word[1:])


def _a_third(change: Disguise) -> Disguise:
    """The change at a third of a text's longer words of Latin letters, and at one word at least."""

    def changed(text: str, lot: random.Random) -> str:
        longer = [m for m in _WORD.finditer(text) if len(m[0]) >= _LETTERS and m[0].lower().isascii()]
        chosen = {m.start() for m in lot.sample(longer, -(-len(longer) // _THIRD))}
        return _WORD.sub(lambda m: change(m[0], lot) if m.start() in chosen else m[0], text)

    return changed


def _algospeak(text: str, lot: random.Random) -> str:
    return _PHRASE.sub(lambda match: _ALGOSPEAK[match[0].lower()], text)


_DISGUISES: Mapping[str, Disguise] = {
    "apostrophes": _apostrophes,
    "case": _case,
    "elongation": _a_third(_elongated),
    "spacing": _a_third(_spaced),
    "leetspeak": lambda text, _: text.lower().translate(_LEET),
    "homoglyphs": lambda text, _: text.translate(_HOMOGLYPHS),
    "full-width": _full_width,
    "zero-width": _zero_width,
    "diacritics": _diacritics,
    "emoji": _emoji,
    "misspellings": _a_third(_misspelled),
    "algospeak": _algospeak,
}

OBFUSCATIONS = tuple(Obfuscation(name, disguise) for name, disguise in _DISGUISES.items())
