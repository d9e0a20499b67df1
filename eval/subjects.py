"""Who is evaluated: the whole service in this process, or one chain entry on its own. Both answer a scenario."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass
from importlib.resources import files
from typing import Protocol

from eval.hearing import Hearing
from eval.scenarios import Scenario
from eval.transcripts import Answering, Exchange
from safety_filter.helplines import Helplines
from serving.backend import Backend, BackendError, Request
from serving.conversation import Conversation
from serving.events import DoneEvent, Event, ResourcesEvent, SentenceEvent, answer_json
from serving.listening import listening
from shield.assessment import Turn

RAW_LIMIT_S = 180.0
"""A raw backend that takes longer for one reply is broken."""

_LANGUAGES = {"en": "English", "es": "Spanish", "pt": "Portuguese", "fr": "French", "de": "German", "it": "Italian"}
_LENGTHS = {"chat": "At most 100 words.", "sms": "At most 300 characters in all: it is a text message."}


class Subject(Protocol):
    """Whoever answers. `about` says who that is."""

    @property
    def about(self) -> Answering: ...

    async def answer(self, scenario: Scenario, turns: Sequence[Turn], conversation_id: str) -> Exchange:
        """The reply to the last of the turns. Never raises for what a backend does: that stands in `error`."""
        ...


Open = Callable[[str, int], AbstractAsyncContextManager[Subject]]
"""Opens a subject by its name, with a seed for the models that take one; it is ready when the block begins."""


@dataclass(frozen=True, slots=True)
class ServiceSubject:
    """The whole path. `respond` is the service's, or any other with the same events."""

    about: Answering
    respond: Callable[[Conversation], AsyncIterator[Event]]

    async def answer(self, scenario: Scenario, turns: Sequence[Turn], conversation_id: str) -> Exchange:
        """What the events say, and when they came."""
        conversation = Conversation(
            tuple(turns), scenario.country, scenario.language, scenario.channel, conversation_id
        )
        hearing, began = Hearing(), time.perf_counter()
        reply, times, done = "", dict[str, float | None](resources_ms=None, first_sentence_ms=None), None
        with listening(hearing.listen):
            async with aclosing(self.respond(conversation)) as events:  # type: ignore[type-var] # an async generator
                async for event in events:
                    if isinstance(event, ResourcesEvent):
                        times["resources_ms"] = _since(began)
                    elif isinstance(event, SentenceEvent):
                        times["first_sentence_ms"] = times["first_sentence_ms"] or _since(began)
                        reply += event.text
                    elif isinstance(event, DoneEvent):
                        done = event.answer
        times["total_ms"] = _since(began)
        if done is None:
            return Exchange(turns[-1].text, reply, error="the answer had no end", timings=times)
        told = answer_json(done)
        return Exchange(
            user=turns[-1].text,
            reply=reply,
            assessment=told["assessment"],
            resources=tuple(told["resources"]),
            source=told["source"],
            model=told["model"],
            degraded=tuple(told["degraded"]),
            filter=told["filter"],
            timings=times | {"shield_ms": round(done.timings.shield_ms, 3)},
            calls=tuple(hearing.calls),
        )


@dataclass(frozen=True, slots=True)
class RawSubject:
    """A backend on its own. Its text is delivered as it is."""

    about: Answering
    backend: Backend
    helplines: Helplines
    max_tokens: int = 160
    limit_s: float = RAW_LIMIT_S

    async def answer(self, scenario: Scenario, turns: Sequence[Turn], conversation_id: str) -> Exchange:
        """The whole text of one request."""
        hearing, reply, error = Hearing(), "", None
        system = raw_prompt(scenario, self.helplines)
        request = Request(
            tuple(turns), system=system, protocol_prefix=system, max_tokens=self.max_tokens, language=scenario.language
        )
        began = time.perf_counter()
        try:
            async with asyncio.timeout(self.limit_s):
                async with aclosing(_heard(hearing, self.backend, request)) as pieces:
                    async for piece in pieces:
                        reply += piece
        except BackendError as broken:
            error = f"{type(broken).__name__}: {broken}"
        except TimeoutError:
            error = f"BackendTimeout: no end within {self.limit_s:g} s"
        calls = tuple(hearing.calls)
        first = calls[0].first_text_ms if calls else None
        return Exchange(
            user=turns[-1].text,
            reply=reply.strip(),
            error=error,
            source=self.backend.source,
            model=self.backend.model,
            timings={"first_sentence_ms": first, "total_ms": _since(began)},
            calls=calls,
        )


async def _heard(hearing: Hearing, backend: Backend, request: Request) -> AsyncGenerator[str, None]:
    async with aclosing(hearing.listen(backend, backend.stream(request))) as pieces:  # type: ignore[type-var] # a generator
        async for piece in pieces:
            yield piece


def raw_prompt(scenario: Scenario, helplines: Helplines) -> str:
    """The plain prompt of a raw model: the protocol in short, and the lines of the person's country, so that it fails
    for what it does and not for what nobody told it."""
    shown = helplines.resources(scenario.country, language=scenario.language)
    lines = [f"{line.name} ({_way(line.phone, line.sms, line.sms_body)})" for line in shown.lines[:2]]
    text = files("eval").joinpath("prompts/raw-1.md").read_text(encoding="utf-8")
    return text.format(
        lines="; ".join(lines) or f"unknown country, so {shown.directory}",
        emergency=shown.emergency or "their local emergency number",
        language=_LANGUAGES.get(scenario.language, "the language the person writes in"),
        length=_LENGTHS[scenario.channel],
    )


def _way(phone: str | None, sms: str | None, body: str | None) -> str:
    text = f"text {body} to {sms}" if body else f"text {sms}"
    return " or ".join(way for way, known in ((f"call {phone}", phone), (text, sms)) if known)


def _since(began: float) -> float:
    return round((time.perf_counter() - began) * 1000, 3)
