"""The life of `crisis serve`: its engines, and SIGHUP, at which it reads its settings again without an outage."""

import asyncio
import hashlib
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from cli.console import Failure
from cli.presence import Presence
from serving.service import Service
from serving.settings import Settings, SettingsError, load, state_folder
from serving.swapper import Swapper, Wanted
from serving.workshop import Workshop

_TRIES = 5
HANGUP: signal.Signals | None = getattr(signal, "SIGHUP", None)  # not on Windows


class EarlySignal:
    """SIGHUP from the first moment on: without a handler it would end the process while it starts."""

    def __init__(self) -> None:
        self.came = False
        if HANGUP is not None:
            signal.signal(HANGUP, self._note)

    def _note(self, *_: Any) -> None:
        self.came = True


class Life:
    """start and stop belong around the server's life. `read` gives the settings that are wanted now."""

    def __init__(
        self, service: Service, workshop: Workshop, read: Callable[[], Wanted], *, early: EarlySignal, demo: bool
    ) -> None:
        self._service = service
        self._early = early
        self._demo = demo
        self._swapper = Swapper(service, workshop, read, told=self._tell)
        self._task: asyncio.Task[None] | None = None
        self._presence: Presence | None = None

    async def start(self, config: Path | None) -> None:
        """Begin to load, to listen for SIGHUP, and to be found by other commands."""
        await self._service.start()
        loop = asyncio.get_running_loop()
        if HANGUP is not None:
            loop.add_signal_handler(HANGUP, self._swapper.request)
        if self._early.came:
            self._swapper.request()
        self._task = loop.create_task(self._swapper.run(), name="swapper")
        self._presence = Presence.open(state_folder(), config=config, demo=self._demo)
        self._tell()

    async def stop(self) -> None:
        """End everything that was begun, an unfinished swap too."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        await self._service.stop()
        if self._presence is not None:
            self._presence.close()

    def _tell(self) -> None:
        if self._presence is not None:
            self._presence.tell(self._service.swaps.to_json() | {"recent": self._service.swaps.recent_json()})


def reader(file: Path | None, adapt: Callable[[Settings], Settings]) -> Callable[[], Wanted]:
    """Reads the same file each time. One that has gone is an error, and no reason to go on without any chain."""

    def read() -> Wanted:
        for _ in range(_TRIES):
            before = digest(file)
            settings = load(file)
            if digest(file) == before:
                return Wanted(_adapted(settings, adapt), before)
        raise SettingsError(f"{file}: it changes faster than it can be read")

    return read


def _adapted(settings: Settings, adapt: Callable[[Settings], Settings]) -> Settings:
    try:
        return adapt(settings)
    except Failure as error:
        raise SettingsError(str(error)) from None


def digest(file: Path | None) -> str:
    """The SHA-256 of a settings file, "" for none."""
    if file is None:
        return ""
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError as error:
        raise SettingsError(f"{file}: cannot be read: {error.strerror}") from None
