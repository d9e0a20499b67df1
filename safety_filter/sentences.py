"""Cuts a stream of text into sentences, so that each can be checked before a person sees any of it.

A sentence is complete only when the characters after it prove so, or at `flush`: every way of cutting the input gives
the same sentences, and joined together they are the input. No more than MAX_HELD characters are ever held back.
"""

import re

MAX_PIECE = 280
LOOKAHEAD = 16
MAX_HELD = MAX_PIECE + LOOKAHEAD
_BLANKS_SEEN = 8

_STOP = re.compile(r"[.!?…。！？｡]+[\"'”’»)\]}」』*_]*|\n")
_WORD_BEFORE = re.compile(r"[^\s\"'“‘«(\[*_]*$")
_NEVER_ENDS = frozenset(
    [
        "dr",
        "mr",
        "mrs",
        "ms",
        "st",
        "prof",
        "rev",
        "fr",
        "e.g",
        "i.e",
        "eg",
        "ie",
        "vs",
        "approx",
        "nr",
        "bzw",
        "z.b",
        "d.h",
        "sr",
        "sra",
        "srta",
        "dra",
        "ud",
        "uds",
        "p.ej",
        "mme",
        "mlle",
    ]
)
_SELDOM_ENDS = frozenset(["etc", "usw", "a.m", "p.m", "am", "pm", "u.s", "u.k", "ee.uu"])
_LIST_MARK = re.compile(r"(?:.*\n)?+[^\S\n]*+(?:\d{1,2}|[a-zA-Z])", re.DOTALL)
_SIGNS = frozenset(".-–—_/|·•")  # Morse: a dot that stands among such signs alone ends nothing
_WORDY = re.compile(r"\w[^\s]*$")
_ADDRESS = re.compile(r"://|www\.|@|\.\w+/", re.IGNORECASE)


class Sentences:
    """`feed` gives the sentences that are complete, `flush` the rest. Trailing blanks stay with their sentence."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> list[str]:
        self._held += text
        return self._take(final=False)

    def flush(self) -> list[str]:
        return self._take(final=True)

    def _take(self, *, final: bool) -> list[str]:
        pieces: list[str] = []
        start = 0
        while end := _first_end(self._held, start, final=final):
            pieces.append(self._held[start:end])
            start = end
        self._held = self._held[start:]
        return pieces


def _first_end(text: str, start: int, *, final: bool) -> int:
    """Where the sentence at `start` ends; 0 when that cannot be known yet, or nothing is left."""
    held = len(text) - start
    if not held:
        return 0
    limit = start + MAX_PIECE
    end = _stop(text, start, limit, final=final)
    if end is not None:
        return end
    if held >= MAX_HELD or (final and held > MAX_PIECE):
        return _word_end(text, start, limit)
    return len(text) if final else 0


def _stop(text: str, start: int, limit: int, *, final: bool) -> int | None:
    """The end of the first proven sentence, 0 to wait for more text, None when no stop lies before `limit`."""
    for mark in _STOP.finditer(text, start, limit + LOOKAHEAD):
        after = mark.end()
        if after > limit:
            return None
        if mark[0] == "\n":
            if text[start:after].isspace() or _announces(text, start, mark.start()):
                continue
            return after
        if not final and not _known(text, after):
            return 0 if len(text) - start < MAX_HELD else None
        if _ends(text, start, mark.start(), after):
            return after + 1 if text[after : after + 1].isspace() else after
    return None


def _announces(text: str, start: int, end: int) -> bool:
    """Whether the line is the lead-in of what follows: it is judged, and goes, with the first of it."""
    return text[start:end].rstrip().endswith((":", "："))


def _known(text: str, after: int) -> bool:
    """Whether the text goes on far enough behind a stop to tell what the stop is."""
    seen = text[after : after + _BLANKS_SEEN]
    return len(seen) == _BLANKS_SEEN or bool(seen.strip())


def _ends(text: str, start: int, stop: int, after: int) -> bool:
    mark = text[stop]
    if mark in "。！？｡" or after >= len(text):
        return True
    following = text[after]
    if following.isspace():
        return _ends_before_blank(text, start, stop, after)
    if following.isalnum():
        return _ends_before_letter(text, start, stop, following)
    return ord(following) > 0x2000


def _ends_before_blank(text: str, start: int, stop: int, after: int) -> bool:
    upcoming = text[after : after + _BLANKS_SEEN].lstrip()[:1]
    if upcoming in _SIGNS and not _WORDY.search(text, max(start, stop - 12), stop):
        return False
    run = text[stop:after].rstrip("\"'”’»)]}」』*_")
    if run[0] == "…" or run.startswith(".."):
        return not upcoming.islower()
    if run != ".":
        return True
    if _LIST_MARK.fullmatch(text, start, stop):
        return False
    word = _WORD_BEFORE.search(text, max(start, stop - 12), stop)
    last = word[0] if word else ""
    bare = last.lower()
    if bare == "no":
        return not upcoming.isdigit()
    if bare in _NEVER_ENDS:
        return False
    if bare in _SELDOM_ENDS:
        return not upcoming.islower()
    return not (len(last) == 1 and last.isupper() and last != "I" and upcoming.isupper())


def _ends_before_letter(text: str, start: int, stop: int, following: str) -> bool:
    """A stop with no blank behind it: the writer forgot it ("you.Are"), or it is part of a number or an address."""
    word = _WORD_BEFORE.search(text, max(start, stop - 60), stop)
    last = word[0] if word else ""
    if _ADDRESS.search(last + "."):
        return False
    if text[stop] in "!?":
        return following.isalpha()
    if text[stop] == "…" or text.startswith("..", stop):
        return following.isupper()
    return following.isupper() and len(last) > 1 and last[-1:].islower()


def _word_end(text: str, start: int, limit: int) -> int:
    for at in range(limit - 1, start, -1):
        if text[at].isspace():
            return at + 1
    return limit
