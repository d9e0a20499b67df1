"""What is written down of answers: counts of referrals, and, where an operator asks for it, one line for each.

Nothing of this waits for a disk: it is gathered in memory and written by a task of its own. What cannot be written is
tried again, within bounds, and no answer knows of it.
"""

import asyncio
import datetime
import json
import logging
import os
import threading
from collections import Counter, deque
from pathlib import Path
from typing import Any

from serving.referrals import FILE_NAME, How, Period, ReferralsError, Report, Row, add, read

AUDIT_NAME = "audit.jsonl"
FLUSH_S = 5.0
MOST_LINES = 10_000

logger = logging.getLogger("crisis")


class Records:
    """referrals, audit: whether they are kept. `run` writes until cancelled; `close` writes what is left."""

    def __init__(self, folder: Path, *, referrals: bool = True, audit: bool = False) -> None:
        self._folder = folder
        self._referrals = referrals
        self._audit = audit
        self._lock = threading.Lock()
        self._counts: Counter[Row] = Counter()
        self._lines: deque[bytes] = deque(maxlen=MOST_LINES)
        self._failing = False
        self.failures = 0
        self.dropped = 0

    @property
    def waiting(self) -> int:
        """Counts and lines that are not written yet."""
        return sum(self._counts.values()) + len(self._lines)

    def referral(self, level: str, how: How) -> None:
        """An answer with the lines of a crisis service reached its caller."""
        if self._referrals:
            with self._lock:
                self._counts[_today(), level, how] += 1

    def answered(self, facts: dict[str, Any]) -> None:
        """An answer, as facts that hold no text."""
        if not self._audit:
            return
        line = json.dumps({"time": _now(), **facts}, separators=(",", ":")).encode() + b"\n"
        with self._lock:
            self.dropped += len(self._lines) == MOST_LINES
            self._lines.append(line)

    def report(self, period: Period) -> Report:
        """The counts of a period, with those that were not written yet. Raises ReferralsError."""
        self.flush()
        return read(self._folder / FILE_NAME, period)

    async def run(self) -> None:
        """Write every few seconds, in a thread."""
        while True:
            await asyncio.sleep(FLUSH_S)
            await asyncio.to_thread(self.flush)

    def flush(self) -> None:
        """Write what is waiting. Never raises: what failed waits for the next time."""
        problems = [problem for problem in (self._write_counts(), self._write_lines()) if problem]
        if problems and not self._failing:
            logger.error("records cannot be written, and are kept in memory: %s", "; ".join(problems))
        elif self._failing and not problems:
            logger.info("records are written again")
        self._failing = bool(problems)
        self.failures += len(problems)

    def _write_counts(self) -> str:
        with self._lock:
            counts, self._counts = self._counts, Counter()
        if not counts:
            return ""
        try:
            add(self._folder / FILE_NAME, counts)
        except ReferralsError as error:
            with self._lock:
                self._counts.update(counts)
            return str(error)
        return ""

    def _write_lines(self) -> str:
        """The file is opened each time, so that whoever rotates it need not tell us."""
        with self._lock:
            lines, self._lines = self._lines, deque(maxlen=MOST_LINES)
        if not lines:
            return ""
        path = self._folder / AUDIT_NAME
        try:
            _append(path, b"".join(lines))
        except OSError as error:
            with self._lock:
                self.dropped += max(0, len(lines) + len(self._lines) - MOST_LINES)
                self._lines = deque([*lines, *self._lines], maxlen=MOST_LINES)
            return f"{path}: {error.strerror}"
        return ""


def _append(path: Path, data: bytes) -> None:
    """All of it or nothing: half a line on a full disk would spoil the next one. Raises OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        before = os.fstat(descriptor).st_size
        if os.write(descriptor, data) < len(data):
            os.ftruncate(descriptor, before)
            raise OSError(28, "No space left on device")
    finally:
        os.close(descriptor)


def _today() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
