"""One backend's turn in one reply: its text through the gate, sentence by sentence, and what happened on the way.

A sentence is made only when somebody asks for it, so that nothing is generated for nobody.
"""

import asyncio
import math
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import replace
from functools import partial

from safety_filter.judge import Outcome, held
from serving.backend import BackendBlocked, BackendError, BackendRefused, BackendTimeout, Request
from serving.cost import Meter
from serving.listening import heard
from serving.member import Member
from serving.spoken import Faltered, Gate, Kept, Opinion, Said, TurnEvent, join, whole

RETRY_PAUSE_S = 0.1
"""The least pause before a backend is asked once more."""

PATIENCE = 0.75
"""The share of the time to its first sentence that a backend may have people wait for their turn."""

_SURELY_HELD = 150  # characters without a mark that the gate holds back: no sentence is done before
_MARK = re.compile(r"[^\w\s,'’-]|\n")

CLOSING_S = 0.25
"""How long a backend may take to hang up before nobody waits for it any more."""


class Turn:
    """From the request to the end of what the backend says: `start`, then `rest` once it is ready; `close` in any case.

    noted: what happened up to its first sentence. wrote: whether any text came.
    """

    def __init__(
        self, member: Member, request: Request, gate: Gate, *, opinion: Opinion | None, ends_at: float
    ) -> None:
        now = time.monotonic()
        self.member = member
        self.backend = member.backend
        self.noted: list[TurnEvent] = []
        self.wrote = False
        self.step: asyncio.Task[TurnEvent | None] | None = None
        self._first_text_at = now + member.deadlines.first_text_s
        self._ends_at = min(ends_at, now + member.deadlines.total_s)
        self._meter = Meter()
        patience_s = PATIENCE * member.deadlines.first_text_s
        self._request = replace(request, patience_s=patience_s, counted=self._meter.count)
        self._gate = gate
        self._opinion = None if member.static else opinion
        self._kept = 0
        self._said: list[str] = []
        self._unjudged = ""
        self._events = self._all()
        self._judged = False

    def patience_ends(self, *, for_static: bool) -> float:
        """When the next backend starts beside it. The static reply would end the race: it lets one that is writing
        finish a sentence."""
        if self.member.static:
            return math.inf
        spare_s = self.member.deadlines.between_s if for_static and self.wrote else 0.0
        return min(self._first_text_at + spare_s, self._ends_at)

    def start(self) -> None:
        """Begin to ask, in the background."""
        self.step = asyncio.ensure_future(self._begin())

    def ready(self) -> bool:
        """Whether its first sentence is there. Raises what is no failure of the backend: a crash of the gate's."""
        if self.step is None or not self.step.done():
            return False
        error = self.step.exception()
        if error is not None and not isinstance(error, BackendError):
            raise error
        return error is None

    @property
    def failure(self) -> BackendError | None:
        """Why there is no first sentence; None while there may be one."""
        error = self.step.exception() if self.step is not None and self.step.done() else None
        return error if isinstance(error, BackendError) else None

    async def rest(self) -> AsyncGenerator[TurnEvent, None]:
        """What comes after the first sentence. Raises BackendError, and whatever the gate raises."""
        try:
            while (event := await self._next()) is not None:
                yield event
        except BackendError as error:
            self._went(error)
            raise
        self._went(None)

    def give_up(self, error: BackendError) -> None:
        """It failed, or is too late. It is hung up on without waiting for it."""
        self._went(error)
        self._cancel()

    def call_off(self) -> None:
        """It is not needed now; that says nothing about it."""
        self._judge(self.member.circuit.released)
        self._cancel()

    async def close(self) -> None:
        """Hang up, and wait for that. Who had spoken until now did well; of who had not, nothing is known."""
        self._judge(self.member.circuit.succeeded if self._said else self.member.circuit.released)
        self._cancel()
        await asyncio.wait((asyncio.ensure_future(self._hang_up()),), timeout=CLOSING_S)

    async def _hang_up(self) -> None:
        if self.step is not None:
            await asyncio.wait((self.step,))
            if not self.step.cancelled():
                self.step.exception()  # looked at, so that asyncio does not report it as lost
        await self._events.aclose()

    # how it went

    def _went(self, error: BackendError | None) -> None:
        circuit = self.member.circuit
        self._judge(circuit.succeeded if error is None else partial(circuit.failed, error))

    def _judge(self, tell: Callable[[], None]) -> None:
        """The circuit is told once."""
        if not self._judged:
            self._judged = True
            tell()

    def _cancel(self) -> None:
        if self.step is not None and not self.step.done():
            self.step.cancel()

    # one step

    async def _begin(self) -> TurnEvent | None:
        while (event := await anext(self._events, None)) is not None:
            self.noted.append(event)
            if isinstance(event, Said):
                break
        return event

    async def _next(self) -> TurnEvent | None:
        """In a task of its own: whatever the backend does, it cannot hold up the reply."""
        self.step = asyncio.ensure_future(_step(self._events))
        left_s = None if self.member.static else max(0.0, self._ends_at - time.monotonic())
        done, _ = await asyncio.wait((self.step,), timeout=left_s)
        if not done:
            self._went(None)  # it spoke until the time was up, which is no failure
            raise BackendTimeout("the time for the reply is up")
        return self.step.result()

    async def _all(self) -> AsyncGenerator[TurnEvent, None]:
        again = True
        while True:
            try:
                async with aclosing(self._attempt()) as events:
                    async for event in events:
                        yield event
            except BackendError as error:
                if not again or not self._may_retry(error):
                    raise
                again, pause_s = False, error.retry_after_s or 0.0
            else:
                return
            yield Faltered(self.backend, "retried")
            await asyncio.sleep(max(pause_s, RETRY_PAUSE_S))

    def _may_retry(self, error: BackendError) -> bool:
        """Only where it can help, nothing was said yet, and the answer would still come before another's."""
        if error.retry_after_s is None or self.wrote:
            return False
        return time.monotonic() + error.retry_after_s < min(self._first_text_at, self._ends_at)

    async def _attempt(self) -> AsyncGenerator[TurnEvent, None]:
        try:
            async with aclosing(self._sentences()) as sentences:
                async for sentence in sentences:
                    for kept in self._newly_kept():
                        yield kept
                    outcome = await self._second_opinion(sentence)
                    if outcome != "pass":
                        yield Kept((held(outcome),), blocked=True)
                        raise BackendBlocked("the second opinion held a sentence back")
                    self._said.append(sentence)
                    yield Said(sentence, self.backend, self._meter.cost)
        except BackendError:
            for kept in self._newly_kept():
                yield kept
            raise
        for kept in self._newly_kept():
            yield kept
        if not self._said:
            raise BackendRefused("no whole sentence that may be shown")

    async def _second_opinion(self, sentence: str) -> Outcome:
        if self._opinion is None:
            return "pass"
        return await self._opinion(join(self._request.prefix, "".join(self._said)), sentence)

    def _newly_kept(self) -> list[Kept]:
        new = self._gate.violations[self._kept :]
        self._kept += len(new)
        return [Kept(new, self._gate.blocked)] if new else []

    async def _sentences(self) -> AsyncGenerator[str, None]:
        """Whole sentences that the gate let through. What a broken backend left half-said is thrown away."""
        async with aclosing(self._pieces()) as pieces:
            async for piece in pieces:
                for sentence in await self._checked(self._gate.feed, piece):
                    yield sentence
                self._require_unblocked()
        for sentence in filter(whole, await self._checked(self._gate.flush)):
            yield sentence
        self._require_unblocked()

    async def _checked(self, judge: Callable[..., list[str]], *text: str) -> list[str]:
        """What the gate says, thought out in a thread where it may have a sentence to judge: milliseconds."""
        self._unjudged += "".join(text)
        if self.member.static or (text and len(self._unjudged) < _SURELY_HELD and not _MARK.search(self._unjudged)):
            return judge(*text)
        released = await asyncio.to_thread(judge, *text)
        if released:
            self._unjudged = ""
        return released

    def _require_unblocked(self) -> None:
        if self._gate.blocked:
            raise BackendBlocked("the filter blocked the reply")

    async def _pieces(self) -> AsyncGenerator[str, None]:
        """Its text. Raises BackendTimeout when it falls silent; the wait for its first text is others' to end."""
        self._meter.asked(self._request)
        iterator = aiter(heard(self.backend, self.backend.stream(self._request)))
        limit_s = None if self.member.static else self.member.deadlines.between_s
        try:
            while (piece := await _next(iterator, limit_s if self.wrote else None)) is not None:
                if piece:
                    self.wrote = True
                    self._meter.text(piece)
                    yield piece
        finally:
            close = getattr(iterator, "aclose", None)
            if close is not None:
                await close()


async def _step(events: AsyncGenerator[TurnEvent, None]) -> TurnEvent | None:
    return await anext(events, None)


async def _next(pieces: AsyncIterator[str], limit_s: float | None) -> str | None:
    try:
        async with asyncio.timeout(limit_s):
            return await anext(pieces, None)
    except TimeoutError:
        raise BackendTimeout(f"no further text within {limit_s or 0:g} s") from None
