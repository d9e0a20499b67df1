"""A compiled Hyperscan database, kept (see textrules.kept) where compiling it takes long."""

import threading
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import hyperscan

from textrules import kept
from textrules.rules import RuleError

_FLAGS = hyperscan.HS_FLAG_SINGLEMATCH | hyperscan.HS_FLAG_UTF8 | hyperscan.HS_FLAG_DOTALL
_CASELESS = hyperscan.HS_FLAG_CASELESS | hyperscan.HS_FLAG_UCP
_WORTH_KEEPING_S = 0.1


class Database:
    """Patterns that are scanned for all at once; `scan` may be called from any thread.

    `caseless` patterns match either case, and their classes hold the letters of all scripts.
    """

    def __init__(
        self,
        patterns: Sequence[str],
        *,
        literal: bool = False,
        caseless: bool = False,
        cached: bool = True,
        cache_dir: Path | None = None,
    ) -> None:
        self._database: hyperscan.Database | None = None
        self._here = threading.local()
        if not patterns:
            return
        flags = hyperscan.HS_FLAG_SINGLEMATCH if literal else _FLAGS | (_CASELESS if caseless else 0)
        file = (cache_dir or kept.folder()) / f"{_key(patterns, literal, flags)}.hsdb" if cached else None
        self._database = (_kept(file) if file else None) or _compiled(patterns, file, literal, flags)

    def scan(self, data: bytes) -> list[int]:
        """The numbers of the patterns that occur in `data`, which is UTF-8, each once."""
        found: list[int] = []
        if self._database is not None and data:
            note: Any = _note  # a plain function costs less a hit than a closure made for each scan
            self._database.scan(data, note, context=found, scratch=self._scratch())
        return found

    def _scratch(self) -> hyperscan.Scratch:
        """The memory that a scan works in: one for each thread."""
        try:
            scratch: hyperscan.Scratch = self._here.scratch
        except AttributeError:
            scratch = self._here.scratch = hyperscan.Scratch(self._database)
        return scratch


def _note(number: int, _start: int, _end: int, _flags: int, found: list[int]) -> None:
    found.append(number)


def _compiled(patterns: Sequence[str], file: Path | None, literal: bool, flags: int) -> hyperscan.Database:
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    began = time.monotonic()
    try:
        database.compile(
            expressions=[p.encode() for p in patterns],
            ids=list(range(len(patterns))),
            flags=[flags] * len(patterns),
            literal=literal,
        )
    except hyperscan.error as error:
        raise RuleError(f"a pattern cannot be compiled: {error}") from error
    if file and time.monotonic() - began > _WORTH_KEEPING_S:
        kept.write(file, hyperscan.dumpb(database))
    return database


def _kept(file: Path) -> hyperscan.Database | None:
    body = kept.read(file)
    try:
        return hyperscan.loadb(body, hyperscan.HS_MODE_BLOCK) if body is not None else None
    except hyperscan.error:
        return None  # made by another version of the library or for another processor


def _key(patterns: Sequence[str], literal: bool, flags: int) -> str:
    return kept.name(version("hyperscan"), str(int(flags)), str(literal), *patterns)
