"""Drops what a model says again of a reply that had already begun, while the reply streams in.

A model that can't continue a given beginning is told of it, and some models then start by repeating it. Some servers
that can (llama.cpp's chat interfaces) send the beginning back, word for word, before they go on.
"""

import re
from dataclasses import dataclass

_SENTENCE = re.compile(r"[^.!?…。！？]*[.!?…。！？]+[^\w\s¿¡]*|[^.!?…。！？]+")
_ENDS = frozenset(".!?…。！？\n")
_OPENERS = frozenset("¿¡([{\"'“‘«*_")
_CLOSERS = frozenset(")]}\"'”’»*_")
_UNSURE = -1


class Echo:
    """A stage with `feed` and `flush`: drops the beginning itself where the reply starts with all of it, to the letter.

    Its last sentence may be unfinished, so nothing else could tell it from what goes on.
    """

    def __init__(self, prefix: str) -> None:
        self._left = prefix.rstrip()
        self._held = ""

    def feed(self, text: str) -> str:
        """What may go on of the text so far."""
        if not self._left:
            return text
        self._held += text
        if self._left.startswith(self._held):
            if self._held != self._left:
                return ""
            self._held = ""
        text, self._held = self._held.removeprefix(self._left), ""
        self._left = ""
        return text

    def flush(self) -> str:
        """What was held when the stream ended: less than the beginning, so no echo."""
        held, self._held = self._held, ""
        return held


class Continuation:
    """A stage with `feed` and `flush`. Holds text back only while it spells a sentence of the beginning.

    Whole sentences of the beginning are dropped where the reply starts with them, whatever their case or quotes.
    """

    def __init__(self, prefix: str) -> None:
        self._echo = Echo(prefix)
        self._sentences = _sentences(prefix)
        self._left = len(self._sentences)
        self._held = ""
        self._open = True
        self._trims = not prefix or prefix[-1].isspace()

    def feed(self, text: str) -> str:
        """What may go on of the text so far."""
        if not self._open:
            return text
        self._held += self._echo.feed(text)
        return self._release(final=False)

    def flush(self) -> str:
        """The rest, when the stream has ended."""
        self._held += self._echo.flush()
        return self._release(final=True) if self._open else ""

    def _release(self, *, final: bool) -> str:
        while self._left and (found := self._repeated(final=final)):
            if found == _UNSURE:
                return ""
            self._held = self._held[found:]
            self._left -= 1
            self._trims = True
        text = self._held.lstrip() if self._trims else self._held
        if not text and not final:
            return ""
        self._held, self._open = "", False
        return text

    def _repeated(self, *, final: bool) -> int:
        """Where a repeated sentence ends in the held text; 0 when there is none, _UNSURE when more text will tell."""
        ends = [_repeat(sentence, self._held, final=final) for sentence in self._sentences]
        return _UNSURE if _UNSURE in ends else max(ends, default=0)


@dataclass(frozen=True, slots=True)
class _Sentence:
    letters: str
    ended: bool


def _sentences(prefix: str) -> tuple[_Sentence, ...]:
    found = (_Sentence(_letters(s), any(c in _ENDS for c in s)) for s in _SENTENCE.findall(prefix))
    return tuple(dict.fromkeys(sentence for sentence in found if sentence.letters))


def _letters(text: str) -> str:
    return "".join(c for c in text.casefold() if c.isalnum())


def _repeat(sentence: _Sentence, text: str, *, final: bool) -> int:
    """Where the sentence ends, with its marks and blanks, in a text that begins with it; else 0, or _UNSURE."""
    end = _spelled(sentence.letters, text)
    if end > 0:
        end = _closed(text, end, ended=sentence.ended)
    if end == _UNSURE and final:
        return len(text) if _letters(text) == sentence.letters else 0
    return end


def _spelled(letters: str, text: str) -> int:
    place = 0
    for index, character in enumerate(text):
        letter = _letters(character)
        if not letters.startswith(letter, place):
            return 0
        place += len(letter)
        if place == len(letters):
            return index + 1
    return _UNSURE


def _closed(text: str, end: int, *, ended: bool) -> int:
    """The next sentence's beginning after `end`; 0 when the same sentence goes on, as in "I hear you, and …"."""
    closed = False
    for place in range(end, len(text)):
        character = text[place]
        if character.isalnum() or (closed and character in _OPENERS and text[place - 1].isspace()):
            return place if closed else 0
        closed = closed or not ended or character in _ENDS
        if not (closed or character in _OPENERS or character in _CLOSERS or character.isspace()):
            return 0
    return _UNSURE
