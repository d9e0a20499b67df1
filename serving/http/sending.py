"""Bytes out through ASGI, without a response object in between: each event leaves with the call that sends it."""

from starlette.types import Send

RawHeaders = tuple[tuple[bytes, bytes], ...]

JSON = b"application/json"
EVENTS: RawHeaders = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"x-accel-buffering", b"no"),  # or nginx would keep the resources until the reply is whole
)


async def send_bytes(
    send: Send, body: bytes, *, status: int = 200, media_type: bytes = JSON, headers: RawHeaders = ()
) -> None:
    """A whole response."""
    fixed = [(b"content-type", media_type), (b"content-length", str(len(body)).encode()), *headers]
    await send({"type": "http.response.start", "status": status, "headers": fixed})
    await send({"type": "http.response.body", "body": body})


async def start_events(send: Send) -> None:
    """The head of an event stream."""
    await send({"type": "http.response.start", "status": 200, "headers": list(EVENTS)})


async def send_event(send: Send, event: bytes) -> None:
    await send({"type": "http.response.body", "body": event, "more_body": True})


async def end_events(send: Send) -> None:
    await send({"type": "http.response.body", "body": b"", "more_body": False})
