"""JSON Lines in, JSON Lines out: a bad line becomes an error record with its number, and loses no other line."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from cli.console import MOST_CHARACTERS, Failure, standard_input
from cli.progress import Progress

Record = dict[str, Any]
Answer = Callable[[Record], Record]
JsonlOption = Annotated[
    Path | None,
    typer.Option("--jsonl", metavar="IN", help="A JSON Lines file instead of one text; - for standard input."),
]
OutOption = Annotated[
    Path | None,
    typer.Option("--out", metavar="OUT", help="Where the answers to --jsonl go. Default: standard output."),
]


class BadRecord(ValueError):
    """One line that cannot be used: what is missing or wrong in it. Names fields, never their text."""


def each(source: Path, target: Path | None, make: Callable[[], Answer]) -> None:
    """Answers every line of `source` into `target` (None: standard output), one line in memory at a time.

    `make` gives what answers a line, once there is something to answer. Failure at the end if lines were bad: each has
    an error record in its place.
    """
    if target is not None and _same(source, target):
        raise Failure(f"{target}: is the input; name another file for --out", 2)
    bad: list[int] = []
    answered = 0
    with ExitStack() as stack:
        file, answer = stack.enter_context(_reading(source)), make()
        write = stack.enter_context(_writing(target))
        progress = stack.enter_context(Progress(watched=not _on_screen(target)))
        for number, line in _lines(file, source):
            result, good = _answered(line, number, answer)
            answered += good
            if not good:
                bad.append(number)
            write(json_line(result))
            progress.step()
    if bad:
        raise Failure(_complaint(source, bad, answered), 2)


def json_line(record: Record) -> str:
    """One line of JSON, in readable letters; escaped only where the text cannot be written as UTF-8."""
    line = json.dumps(record, ensure_ascii=False)
    try:
        line.encode()
    except UnicodeEncodeError:  # a lone half of a surrogate pair
        line = json.dumps(record)
    return line + "\n"


def string(record: Record, field: str, default: str | None = None) -> str:
    """A text field of a record, or BadRecord. Missing or null gives the default, where there is one."""
    value = record.get(field)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise BadRecord(f'"{field}" must be a text')
    return value


def _answered(line: str | None, number: int, answer: Answer) -> tuple[Record, bool]:
    record: Record = {}
    try:
        record = _parsed(line)
        return answer(record), True
    except BadRecord as error:
        why = str(error)
    except Exception as error:  # noqa: BLE001 - one line's crash must not cost the others; its text stays out of the words
        why = f"the check itself broke ({type(error).__name__}); please report it"
    return {"id": record.get("id"), "error": f"line {number}: {why}"}, False


def _parsed(line: str | None) -> Record:
    if line is None:
        raise BadRecord(f"longer than {MOST_CHARACTERS:,} characters")
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        raise BadRecord("not valid JSON") from None
    if not isinstance(record, dict):
        raise BadRecord("not a JSON object")
    return record


def _lines(file: TextIO, source: Path) -> Iterator[tuple[int, str | None]]:
    """Numbered lines that hold something; None for one that is too long to be held."""
    number = 0
    try:
        while line := file.readline(MOST_CHARACTERS + 1):
            number += 1
            if len(line) > MOST_CHARACTERS and not line.endswith("\n"):
                while (rest := file.readline(MOST_CHARACTERS)) and not rest.endswith("\n"):
                    pass
                yield number, None
            elif line.strip():
                yield number, line
    except OSError as error:
        raise Failure(f"{source}: cannot be read on: {error.strerror}", 2) from None


def _complaint(source: Path, bad: list[int], answered: int) -> str:
    named = ", ".join(map(str, bad[:5])) + (" …" if len(bad) > 5 else "")
    lines = "line" if len(bad) == 1 else "lines"
    where = "standard input" if str(source) == "-" else source
    return (
        f"{where}: {len(bad)} {lines} of {len(bad) + answered} could not be used ({lines} {named}); the output says why"
    )


@contextmanager
def _reading(source: Path) -> Iterator[TextIO]:
    if str(source) == "-":
        yield standard_input()
        return
    try:
        file = source.open(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise Failure(
            f"{source}: cannot be read: {error.strerror}; name a JSON Lines file, or - for input", 2
        ) from None
    with file:
        yield file


@contextmanager
def _writing(target: Path | None) -> Iterator[Callable[[str], None]]:
    if target is None or str(target) == "-":
        yield _careful(sys.stdout, "standard output")
        return
    try:
        file = target.open("w", encoding="utf-8")
    except OSError as error:
        raise Failure(
            f"{target}: cannot be written: {error.strerror}; name a file in a folder that you can use", 2
        ) from None
    write = _careful(file, str(target))
    try:
        yield write
    finally:
        try:
            file.close()
        except OSError as error:
            raise _unwritten(str(target), error) from None


def _careful(file: TextIO, name: str) -> Callable[[str], None]:
    def write(text: str) -> None:
        try:
            file.write(text)
            file.flush()  # a program at the other end may wait for this answer before it sends the next line
        except BrokenPipeError:
            raise
        except OSError as error:
            raise _unwritten(name, error) from None

    return write


def _unwritten(name: str, error: OSError) -> Failure:
    return Failure(f"{name}: cannot be written: {error.strerror}; make room, or name another place with --out")


def _same(source: Path, target: Path) -> bool:
    return source.is_file() and target.is_file() and os.path.samefile(source, target)


def _on_screen(target: Path | None) -> bool:
    return (target is None or str(target) == "-") and sys.stdout.isatty()
