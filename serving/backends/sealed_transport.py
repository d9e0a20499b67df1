"""The only way out of this machine for a person's words: fixed headers, a bounded answer, no environment.

Needs httpx2, which the `claude` extra brings; import it only where that extra is known to be there.
"""

from collections.abc import AsyncIterator, Mapping

import httpx2

_LET_THROUGH = ("host", "content-type", "content-length", "accept", "anthropic-version", "user-agent")


class TooLong(httpx2.ReadError):
    """The answer has more bytes than any reply could need."""


class SealedTransport(httpx2.AsyncBaseTransport):
    """Sends the headers that a request needs and `headers`, and no others; reads at most max_bytes of an answer.

    So ANTHROPIC_CUSTOM_HEADERS, cookies, trace context and the SDK's description of this machine stay here, and an
    answer without end can't fill the memory. Proxies and certificates named in the environment are not used.
    """

    def __init__(self, *, headers: Mapping[str, str], max_bytes: int) -> None:
        self._headers = dict(headers)
        self._max_bytes = max_bytes
        self._inner = httpx2.AsyncHTTPTransport(trust_env=False)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        kept = {name: request.headers[name] for name in _LET_THROUGH if name in request.headers}
        request.headers = httpx2.Headers({**kept, "accept-encoding": "identity", **self._headers})
        response = await self._inner.handle_async_request(request)
        if not isinstance(response.stream, httpx2.AsyncByteStream):
            raise httpx2.ReadError("an answer that cannot be streamed")
        response.stream = _Bounded(response.stream, self._max_bytes)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, max_bytes: int) -> None:
        self._inner = inner
        self._left = max_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._inner:
            self._left -= len(chunk)
            if self._left < 0:
                raise TooLong("more bytes than a reply can have")
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()
