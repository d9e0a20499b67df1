"""The readings of a sentence that rules are matched against: everything that somebody could take it to say.

The first is the plain one. More follow only where the text hides something: disguised words, contractions that a rule
wants in full, text in code.
"""

import re
import unicodedata
from typing import NamedTuple

from safety_filter.hidden import undo
from textrules.normalise import fold, views

START, END = "xbos ", " xeos"
MARKS = (START.strip(), END.strip())
LEADING = " \t\r\n\"'*-(_~•·–"
TRAILING = " \t\r\n\"'*_.!…。！)~"
_CONTRACTED = re.compile(r"(?<=[A-Za-z])['’](d|ll|ve)\b", re.IGNORECASE)
_IN_FULL = {"d": " would", "ll": " will", "ve": " have"}


class Readings(NamedTuple):
    """Every reading of a text, folded and marked, the plain one first; and whether a part of it is in code."""

    texts: tuple[str, ...]
    in_code: bool


def readings(sentence: str) -> Readings:
    """What rules are matched against. The marks are those of words_any.toml: a rule can ask for beginning and end."""
    plain = visible(sentence)
    texts = [_marked(view.text) for view in views(plain)]
    if _CONTRACTED.search(plain):
        spelled = _CONTRACTED.sub(lambda match: _IN_FULL[match[1].lower()], plain)
        texts.append(marked(spelled))
    undone = undo(sentence)
    texts += [marked(hidden) for hidden in undone.said]
    return Readings(tuple(dict.fromkeys(texts)), undone.in_code)


def marked(text: str) -> str:
    """The plain reading of `text` between the marks."""
    return _marked(fold(encodable(text)).text)


def visible(text: str) -> str:
    """What of `text` can be seen: no invisible characters, and no lone surrogates, which cannot be scanned."""
    if text.isascii():
        return text
    return "".join(char for char in encodable(text) if unicodedata.category(char) not in ("Cf", "Co", "Cn"))


def encodable(text: str) -> str:
    """Lone surrogates cannot be scanned; what they stood for is unreadable anyway."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _marked(folded: str) -> str:
    return f"{START}{folded.lstrip(LEADING).rstrip(TRAILING)}{END}"
