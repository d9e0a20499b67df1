"""The outermost layer: who may enter, what went wrong, and one line of log for each request. Pure ASGI, and no text."""

import asyncio
import logging
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from serving.http.encoding import encode
from serving.http.errors import CallerLeft, Problem, openai_problem_json, problem_json, where
from serving.http.front import Front
from serving.http.headers import secured
from serving.http.metrics import OTHER
from serving.http.sending import send_bytes
from serving.http.traces import Traces
from serving.http.visit import SCOPE_KEY, Visit
from serving.logs import request_id

logger = logging.getLogger("crisis.http")

_STOPPED = "The service is being stopped, and your message was not read to its end. Send it again in a minute."
LEFT_STATUS = 499  # nginx's number for a caller who closed the connection; it is only ever logged and counted


class Edge:
    """Wraps the app. `routes` are the paths that logs and metrics may name; any other is "other"."""

    def __init__(self, app: ASGIApp, front: Front, routes: frozenset[str], traces: Traces | None = None) -> None:
        self._app = app
        self._traces = traces
        self._front = front
        self._routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"]
        visit = scope[SCOPE_KEY] = Visit(path if path in self._routes else OTHER)
        request_id.set(visit.id)  # the server makes a task, and so a context, for each request

        async def sender(message: Message) -> None:
            if message["type"] == "http.response.start":
                visit.status = message["status"]
                message["headers"] = [*secured(message["headers"]), (b"x-request-id", visit.id.encode())]
            await send(message)

        try:
            await self._enter(scope, receive, sender)
        except CallerLeft:
            visit.status = LEFT_STATUS
            self._front.metrics.caller_left()
        finally:
            self._record(visit)
            if self._traces is not None:
                self._traces.record(visit, _traceparent(scope))

    async def _enter(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            self._front.gatekeeper.admit(scope["method"], scope["path"], scope["headers"], _visit(scope))
            await self._app(scope, receive, send)
        except CallerLeft:
            raise
        except asyncio.CancelledError:  # by the server, which ends: even now nobody leaves without the lines
            await self._refuse(Problem(503, _STOPPED), scope, send)
        except Problem as problem:
            await self._refuse(problem, scope, send)
        except Exception as exc:  # noqa: BLE001 - the app's edge: the caller gets resources, the log a place and no text
            logger.error("request %s broke: %s at %s", _visit(scope).id, type(exc).__name__, where(exc))
            await self._refuse(Problem(500, "Something broke on our side. Try again; the resources hold."), scope, send)

    async def _refuse(self, problem: Problem, scope: Scope, send: Send) -> None:
        if _visit(scope).status:  # the head has left: the answer can't become an error any more
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            return
        resources = self._front.resources(problem.country, problem.language)
        shape = openai_problem_json if scope["path"].startswith("/v1/") else problem_json
        await send_bytes(send, encode(shape(problem, resources)), status=problem.status, headers=problem.headers)

    def _record(self, visit: Visit) -> None:
        self._front.metrics.request(visit.route, visit.status)
        logger.info(
            "request %s %s %d %.1f ms level=%s source=%s key=%s",
            visit.id,
            visit.route,
            visit.status,
            visit.elapsed_s() * 1000,
            visit.level,
            visit.source,
            visit.key,
            extra={"fields": _fields(visit)},
        )


def _traceparent(scope: Scope) -> bytes | None:
    return next((value for name, value in scope["headers"] if name == b"traceparent"), None)


def _fields(visit: Visit) -> dict[str, Any]:
    """The line of a request as a log collector wants it."""
    return {
        "request": visit.id,
        "route": visit.route,
        "status": visit.status,
        "ms": round(visit.elapsed_s() * 1000, 1),
        "answer_level": visit.level,
        "source": visit.source,
        "key": visit.key,
    }


def _visit(scope: Scope) -> Visit:
    visit: Visit = scope[SCOPE_KEY]
    return visit
