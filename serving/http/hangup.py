"""Ends the work for a caller who has left: a model must not go on speaking to nobody."""

import asyncio
from types import TracebackType
from typing import Self

from starlette.types import Receive

from serving.http.errors import CallerLeft

# Most static answers are done before this; only longer ones are worth a task that waits for the connection to close.
_GRACE_S = 0.02


class HangUp:
    """`async with HangUp(receive):` cancels its body when the caller disconnects, and then raises CallerLeft.

    The body must have been read before. Works like asyncio.timeout: cancelling from outside stays cancelling.
    """

    __slots__ = ("_cancelling", "_left", "_receive", "_task", "_timer", "_watcher")

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._left = False
        self._watcher: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("HangUp needs a task")
        self._task = task
        self._cancelling = task.cancelling()
        self._timer = asyncio.get_running_loop().call_later(_GRACE_S, self._start)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        if self._watcher is not None:
            self._watcher.cancel()
        if self._left and self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise CallerLeft from exc

    def _start(self) -> None:
        self._watcher = asyncio.get_running_loop().create_task(self._watch())

    async def _watch(self) -> None:
        await _disconnected(self._receive)
        self._left = True
        self._task.cancel()


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
