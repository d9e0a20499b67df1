"""Server-sent events, as servers of language models write them: bytes in, the data of whole events out.

A stage with `feed` and `flush`, so that every way of cutting the bytes gives the same events. Comments (the pings of
llama.cpp) and fields we have no use for are dropped. An event that does not end is an error, not a reason to wait.
"""

import codecs

MAX_EVENT_CHARACTERS = 65_536
_LINE_ENDS = ("\r\n", "\n", "\r")
_DATA_FIELDS = ("data", "error")  # older llama.cpp servers tell of a failure in a field of its own


class BrokenEvents(ValueError):
    """What arrived are no server-sent events: not UTF-8, or one larger than any reply needs."""


class EventData:
    """feed bytes, get the data of the events that they complete, in order."""

    def __init__(self, *, most: int = MAX_EVENT_CHARACTERS) -> None:
        self._most = most
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("strict").decode
        self._rest = ""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> list[str]:
        """Raises BrokenEvents."""
        return self._take(self._decoded(chunk))

    def flush(self) -> list[str]:
        """What an event without its blank line held: a server that closes early may still have said all of it."""
        found = self._take(self._decoded(b"", final=True) + "\n\n")
        self._rest = ""
        return found

    def _decoded(self, chunk: bytes, *, final: bool = False) -> str:
        try:
            return self._decode(chunk, final)
        except UnicodeDecodeError:
            raise BrokenEvents("not UTF-8") from None

    def _take(self, text: str) -> list[str]:
        *lines, self._rest = _lines(self._rest + text)
        found = [event for line in lines if (event := self._line(line)) is not None]
        if len(self._rest) + sum(map(len, self._data)) > self._most:
            raise BrokenEvents("an event larger than any reply needs")
        return found

    def _line(self, line: str) -> str | None:
        if not line:
            data, self._data = self._data, []
            return "\n".join(data) if data else None
        name, _, value = line.partition(":")
        if name in _DATA_FIELDS:
            self._data.append(value.removeprefix(" "))
        return None


def _lines(text: str) -> list[str]:
    """The lines of a text, the last one unfinished. A "\\r" at the very end may be half of a line end."""
    held = "\r" if text.endswith("\r") else ""
    whole = text.removesuffix(held)
    for end in _LINE_ENDS:
        whole = whole.replace(end, "\n")
    *lines, rest = whole.split("\n")
    return [*lines, rest + held]
