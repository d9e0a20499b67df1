"""Turns what was typed into what a reader reads, and maps every position back to the original.

Conventions that rule authors rely on: lower case; no diacritics on Latin letters; apostrophes inside a word are gone
("can't" -> "cant", "I'm" -> "im"); every dash is "-", every quote '"'; zero-width characters are gone.
"""

import bisect
import re
import sys
import unicodedata
from dataclasses import dataclass

from textrules.unmask import Edit, unmasked

_APOSTROPHES = "'’‘ʼ`´‛′＇ꞌ"
_QUOTES = "“”„‟«»″＂"
_DASHES = "‐‑‒–—―−－"


@dataclass(frozen=True, slots=True)
class View:
    """One reading of a text. `cuts` holds (view index, total shift) wherever characters were left out before it.

    A reading that says other words holds `blocks`, (start, end, start and end in the base) of each replaced stretch,
    and the `base` view that it was made from.
    """

    text: str
    cuts: tuple[tuple[int, int], ...] = ()
    blocks: tuple[tuple[int, int, int, int], ...] = ()
    base: "View | None" = None

    def origin(self, index: int) -> int:
        """The position in the original text of the view's character at `index`."""
        if not self.cuts:
            return index
        at = bisect.bisect_right(self.cuts, (index, sys.maxsize)) - 1
        return index if at < 0 else index + self.cuts[at][1]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The half-open span in the original text of the view's half-open span. A replaced word is taken whole."""
        if self.base is not None:
            first, last = self._in_base(start), self._in_base(max(start, end - 1))
            return self.base.span(first[0], max(first[1], last[1]))
        return self.origin(start), (self.origin(end - 1) + 1 if end > start else self.origin(start))

    def _in_base(self, index: int) -> tuple[int, int]:
        at = bisect.bisect_right(self.blocks, (index, sys.maxsize)) - 1
        if at < 0:
            return index, index + 1
        _, end, base_start, base_end = self.blocks[at]
        if index < end:
            return base_start, base_end
        there = base_end + index - end
        return there, there + 1


def _one_to_one() -> str:
    """Each character as it is folded, by its code: a string is asked faster than a dict that lacks most of them."""
    table: dict[int, str] = {}
    for code in range(0x20, 0x1FFFF):
        char = chr(code)
        if unicodedata.category(char) in ("Cs", "Cn", "Mn"):
            continue
        folded = "".join(c for c in unicodedata.normalize("NFKD", char) if unicodedata.category(c) != "Mn").lower()
        if len(folded) == 1 and folded != char and not 0xAC00 <= code <= 0xD7A3:
            table[code] = folded
    for chars, to in ((_APOSTROPHES, "'"), (_QUOTES, '"'), (_DASHES, "-")):
        table.update({ord(c): to for c in chars})
    table[0x0130] = "i"
    for first in (
        0x1F130,
        0x1F150,
        0x1F170,
        0x1F1E6,
    ):  # letters in squares and circles, and those that flags are made of
        table.update({first + n: chr(ord("a") + n) for n in range(26)})
    folded_by_code = list(map(chr, range(max(table) + 1)))
    for code, char in table.items():
        folded_by_code[code] = char
    return "".join(folded_by_code)


_TABLE = _one_to_one()
_DROPPED = re.compile(
    r"(?<=[\w\u0300-\u036f])'(?=\w)|[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff\u0300-\u036f"
    r"\u0640\u064b-\u065f\u0670\u093c]+"  # Arabic vowel marks, the Devanagari dot: written or left out at will
)

_DROPPED_ASCII = re.compile(r"'(?<=\w')(?=\w)")  # begins with a character, which is found faster than a position


def fold(text: str) -> View:
    """The plain reading of `text`. Every kept character stays one character, so offsets map back exactly."""
    if text.isascii():
        lowered = text.lower().replace("`", "'")
        if "'" not in lowered:
            return View(lowered)
        dropped = _DROPPED_ASCII
    else:
        lowered = text.translate(_TABLE)
        dropped = _DROPPED
    parts: list[str] = []
    cuts: list[tuple[int, int]] = []
    done = length = shift = 0
    for match in dropped.finditer(lowered):
        parts.append(lowered[done : match.start()])
        length += match.start() - done
        done = match.end()
        shift += match.end() - match.start()
        cuts.append((length, shift))
    if not cuts:
        return View(lowered)
    parts.append(lowered[done:])
    return View("".join(parts), tuple(cuts))


def views(text: str) -> tuple[View, ...]:
    """Every reading of `text`, the plain one first; more only where the text hides words from the plain one."""
    plain = fold(text)
    edits = unmasked(plain.text)
    return (plain, _rewritten(plain, edits)) if edits else (plain,)


def _rewritten(base: View, edits: list[Edit]) -> View:
    parts: list[str] = []
    blocks: list[tuple[int, int, int, int]] = []
    done = length = 0
    text = base.text
    for start, end, said in edits:
        parts += (text[done:start], said)
        length += start - done
        after = length + len(said)
        blocks.append((length, after, start, end))
        length = after
        done = end
    parts.append(text[done:])
    return View("".join(parts), (), tuple(blocks), base)
