"""Bytes out through ASGI, without a response object in between: each event leaves with the call that sends it."""

import asyncio
from types import TracebackType
from typing import Self

from starlette.types import Send

RawHeaders = tuple[tuple[bytes, bytes], ...]

JSON = b"application/json"
EVENTS: RawHeaders = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"x-accel-buffering", b"no"),  # or nginx would keep the resources until the reply is whole
)
STILL_HERE = b": still here\n\n"
"""A comment by the standard of server-sent events: clients read past it, and nobody takes the silence for an end."""


async def send_bytes(
    send: Send, body: bytes, *, status: int = 200, media_type: bytes = JSON, headers: RawHeaders = ()
) -> None:
    """A whole response."""
    fixed = [(b"content-type", media_type), (b"content-length", str(len(body)).encode()), *headers]
    await send({"type": "http.response.start", "status": status, "headers": fixed})
    await send({"type": "http.response.body", "body": body})


class EventStream:
    """`async with EventStream(send, quiet_s=…) as stream:` events, and a comment after quiet_s of silence.

    Its end is sent only when the body ended well: an answer that broke off is not presented as complete.
    """

    __slots__ = ("_keeper", "_last", "_quiet_s", "_send", "_timer", "_turn")

    def __init__(self, send: Send, *, quiet_s: float) -> None:
        self._send = send
        self._quiet_s = quiet_s
        self._turn = asyncio.Lock()
        self._keeper: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._last = loop.time()
        self._timer = loop.call_later(self._quiet_s, self._start)  # most answers have ended before
        await self._send({"type": "http.response.start", "status": 200, "headers": list(EVENTS)})
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        if self._keeper is not None:
            self._keeper.cancel()
        if kind is None:
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def send(self, event: bytes) -> None:
        """Waits for a reader who is slow, as long as the server lets it."""
        async with self._turn:
            await self._send({"type": "http.response.body", "body": event, "more_body": True})
            self._last = asyncio.get_running_loop().time()

    def _start(self) -> None:
        self._keeper = asyncio.get_running_loop().create_task(self._keep())

    async def _keep(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            quiet = loop.time() - self._last
            if quiet >= self._quiet_s and not self._turn.locked():
                await self.send(STILL_HERE)
                quiet = 0.0
            await asyncio.sleep(max(self._quiet_s - quiet, self._quiet_s / 4))
