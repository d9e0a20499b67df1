"""The outermost layer: who may enter, what went wrong, and one line of log for each request. Pure ASGI, and no text."""

import logging

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from serving.http.encoding import encode
from serving.http.errors import CallerLeft, Problem, openai_problem_json, problem_json, where
from serving.http.front import Front
from serving.http.metrics import OTHER
from serving.http.sending import RawHeaders, send_bytes
from serving.http.visit import SCOPE_KEY, Visit

logger = logging.getLogger("crisis.http")

# Open without a key: a load balancer's question, and the page, which asks for the key itself.
OPEN_PATHS = frozenset({"/", "/healthz", "/page.css", "/page.js", "/icon.svg"})
LEFT_STATUS = 499  # nginx's number for a caller who closed the connection; it is only ever logged and counted

_HEADERS: RawHeaders = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
)
_UNAUTHORIZED = "An API key is needed: send 'Authorization: Bearer KEY' or 'X-API-Key: KEY' with a known key."
_CHALLENGE: RawHeaders = ((b"www-authenticate", b'Bearer realm="crisis-support"'),)


class Edge:
    """Wraps the app. `routes` are the paths that logs and metrics may name; any other is "other"."""

    def __init__(self, app: ASGIApp, front: Front, routes: frozenset[str]) -> None:
        self._app = app
        self._front = front
        self._routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"]
        visit = scope[SCOPE_KEY] = Visit(path if path in self._routes else OTHER)

        async def sender(message: Message) -> None:
            if message["type"] == "http.response.start":
                visit.status = message["status"]
                message["headers"] = [*message["headers"], *_HEADERS, (b"x-request-id", visit.id.encode())]
            await send(message)

        try:
            await self._enter(scope, receive, sender)
        except CallerLeft:
            visit.status = LEFT_STATUS
            self._front.metrics.caller_left()
        finally:
            self._record(visit)

    async def _enter(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            if scope["path"] not in OPEN_PATHS and not self._front.keys.admit(scope["headers"]):
                raise Problem(401, _UNAUTHORIZED, headers=_CHALLENGE)
            await self._app(scope, receive, send)
        except CallerLeft:
            raise
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
            "request %s %s %d %.1f ms level=%s source=%s",
            visit.id,
            visit.route,
            visit.status,
            visit.elapsed_s() * 1000,
            visit.level,
            visit.source,
        )


def _visit(scope: Scope) -> Visit:
    visit: Visit = scope[SCOPE_KEY]
    return visit
