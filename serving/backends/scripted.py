"""A backend that says what it is told to: the fake that tests and benchmarks use instead of patches."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from serving.backend import BackendError, Request


@dataclass(slots=True)
class ScriptedBackend:
    """Yields the pieces in order. A float among them is a pause in seconds, an exception is raised at its place."""

    pieces: Sequence[str | float | BackendError | Exception]
    name: str = "scripted"
    model: str = "scripted"
    source: str = "local"
    requests: list[Request] = field(default_factory=list)

    async def stream(self, request: Request) -> AsyncIterator[str]:
        self.requests.append(request)
        for piece in self.pieces:
            if isinstance(piece, str):
                yield piece
            elif isinstance(piece, Exception):
                raise piece
            else:
                await asyncio.sleep(piece)
