"""Builds the HTTP application around a responder."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from threading import Thread
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from serving.http.cors import Cors
from serving.http.crisis_api import Assess, Filter, ResourcesOf, Respond
from serving.http.edge import Edge
from serving.http.errors import Problem
from serving.http.front import Front
from serving.http.openai_api import ChatCompletions, Models
from serving.http.openapi import describe
from serving.http.page import Page, PageFile
from serving.http.service import HttpOptions, Responder
from serving.http.status_api import Healthz, MetricsRoute, Readyz, ReportRoute
from serving.http.traces import Traces
from serving.records import Records
from shield import answers

Hook = Callable[[], Awaitable[None]]

VERSION = "0.1.0"
# FastAPI can export spans and validation errors, which hold what was sent: off, whatever the environment says.
_NO_TELEMETRY: Any = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}


def create_app(
    responder: Responder,
    options: HttpOptions,
    *,
    records: Records | None = None,
    traces: Traces | None = None,
    on_start: Hook | None = None,
    on_stop: Hook | None = None,
) -> FastAPI:
    """The whole HTTP face of design.md. on_start and on_stop run around its life; a failing start is fatal.

    records: where answers are counted; none where nothing is written down. traces: where spans go, if anywhere.
    Raises KeysError for a file of keys that cannot be used.
    """
    front = Front(responder, options, records)
    app = FastAPI(
        title="Crisis support",
        version=VERSION,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=_lifespan(on_start, on_stop, records, traces),
        telemetry=_NO_TELEMETRY,
    )
    routes = [Route(path, endpoint, methods=methods) for path, methods, endpoint in _endpoints(front)]
    app.router.routes[:0] = routes  # before /openapi.json: most requests are answers
    app.add_exception_handler(HTTPException, _as_problem)
    app.state.hurry = front.hurry
    app.openapi = describe(app)  # type: ignore[method-assign]  # FastAPI's documented way of writing one's own
    named = frozenset(route.path for route in routes) | {"/openapi.json"}
    app.add_middleware(Edge, front=front, routes=named, traces=traces)
    if options.cors_origins:
        app.add_middleware(Cors, origins=options.cors_origins)
    return app


def _endpoints(front: Front) -> list[tuple[str, list[str], ASGIApp]]:
    return [
        ("/crisis/respond", ["POST"], Respond(front)),
        ("/v1/chat/completions", ["POST"], ChatCompletions(front)),
        ("/crisis/assess", ["POST"], Assess(front)),
        ("/crisis/filter", ["POST"], Filter(front)),
        ("/crisis/resources", ["GET"], ResourcesOf(front)),
        ("/v1/models", ["GET"], Models()),
        ("/healthz", ["GET"], Healthz()),
        ("/readyz", ["GET"], Readyz(front)),
        ("/metrics", ["GET"], MetricsRoute(front)),
        ("/crisis/report", ["GET"], ReportRoute(front)),
        ("/", ["GET", "POST"], Page(front)),
        ("/page.css", ["GET"], PageFile("page.css", b"text/css; charset=utf-8")),
        ("/page.js", ["GET"], PageFile("page.js", b"text/javascript; charset=utf-8")),
        ("/icon.svg", ["GET"], PageFile("icon.svg", b"image/svg+xml")),
    ]


_MENDS = {
    404: "There is nothing at this path. The service answers at POST /crisis/respond; all paths are in /openapi.json.",
    405: "This path does not take this method",
}


async def _as_problem(request: Request, exc: Exception) -> Response:
    """The framework's own refusals (404, 405) take the way of all others: out through the edge, with resources."""
    if not isinstance(exc, HTTPException):
        raise exc
    headers = tuple((name.lower().encode(), value.encode()) for name, value in (exc.headers or {}).items())
    message = _MENDS.get(exc.status_code, HTTPStatus(exc.status_code).phrase)
    if exc.status_code == 405 and exc.headers:
        message += f": use {exc.headers.get('Allow', 'another')}."
    raise Problem(exc.status_code, message, headers=headers)


def _lifespan(on_start: Hook | None, on_stop: Hook | None, records: Records | None, traces: Traces | None) -> Any:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None, None]:
        if on_start is not None:
            await on_start()
        Thread(target=answers.prepare, name="answers", daemon=True).start()
        writing = asyncio.create_task(records.run(), name="records") if records is not None else None
        try:
            yield
        finally:
            if on_stop is not None:
                await on_stop()
            if writing is not None and records is not None:
                writing.cancel()
                await asyncio.to_thread(records.flush)
            if traces is not None:
                await asyncio.to_thread(traces.close)

    return lifespan
