"""The way to one server that the operator named: JSON questions, and answers that stream in as server-sent events.

Nothing of a person's text stands in an error: the HTTP library's exceptions carry the request, so they are neither
chained nor quoted. Nothing is taken from the environment, no redirect is followed, and an answer without end is cut.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import SplitResult, urlsplit

from serving.backend import BackendError, BackendMisconfigured, BackendTimeout, BackendUnavailable
from serving.backends.sse import EventData
from serving.backends.wire_errors import answered, failure_of, retry_after_s

if TYPE_CHECKING:
    import httpx2

MAX_ANSWER_BYTES = 4_000_000
"""Of one whole answer. A streamed reply of llama.cpp takes about 150 bytes a token, its settings 20 kB."""

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_T = TypeVar("_T")


def checked_url(url: str, *, option: str, remote: bool, plain_http: bool = False) -> str:
    """The address without a slash at its end. remote: a person's words may leave this machine; plain_http: unencrypted.

    Raises BackendMisconfigured, with the option that would mend it; never shows what stands before an "@".
    """
    parts = split(url)
    plain = parts and parts.scheme in ("http", "https") and parts.hostname
    if not parts or not plain or parts.username or parts.password or parts.query or parts.fragment:
        raise BackendMisconfigured(f"{option}: an http or https address without a password or query")
    here = parts.hostname in LOOPBACK
    if not here and not remote:
        raise BackendMisconfigured(
            f"{option}: {parts.hostname} is another machine; set remote = true if people's words may go there"
        )
    if not here and parts.scheme == "http" and not plain_http:
        raise BackendMisconfigured(
            f"{option}: people's words would travel unencrypted; use https, or set plain_http = true on a network of "
            "your own"
        )
    return url.rstrip("/")


def split(url: str) -> SplitResult | None:
    """The parts of an address; None where it is none."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # looked at only now, and not a number in some
    except ValueError:
        return None
    return parts


class Wire:
    """One server and the connections that are kept to it; `aclose` ends them. `who` is its name in errors.

    key is sent as a bearer token and never shown. connect_s: seconds to connect; every other wait is bounded by the
    timeout_s of its call.
    """

    def __init__(self, url: str, *, who: str, key: str = "", connect_s: float = 3.0) -> None:
        self.who = who
        self._url = url
        self._client = _client(url, key, connect_s=connect_s)

    def __repr__(self) -> str:
        return f"Wire({self.who})"

    async def aclose(self) -> None:
        """End the connections that are kept."""
        await self._client.aclose()

    async def get(self, path: str, *, timeout_s: float) -> Any:
        """A JSON document. Raises BackendError."""
        return await self._document("GET", path, None, timeout_s)

    async def post(self, path: str, body: Mapping[str, Any], *, timeout_s: float) -> Any:
        """The JSON answer to a JSON body. Raises BackendError."""
        return await self._document("POST", path, body, timeout_s)

    async def stream(self, path: str, body: Mapping[str, Any], *, timeout_s: float) -> "Answer":
        """An answer that streams in, once its headers are there. Raises BackendError."""
        response = await sealed(self._send("POST", path, body), timeout_s, self.who, answering=False)
        answer = Answer(response, self.who)
        try:
            if response.status_code != 200 or not _is_event_stream(response):
                raise await self._refusal(response, timeout_s)
        except BaseException:
            await answer.aclose()
            raise
        return answer

    async def _document(self, method: str, path: str, body: Mapping[str, Any] | None, timeout_s: float) -> Any:
        status, raw = await sealed(self._whole(method, path, body), timeout_s, self.who)
        document = _parsed(raw)
        if status != 200 or document is None:
            raise answered(status, document, self.who)
        return document

    async def _whole(self, method: str, path: str, body: Mapping[str, Any] | None) -> tuple[int, bytes]:
        response = await self._send(method, path, body)
        try:
            return response.status_code, await response.aread()
        finally:
            await response.aclose()

    async def _refusal(self, response: "httpx2.Response", timeout_s: float) -> BackendError:
        raw = await sealed(response.aread(), timeout_s, self.who)
        return answered(response.status_code, _parsed(raw), self.who, retry_after_s(response.headers))

    async def _send(self, method: str, path: str, body: Mapping[str, Any] | None) -> "httpx2.Response":
        content = None if body is None else json.dumps(body, separators=(",", ":")).encode("ascii")
        headers = {"content-type": "application/json"} if content else {}
        request = self._client.build_request(method, f"{self._url}{path}", content=content, headers=headers)
        return await self._client.send(request, stream=True)


class Answer:
    """One answer on its way, event by event."""

    def __init__(self, response: "httpx2.Response", who: str) -> None:
        self._response = response
        self._who = who
        self._events = _events(response)

    async def next(self, timeout_s: float) -> str | None:
        """The next event's data, None after the last. Raises BackendError, BackendTimeout after so many seconds."""
        return await sealed(anext(self._events, None), timeout_s, self._who)

    async def aclose(self) -> None:
        """Hang up, whether or not everything was read: the server stops generating."""
        await self._events.aclose()
        await self._response.aclose()


async def sealed(work: Awaitable[_T], timeout_s: float, who: str, *, answering: bool = True) -> _T:
    """What the work gives, or one of our errors: raised outside of the `except`, so that nothing hangs on to it.

    answering: False while no headers have come (wire_errors.failure_of).
    """
    try:
        async with asyncio.timeout(timeout_s):
            return await work
    except TimeoutError:
        failure: BackendError = BackendTimeout(f"{who} did not answer in time")
    except Exception as error:  # noqa: BLE001 - whatever it is, it may carry the request, and failure_of translates it
        failure = failure_of(error, who, answering=answering)
    raise failure


async def _events(response: "httpx2.Response") -> AsyncGenerator[str, None]:
    stage = EventData()
    async for chunk in response.aiter_raw():
        for data in stage.feed(chunk):
            yield data
    for data in stage.flush():
        yield data


def parsed_event(data: str, who: str) -> dict[str, Any]:
    """The JSON object in an event's data. Raises BackendUnavailable."""
    try:
        event = json.loads(data)
    except ValueError:
        event = None
    if not isinstance(event, dict):
        raise BackendUnavailable(f"{who} sent an event that cannot be read")
    return event


def _parsed(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except ValueError:
        return None


def _is_event_stream(response: "httpx2.Response") -> bool:
    kind: str = response.headers.get("content-type", "")
    return kind.partition(";")[0].strip().lower() == "text/event-stream"


def _client(url: str, key: str, *, connect_s: float) -> "httpx2.AsyncClient":
    try:
        import httpx2

        from serving.backends.sealed_transport import SealedTransport
    except ImportError:
        raise BackendMisconfigured(
            "this engine needs httpx2 (mend it with: pip install 'crisis-support[openai]')"
        ) from None
    # A fresh connection each time on this machine: it costs nothing, and no request meets one that was just closed.
    headers = {"connection": "close"} if urlsplit(url).hostname in LOOPBACK else {}
    if key:
        headers["authorization"] = f"Bearer {key}"
    timeout = httpx2.Timeout(None, connect=connect_s, pool=connect_s)
    transport = SealedTransport(headers=headers, max_bytes=MAX_ANSWER_BYTES)
    return httpx2.AsyncClient(transport=transport, timeout=timeout, follow_redirects=False, trust_env=False)
