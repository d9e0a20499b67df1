"""Who speaks next in a reply, and what they say: the first backend that has a sentence, heard to its end.

A backend that has none in its time is not given up: the next one starts beside it, and who is first speaks. The static
reply starts when nobody is left to hope for. A backend whose circuit is open is gone past.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from serving.backend import Backend, BackendError, BackendTimeout, BackendUnavailable
from serving.member import Member
from serving.spoken import Faltered, TurnEvent
from serving.status import CIRCUIT_OPEN
from serving.turn import Turn


@dataclass(frozen=True, slots=True)
class Moved:
    """A backend gave up its turn, or got none."""

    backend: Backend
    reason: str


RaceEvent = TurnEvent | Moved


class Race:
    """One race among `left`, in their order. Afterwards `left` are those who may still go on with the reply."""

    def __init__(self, left: Sequence[Member], turn_of: Callable[[Member], Turn], ends_at: float) -> None:
        self.left = list(left)
        self._turn_of = turn_of
        self._ends_at = ends_at
        self._running: list[Turn] = []  # in the order in which they were asked
        self._over: list[Turn] = []
        self._failure: BackendError = BackendUnavailable("nobody can be asked")

    async def events(self) -> AsyncGenerator[RaceEvent, None]:
        """All that is said, and each step that is taken. Closing it hangs up on everybody.

        Raises BackendError when nobody came to speak, or the one who did could not finish.
        """
        try:
            while (speaker := self._first()) is None:
                for move in self._go_on():
                    yield move
                if not self._running:
                    raise self._failure
                await self._wait()
            for event in self._won(speaker):
                yield event
            async with aclosing(self._heard_out(speaker)) as rest:
                async for event in rest:
                    yield event
        finally:
            await asyncio.gather(*(turn.close() for turn in (*self._running, *self._over)))

    def _first(self) -> Turn | None:
        """Who has a first sentence. Raises what is no failure of a backend."""
        return next((turn for turn in self._running if turn.ready()), None)

    def _go_on(self) -> Iterator[RaceEvent]:
        """Part with those who failed, and start whoever is due."""
        for turn in list(self._running):
            if turn.failure is not None:
                yield from self._lost(turn, turn.failure)
        if self._running and not self.left and time.monotonic() >= self._alarm():
            for turn in list(self._running):
                yield from self._lost(turn, BackendTimeout("no text in its time"))
        while self.left and (not self._running or time.monotonic() >= self._alarm()):
            yield from self._start(self.left.pop(0))

    def _start(self, member: Member) -> Iterator[RaceEvent]:
        if not member.static and time.monotonic() >= self._ends_at:
            return
        turn = self._turn_of(member)
        if not member.circuit.admits():
            yield Moved(member.backend, CIRCUIT_OPEN)
            return
        turn.start()
        self._running.append(turn)

    def _alarm(self) -> float:
        """When everybody who runs has had their time."""
        last_hope = not self.left or self.left[0].static
        return max(turn.patience_ends(for_static=last_hope) for turn in self._running)

    async def _wait(self) -> None:
        left_s = max(0.0, self._alarm() - time.monotonic())
        tasks = [turn.step for turn in self._running if turn.step is not None]
        await asyncio.wait(tasks, timeout=min(left_s, 3600.0), return_when=asyncio.FIRST_COMPLETED)

    def _lost(self, turn: Turn, failure: BackendError) -> Iterator[RaceEvent]:
        self._running.remove(turn)
        self._over.append(turn)
        self._failure = failure
        turn.give_up(failure)
        yield from turn.noted
        yield Moved(turn.backend, failure.reason)

    def _won(self, speaker: Turn) -> Iterator[RaceEvent]:
        """Who was asked before the winner is too late for this reply; who was asked after it may still be needed."""
        place = self._running.index(speaker)
        before, after = self._running[:place], self._running[place + 1 :]
        for turn in before:
            yield from self._lost(turn, turn.failure or BackendTimeout("another was first"))
        for turn in after:
            self._running.remove(turn)
            self._over.append(turn)
            turn.call_off()
        self.left[:0] = [turn.member for turn in after]
        if after:
            yield Faltered(speaker.backend, "late")
        yield from speaker.noted

    async def _heard_out(self, speaker: Turn) -> AsyncGenerator[RaceEvent, None]:
        try:
            async with aclosing(speaker.rest()) as rest:
                async for event in rest:
                    yield event
        except BackendError as error:
            yield Moved(speaker.backend, error.reason)
            raise
