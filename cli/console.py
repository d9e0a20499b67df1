"""How the command speaks: one-line failures, and colour only where a terminal reads it (rich honours NO_COLOR)."""

import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from serving.settings import Settings

ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        "-c",
        metavar="FILE",
        help="The settings file. Default: $CRISIS_CONFIG, ./crisis.toml, the XDG config folder.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
DemoOption = Annotated[bool, typer.Option("--demo", help="Use the embedded demo model. Never for real people.")]
MOST_CHARACTERS = 1_000_000


class Failure(Exception):
    """What went wrong, where, and how to mend it, in one line; and the exit status (1 a check failed, 2 wrong use)."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


def console() -> "Console":
    """Standard output; without a terminal plain text, as wide as its lines."""
    from rich.console import Console  # loaded only by commands that print for people

    class Terminal(Console):
        def on_broken_pipe(self) -> None:
            """Rich would end the process with status 1."""
            raise

    return Terminal(highlight=False, soft_wrap=True)


def settings(file: Path | None, *, strict: bool = False) -> "Settings":
    """The settings, or a Failure that says what is wrong with them, a line a problem.

    A chain entry that cannot be read is left out and told of, as the service does; `strict` refuses it. A CRISIS_…
    variable that sets nothing is told of too.
    """
    from serving.settings import SettingsError, load, load_usable  # a quarter of a second not every command needs
    from serving.settings import unknown_variables as unknown

    try:
        chosen, broken = (load(file), ()) if strict else load_usable(file)
    except SettingsError as error:
        raise Failure(str(error), status=2) from None
    for line in (*(f"{one.problem}; left out" for one in broken), *unknown(chosen)):
        print(f"crisis: {line}", file=sys.stderr)
    return chosen


def examples(*lines: str) -> str | None:
    """The end of a command's help: lines that can be pasted."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines) if lines else None


def speak_utf8() -> None:
    """All three streams in UTF-8, whatever the locale says. Bytes that are none of it are replaced, and what it cannot
    hold is written as an escape: neither ends the command."""
    _utf8(sys.stdin, "utf-8-sig", "replace")  # None where it is closed: no text stream
    _utf8(sys.stdout, "utf-8", "backslashreplace")
    _utf8(sys.stderr, "utf-8", "backslashreplace")


def _utf8(stream: TextIO | None, encoding: str, errors: str) -> None:
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(encoding=encoding, errors=errors)


def one_text(text: str | None, command: str) -> str:
    """The text of the command line, or of standard input for `-` and where there is no terminal to wait for."""
    if text == "-" or (text is None and not standard_input().isatty()):
        text = _read(standard_input())
    if not text or not text.strip():
        raise Failure(f"nothing to read; see crisis {command} --help for examples", 2)
    if len(text) > MOST_CHARACTERS:
        raise Failure(f"the text is longer than {MOST_CHARACTERS:,} characters; send less of it", 2)
    return text


def standard_input() -> TextIO:
    """Standard input. Where whoever started us closed it (`<&-`), a Failure."""
    if sys.stdin is None:
        raise Failure("standard input is closed: there is nothing to read; leave it open, or give a text or a file", 2)
    return sys.stdin


def _read(stream: TextIO) -> str:
    try:
        return stream.read(MOST_CHARACTERS + 1)
    except OSError as error:
        raise Failure(f"standard input: cannot be read: {error.strerror or 'it is not open for reading'}", 2) from None
