"""What a [[chain]] became: its places with their engines, the responder over them, the replies that are still open.

A swap makes a new lineup beside the old one. A reply belongs to the lineup that was there when it began.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from serving.backends.claude import ClaudeBackend
from serving.links import Link
from serving.respond import Responder
from serving.settings import ChainEntry, Settings
from serving.status import CIRCUIT_OPEN, LinkStatus


@dataclass(frozen=True, slots=True, eq=False)  # two places are never the same one, however alike they are
class Place:
    """One entry and its link. facts: all that the link was made from; at equal facts a running one can go on.

    answers: False for a model that only judges.
    """

    entry: ChainEntry
    facts: tuple[object, ...]
    link: Link
    approved: bool = True
    answers: bool = True

    @property
    def usable(self) -> bool:
        return self.link.backend is not None

    def status(self) -> LinkStatus:
        """As it stands now. An engine that is ready may be left alone all the same, after replies that failed."""
        status, engine, circuit = self.link.status, self.link.engine, self.link.circuit
        if not self.usable:
            return status
        waiting = getattr(engine, "waiting", None)  # servers have a queue of their own
        status = replace(status, circuit=circuit.state, waiting=waiting)
        if engine is not None and engine.state != "ready":
            return status.now(engine.state, engine.state_reason)
        if circuit.state != "closed":
            return status.now(CIRCUIT_OPEN, circuit.reason)
        return status.now("ready", engine.state_reason if engine is not None else "")


Row = Place | LinkStatus
"""A row of the chain as the operator wrote it: a place, or an entry that could not even be read."""


class Lineup:
    """Rows in the chain's order; `more` are places that answer nobody (a guard model) and live as long as the others.

    settings: what it was made from. problem: what is missing for the filter's second opinion, "" for nothing.
    """

    def __init__(
        self,
        responder: Responder,
        rows: Sequence[Row] = (),
        *,
        more: Sequence[Place] = (),
        settings: Settings | None = None,
        problem: str = "",
    ) -> None:
        self.responder = responder
        self.rows = tuple(rows)
        self.places = tuple(row for row in rows if isinstance(row, Place))
        self.more = tuple(more)
        self.settings = settings or Settings.model_construct()
        self.problem = problem
        self.demo = any(place.usable and not place.approved for place in self.places)
        self._open = 0
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def default_country(self) -> str | None:
        return self.settings.reply.default_country

    @property
    def everything(self) -> tuple[Place, ...]:
        """All that has to be started and ended."""
        return (*self.places, *self.more)

    def statuses(self) -> tuple[LinkStatus, ...]:
        """Every row as it stands now."""
        return tuple(row.status() if isinstance(row, Place) else row for row in self.rows)

    @contextmanager
    def reply(self) -> Iterator[None]:
        """A reply that is open on this lineup."""
        self._open += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._open -= 1
            if not self._open:
                self._idle.set()

    async def drained(self, timeout_s: float) -> bool:
        """Wait until no reply is open on it; False when the time is over before."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._idle.wait()
        except TimeoutError:
            return False
        return True


async def close(place: Place) -> None:
    """End what the place runs, and its connections. Never raises for what is gone already."""
    if place.link.engine is not None:
        await place.link.engine.close()
    elif isinstance(place.link.backend, ClaudeBackend):
        await place.link.backend.aclose()
