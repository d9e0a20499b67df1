"""Cross-origin calls from the origins an operator listed; none by default. No credentials: keys are headers."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_PREFLIGHT = (
    (b"access-control-allow-methods", b"GET, POST"),
    (b"access-control-allow-headers", b"authorization, content-type, x-api-key"),
    (b"access-control-max-age", b"600"),
)
_VARY = (b"vary", b"origin")


class Cors:
    """Outside the edge, because a preflight carries no key."""

    def __init__(self, app: ASGIApp, origins: tuple[str, ...]) -> None:
        self._app = app
        self._any = "*" in origins
        self._origins = frozenset(origin.encode("latin-1") for origin in origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        origin = _allowed(scope, self._origins, everyone=self._any) if scope["type"] == "http" else None
        if origin is None:
            await self._app(scope, receive, send)
            return
        allow = (b"access-control-allow-origin", origin)
        if scope["method"] == "OPTIONS":
            await send({"type": "http.response.start", "status": 204, "headers": [allow, _VARY, *_PREFLIGHT]})
            await send({"type": "http.response.body", "body": b""})
            return

        async def sender(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], allow, _VARY]
            await send(message)

        await self._app(scope, receive, sender)


def _allowed(scope: Scope, origins: frozenset[bytes], *, everyone: bool) -> bytes | None:
    for name, value in scope["headers"]:
        if name == b"origin":
            return bytes(value) if everyone or value in origins else None
    return None
