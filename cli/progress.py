"""How far a long run is, on standard error, and only while a terminal watches it."""

import sys
import time
from types import TracebackType
from typing import Self, TextIO

_EVERY_S = 0.2


class Progress:
    """`with Progress(watched=…) as progress: progress.step()`. Says nothing unless standard error is a terminal."""

    def __init__(self, *, watched: bool = True, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._on = watched and self._stream.isatty()
        self._began = self._said = time.monotonic()
        self._lines = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._on:
            self._write("\n")

    def step(self) -> None:
        """One line more is done."""
        self._lines += 1
        if self._on and time.monotonic() - self._said >= _EVERY_S:
            self._said = time.monotonic()
            self._write("")

    def _write(self, end: str) -> None:
        taken_s = max(time.monotonic() - self._began, 0.001)
        self._stream.write(f"\r{self._lines:,} lines, {taken_s:.1f} s, {self._lines / taken_s:,.0f} a second {end}")
        self._stream.flush()
