"""Keeps the protocol evaluated in every slot of a server, and gives way to people at once.

Each slot has cells of its own, so each is warmed. In a server of our own the first one's state is copied into the
others, which takes milliseconds where evaluating takes seconds. A request that comes meanwhile calls the warming off;
what was evaluated until then stays in its slot, and the rest follows when nobody waits any more.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from serving.backend import BackendError
from serving.llama_server.client import ServerClient

WarmSlot = Callable[[int], Awaitable[object]]
"""Evaluates the protocol in one slot. Raises BackendError."""


_STATE = "protocol"


class Warmer:
    """Has the protocol's tokens evaluated in slots. states: a folder that nobody else can read, where the server may
    write; None: each slot evaluates for itself."""

    def __init__(self, client: ServerClient, protocol: Sequence[int], states: Path | None, limit_s: float) -> None:
        self._client = client
        self._protocol = protocol
        self._states = states
        self._limit_s = limit_s
        self._saved = False

    async def warm(self, slot: int) -> None:
        """Slots are to be warmed from 0 on. Raises BackendError."""
        if self._saved and slot and await self._restored(slot):
            return
        await self._client.warm(self._protocol, slot, timeout_s=self._limit_s)
        if slot == 0 and self._states is not None:
            self._saved = await self._written()

    def forget(self) -> None:
        """Remove what was written."""
        if self._states is not None:
            (self._states / _STATE).unlink(missing_ok=True)

    async def _written(self) -> bool:
        """Whether the first slot's state was saved. It was warmed in the same step, so nobody's words are in it."""
        with suppress(BackendError):
            return await self._client.save(0, _STATE) == len(self._protocol)
        return False

    async def _restored(self, slot: int) -> bool:
        with suppress(BackendError):
            return await self._client.restore(slot, _STATE) == len(self._protocol)
        return False


class Traffic:
    """Counts the requests that are being answered."""

    def __init__(self) -> None:
        self.idle = asyncio.Event()
        self.busy = asyncio.Event()
        self.idle.set()
        self._count = 0

    @contextmanager
    def entered(self) -> Iterator[None]:
        self._count += 1
        self._tell()
        try:
            yield
        finally:
            self._count -= 1
            self._tell()

    def _tell(self) -> None:
        (now, past) = (self.busy, self.idle) if self._count else (self.idle, self.busy)
        now.set()
        past.clear()


async def warm_slots(slots: int, warm: WarmSlot, traffic: Traffic) -> bool:
    """Warm them one after the other. False when the server failed: whoever watches it finds out why."""
    try:
        for slot in range(slots):
            while not await _undisturbed(partial(warm, slot), traffic):
                pass
    except BackendError:
        return False
    return True


async def _undisturbed(work: Callable[[], Awaitable[object]], traffic: Traffic) -> bool:
    """Whether the work was done before a request came. Begins when there is none."""
    await traffic.idle.wait()
    working = asyncio.ensure_future(work())
    disturbed = asyncio.ensure_future(traffic.busy.wait())
    try:
        await asyncio.wait((working, disturbed), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            return False
        await working
        return True
    finally:
        disturbed.cancel()
        working.cancel()
        await asyncio.gather(working, disturbed, return_exceptions=True)
