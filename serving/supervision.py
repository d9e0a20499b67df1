"""Keeps something outside of this process in use: a program that we start, or a server that somebody else runs.

starting -> ready -> restarting -> ready …      it ended or was lost; tried again after a pause that doubles up to a cap
         -> failed -> ready …                   it could not be used; tried again in the same way, for things get mended
                      -> stopped                close() was called
"""

import asyncio
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, Protocol

from serving.backend import Backend, BackendNotReady
from serving.worker.protocol import Usage

logger = logging.getLogger("crisis")

State = Literal["starting", "ready", "restarting", "failed", "stopped"]


class Engine(Backend, Protocol):
    """A backend with a life of its own: it has to be started, comes and goes, and is closed in the end.

    warmed is set while the protocol is kept evaluated; stats is what the last finished request cost.
    """

    @property
    def state(self) -> State: ...
    @property
    def state_reason(self) -> str: ...
    @property
    def warmed(self) -> asyncio.Event: ...
    @property
    def stats(self) -> Usage: ...
    async def start(self) -> None:
        """Begin in the background; returns at once."""
        ...

    async def wait_ready(self, timeout_s: float) -> None:
        """Raises BackendUnavailable when it failed, or is not ready in time."""
        ...

    async def warm(self, prefix: str, rest: str = "") -> None:
        """Keep this beginning of the system text evaluated from now on, where the engine can; returns at once.

        prefix: what every request has. rest: what the one has, after it, that must not wait.
        """
        ...

    async def close(self) -> None:
        """End what was begun."""
        ...


@dataclass(frozen=True, slots=True)
class Pauses:
    """Seconds: the first pause between two lives, the longest one, and how long a life must last to count as well."""

    first_s: float = 0.5
    cap_s: float = 30.0
    healthy_s: float = 60.0


class StateLog:
    """Tells the operator what became of an engine: once for each reason, and once when it is back."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._last: tuple[State, str] = ("stopped", "")

    def note(self, state: State, reason: str) -> None:
        """It is in this state now, for this reason: fixed words, never a person's."""
        gist = reason.partition("; tried again")[0]
        was, why = self._last
        lost = ("failed", "restarting")
        if state in lost and not (was in lost and gist == why):
            logger.warning("%s is off: %s", self._name, reason)
        elif state == "ready" and was in lost:
            logger.info("%s is back: %s", self._name, reason)
        self._last = (state, gist)


class Supervisor:
    """Runs one life after another. `live` returns, in fixed words, why a life ended; it calls ready() in between."""

    def __init__(self, name: str, live: Callable[[], Awaitable[str]], pauses: Pauses) -> None:
        self.name = name
        self.state: State = "stopped"
        self.reason = "not started"
        self.restarts = 0
        self._live = live
        self._pauses = pauses
        self._log = StateLog(name)
        self._settled = asyncio.Event()
        self._ready_at: float | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self, reason: str) -> None:
        """Begin the first life in the background; returns at once."""
        if self._task is None:
            self._enter("starting", reason)
            self._task = asyncio.get_running_loop().create_task(self._run(), name=f"supervisor of {self.name}")

    def ready(self, reason: str) -> None:
        """Called by a life once requests can be taken."""
        self._ready_at = time.monotonic()
        self._enter("ready", reason)

    async def wait_ready(self, timeout_s: float) -> None:
        """Return once it is ready. Raises BackendUnavailable when it failed, or is not ready in time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._settled.wait()
        self.require_ready()

    def require_ready(self) -> None:
        """Raises BackendUnavailable, with the reason, unless requests can be taken."""
        if self.state != "ready":
            raise BackendNotReady(f"{self.name}: {self.reason}")

    async def close(self) -> None:
        """End the life that goes on; returns when it has ended."""
        if self._task is None:
            return
        self._enter("stopped", "closed")
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
        self._task = None

    async def _run(self) -> None:
        pause_s = self._pauses.first_s
        while True:
            self._ready_at = None
            reason = await self._life()
            lived_s = None if self._ready_at is None else time.monotonic() - self._ready_at
            if lived_s is not None and lived_s >= self._pauses.healthy_s:
                pause_s = self._pauses.first_s
            self._enter("failed" if lived_s is None else "restarting", f"{reason}; tried again in {pause_s:g} s")
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, self._pauses.cap_s)
            self.restarts += 1

    async def _life(self) -> str:
        try:
            return await self._live()
        except Exception as fault:  # noqa: BLE001 - a fault of ours must not leave an engine that looks ready for ever
            return f"watching it broke with {type(fault).__name__}"

    def _enter(self, state: State, reason: str) -> None:
        self.state, self.reason = state, reason
        self._log.note(state, reason)
        if state in ("ready", "failed", "stopped"):
            self._settled.set()
        else:
            self._settled.clear()


class Supervised(ABC):
    """What every engine has that a Supervisor keeps in use; it says by `_live` how one life of it goes."""

    def __init__(self, *, name: str, model: str, source: str, pauses: Pauses) -> None:
        self.name = name
        self.model = model
        self.source = source
        self.stats = Usage()
        self.warmed = asyncio.Event()
        self._supervisor = Supervisor(name, self._live, pauses)

    @property
    def state(self) -> State:
        return self._supervisor.state

    @property
    def state_reason(self) -> str:
        return self._supervisor.reason

    async def wait_ready(self, timeout_s: float) -> None:
        """Return once it is ready. Raises BackendUnavailable when it failed, or is not ready in time."""
        await self._supervisor.wait_ready(timeout_s)

    @abstractmethod
    async def _live(self) -> str:
        """Begin, and watch it; returns why it is gone."""
