"""How uvicorn runs the app: no access log, because a path can hold words; bounds for callers who are slow with their
questions or with reading; and room for answers to end at shutdown."""

import asyncio
import socket
from collections.abc import Callable

import h11
from fastapi import FastAPI
from uvicorn import Config, Server
from uvicorn.protocols.http.h11_impl import H11Protocol

from serving import last_resort
from serving.http.encoding import encode
from serving.http.errors import Problem, problem_json
from serving.http.headers import secured
from serving.http.sending import JSON

HEAD_S = 10.0
"""How long the head of a request may take: connections that ask nothing are not kept."""

SLOW_S = 15.0
"""How long what was written may wait for a caller to read it, before the connection is cut: memory is others' too."""

_UNSENT_BYTES = 65_536
"""What the system keeps for a caller who does not read; it doubles it. An answer has some 10,000."""

_COMPLETING_S = 3
"""How long it may take to end what is still open when the patience at shutdown is over."""

_NOT_HTTP = Problem(400, "This is not an HTTP request that can be read. Send HTTP/1.1.")
_TOO_SLOW = Problem(408, f"The head of the request did not arrive within {HEAD_S:g} s. Send it again.")


class Protocol(H11Protocol):
    """uvicorn's HTTP/1.1; its own refusals, given before any app is asked, carry resources like every other.

    head_s, slow_s: see HEAD_S, SLOW_S.
    """

    head_s = HEAD_S
    slow_s = SLOW_S
    _waiting: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _UNSENT_BYTES)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._unwatch()
        self._read_on()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._must_read()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._read_on()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._must_take_the_rest()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._must_take_the_rest()

    def shutdown(self) -> None:
        super().shutdown()
        self._must_take_the_rest()

    def handle_events(self) -> None:
        super().handle_events()
        if self.conn.their_state is not h11.IDLE:
            self._unwatch()
        elif self.conn.trailing_data[0]:
            self._watch()  # the beginning of a next request: from here on its head has its time

    def send_400_response(self, msg: str) -> None:
        self._refuse(_NOT_HTTP)

    def _watch(self) -> None:
        if self._waiting is None:
            self._waiting = self.loop.call_later(self.head_s, self._too_slow)

    def _unwatch(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _must_read(self) -> None:
        if self._unread is None:
            self._unread = self.loop.call_later(self.slow_s, self.transport.abort)

    def _read_on(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _must_take_the_rest(self) -> None:
        """A closed connection that still holds something unread would stay for ever."""
        if self.transport.is_closing():
            self._must_read()

    def _too_slow(self) -> None:
        self._waiting = None
        if self.conn.our_state is not h11.IDLE or self.transport.is_closing():
            return
        if self.conn.trailing_data[0]:
            self._refuse(_TOO_SLOW)
        else:
            self.transport.close()

    def _refuse(self, problem: Problem) -> None:
        body = encode(problem_json(problem, last_resort.resources()))
        fixed = [(b"content-type", JSON), (b"content-length", str(len(body)).encode()), (b"connection", b"close")]
        response = h11.Response(status_code=problem.status, headers=secured(fixed), reason=b"Refused")
        for event in (response, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


def server_config(
    app: FastAPI, *, host: str = "127.0.0.1", port: int = 0, log_level: str = "warning", shutdown_s: int = 30
) -> Config:
    """A configuration for `uvicorn.Server`. Our own log has one line per request, on the logger `crisis.http`.

    shutdown_s: how long open answers may go on at the end, which is longer than one takes; Stopping bounds it.
    """
    return Config(
        app,
        host=host,
        port=port,
        http=Protocol,
        log_level=log_level,
        log_config=None,  # its lines go where all others go, and no traceback with them
        access_log=False,
        server_header=False,
        ws="none",
        lifespan="on",
        proxy_headers=False,
        timeout_graceful_shutdown=shutdown_s + _COMPLETING_S,
    )


class Stopping(Server):
    """uvicorn's server, which at its end has open answers completed after shutdown_s, before they would be cut off."""

    def __init__(self, config: Config, *, hurry: Callable[[], None], shutdown_s: float) -> None:
        super().__init__(config)
        self._hurry = hurry
        self._shutdown_s = shutdown_s

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        patience = asyncio.get_running_loop().call_later(self._shutdown_s, self._hurry)
        try:
            await super().shutdown(sockets)
        finally:
            patience.cancel()
