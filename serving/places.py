"""The places of an engine: how many replies it writes at once, and who is next where more are wanted.

The most urgent goes first, and so does who has waited: a level is worth some seconds of waiting, so that nobody
starves. Nobody waits in vain: who could not have a place in time is told so at once, and the next backend is asked.
"""

import asyncio
from bisect import insort
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from serving.backend import BackendBusy
from shield.assessment import Level

HEAD_START_S: Mapping[Level, float] = {"none": 0.0, "low": 1.0, "moderate": 2.0, "high": 5.0, "imminent": 120.0}
"""Seconds of waiting that each level is worth. That of an act under way is longer than any reply may take."""

_NEWEST = 0.2
"""How much the latest reply counts in what a reply is expected to take."""


@dataclass(order=True, slots=True)
class _Waiter:
    """key: when it came, less its head start; who has the lowest is next."""

    key: float
    number: int
    turn: asyncio.Future[None] = field(compare=False)


class Places:
    """places: replies at once. queue: requests that may wait beyond them. who: named in what is raised."""

    def __init__(self, places: int, *, queue: int, who: str) -> None:
        self._places = places
        self._free = places
        self._queue = queue
        self._who = who
        self._waiting: list[_Waiter] = []
        self._number = 0
        self._reply_s = 0.0

    @property
    def waiting(self) -> int:
        """How many requests wait."""
        return len(self._waiting)

    @asynccontextmanager
    async def taken(self, level: Level, *, patience_s: float | None = None) -> AsyncIterator[None]:
        """A place, as long as the block runs. Raises BackendBusy: the queue is full of people who go first, or the wait
        is longer than patience_s, or sure to be."""
        if self._free:
            self._free -= 1
        else:
            await self._turn_of(level, patience_s)
        began = asyncio.get_running_loop().time()
        try:
            yield
        finally:
            took_s = asyncio.get_running_loop().time() - began
            self._reply_s += (_NEWEST if self._reply_s else 1.0) * (took_s - self._reply_s)
            self._pass_on()

    async def _turn_of(self, level: Level, patience_s: float | None) -> None:
        waiter = self._line_up(level, patience_s)
        try:
            async with asyncio.timeout(patience_s):
                await waiter.turn
        except TimeoutError:
            self._leave(waiter)
            raise BackendBusy(f"{self._who}: no place within {patience_s or 0:g} s") from None
        except asyncio.CancelledError:
            self._leave(waiter)
            raise

    def _line_up(self, level: Level, patience_s: float | None) -> _Waiter:
        loop = asyncio.get_running_loop()
        self._number += 1
        waiter = _Waiter(loop.time() - HEAD_START_S[level], self._number, loop.create_future())
        before = sum(other < waiter for other in self._waiting)
        if patience_s is not None and (before + 0.5) * self._reply_s / self._places > patience_s:
            raise BackendBusy(f"{self._who}: {before} requests go first, and each takes {self._reply_s:.1f} s")
        insort(self._waiting, waiter)
        if len(self._waiting) > self._queue:
            self._waiting.pop().turn.set_exception(BackendBusy(f"{self._who}: {self._queue} requests are waiting"))
        return waiter

    def _leave(self, waiter: _Waiter) -> None:
        """A place that was given in the same moment goes to the next one."""
        if waiter in self._waiting:
            self._waiting.remove(waiter)
        elif not waiter.turn.cancelled() and waiter.turn.exception() is None:
            self._pass_on()

    def _pass_on(self) -> None:
        while self._waiting:
            turn = self._waiting.pop(0).turn
            if not turn.done():  # or it has just been called off
                turn.set_result(None)
                return
        self._free += 1
