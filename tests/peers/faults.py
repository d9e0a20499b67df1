"""The fault provider: speaks OpenAI's chat interface and Anthropic's Messages API, and misbehaves by model name.

The fault is what follows "/" in the model's name. `POST /control` with {"model", "healthy"} makes it well or ill again
and forgets what was counted; `GET /seen` tells for each model how often it was asked, and how often with a prefill.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from peers import messages_api, openai_api
from peers.streams import EVENT_STREAM, answer_json
from peers.wire import Exchange, serve

SENTENCES = (
    "It sounds like tonight has been long and heavy. ",
    "Thank you for telling me about it. ",
    "I am sorry that you are going through this. ",
    "This moment can be shared with another person. ",
    "Thank you for trusting me with this. ",
    "You can talk to me about what you are feeling.",
)
"""What a model says that is well; the last sentence is said by nobody whose answer broke off."""

BACKUP = (
    "You do not have to carry it alone. ",
    "I am glad that you wrote. ",
    "You wrote it down. ",
    "Thank you for writing.",
)
"""What a model says whose name begins with "backup": to be told apart from the other."""

TWO_THIRDS = len(SENTENCES) * 2 // 3
HALF_SAID = "Thank you for trusting"
"""The beginning of the sentence in which an answer breaks off."""

TRICKLED = (*SENTENCES[:-1], f"{SENTENCES[-1]} ", "That sounds really hard. ")
"""What comes one by one, too slowly for a reply."""


class Speech(Protocol):
    """One provider's way of saying things."""

    def opening(self) -> bytes: ...
    def text(self, words: str) -> bytes: ...
    def closing(self) -> bytes: ...
    def refusal(self) -> bytes: ...
    def problem(self, status: int, message: str, code: str) -> dict[str, Any]: ...


class OpenAISpeech:
    def opening(self) -> bytes:
        return openai_api.OPENING

    def text(self, words: str) -> bytes:
        return openai_api.delta(words)

    def closing(self) -> bytes:
        return openai_api.delta(finish="stop") + openai_api.USAGE + openai_api.DONE

    def refusal(self) -> bytes:
        return openai_api.delta(finish="content_filter") + openai_api.DONE

    def problem(self, status: int, message: str, code: str) -> dict[str, Any]:
        return openai_api.error(message, "error", code or status)


class AnthropicSpeech:
    def opening(self) -> bytes:
        return messages_api.opening()

    def text(self, words: str) -> bytes:
        return messages_api.delta(words)

    def closing(self) -> bytes:
        return messages_api.closing()

    def refusal(self) -> bytes:
        return messages_api.closing("refusal")

    def problem(self, status: int, message: str, code: str) -> dict[str, Any]:
        kinds = {400: "invalid_request_error", 429: "rate_limit_error", 503: "overloaded_error"}
        document: dict[str, Any] = json.loads(messages_api.problem(kinds.get(status, "api_error"), message))
        return document


@dataclass(slots=True)
class Seen:
    """What was asked of one model since it was last told to be well or ill."""

    healthy: bool = False
    since: float = field(default_factory=time.monotonic)
    asked: int = 0
    prefilled: int = 0


@dataclass(frozen=True, slots=True)
class Call:
    """One request, and how to answer it."""

    exchange: Exchange
    speech: Speech
    seen: Seen

    async def begin(self, *chunks: bytes) -> None:
        await self.exchange.head(content_type=EVENT_STREAM)
        for chunk in (self.speech.opening(), *chunks):
            await self.exchange.chunk(chunk)

    async def says(self, *chunks: bytes) -> None:
        """A stream that ends as it should on the wire, whatever is in it."""
        await self.begin(*chunks)
        await self.exchange.end()

    async def fails(self, status: int, message: str, code: str = "", **headers: str) -> None:
        body = json.dumps(self.speech.problem(status, message, code)).encode()
        await self.exchange.answer(status, body, content_type="application/json", **headers)

    def texts(self, *sentences: str) -> bytes:
        return b"".join(map(self.speech.text, sentences))

    async def well(self) -> None:
        backup = self.exchange.body["model"].rpartition("/")[2].startswith("backup")
        await self.says(self.texts(*(BACKUP if backup else SENTENCES)), self.speech.closing())

    async def most(self) -> None:
        """Two thirds of a good answer, and the beginning of the next sentence."""
        await self.begin(self.texts(*SENTENCES[:TWO_THIRDS], HALF_SAID))

    async def left_within(self, seconds: float) -> bool:
        """Whether the caller hung up in this time."""
        try:
            async with asyncio.timeout(seconds):
                await self.exchange.wait_for_hangup()
        except TimeoutError:
            return False
        return True


Fault = Callable[[Call], Awaitable[None]]


def fails(status: int, message: str = "no", code: str = "", **headers: str) -> Fault:
    """The same refusal for ever."""
    return lambda call: call.fails(status, message, code, **headers)


def once(fault: Fault) -> Fault:
    """Ill the first time only."""
    return lambda call: fault(call) if call.seen.asked == 1 else call.well()


def late(seconds: float) -> Fault:
    """Headers at once, the first text after so long."""

    async def fault(call: Call) -> None:
        await call.begin()
        if not await call.left_within(seconds):
            backup = call.exchange.body["model"].rpartition("/")[2].startswith("backup")
            await call.exchange.chunk(call.texts(*(BACKUP if backup else SENTENCES)) + call.speech.closing())
            await call.exchange.end()

    return fault


def down_for(seconds: float) -> Fault:
    """Resets every connection for a time, and is well afterwards."""

    async def fault(call: Call) -> None:
        if time.monotonic() - call.seen.since < seconds:
            call.exchange.reset()
        else:
            await call.well()

    return fault


async def reset(call: Call) -> None:
    """Before any header."""
    call.exchange.reset()


async def silence(call: Call) -> None:
    await call.exchange.wait_for_hangup()


async def cut(call: Call) -> None:
    await call.most()
    await call.exchange.half_a_chunk(call.texts("me with this. "))


async def stalled(call: Call) -> None:
    await call.most()
    await call.exchange.wait_for_hangup()


async def malformed(call: Call) -> None:
    await call.most()
    await call.exchange.chunk(b'event: content_block_delta\ndata: {"choices": [{"delta"\n\n')
    await call.exchange.end()


async def no_end(call: Call) -> None:
    """Ends on the wire as if all were said, without the mark that it is."""
    await call.most()
    await call.exchange.end()


async def refusal(call: Call) -> None:
    await call.says(call.speech.refusal())


async def no_prefill(call: Call) -> None:
    if prefilled(call.exchange.body):
        message = (
            "This model does not support assistant message prefill. The conversation must end with a user message."
        )
        await call.fails(400, message)
    else:
        await call.well()


async def html(call: Call) -> None:
    await call.exchange.answer(200, b"<html>Welcome to the gateway</html>", content_type="text/html")


async def error_in_200(call: Call) -> None:
    await call.fails(200, "the upstream is overloaded")


async def gigantic(call: Call) -> None:
    """One event without end."""
    await call.most()
    await call.exchange.chunk(b'data: {"')
    while not call.exchange.left:
        await call.exchange.chunk(b"x" * 65_536)


async def endless(call: Call) -> None:
    await call.begin(call.texts(*SENTENCES))
    while not call.exchange.left:
        await call.exchange.chunk(call.texts("And there is one more thing to say about today. "))
        await asyncio.sleep(0.002)


async def trickle(call: Call) -> None:
    """Never silent for long, and never done."""
    await call.begin()
    for sentence in TRICKLED:
        if await call.left_within(1.5):
            return
        await call.exchange.chunk(call.texts(sentence))
    await call.exchange.wait_for_hangup()


FAULTS: dict[str, Fault] = {
    "429-retry-after": once(fails(429, retry_after="1")),
    "429": fails(429),
    "429-long": fails(429, retry_after="6"),
    "500-once": once(fails(500)),
    "500": fails(500),
    "503": fails(503),
    "400": fails(400, "messages: something is wrong"),
    "reset-once": once(reset),
    "reset": reset,
    "silence": silence,
    "late": late(20.0),
    "cut": cut,
    "stalled": stalled,
    "malformed": malformed,
    "no-end": no_end,
    "too-long": fails(400, "prompt is too long: 9000 tokens > 4096 maximum context length"),
    "refusal": refusal,
    "policy": fails(400, "Output blocked by content filtering policy", "content_filter"),
    "no-prefill": no_prefill,
    "down": down_for(60.0),
    "down-briefly": down_for(6.0),
    "html": html,
    "gigantic": gigantic,
    "endless": endless,
    "200-error": error_in_200,
    "late-but-first": late(5.0),
    "trickle": trickle,
    "nobody-silence": silence,
    "nobody-503": fails(503),
    "nobody-stalled": stalled,
    "backup": Call.well,
    "backup-late": late(2.5),
    "backup-silence": silence,
    "backup-503": fails(503),
    "backup-stalled": stalled,
}


def prefilled(body: dict[str, Any]) -> bool:
    return str(body["messages"][-1]["role"]) == "assistant"


def peer() -> Callable[[Exchange], Awaitable[None]]:
    """The handler of a provider that nobody has asked yet."""
    seen: dict[str, Seen] = {}

    async def handle(exchange: Exchange) -> None:
        if exchange.path == "/seen":
            told = {model: {"asked": one.asked, "prefilled": one.prefilled} for model, one in seen.items()}
            await answer_json(exchange, told)
        elif exchange.path == "/control":
            seen[exchange.body["model"]] = Seen(bool(exchange.body["healthy"]))
            await answer_json(exchange, {})
        elif exchange.path == "/v1/models":
            cards = [{"id": f"m/{name}", "object": "model", "max_model_len": 8192} for name in FAULTS]
            await answer_json(exchange, {"object": "list", "data": cards})
        else:
            await asked(exchange, seen.setdefault(exchange.body["model"], Seen()))

    return handle


async def asked(exchange: Exchange, seen: Seen) -> None:
    seen.asked += 1
    seen.prefilled += prefilled(exchange.body)
    speech: Speech = AnthropicSpeech() if exchange.path.endswith("/messages") else OpenAISpeech()
    call = Call(exchange, speech, seen)
    await (call.well() if seen.healthy else FAULTS[exchange.body["model"].rpartition("/")[2]](call))


if __name__ == "__main__":
    serve(peer())
