"""How uvicorn runs the app: no access log, because a path can hold words, and room for answers to end at shutdown."""

from fastapi import FastAPI
from uvicorn import Config

# Longer than any answer may take, so that a restart cuts nobody off in the middle of a sentence.
_SHUTDOWN_S = 30


def server_config(app: FastAPI, *, host: str, port: int, log_level: str = "info") -> Config:
    """A configuration for `uvicorn.Server`. Our own log has one line per request, on the logger `crisis.http`."""
    return Config(
        app,
        host=host,
        port=port,
        log_level=log_level,
        access_log=False,
        server_header=False,
        ws="none",
        lifespan="on",
        proxy_headers=False,
        timeout_graceful_shutdown=_SHUTDOWN_S,
    )
