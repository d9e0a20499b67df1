"""Claude through Anthropic's Messages API. It sends a person's words to a third party: see docs/claude.md.

Nothing of a person's text or of the key stands in an error or a log: the SDK's exceptions carry both, so they are
neither chained nor quoted, and its loggers are kept above DEBUG. Nothing is taken from the environment.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from serving.backend import (
    BackendError,
    BackendMisconfigured,
    BackendRefused,
    BackendUnavailable,
    PrefillRejected,
    Request,
)
from serving.backends.claude_errors import failure_of
from serving.backends.claude_models import Capabilities, capabilities
from serving.backends.continuation import Continuation
from serving.backends.messages import alternating, told_of_beginning
from serving.backends.wire import LOOPBACK, split

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic, AsyncStream
    from anthropic.types import RawMessageStreamEvent

API_URL = "https://api.anthropic.com"
MAX_ANSWER_BYTES = 1_000_000
THINKING_ROOM = 1024
"""Tokens that a model which can't stop thinking gets beside those of the reply."""

logger = logging.getLogger("crisis")

_CHARACTERS_PER_TOKEN = 8
_CHATTY = ("anthropic", "httpx2", "httpcore2")


class ClaudeBackend:
    """Replies written by a Claude model. One client and its connections are kept; `aclose` ends them.

    api_key is never shown. base_url is https, or http on this machine. read_timeout_s is the longest wait for the next
    piece of text. max_retries is the SDK's own, before any text; the chain moves on faster. temperature is sent only to
    models that take one. takes overrides what the table says of the model. Raises BackendMisconfigured.
    """

    source = "claude"

    def __init__(
        self,
        *,
        name: str,
        model: str,
        api_key: str | SecretStr,
        base_url: str | None = None,
        connect_timeout_s: float = 3.0,
        read_timeout_s: float = 10.0,
        max_retries: int = 0,
        temperature: float | None = None,
        takes: Capabilities | None = None,
    ) -> None:
        self.name = name
        self.model = model
        self._takes = takes or capabilities(model)
        self._temperature = temperature
        self._read_timeout_s = read_timeout_s
        self._client = _client(
            _checked_key(api_key),
            _checked_url(base_url or API_URL),
            timeouts=(connect_timeout_s, read_timeout_s),
            max_retries=max_retries,
        )

    def __repr__(self) -> str:
        return f"ClaudeBackend(name={self.name!r}, model={self.model!r})"

    async def aclose(self) -> None:
        """End the connections that are kept."""
        await self._client.close()

    async def stream(self, request: Request) -> AsyncIterator[str]:
        """Pieces of text as they arrive. Closing the iterator closes the connection of this request."""
        continuation = Continuation(request.prefix)
        room = request.max_tokens * _CHARACTERS_PER_TOKEN
        answer = _Answer(self._read_timeout_s)
        try:
            await self._ask(answer, request)
            silent = True
            while room > 0 and (text := await answer.next_text()) is not None:
                piece = continuation.feed(text[:room])
                room -= len(text)
                if piece:
                    silent = False
                    yield piece
            if piece := continuation.flush():
                silent = False
                yield piece
            if silent:
                raise BackendRefused("Claude answered without text")
        finally:
            await answer.aclose()

    async def _ask(self, answer: "_Answer", request: Request) -> None:
        """Raises BackendError. A model that turns out to reject a prefill gets none from then on."""
        asked, prefilled = payload(request, self.model, self._takes, self._temperature), self._takes.prefill
        try:
            return await answer.ask(self._client, asked, request.cost)
        except PrefillRejected as error:
            failure: BackendError = error if prefilled else BackendMisconfigured(str(error))
        if prefilled:
            self._takes = replace(self._takes, prefill=False)
            logger.warning("%s (%s) takes no prefill: from now on it is told of the beginning", self.name, self.model)
        raise failure


def payload(request: Request, model: str, takes: Capabilities, temperature: float | None = None) -> dict[str, Any]:
    """The body of the API's request, as arguments of the SDK's `messages.create`."""
    system, messages = request.system, alternating(request.turns)
    prefix = request.prefix.rstrip()  # the API rejects a beginning that ends in a blank
    if prefix and takes.prefill:
        messages.append({"role": "assistant", "content": prefix})
    elif prefix:
        system = told_of_beginning(system, prefix)
    body: dict[str, Any] = {"model": model, "messages": messages, "stream": True, "max_tokens": request.max_tokens}
    if system:
        body["system"] = system
    if stop := [text for text in request.stop if text.strip()]:
        body["stop_sequences"] = stop
    if takes.temperature and temperature is not None:
        body["extra_body"] = {"temperature": temperature}  # the SDK dropped the argument, older models still take it
    return body | _thinking(request.max_tokens, takes)


def _thinking(max_tokens: int, takes: Capabilities) -> dict[str, Any]:
    if takes.thinking == "off":
        return {}
    if takes.thinking != "always":
        return {"thinking": {"type": takes.thinking}}
    effort = {"output_config": {"effort": "low"}} if takes.effort else {}
    return {"max_tokens": max_tokens + THINKING_ROOM, **effort}


class _Answer:
    """One answer on its way. Errors are raised outside of the `except` that caught the SDK's: none hangs on to it."""

    def __init__(self, read_timeout_s: float) -> None:
        self._read_timeout_s = read_timeout_s
        self._stream: AsyncStream[RawMessageStreamEvent] | None = None
        self._texts: AsyncGenerator[str, None] | None = None

    async def ask(self, client: "AsyncAnthropic", body: dict[str, Any], tell: Callable[[int, int], None]) -> None:
        """tell: called with the tokens read and written when the answer has ended. Raises BackendError."""
        failure: BackendError | None = None
        try:
            async with asyncio.timeout(self._read_timeout_s):
                self._stream = await client.messages.create(**body)
        except Exception as error:  # noqa: BLE001 - whatever it is, it may carry the request, and failure_of translates it
            failure = failure_of(error)
        if failure is not None:
            raise failure
        if self._stream is None or not _is_event_stream(self._stream):
            raise BackendUnavailable("Claude answered with something that is no event stream")
        self._texts = _texts(self._stream, tell)

    async def next_text(self) -> str | None:
        """The next piece of text, None after the last."""
        if self._texts is None:
            return None
        failure: BackendError | None = None
        try:
            async with asyncio.timeout(self._read_timeout_s):
                return await anext(self._texts, None)
        except Exception as error:  # noqa: BLE001 - as above: an event, and so the reply, may hang on the exception
            failure = failure_of(error)
        raise failure

    async def aclose(self) -> None:
        if self._texts is not None:
            await self._texts.aclose()
        if self._stream is not None:
            await self._stream.close()


async def _texts(
    events: "AsyncStream[RawMessageStreamEvent]", tell: Callable[[int, int], None]
) -> AsyncGenerator[str, None]:
    ended, read, wrote = False, 0, 0
    async for event in events:
        if event.type == "message_start":
            read = event.message.usage.input_tokens or 0
        elif event.type == "message_delta":
            wrote = event.usage.output_tokens or 0
        if event.type == "content_block_delta" and event.delta.type == "text_delta":
            if not isinstance(event.delta.text, str):
                raise BackendUnavailable("Claude sent an event that cannot be read")
            if event.delta.text:
                yield event.delta.text
        elif event.type == "message_delta" and event.delta.stop_reason == "refusal":
            raise BackendRefused("Claude refused to answer")
        elif event.type == "message_stop":
            ended = True
    if not ended:
        raise BackendUnavailable("Claude's answer broke off")
    tell(read, wrote)


def _is_event_stream(stream: "AsyncStream[RawMessageStreamEvent]") -> bool:
    kind: str = stream.response.headers.get("content-type", "")
    return kind.partition(";")[0].strip().lower() == "text/event-stream"


def _client(key: str, url: str, *, timeouts: tuple[float, float], max_retries: int) -> "AsyncAnthropic":
    try:
        import httpx2
        from anthropic import AsyncAnthropic

        from serving.backends.sealed_transport import SealedTransport
    except ImportError:
        raise BackendMisconfigured("Claude needs the `claude` extra: pip install 'crisis-support[claude]'") from None
    _keep_quiet()
    connect_s, read_s = timeouts
    timeout = httpx2.Timeout(read_s, connect=connect_s, pool=connect_s)
    transport = SealedTransport(headers={"authorization": f"Bearer {key}"}, max_bytes=MAX_ANSWER_BYTES)
    return AsyncAnthropic(
        api_key=key,
        base_url=url,
        max_retries=max_retries,
        timeout=timeout,
        http_client=httpx2.AsyncClient(transport=transport, timeout=timeout, follow_redirects=False, trust_env=False),
        open_telemetry={"traces": False, "propagation": False},
    )


def _keep_quiet() -> None:
    """At DEBUG the SDK logs whole requests, and ANTHROPIC_LOG or a root logger at DEBUG would turn that on."""
    loggers = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] in _CHATTY]
    for name in {*_CHATTY, *loggers}:
        logging.getLogger(name).setLevel(logging.WARNING)


def _checked_key(api_key: str | SecretStr) -> str:
    key = (api_key.get_secret_value() if isinstance(api_key, SecretStr) else api_key).strip()
    if not key:
        raise BackendMisconfigured("Claude needs a key: set CRISIS_ANTHROPIC_API_KEY")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise BackendMisconfigured("the key for Claude holds characters that no key has: copy it again")
    return key


def _checked_url(url: str) -> str:
    parts = split(url)
    safe = parts and (parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK))
    if not parts or not safe or not parts.hostname or parts.username or parts.password:
        raise BackendMisconfigured(
            "base_url for Claude: an https address without a password (http only on this machine)"
        )
    return url
