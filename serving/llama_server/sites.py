"""Where a llama.cpp server stands: in a process that we start, or at an address where somebody else runs it.

A site is used for one life of a server: opened, waited on until it is gone, closed. Then a new one is made.
"""

import asyncio
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from serving.backend import BackendError, BackendUnavailable
from serving.backends.wire import Wire
from serving.llama.worker import check_file
from serving.llama_server.client import Look, ServerClient
from serving.llama_server.process import PORT_TAKEN, ServerProcess, Ticket, command_line
from serving.llama_server.settings import Launch, LlamaServerSettings, Reach
from serving.worker.reasons import LoadFailure

_TICK_S = 0.1
_WATCH_S = 5.0
_LATE_S = 1.0
_FATE_S = 0.2  # between the end of a connection and that of its process; nobody waits longer for a better reason


class Site(Protocol):
    """`client` can be used between open and close."""

    client: ServerClient
    states: Path | None
    """A folder of ours where the server can write a slot's state; None where there is none."""

    @property
    def pid(self) -> int | None: ...
    async def open(self) -> None:
        """Return when the server has loaded its model. Raises BackendError with the reason why it never will."""
        ...

    def check(self, look: Look) -> str | None:
        """Why what answers is not to be used; None when all is well."""
        ...

    async def gone(self) -> str:
        """Return, with the reason, when the server is no more to be had."""
        ...

    async def fate(self) -> str | None:
        """After a connection broke: why the server ended, None where it has not, or where nobody can tell."""
        ...

    async def close(self) -> None:
        """End what was begun. May be called again."""
        ...


def make_site(settings: LlamaServerSettings, who: str) -> Site:
    if isinstance(settings.site, Launch):
        return LaunchedSite(settings, settings.site, who)
    return ReachedSite(settings, settings.site, who)


class LaunchedSite:
    """A server of our own."""

    def __init__(self, settings: LlamaServerSettings, launch: Launch, who: str) -> None:
        self._settings = settings
        self._launch = launch
        self._who = who
        self._ticket = Ticket.draw(launch.port)
        self.client = ServerClient(Wire(self._ticket.url, who=who, key=self._ticket.key))
        self.states: Path | None = None
        self._process: ServerProcess | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    async def open(self) -> None:
        with suppress(OSError):  # no folder for temporary files: each slot is warmed by itself
            self.states = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="crisis-states-"))
        command = command_line(self._settings, self._launch, self._ticket, self.states)
        try:
            check_file(self._launch.model_path)
            self._process = await ServerProcess.start(command, key=self._ticket.key)
        except LoadFailure as failure:
            raise BackendUnavailable(str(failure)) from None
        except OSError:
            raise BackendUnavailable("the system would not start another process") from None
        limit_s = self._settings.start_timeout_s
        loading = asyncio.ensure_future(self._loaded())
        ended = asyncio.ensure_future(self._process.ended.wait())
        try:
            done, _ = await asyncio.wait((loading, ended), timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            loading.cancel()
            ended.cancel()
        if not done:
            self._process.kill(f"the model was not loaded within {limit_s:g} s")
            await self._process.ended.wait()
        if self._process.ended.is_set():
            raise BackendUnavailable(self._process.reason)

    async def _loaded(self) -> None:
        ready = False
        while not ready:
            await asyncio.sleep(_TICK_S)
            with suppress(BackendError):
                ready = await self.client.healthy()

    def check(self, look: Look) -> str | None:
        return None if look.alias == self._ticket.alias else PORT_TAKEN

    async def gone(self) -> str:
        if self._process is None:
            return "not started"
        while not await self._ends_within(min(_WATCH_S, self._settings.stall_s / 4)):
            if await _hangs(self.client, self._settings.stall_s):
                self._process.kill(f"the engine made no move for {self._settings.stall_s:g} s")
        return self._process.reason

    async def fate(self) -> str | None:
        return self._process.reason if self._process and await self._ends_within(_FATE_S) else None

    async def _ends_within(self, seconds: float) -> bool:
        if self._process is None:
            return True
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._process.ended.wait()
        return self._process.ended.is_set()

    async def close(self) -> None:
        if self._process is not None:
            await self._process.close(self._settings.stop_timeout_s)
        if self.states is not None:
            await asyncio.to_thread(shutil.rmtree, self.states, ignore_errors=True)
        await self.client.aclose()


class ReachedSite:
    """A server that is not ours: we look whether it is there, and leave it as it is."""

    def __init__(self, settings: LlamaServerSettings, reach: Reach, who: str) -> None:
        self._settings = settings
        self._who = who
        self.pid: int | None = None
        self.states: Path | None = None  # a request of somebody else could be in the slot that is saved
        wire = Wire(reach.url, who=who, key=reach.key, connect_s=reach.connect_s)
        self.client = ServerClient(wire)

    async def open(self) -> None:
        ends_at = time.monotonic() + self._settings.start_timeout_s
        while not await self.client.healthy():
            if time.monotonic() > ends_at:
                raise BackendUnavailable(
                    f"{self._who} did not load its model within {self._settings.start_timeout_s:g} s"
                )
            await asyncio.sleep(_TICK_S)

    def check(self, look: Look) -> str | None:
        return None

    async def gone(self) -> str:
        while True:
            await asyncio.sleep(_WATCH_S)
            try:
                if not await self.client.healthy(self._settings.stall_s):
                    return f"{self._who} is loading its model again"
            except BackendError as error:
                return str(error)

    async def fate(self) -> str | None:
        return None

    async def close(self) -> None:
        await self.client.aclose()


async def _hangs(client: ServerClient, stall_s: float) -> bool:
    """Whether the server is silent for stall_s. A silence while this process itself was stopped is not its fault."""
    began = time.monotonic()
    try:
        await client.busy(stall_s)
    except BackendError:
        took_s = time.monotonic() - began
        return took_s >= stall_s and took_s - stall_s < _LATE_S
    return False
