"""JSON Lines in, JSON Lines out: a bad line becomes an error record with its number, and loses no other line."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from cli.console import Failure

Record = dict[str, Any]


class BadRecord(ValueError):
    """One line that cannot be used: what is missing or wrong in it. Names fields, never their text."""


def each(source: Path, target: Path | None, answer: Callable[[Record], Record]) -> None:
    """Answers every line of `source` into `target` (None: standard output). Failure at the end if lines were bad."""
    bad: list[int] = []
    with _reading(source) as lines, _writing(target) as out:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            record: Record = {}
            try:
                record = _parsed(line)
                result = answer(record)
            except BadRecord as error:
                bad.append(number)
                result = {"id": record.get("id"), "error": f"line {number}: {error}"}
            out.write(json.dumps(result, ensure_ascii=False) + "\n")
    if bad:
        named = ", ".join(map(str, bad[:5])) + (" …" if len(bad) > 5 else "")
        raise Failure(f"{source}: {len(bad)} lines could not be used (lines {named}); the output says why for each")


def _parsed(line: str) -> Record:
    try:
        record = json.loads(line)
    except (json.JSONDecodeError, RecursionError):
        raise BadRecord("not valid JSON") from None
    if not isinstance(record, dict):
        raise BadRecord("not a JSON object")
    return record


def string(record: Record, field: str) -> str:
    """A text field of a record, or BadRecord."""
    value = record.get(field)
    if not isinstance(value, str):
        raise BadRecord(f'"{field}" must be a text')
    return value


@contextmanager
def _reading(source: Path) -> Iterator[TextIO]:
    if str(source) == "-":
        yield sys.stdin
        return
    try:
        with source.open(encoding="utf-8", errors="replace") as file:
            yield file
    except OSError as error:
        raise Failure(f"{source}: cannot be read: {error.strerror}; name a JSON Lines file or - for input", 2) from None


@contextmanager
def _writing(target: Path | None) -> Iterator[TextIO]:
    if target is None or str(target) == "-":
        yield sys.stdout
        return
    try:
        with target.open("w", encoding="utf-8") as file:
            yield file
    except OSError as error:
        raise Failure(f"{target}: cannot be written: {error.strerror}", 2) from None
