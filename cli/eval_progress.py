"""How far an evaluation is, on standard error: a bar on a terminal, a line now and then elsewhere."""

import sys
import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

_EVERY_S = 15.0


class Steps:
    """`with Steps("conversations", 50, done=3) as steps: steps.step("static: direct-teenager")`."""

    def __init__(self, what: str, total: int, *, done: int = 0) -> None:
        console = Console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[last]}"),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task(what, total=total, completed=done, last="")
        self._what, self._total, self._done = what, total, done
        self._quiet = not console.is_terminal
        self._said = time.monotonic()

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def step(self, last: str) -> None:
        """One more is done; `last` names it."""
        self._done += 1
        self._bar.update(self._task, advance=1, last=last)
        if self._quiet and (self._done == self._total or time.monotonic() - self._said >= _EVERY_S):
            self._said = time.monotonic()
            print(f"{self._what}: {self._done} of {self._total}", file=sys.stderr, flush=True)
