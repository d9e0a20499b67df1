"""From the bytes of tokens to text that may be passed on: whole characters only, and nothing of a stop string."""

import codecs
from collections.abc import Iterable


class Pieces:
    """feed bytes, get text; `stopped` is set when a stop string came, which is not passed on, nor anything after it.

    A character may be spread over several tokens: its bytes are held until it is whole. With skip_space, white space
    before the first word is dropped (the text given before it already ended in one).
    """

    def __init__(self, stop: Iterable[str] = (), *, skip_space: bool = False) -> None:
        self.stopped = False
        self._stop = tuple(mark for mark in stop if mark)
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._held = ""
        self._skip_space = skip_space

    def feed(self, data: bytes) -> str:
        return self._release(self._decode(data))

    def flush(self) -> str:
        """What was held, at the end of the reply. Half a character is dropped."""
        text = self._release("")
        held, self._held = self._held, ""
        return text + ("" if self.stopped else held)

    def _release(self, text: str) -> str:
        if self.stopped:
            return ""
        if self._skip_space:
            text = text.lstrip()
            self._skip_space = not text
        if not self._stop:
            return text
        return self._up_to_stop(self._held + text)

    def _up_to_stop(self, text: str) -> str:
        found = [at for at in (text.find(mark) for mark in self._stop) if at >= 0]
        if found:
            self.stopped, self._held = True, ""
            return text[: min(found)]
        keep = max(_overlap(text, mark) for mark in self._stop)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]


def _overlap(text: str, mark: str) -> int:
    """How many characters at the end of `text` may be the beginning of `mark`."""
    return next((n for n in range(min(len(text), len(mark) - 1), 0, -1) if text.endswith(mark[:n])), 0)
