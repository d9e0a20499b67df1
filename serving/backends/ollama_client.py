"""Ollama's official client, made fit for people's words: nothing from the environment, bounded answers, our errors.

Needs the `ollama` extra; import it only where that extra is known to be there. The client lacks two things that we
need: asking the server for its version, and the request's `truncate` and `shift` (never cut a conversation silently).
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Mapping
from typing import Any, TypeVar

import httpx
from ollama import AsyncClient, ChatResponse, ResponseError

from serving.backend import (
    BackendError,
    BackendMisconfigured,
    BackendRefused,
    BackendThrottled,
    BackendTimeout,
    BackendUnavailable,
)

MAX_ANSWER_BYTES = 8_000_000
"""Of one whole answer. A line of a streamed reply takes about 150 bytes; what `show` tells of a model up to 2 MB."""

_LET_THROUGH = ("host", "content-type", "content-length", "accept")
_TOO_LONG = ("context length", "context window", "exceeds the context", "input length")
_NO_MEMORY = ("more system memory", "out of memory", "insufficient memory", "cudamalloc failed")
_T = TypeVar("_T")


class OllamaClient(AsyncClient):
    """One server. Its methods raise the client's own errors: use them through `asked` and `chatted`."""

    def __init__(self, url: str, *, key: str, connect_s: float) -> None:
        super().__init__(
            url,
            follow_redirects=False,
            timeout=httpx.Timeout(None, connect=connect_s, pool=connect_s),
            trust_env=False,
            transport=_Sealed({"authorization": f"Bearer {key}"} if key else {}),
        )

    async def version(self) -> str:
        """The server's version. Not in the official client."""
        answer = await self._request_raw("GET", "/api/version")  # type: ignore[no-untyped-call] # the client's own
        return str(answer.json()["version"])

    async def aclose(self) -> None:
        """End the connections that are kept."""
        await self.close()  # type: ignore[no-untyped-call] # the client's own

    async def chat_stream(self, body: Mapping[str, Any]) -> AsyncIterator[ChatResponse]:
        """The answer to /api/chat, part by part, with a body of our own."""
        stream: AsyncIterator[ChatResponse] = await self._request(
            ChatResponse, "POST", "/api/chat", json=dict(body), stream=True
        )
        return stream


async def asked(work: Awaitable[_T], timeout_s: float, model: str) -> _T:
    """What the work gives, or one of our errors: raised outside of the `except`, so that nothing hangs on to it."""
    try:
        async with asyncio.timeout(timeout_s):
            return await work
    except TimeoutError:
        failure: BackendError = BackendTimeout("Ollama did not answer in time")
    except Exception as error:  # noqa: BLE001 - whatever it is, it may carry the request, and _failure translates it
        failure = _failure(error, model)
    raise failure


async def chatted(
    client: OllamaClient, body: Mapping[str, Any], *, timeout_s: float, model: str
) -> AsyncGenerator[ChatResponse, None]:
    """The parts of an answer; each may take timeout_s. Raises BackendError. Closing it hangs up."""
    parts = await asked(client.chat_stream(body), timeout_s, model)
    try:
        while (part := await asked(anext(parts, None), timeout_s, model)) is not None:
            yield part
    finally:
        close = getattr(parts, "aclose", None)
        if close is not None:
            await close()


def _failure(error: Exception, model: str) -> BackendError:
    if isinstance(error, BackendError):
        return error
    if isinstance(error, ResponseError):
        return _answered(error.status_code, str(error.error).lower(), model)
    if isinstance(error, (ConnectionError, httpx.ConnectError, httpx.ConnectTimeout)):
        return BackendUnavailable("no connection to Ollama: is it running, and is `url` right?")
    if isinstance(error, httpx.TimeoutException):
        return BackendTimeout("Ollama did not answer in time")
    if isinstance(error, httpx.HTTPError):
        return BackendUnavailable("the connection to Ollama broke")
    return BackendUnavailable("Ollama sent something that cannot be read")


def _answered(status: int, said: str, model: str) -> BackendError:
    """status: -1 for an error inside of an answer that began with 200. `said` is only searched."""
    if any(word in said for word in _TOO_LONG):
        return BackendRefused("Ollama: the conversation does not fit the model's context")
    if any(word in said for word in _NO_MEMORY):
        return BackendUnavailable("Ollama has not enough memory for this model and context")
    if status == 404 and "model" in said:
        return BackendMisconfigured(missing(model))
    if status in (401, 403):
        return BackendMisconfigured("Ollama does not accept the key")
    if status in (404, 405):
        return BackendMisconfigured("this address is no Ollama server: check `url`")
    if status in (408, 504):
        return BackendTimeout("Ollama did not answer in time")
    if status in (429, 503):
        return BackendThrottled("Ollama is busy")
    where = "in its reply" if status < 0 else f"status {status}"
    return BackendUnavailable(f"Ollama answered with an error ({where})", retry_after_s=0.0 if status == 500 else None)


def missing(model: str) -> str:
    """What an operator reads when the model was never pulled."""
    return f"Ollama does not have {model}; mend it with: ollama pull {model}"


class _Sealed(httpx.AsyncBaseTransport):
    """As sealed_transport.py, for the older HTTP library that the official client is built on."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._headers = dict(headers)
        self._inner = httpx.AsyncHTTPTransport(trust_env=False)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        kept = {name: request.headers[name] for name in _LET_THROUGH if name in request.headers}
        request.headers = httpx.Headers({**kept, "accept-encoding": "identity", "connection": "close", **self._headers})
        response = await self._inner.handle_async_request(request)
        if not isinstance(response.stream, httpx.AsyncByteStream):
            raise httpx.ReadError("an answer that cannot be streamed")
        response.stream = _Bounded(response.stream)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Bounded(httpx.AsyncByteStream):
    def __init__(self, inner: httpx.AsyncByteStream) -> None:
        self._inner = inner
        self._left = MAX_ANSWER_BYTES

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._inner:
            self._left -= len(chunk)
            if self._left < 0:
                raise httpx.ReadError("more bytes than a reply can have")
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()
