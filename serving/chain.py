"""The fallback chain: the first backend that can answers, the next one continues where it broke off. Itself a backend.

Every piece of text passes the gate before it leaves. Text that a broken backend left half-said is thrown away; text
that was released stays, and becomes part of the prefix that the next backend continues.
"""

import asyncio
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Protocol

from safety_filter.verdict import Violation
from serving.backend import (
    Backend,
    BackendBlocked,
    BackendError,
    BackendRefused,
    BackendTimeout,
    Request,
)


class Gate(Protocol):
    """Text in, whole checked sentences out (safety_filter.gate)."""

    @property
    def blocked(self) -> bool: ...
    @property
    def violations(self) -> tuple[Violation, ...]: ...
    def feed(self, text: str) -> list[str]: ...
    def flush(self) -> list[str]: ...


OpenGate = Callable[[Backend, str], Gate]
"""Opens the gate for a backend, given the reply as released so far: how strict it is depends on who speaks."""


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Seconds a backend may take to its first text and between two texts, and a reply may take in all."""

    first_text_s: float = 4.0
    between_s: float = 2.0
    total_s: float = 12.0


@dataclass(frozen=True, slots=True)
class Said:
    """A checked sentence, with the blanks that followed it, and who said it."""

    text: str
    backend: Backend


@dataclass(frozen=True, slots=True)
class Moved:
    """A backend gave up its turn."""

    backend: Backend
    reason: str


@dataclass(frozen=True, slots=True)
class Kept:
    """Violations that were kept from the person, and whether they ended the backend's turn."""

    violations: tuple[Violation, ...]
    blocked: bool


ChainEvent = Said | Moved | Kept
_WHOLE = re.compile(r"""[.!?…。！？।۔؟:;)\]"'”’»]\W*$|[^\w\s,\-–—(\[]\W*$""")


@dataclass(slots=True)
class Chain:
    """Backends in the order in which they are asked. The last one should be static, which always answers."""

    backends: Sequence[Backend]
    deadlines: Deadlines = Deadlines()
    name: str = "chain"
    model: str = "chain"
    source: str = "local"

    async def stream(self, request: Request) -> AsyncIterator[str]:
        """Unchecked, as any backend's text: the first that can, continued by the next. Raises what the last raised."""
        async with aclosing(self.events(request, lambda *_: Unchecked())) as events:
            async for event in events:
                if isinstance(event, Said):
                    yield event.text

    async def events(self, request: Request, open_gate: OpenGate) -> AsyncGenerator[ChainEvent, None]:
        """What is said, by whom, and each move to the next backend. `open_gate` is asked once for each backend.

        Raises the last backend's BackendError when nobody is left, and whatever the gate raises when it fails itself.
        """
        ends_at = time.monotonic() + self.deadlines.total_s
        for place, backend in enumerate(self.backends):
            said: list[str] = []
            # The static replies are our own words, each proven against the filter by a test: they wait for no gate.
            gate = Unchecked() if backend.source == "static" else open_gate(backend, request.prefix)
            kept = 0
            try:
                async with aclosing(self._turn(backend, request, gate, ends_at)) as sentences:
                    async for sentence in sentences:
                        if len(gate.violations) > kept:
                            yield Kept(gate.violations[kept:], blocked=False)
                            kept = len(gate.violations)
                        said.append(sentence)
                        yield Said(sentence, backend)
                if len(gate.violations) > kept:
                    yield Kept(gate.violations[kept:], blocked=False)
                return
            except BackendError as error:
                if gate.blocked or len(gate.violations) > kept:
                    yield Kept(gate.violations[kept:], blocked=gate.blocked)
                yield Moved(backend, error.reason)
                if place == len(self.backends) - 1:
                    raise
            request = continued(request, said)

    async def _turn(self, backend: Backend, request: Request, gate: Gate, ends_at: float) -> AsyncGenerator[str, None]:
        silent = True
        async with aclosing(timed(backend.stream(request), self.deadlines, ends_at, backend)) as pieces:
            async for piece in pieces:
                for sentence in gate.feed(piece):
                    silent = False
                    yield sentence
                if gate.blocked:
                    raise BackendBlocked("the filter blocked the reply")
        for sentence in gate.flush():
            if whole(sentence):
                silent = False
                yield sentence
        if gate.blocked:
            raise BackendBlocked("the filter blocked the reply")
        if silent:
            raise BackendRefused("no whole sentence that may be shown")


@dataclass(slots=True)
class Unchecked:
    """A gate that lets everything through: for our own static words, and for measuring a bare chain."""

    blocked: bool = False
    violations: tuple[Violation, ...] = ()

    def feed(self, text: str) -> list[str]:
        return [text]

    def flush(self) -> list[str]:
        return []


def whole(sentence: str) -> bool:
    """Whether a sentence came to its end, or was cut by a token limit or a broken stream."""
    return bool(_WHOLE.search(sentence.rstrip()))


def continued(request: Request, said: Sequence[str]) -> Request:
    """The request for whoever continues after `said`."""
    if not said:
        return request
    return replace(request, prefix=join(request.prefix, "".join(said)), continued=True)


def join(first: str, second: str) -> str:
    """Two pieces of a reply, with one blank between them where neither brings one."""
    if not first or not second or first[-1].isspace() or second[0].isspace():
        return first + second
    return f"{first} {second}"


async def timed(
    pieces: AsyncIterator[str], deadlines: Deadlines, ends_at: float, backend: Backend
) -> AsyncGenerator[str, None]:
    """The pieces, or BackendTimeout when one is late. The static backend waits for nothing and has no deadline."""
    wait = deadlines.first_text_s
    iterator = aiter(pieces)
    try:
        while True:
            try:
                if backend.source == "static":
                    piece = await anext(iterator)
                else:
                    async with asyncio.timeout(min(wait, ends_at - time.monotonic())):
                        piece = await anext(iterator)
            except StopAsyncIteration:
                return
            except TimeoutError:
                raise BackendTimeout(f"no text within {wait:g} s") from None
            if piece:
                wait = deadlines.between_s
                yield piece
    finally:
        close = getattr(iterator, "aclose", None)
        if close is not None:
            await close()
