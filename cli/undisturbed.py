"""A change that takes a while and must be whole or not at all: one command at a time, and no signal in the middle."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import IO

from cli.console import Failure

_ENDS = ("SIGINT", "SIGTERM", "SIGHUP")  # Windows has no SIGHUP


class Ended(Failure):
    """A signal asked this command to end. The status is a shell's own for it: 128 and the signal's number."""


class Signals:
    """Those that would end this command: from `noted` on they are kept, and heeded where the command asks."""

    def __init__(self) -> None:
        self._came: int | None = None

    def heed(self) -> None:
        """Raises Ended if one came meanwhile."""
        if self._came is not None:
            raise Ended(f"ended by {signal.Signals(self._came).name}", 128 + self._came)

    def note(self, number: int, _: FrameType | None) -> None:
        self._came = number


@contextmanager
def noted() -> Iterator[Signals]:
    """Ctrl-C, SIGTERM and SIGHUP end nothing in here. One that is ignored already (nohup) stays so."""
    signals, before = Signals(), {}
    for name in _ENDS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, signals.note)
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def alone(file: Path, what: str) -> Iterator[None]:
    """One process at a time for this file, where the system has file locks; `what` names the command. Raises Failure.

    The lock is a hidden file beside it, which goes at the end. One that a killed process left holds nobody up.
    """
    try:
        import fcntl  # not on Windows
    except ImportError:
        yield
        return
    real = file.resolve()
    guard = real.with_name(f".{real.name}.guard")
    with _opened(guard) as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if guard.stat().st_ino != os.fstat(held.fileno()).st_ino:
                raise BlockingIOError  # it belonged to one that has just ended
        except (BlockingIOError, FileNotFoundError):
            raise Failure(f"{file}: another {what} is at it; try again when that one has ended") from None
        try:
            yield
        finally:
            with suppress(OSError):
                guard.unlink()


def _opened(guard: Path) -> IO[bytes]:
    try:
        return guard.open("ab")
    except OSError as error:
        raise Failure(f"{guard}: cannot be written: {error.strerror}") from None
