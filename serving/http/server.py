"""How uvicorn runs the app: no access log, because a path can hold words, and room for answers to end at shutdown."""

import h11
from fastapi import FastAPI
from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol

from serving.http import last_resort
from serving.http.encoding import encode
from serving.http.errors import Problem, problem_json

_NOT_HTTP = Problem(400, "This is not an HTTP request that can be read. Send HTTP/1.1.")


class Protocol(H11Protocol):
    """uvicorn's HTTP/1.1; its own refusal, given before any app is asked, carries resources like every other."""

    def send_400_response(self, msg: str) -> None:
        body = encode(problem_json(_NOT_HTTP, last_resort.resources()))
        headers = [("content-type", "application/json"), ("content-length", str(len(body))), ("connection", "close")]
        response = h11.Response(status_code=400, headers=headers, reason=b"Bad Request")
        for event in (response, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


def server_config(
    app: FastAPI, *, host: str = "127.0.0.1", port: int = 0, log_level: str = "warning", shutdown_s: int = 30
) -> Config:
    """A configuration for `uvicorn.Server`. Our own log has one line per request, on the logger `crisis.http`.

    shutdown_s is longer than an answer takes, so that a restart cuts nobody off in the middle of a sentence.
    """
    return Config(
        app,
        host=host,
        port=port,
        http=Protocol,
        log_level=log_level,
        access_log=False,
        server_header=False,
        ws="none",
        lifespan="on",
        proxy_headers=False,
        timeout_graceful_shutdown=shutdown_s,
    )
