"""A peer that speaks Anthropic's Messages API and misbehaves. Its scenario is what follows "/" in the model's name.

`GET /shapes` tells what was asked for: which fields, headers and roles, how long; no text of a request is kept.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from peers.wire import Exchange, serve

SENTENCES = ("It sounds heavy. ", "Thank you for saying it. ", "What happened today?")
REPEATED = ("Are you safe", " right now", "? ", *SENTENCES)
EVENT_STREAM = "text/event-stream; charset=utf-8"


def event(kind: str, **fields: Any) -> bytes:
    """One server-sent event as the API writes it."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def delta(text: str) -> bytes:
    return event("content_block_delta", index=0, delta={"type": "text_delta", "text": text})


def opening(kind: str = "text") -> bytes:
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
    block = {"type": kind, "text": ""} if kind == "text" else {"type": "thinking", "thinking": "", "signature": ""}
    return (
        event("message_start", message={**message, "stop_reason": None, "stop_sequence": None})
        + event("content_block_start", index=0, content_block=block)
        + event("ping")
    )


def stopped(reason: str) -> bytes:
    return event("content_block_stop", index=0) + event(
        "message_delta", delta={"stop_reason": reason, "stop_sequence": None}, usage={"output_tokens": 9}
    )


def closing(reason: str = "end_turn") -> bytes:
    return stopped(reason) + event("message_stop")


def problem(kind: str, message: str) -> bytes:
    return json.dumps({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}).encode()


async def say(exchange: Exchange, *chunks: bytes) -> None:
    """An event stream that ends as it should on the wire, whatever the events are."""
    await exchange.head(content_type=EVENT_STREAM)
    for chunk in chunks:
        await exchange.chunk(chunk)
    await exchange.end()


async def begin(exchange: Exchange, *texts: str) -> None:
    await exchange.head(content_type=EVENT_STREAM)
    for chunk in (opening(), *map(delta, texts)):
        await exchange.chunk(chunk)


def fails(status: int, kind: str, message: str = "no", **headers: str) -> Callable[[Exchange], Awaitable[None]]:
    """A plain error. Like some gateways, it quotes the request: nothing of that may reach an error or a log of ours."""

    async def scenario(exchange: Exchange) -> None:
        quoted = f"{message} {json.dumps(exchange.body)} {exchange.headers.get('authorization', '')}"
        await exchange.answer(status, problem(kind, quoted), content_type="application/json", **headers)

    return scenario


def says(*chunks: bytes) -> Callable[[Exchange], Awaitable[None]]:
    return lambda exchange: say(exchange, *chunks)


def error_event(kind: str) -> Callable[[Exchange], Awaitable[None]]:
    """An error inside of an answer that began with 200, quoting the request as `fails` does."""

    async def scenario(exchange: Exchange) -> None:
        quoted = json.dumps({"type": "error", "error": {"type": kind, "message": json.dumps(exchange.body)}})
        await say(exchange, opening(), delta(SENTENCES[0]), f"event: error\ndata: {quoted}\n\n".encode())

    return scenario


async def ok(exchange: Exchange) -> None:
    if exchange.body.get("stream"):
        await say(exchange, opening(), *map(delta, SENTENCES), closing())
        return
    content = [{"type": "text", "text": "".join(SENTENCES)}]
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": content, "stop_reason": "end_turn"}
    await exchange.answer(200, json.dumps(message).encode(), content_type="application/json")


async def split_anywhere(exchange: Exchange) -> None:
    whole = b"".join((opening(), *map(delta, ("¿Estás a salvo? ", "Sí… ")), closing()))
    await say(exchange, *(whole[at : at + 7] for at in range(0, len(whole), 7)))


async def silence(exchange: Exchange) -> None:
    await exchange.wait_for_hangup()


async def late(exchange: Exchange) -> None:
    """Alive all the time, with pings, and no text."""
    await begin(exchange)
    while not exchange.left:
        await exchange.chunk(event("ping"))
        await asyncio.sleep(0.05)


async def stalled(exchange: Exchange) -> None:
    await begin(exchange, *SENTENCES[:2])
    await exchange.wait_for_hangup()


async def cut(exchange: Exchange) -> None:
    """Two thirds of the text, and a chunk that ends in the middle."""
    await begin(exchange, *SENTENCES[:2])
    await exchange.half_a_chunk(delta(SENTENCES[2])[:60])


async def reset(exchange: Exchange) -> None:
    await begin(exchange, *SENTENCES[:2])
    await asyncio.sleep(0.05)
    exchange.reset()


async def reset_at_once(exchange: Exchange) -> None:
    exchange.reset()


async def gigantic(exchange: Exchange) -> None:
    """One event without end."""
    await begin(exchange, *SENTENCES[:2])
    await exchange.chunk(b"event: content_block_delta\ndata: {")
    while not exchange.left:
        await exchange.chunk(b"x" * 65_536)


async def endless(exchange: Exchange) -> None:
    await begin(exchange)
    while not exchange.left:
        await exchange.chunk(delta("And another thing. ") * 50)


async def slow(exchange: Exchange) -> None:
    """Text for as long as anybody listens; the shapes tell whether somebody left."""
    await begin(exchange)
    while not exchange.left:
        await exchange.chunk(delta("word "))
        await asyncio.sleep(0.01)
    Shapes.hangups += 1


async def redirect(exchange: Exchange) -> None:
    await exchange.answer(307, b"", location="/elsewhere")


SCENARIOS: dict[str, Callable[[Exchange], Awaitable[None]]] = {
    "ok": ok,
    "echo": says(opening(), *map(delta, REPEATED), closing()),
    "thinks": says(
        opening("thinking"),
        event("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": "hidden thoughts"}),
        event("content_block_stop", index=0),
        event("content_block_start", index=1, content_block={"type": "text", "text": ""}),
        *map(delta, SENTENCES),
        closing(),
    ),
    "split": split_anywhere,
    "max-tokens": says(opening(), *map(delta, SENTENCES[:2]), closing("max_tokens")),
    "401": fails(401, "authentication_error", "invalid x-api-key"),
    "402": fails(402, "billing_error"),
    "403": fails(403, "permission_error"),
    "404": fails(404, "not_found_error", "model: no-such-model"),
    "413": fails(413, "request_too_large"),
    "429": fails(429, "rate_limit_error"),
    "429-retry-after": fails(429, "rate_limit_error", retry_after="30"),
    "500": fails(500, "api_error"),
    "504": fails(504, "timeout_error"),
    "529": fails(529, "overloaded_error"),
    "no-prefill": fails(400, "invalid_request_error", "This model does not support assistant message prefill."),
    "no-temperature": fails(400, "invalid_request_error", "`temperature` is deprecated for this model."),
    "no-thinking": fails(400, "invalid_request_error", '"thinking.type.disabled" is not supported for this model.'),
    "no-credit": fails(400, "invalid_request_error", "Your credit balance is too low to access the API."),
    "400": fails(400, "invalid_request_error", "messages.0: something else"),
    "html-error": lambda exchange: exchange.answer(502, b"<html>bad gateway</html>", content_type="text/html"),
    "redirect": redirect,
    "silence": silence,
    "late": late,
    "stalled": stalled,
    "cut": cut,
    "reset": reset,
    "reset-at-once": reset_at_once,
    "no-stop": says(opening(), *map(delta, SENTENCES[:2]), stopped("end_turn")),
    "malformed": says(
        opening(), delta(SENTENCES[0]), b'event: content_block_delta\ndata: {"type": "content_block_delta", \n\n'
    ),
    "not-utf8": says(opening(), delta(SENTENCES[0]), b"event: content_block_delta\ndata: \xff\xfe\n\n"),
    "wrong-shape": says(opening(), delta(SENTENCES[0]), b"event: content_block_delta\ndata: [1, 2]\n\n", closing()),
    "no-delta": says(opening(), delta(SENTENCES[0]), event("content_block_delta", index=0), closing()),
    "text-is-a-number": says(
        opening(),
        delta(SENTENCES[0]),
        event("content_block_delta", index=0, delta={"type": "text_delta", "text": 7}),
        closing(),
    ),
    "new-event": says(opening(), event("something_new", field=1), *map(delta, SENTENCES), closing()),
    "overloaded-inside": error_event("overloaded_error"),
    "rate-limit-inside": error_event("rate_limit_error"),
    "key-inside": error_event("authentication_error"),
    "timeout-inside": error_event("timeout_error"),
    "refusal": says(opening(), closing("refusal")),
    "late-refusal": says(opening(), *map(delta, SENTENCES[:2]), closing("refusal")),
    "empty": says(opening(), closing()),
    "only-blanks": says(opening(), delta(" \n"), delta("  "), closing()),
    "html": lambda exchange: exchange.answer(200, b"<html>welcome</html>", content_type="text/html"),
    "not-streamed": lambda exchange: exchange.answer(200, b'{"content": []}', content_type="application/json"),
    "gigantic": gigantic,
    "endless": endless,
    "slow": slow,
}


class Shapes:
    """What was asked for, without the words."""

    asked: list[dict[str, Any]] = []  # noqa: RUF012 - one process, one list
    hangups = 0


async def handle(exchange: Exchange) -> None:
    if exchange.path == "/shapes":
        told = json.dumps({"asked": Shapes.asked, "hangups": Shapes.hangups}).encode()
        await exchange.answer(200, told, content_type="application/json")
        return
    scenario = exchange.body["model"].rpartition("/")[2]
    Shapes.asked.append(shape(exchange, scenario))
    await SCENARIOS[scenario](exchange)


def shape(exchange: Exchange, scenario: str) -> dict[str, Any]:
    body = exchange.body
    return {
        "scenario": scenario,
        "path": exchange.path,
        "headers": sorted(exchange.headers),
        "bearer_length": len(exchange.headers.get("authorization", "").removeprefix("Bearer ")),
        "fields": sorted(body),
        "roles": [message["role"] for message in body["messages"]],
        "max_tokens": body["max_tokens"],
        "thinking": body.get("thinking"),
        "ends_blank": body["messages"][-1]["content"][-1:].isspace(),
    }


if __name__ == "__main__":
    serve(handle)
