"""`crisis chat`: talk to the service in the terminal, through the same path as every other caller."""

import asyncio
import sys
from typing import Annotated

import typer

from cli.console import ConfigOption, console, settings
from serving.conversation import Conversation
from serving.events import DoneEvent, ResourcesEvent, SentenceEvent
from serving.service import Service
from serving.wiring import build, demo_settings
from shield.assessment import Turn


def chat(
    config: ConfigOption = None,
    demo: Annotated[bool, typer.Option("--demo", help="Use the embedded demo model. Never for real people.")] = False,
    country: Annotated[str | None, typer.Option("--country", help="Where the person is, such as US.")] = None,
    language: Annotated[str | None, typer.Option("--language", help="Such as en or es.")] = None,
) -> None:
    """Talk to the service here. An empty line or Ctrl-D ends it. Nothing is kept."""
    chosen = settings(config)
    service = build(demo_settings(chosen) if demo else chosen)
    asyncio.run(_talk(service, country, language))


async def _talk(service: Service, country: str | None, language: str | None) -> None:
    out = console()
    await service.start()
    try:
        if service.demo:
            out.print("[bold]demo model: not for real people[/bold]")
        turns: tuple[Turn, ...] = ()
        while message := await asyncio.to_thread(_ask):
            turns = (*turns, Turn("user", message))
            reply = await _answer(service, Conversation(turns, country=country, language=language))
            turns = (*turns, Turn("assistant", reply))
    finally:
        await service.stop()


async def _answer(service: Service, conversation: Conversation) -> str:
    out, reply = console(), ""
    async for event in service.respond(conversation):
        if isinstance(event, ResourcesEvent):
            lines = [f"{e['name']}: {e['phone'] or e['sms'] or e['url']}" for e in event.resources.to_json()[:3]]
            out.print("  " + "  ·  ".join(lines) + "\n", markup=False, style="dim")
        elif isinstance(event, SentenceEvent):
            out.print(event.text, end="", markup=False)
        elif isinstance(event, DoneEvent):
            answer, reply = event.answer, event.answer.reply
            notes = [answer.assessment.level, answer.source, answer.model, *answer.degraded]
            out.print(f"\n\n  {' · '.join(notes)} · {answer.timings.total_ms:.0f} ms\n", markup=False, style="dim")
    return reply


def _ask() -> str:
    try:
        if sys.stdin.isatty():
            return input("you> ").strip()
        return sys.stdin.readline().strip()
    except EOFError:
        return ""
