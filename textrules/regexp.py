"""One RE2 pattern over bytes: linear in the text, and called without re2's Python face, which costs twice the match.

Errors: re2.error
"""

import re2

_ANYWHERE = re2._Anchor.UNANCHORED  # gone after an upgrade of re2, this fails at import and not at a message
_MEMORY = 1 << 25


class Regexp:
    """`plain` patterns are read byte by byte, which makes a class one byte and the automaton a tenth."""

    __slots__ = ("_match", "_owner")

    def __init__(self, pattern: str, *, plain: bool) -> None:
        options = re2.Options()
        options.log_errors = False
        options.max_mem = _MEMORY
        options.never_capture = True
        if plain:
            options.encoding = re2.Options.Encoding.LATIN1
        self._owner = re2.compile(pattern.encode(), options)
        self._match = self._owner._regexp.Match

    def occurs(self, data: bytes) -> bool:
        """Whether the pattern matches anywhere."""
        return bool(self._match(_ANYWHERE, data, 0, len(data))[0][0] >= 0)

    def spans(self, data: bytes, most: int) -> list[tuple[int, int]]:
        """The first matches from left to right, as half-open spans that do not overlap; empty matches are left out."""
        found: list[tuple[int, int]] = []
        at, length = 0, len(data)
        for _ in range(most):
            start, end = self._match(_ANYWHERE, data, at, length)[0]
            if start < 0:
                break
            if start < end:
                found.append((start, end))
            at = end + 1 if end == at else end
            if at > length:
                break
        return found
