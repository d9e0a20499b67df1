"""The service's end of one worker process: started, spoken to, listened to, ended. It restarts nothing: engine.py does.

Everything the worker writes to its standard error is read and forgotten but for a fixed reason (reasons.py).
"""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self

from serving.worker import reasons
from serving.worker.environment import for_engine
from serving.worker.protocol import Message, decode, encode

_CHUNK_BYTES = 1 << 16


class Link:
    """One worker process. `on_frame` gets every frame in order; `ended` is set when the worker can say nothing more."""

    def __init__(self, process: Process, on_frame: Callable[[Message], None]) -> None:
        if not (process.stdin and process.stdout and process.stderr):
            raise ValueError("a worker needs three pipes")
        self.ended = asyncio.Event()
        self._process = process
        self._on_frame = on_frame
        self._cause: str | None = None
        self._killed_for: str | None = None
        loop = asyncio.get_running_loop()
        self._input = process.stdin
        self._readers = (
            loop.create_task(self._read_frames(process.stdout)),
            loop.create_task(self._read_errors(process.stderr)),
        )

    @classmethod
    async def open(cls, module: str, settings: dict[str, Any], on_frame: Callable[[Message], None]) -> Self:
        """Start a worker and have it load. It has its own session: Ctrl-C in the terminal reaches the service only."""
        command = (sys.executable, "-P", "-m", module)
        process = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=for_engine(), start_new_session=True
        )
        link = cls(process, on_frame)
        link.send({"op": "load", "parent": os.getpid(), "settings": settings})
        return link

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, message: Message) -> None:
        """Never blocks and never fails: a worker that is gone is told by `ended`."""
        if not self._input.is_closing():
            self._input.write(encode(message))

    def kill(self, reason: str) -> None:
        """End it at once, even if it is stopped or stuck in a kernel call; `reason` is what reason() will say."""
        self._killed_for = self._killed_for or reason
        with suppress(ProcessLookupError):
            self._process.kill()

    async def close(self, patience_s: float) -> None:
        """End it in order, then by force; returns when the process is gone and its pipes are drained.

        May be called again, after it was cancelled for instance.
        """
        with suppress(ProcessLookupError):
            self._process.terminate()
        try:
            async with asyncio.timeout(patience_s):  # not wait_for: in 3.11 it can swallow a cancellation
                await self._process.wait()
        except TimeoutError:
            self.kill("it did not stop when asked to")
            await self._process.wait()
        self._input.close()
        await asyncio.wait(self._readers)

    async def reason(self) -> str:
        """Why it ended, after `ended`: what it was killed for, what it complained of, or how it exited."""
        with suppress(TimeoutError):
            async with asyncio.timeout(1.0):
                await self._process.wait()
        return self._killed_for or self._cause or reasons.of_exit(self._process.returncode)

    async def _read_frames(self, stream: asyncio.StreamReader) -> None:
        rest = b""
        try:
            while data := await stream.read(_CHUNK_BYTES):
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    self._on_frame(decode(line))
        finally:
            self.ended.set()

    async def _read_errors(self, stream: asyncio.StreamReader) -> None:
        rest = ""
        while data := await stream.read(_CHUNK_BYTES):
            *lines, rest = (rest + data.decode("utf-8", "replace")).split("\n")
            rest = rest[-1000:]
            for reason in filter(None, map(reasons.classify, lines)):
                self._cause = min(self._cause or reason, reason, key=reasons.rank)
