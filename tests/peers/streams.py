"""What peers that misbehave have in common: ways to break off, to stall, to go on for ever, in any stream format."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from peers.wire import Exchange

EVENT_STREAM = "text/event-stream; charset=utf-8"
SENTENCES = ("It sounds heavy. ", "Thank you for saying it. ", "What happened today?")
Scenario = Callable[[Exchange], Awaitable[None]]


class Shapes:
    """What was asked for, without the words."""

    asked: list[dict[str, Any]] = []  # noqa: RUF012 - one process, one list
    hangups = 0


async def tell_shapes(exchange: Exchange) -> None:
    await answer_json(exchange, {"asked": Shapes.asked, "hangups": Shapes.hangups})


async def answer_json(exchange: Exchange, document: Any, status: int = 200) -> None:
    await exchange.answer(status, json.dumps(document).encode(), content_type="application/json")


async def say(exchange: Exchange, *chunks: bytes, kind: str = EVENT_STREAM) -> None:
    """A stream that ends as it should on the wire, whatever is in it."""
    await begin(exchange, *chunks, kind=kind)
    await exchange.end()


async def begin(exchange: Exchange, *chunks: bytes, kind: str = EVENT_STREAM) -> None:
    await exchange.head(content_type=kind)
    for chunk in chunks:
        await exchange.chunk(chunk)


def says(*chunks: bytes, kind: str = EVENT_STREAM) -> Scenario:
    return lambda exchange: say(exchange, *chunks, kind=kind)


def split(*chunks: bytes, kind: str = EVENT_STREAM) -> Scenario:
    """The same bytes, cut every seven."""
    whole = b"".join(chunks)
    return says(*(whole[at : at + 7] for at in range(0, len(whole), 7)), kind=kind)


def fails(status: int, document: dict[str, Any]) -> Scenario:
    """A plain error. Like some gateways, it quotes the request: nothing of that may reach an error or a log of ours."""

    async def scenario(exchange: Exchange) -> None:
        quoted = {"quoted": json.dumps(exchange.body), "key": exchange.headers.get("authorization", "")}
        await answer_json(exchange, {**document, **quoted}, status)

    return scenario


def broken(*chunks: bytes, kind: str = EVENT_STREAM) -> dict[str, Scenario]:
    """The same good beginning, ended in every bad way there is on a wire."""

    async def silence(exchange: Exchange) -> None:
        await exchange.wait_for_hangup()

    async def stalled(exchange: Exchange) -> None:
        await begin(exchange, *chunks, kind=kind)
        await exchange.wait_for_hangup()

    async def cut(exchange: Exchange) -> None:
        await begin(exchange, *chunks, kind=kind)
        await exchange.half_a_chunk(chunks[-1][:60])

    async def reset(exchange: Exchange) -> None:
        await begin(exchange, *chunks, kind=kind)
        await asyncio.sleep(0.05)
        exchange.reset()

    async def reset_at_once(exchange: Exchange) -> None:
        exchange.reset()

    async def gigantic(exchange: Exchange) -> None:
        """One event without end."""
        await begin(exchange, *chunks, b'data: {"', kind=kind)
        while not exchange.left:
            await exchange.chunk(b"x" * 65_536)

    async def redirect(exchange: Exchange) -> None:
        await exchange.answer(307, b"", location="/elsewhere")

    return {
        "silence": silence,
        "stalled": stalled,
        "cut": cut,
        "reset": reset,
        "reset-at-once": reset_at_once,
        "gigantic": gigantic,
        "redirect": redirect,
        "html": lambda exchange: exchange.answer(200, b"<html>welcome</html>", content_type="text/html"),
        "html-error": lambda exchange: exchange.answer(502, b"<html>bad gateway</html>", content_type="text/html"),
    }


def going_on(piece: bytes, *, pause_s: float, kind: str = EVENT_STREAM) -> Scenario:
    """The same piece for as long as anybody listens; the shapes tell whether somebody left."""

    async def scenario(exchange: Exchange) -> None:
        await exchange.head(content_type=kind)
        try:
            while not exchange.left:
                await exchange.chunk(piece)
                await asyncio.sleep(pause_s)
        finally:
            Shapes.hangups += 1

    return scenario
