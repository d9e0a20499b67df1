"""A small HTTP/1.1 server over raw sockets, for peers that misbehave: it can send half a chunk, stall, and reset.

A peer is a handler `async (Exchange) -> None`; `serve` runs it as a process and prints its port. What a peer keeps of
a request is its shape, never its text.
"""

import asyncio
import contextlib
import json
import socket
import struct
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

REASONS = {200: "OK", 307: "Temporary Redirect", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden"}


@dataclass(slots=True)
class Exchange:
    """One request and the means to answer it, byte by byte."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any
    _reader: asyncio.StreamReader
    _writer: asyncio.StreamWriter

    async def head(self, status: int = 200, **headers: str) -> None:
        """The status line and the headers of a chunked answer; underscores in names become dashes."""
        lines = [f"HTTP/1.1 {status} {REASONS.get(status, 'Error')}", "Transfer-Encoding: chunked", "Connection: close"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        await self.raw("\r\n".join(lines).encode() + b"\r\n\r\n")

    async def chunk(self, data: bytes) -> None:
        await self.raw(b"%x\r\n%s\r\n" % (len(data), data))

    async def half_a_chunk(self, data: bytes) -> None:
        """A chunk that promises twice as many bytes as it has."""
        await self.raw(b"%x\r\n%s" % (2 * len(data), data))

    async def end(self) -> None:
        await self.raw(b"0\r\n\r\n")

    async def answer(self, status: int, body: bytes, **headers: str) -> None:
        """A whole answer at once."""
        await self.head(status, **headers)
        await self.chunk(body)
        await self.end()

    async def raw(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def wait_for_hangup(self) -> None:
        """Say nothing until the other side leaves."""
        await self._reader.read()

    @property
    def left(self) -> bool:
        """Whether the other side has closed."""
        return self._reader.at_eof() or self._writer.is_closing()

    def reset(self) -> None:
        """Drop the connection with RST, as a crash or a proxy does."""
        raw: socket.socket = self._writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()


Handler = Callable[[Exchange], Awaitable[None]]


def serve(handler: Handler) -> None:
    """Serve on a free loopback port, printed as the first line, until stdin closes: no peer outlives its test."""
    asyncio.run(_serve(handler))


async def _serve(handler: Handler) -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, ValueError):
            await handler(await _read(reader, writer))
        with contextlib.suppress(OSError):
            writer.close()
            await writer.wait_closed()

    server = await asyncio.start_server(connected, "127.0.0.1", 0, limit=1 << 20)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


async def _read(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Exchange:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = head[0].split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Exchange(method, path, headers, json.loads(body) if body else None, reader, writer)
