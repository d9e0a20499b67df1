"""`crisis chat`: talk to the service in the terminal, through the same path as every other caller."""

import asyncio
import sys
import threading
from contextlib import suppress
from typing import Annotated

import typer

from cli.console import ConfigOption, DemoOption, console, settings, standard_input
from serving.backend import BackendUnavailable
from serving.conversation import Conversation
from serving.events import DoneEvent, ResourcesEvent, SentenceEvent
from serving.service import Service
from serving.wiring import build, demo_settings
from shield.assessment import Turn

_LOADING_S = 60.0


def chat(
    config: ConfigOption = None,
    demo: DemoOption = False,
    country: Annotated[
        str | None, typer.Option("--country", metavar="CODE", help="Where the person is, such as US.")
    ] = None,
    language: Annotated[str | None, typer.Option("--language", metavar="TAG", help="Such as en or es.")] = None,
) -> None:
    """Talk to the service here: each line is a message, an empty one or Ctrl-D ends it. Nothing is kept.

    The grey lines are the resources, and what an operator wants to know of an answer: the level that SHIELD gave, who
    wrote it, what fell short, and how long it took.
    """
    standard_input()
    chosen = settings(config)
    service = build(demo_settings(chosen) if demo else chosen)
    asyncio.run(_talk(service, country, language))


async def _talk(service: Service, country: str | None, language: str | None) -> None:
    out = console()
    await service.start()
    try:
        await _loaded(service)
        if service.demo:
            out.print("demo model: not for real people", style="bold")
        turns: tuple[Turn, ...] = ()
        while message := await _ask():
            turns = (*turns, Turn("user", message))
            reply = await _answer(service, Conversation(turns, country=country, language=language))
            turns = (*turns, Turn("assistant", reply))
    finally:
        await service.stop()


async def _loaded(service: Service) -> None:
    """Waits for the weights, unlike the service itself: whoever tries a model wants to hear the model."""
    if service.engines:
        print("loading the model …", file=sys.stderr, flush=True)
    with suppress(TimeoutError, BackendUnavailable):
        async with asyncio.timeout(_LOADING_S):
            for engine in service.engines:
                await engine.wait_ready(_LOADING_S)
                await engine.warmed.wait()
    step = service.ready()["next_step"]
    if step and not service.demo:
        print(f"static replies only: {step}", file=sys.stderr, flush=True)


async def _answer(service: Service, conversation: Conversation) -> str:
    out, reply = console(), ""
    async for event in service.respond(conversation):
        if isinstance(event, ResourcesEvent):
            lines = [f"{e['name']}: {e['phone'] or e['sms'] or e['url']}" for e in event.resources.to_json()[:3]]
            out.print("  " + "  ·  ".join(lines) + "\n", markup=False, style="dim")
        elif isinstance(event, SentenceEvent):
            out.print(event.text, end="", markup=False)
            out.file.flush()
        elif isinstance(event, DoneEvent):
            answer, reply = event.answer, event.answer.reply
            notes = [answer.assessment.level, answer.source, answer.model, *answer.degraded]
            out.print(f"\n\n  {' · '.join(notes)} · {answer.timings.total_ms:.0f} ms\n", markup=False, style="dim")
    return reply


async def _ask() -> str:
    """The next line. Read in a daemon thread: Ctrl-C must not wait for the Enter key."""
    loop = asyncio.get_running_loop()
    line: asyncio.Future[str] = loop.create_future()

    def deliver(text: str) -> None:
        if not line.done():
            line.set_result(text)

    def read() -> None:
        text = _line()
        loop.call_soon_threadsafe(deliver, text)

    threading.Thread(target=read, daemon=True).start()
    return await line


def _line() -> str:
    try:
        if sys.stdin.isatty():
            return input("you> ").strip()
        return sys.stdin.readline().strip()
    except (EOFError, OSError, ValueError):  # at its end, or not to be read: the conversation ends, and nobody waits
        return ""
