"""The fallback chain: the first backend that can answers, the next one continues where it broke off. Itself a backend.

Every piece of text passes the gate before it leaves. Text that a broken backend left half-said is thrown away; text
that was released stays, and becomes part of the prefix that the next backend continues. Who speaks next is settled by a
race (race.py): one that is late is not given up before another has a sentence.
"""

import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import InitVar, dataclass, field, replace
from functools import partial

from serving.backend import Backend, BackendError, Request
from serving.member import Deadlines, Member
from serving.race import Race, RaceEvent
from serving.spoken import Gate, Opinion, Said, Unchecked, join
from serving.turn import Turn

OpenGate = Callable[[Backend, str], Gate]
"""Opens the gate for a backend, given the reply as released so far: how strict it is depends on who speaks."""

KEPT_BACK = 0.08
"""The share of a reply's time that is kept for our own last sentences, which need little, and for a busy machine."""


@dataclass(slots=True)
class Chain:
    """Backends in the order in which they are asked. The last one should be static, which always answers.

    deadlines: total_s is the whole reply's; the others hold for the backends that are no Member and so have none of
    their own.
    """

    backends: InitVar[Sequence[Backend | Member]]
    deadlines: Deadlines = field(default_factory=Deadlines)
    name: str = "chain"
    model: str = "chain"
    source: str = "local"
    members: tuple[Member, ...] = field(init=False)

    def __post_init__(self, backends: Sequence[Backend | Member]) -> None:
        self.members = tuple(b if isinstance(b, Member) else Member(b, self.deadlines) for b in backends)

    async def stream(self, request: Request) -> AsyncIterator[str]:
        """Unchecked, as any backend's text: the first that can, continued by the next. Raises what the last raised."""
        async with aclosing(self.events(request, lambda *_: Unchecked())) as events:
            async for event in events:
                if isinstance(event, Said):
                    yield event.text

    async def events(
        self, request: Request, open_gate: OpenGate, *, opinion: Opinion | None = None, spent_s: float = 0.0
    ) -> AsyncGenerator[RaceEvent, None]:
        """What is said, by whom, and each step that was taken because a backend fell short.

        open_gate is asked once for each turn of a backend. opinion: asked about every generated sentence that the gate
        let through; without its word none is said. spent_s: how much of the reply's time is over.

        Raises the last backend's BackendError when nobody is left, and whatever the gate raises when it fails itself.
        """
        ends_at = time.monotonic() + (1 - KEPT_BACK) * self.deadlines.total_s - spent_s
        left: Sequence[Member] = self.members
        while True:
            turn_of = partial(_turn, request=request, open_gate=open_gate, opinion=opinion, ends_at=ends_at)
            race = Race(left, turn_of, ends_at)
            said: list[str] = []
            try:
                async with aclosing(race.events()) as events:
                    async for event in events:
                        said += [event.text] if isinstance(event, Said) else []
                        yield event
                return
            except BackendError:
                if not race.left:
                    raise
            request, left = continued(request, said), race.left


def _turn(member: Member, *, request: Request, open_gate: OpenGate, opinion: Opinion | None, ends_at: float) -> Turn:
    # The static replies are our own words, each proven against the filter by a test: they wait for no gate.
    gate = Unchecked() if member.static else open_gate(member.backend, request.prefix)
    return Turn(member, request, gate, opinion=opinion, ends_at=ends_at)


def continued(request: Request, said: Sequence[str]) -> Request:
    """The request for whoever continues after `said`."""
    if not said:
        return request
    return replace(request, prefix=join(request.prefix, "".join(said)), continued=True)
