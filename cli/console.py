"""How the command speaks: one-line failures, and colour only where a terminal reads it (rich honours NO_COLOR)."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from serving.settings import Settings, SettingsError, load

ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", "-c", help="The settings file. Default: $CRISIS_CONFIG, ./crisis.toml, the XDG folder."),
]


class Failure(Exception):
    """What went wrong, where, and how to mend it, in one line; and the exit status (1 a check failed, 2 wrong use)."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


def console() -> Console:
    """Standard output; without a terminal plain text, as wide as its lines."""
    return Console(highlight=False, soft_wrap=True)


def settings(file: Path | None) -> Settings:
    """The settings, or a Failure that says what is wrong with them."""
    try:
        return load(file)
    except SettingsError as error:
        raise Failure(str(error), status=2) from None
