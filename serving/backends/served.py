"""What every backend has in common whose model a server of somebody else runs: Ollama, or anything like OpenAI.

The server is watched like an engine of our own: while it is not there, or does not serve the model, stream() raises
BackendUnavailable at once. A backend says how it meets its server (`_live`) and how it reads one reply (`_texts`).
"""

import asyncio
from abc import abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Generic, Protocol, TypeVar

from serving.backend import BackendBusy, Request
from serving.backends.continuing import continuing
from serving.backends.messages import fitted
from serving.backends.reported import Refusals
from serving.supervision import Pauses, Supervised


class ServedSettings(Protocol):
    """The part of a server's settings that all of them share. `context` in tokens; `parallel` requests at once."""

    @property
    def context(self) -> int: ...
    @property
    def parallel(self) -> int: ...
    @property
    def pauses(self) -> Pauses: ...


_Settings = TypeVar("_Settings", bound=ServedSettings)


class ServedBackend(Supervised, Generic[_Settings]):
    """One model of one server: its state, its places, and the way of one reply."""

    def __init__(
        self, *, name: str, model: str, settings: _Settings, refusals: Refusals, source: str = "local"
    ) -> None:
        super().__init__(name=name, model=model, source=source, pauses=settings.pauses)
        self.settings = settings
        self._refusals = refusals
        self._places = asyncio.Semaphore(settings.parallel)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r}, model={self.model!r})"

    async def start(self) -> None:
        """Begin to look for the server in the background; returns at once."""
        self._supervisor.start("looking for the server")

    async def stream(self, request: Request) -> AsyncIterator[str]:
        """Pieces of the reply after request.prefix. Closing the iterator closes the connection of this request."""
        asked, dropped = self._fitted(request)
        texts = continuing(self._texts(asked, dropped), request, name=self.name)
        async with self._place_taken(), aclosing(texts):
            async for text in texts:
                yield text

    def _fitted(self, request: Request) -> tuple[Request, int]:
        """What of the request has room, and how many turns had none. Raises BackendUnavailable without a server."""
        self._supervisor.require_ready()
        return fitted(request, context=self.settings.context, name=self.name)

    @asynccontextmanager
    async def _place_taken(self) -> AsyncIterator[None]:
        if self._places.locked():
            raise BackendBusy(f"{self.name}: {self.settings.parallel} requests are being answered")
        async with self._places:
            yield

    @abstractmethod
    def _texts(self, request: Request, dropped: int) -> AsyncGenerator[str, None]:
        """The pieces of one reply; sets `stats` at its end."""
