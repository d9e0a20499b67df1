"""Bounds the work for one caller: a model must not go on speaking to nobody, nor for ever."""

import asyncio
from types import TracebackType
from typing import Literal, Self

from starlette.types import Receive

from serving.http.errors import CallerLeft

# Most static answers are done before this; only longer ones are worth a task that waits for the connection to close.
_GRACE_S = 0.02


class HangUp:
    """`async with HangUp(receive, deadline_s=…):` cancels its body when the caller disconnects, or at the deadline.

    The request's body must have been read before. Works like asyncio.timeout: a cancellation from outside stays one. At
    the deadline, and when it is told to hurry, the body may call `forgive`, or heed what the cancellation says, and
    finish; otherwise all ends raise CallerLeft. among: where it is found while it lasts.
    """

    __slots__ = ("_among", "_cancelling", "_deadline_s", "_receive", "_task", "_timer", "_watcher", "_why")

    def __init__(self, receive: Receive, *, deadline_s: float, among: "set[HangUp]") -> None:
        self._receive = receive
        self._deadline_s = deadline_s
        self._among = among
        self._why: Literal["left", "deadline", "shutdown"] | None = None
        self._watcher: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("HangUp needs a task")
        self._task = task
        self._cancelling = task.cancelling()
        self._timer = asyncio.get_running_loop().call_later(_GRACE_S, self._start)
        self._among.add(self)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._among.discard(self)
        self._timer.cancel()
        if self._watcher is not None:
            self._watcher.cancel()
        if self._why is not None and self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise CallerLeft from exc

    def hurry(self) -> None:
        """The service ends: what there is to say must be said now."""
        self._cancel("shutdown")

    def forgive(self) -> str:
        """Why the cancellation just caught only wants an end, "" where it wants more. It is taken back: the body may
        finish."""
        why = self._why
        if why in (None, "left") or self._task.cancelling() != self._cancelling + 1:
            return ""
        self._why = None
        self._task.uncancel()
        return why or ""

    def _cancel(self, why: Literal["left", "deadline", "shutdown"]) -> None:
        if self._why is None:
            self._why = why
            self._task.cancel(why)

    def _start(self) -> None:
        self._watcher = asyncio.get_running_loop().create_task(self._watch())

    async def _watch(self) -> None:
        try:
            async with asyncio.timeout(self._deadline_s):
                while (await self._receive())["type"] != "http.disconnect":
                    pass
            self._cancel("left")
        except TimeoutError:
            self._cancel("deadline")
