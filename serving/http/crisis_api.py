"""The routes under /crisis: respond, assess, filter, resources."""

import asyncio
import logging
from contextlib import aclosing
from typing import Any

from starlette.types import Receive, Scope, Send

from serving import last_resort
from serving.conversation import bounded
from serving.events import assessment_json
from serving.http.body import parse
from serving.http.encoding import encode, sse
from serving.http.errors import where
from serving.http.frames import as_sent
from serving.http.front import Front
from serving.http.hangup import HangUp
from serving.http.query import query
from serving.http.schemas import (
    Asked,
    AssessBody,
    FilterBody,
    RespondBody,
    country_code,
    primary_language,
)
from serving.http.sending import send_bytes
from serving.http.visit import visit_of
from shield.assessment import Turn

logger = logging.getLogger("crisis.http")


class Respond:
    """POST /crisis/respond: one JSON object, or the same as a stream of events."""

    def __init__(self, front: Front) -> None:
        self._front = front

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = parse(RespondBody, await self._front.json_body(scope, receive))
        asked = body.asked()
        async with self._front.caller(receive) as caller:
            if body.stream or wants_events(scope):
                await self._stream(asked, scope, send, caller)
            else:
                await send_bytes(send, encode(await self._front.done(asked, visit_of(scope), caller)))

    async def _stream(self, asked: Asked, scope: Scope, send: Send, caller: HangUp) -> None:
        frames = self._front.answer(asked, visit_of(scope), caller)
        async with self._front.events(send) as stream, aclosing(frames):
            async for frame in frames:
                await stream.send(sse(frame.name, frame.data))


class Assess:
    """POST /crisis/assess: what SHIELD says, without a reply."""

    def __init__(self, front: Front) -> None:
        self._front = front

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = parse(AssessBody, await self._front.json_body(scope, receive))
        said = await asyncio.to_thread(self._assess, body.turns())
        visit_of(scope).level = said["level"]
        said["resources"] = self._front.resources(body.country, body.language)
        await send_bytes(send, encode(said))

    def _assess(self, turns: tuple[Turn, ...]) -> dict[str, Any]:
        """`per_turn` has a level for every turn sent; null for old ones beyond the limits, which were not read."""
        kept = bounded(turns)
        dropped = len(turns) - len(kept)
        assessment = self._front.responder.assess(turns)
        said = as_sent(assessment_json(assessment), dropped)
        said["per_turn"] = [*[None] * dropped, *assessment.per_turn]
        return said


class Filter:
    """POST /crisis/filter: an agent's own reply, judged as a model's would be. A broken filter lets nothing through."""

    def __init__(self, front: Front) -> None:
        self._front = front

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = parse(FilterBody, await self._front.json_body(scope, receive))
        said = await asyncio.to_thread(self._filter, body)  # 32,000 characters of tiny sentences take a second
        await send_bytes(send, encode(said))

    def _filter(self, body: FilterBody) -> dict[str, Any]:
        country, language = country_code(body.country), primary_language(body.language)
        resources = self._front.resources(country, language)
        try:
            result = self._front.responder.filter(body.user, body.reply, country=country, language=language)
        except Exception as exc:  # noqa: BLE001 - a crashed check is not a passed one: blocked, and answered
            logger.error("filter failed: %s at %s", type(exc).__name__, where(exc))
            return _blocked(resources, language)
        return {
            "verdict": result.verdict,
            "violations": [
                {"rule": v.rule_id, "category": v.category, "severity": v.severity} for v in result.violations
            ],
            "text": result.text,
            "resources": resources,
        }


class ResourcesOf:
    """GET /crisis/resources?country=US&language=en"""

    def __init__(self, front: Front) -> None:
        self._front = front

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        country, language = query(scope, "country"), query(scope, "language")
        await send_bytes(send, encode({"resources": self._front.resources(country, language)}))


def wants_events(scope: Scope) -> bool:
    return any(name == b"accept" and b"text/event-stream" in value for name, value in scope["headers"])


def _blocked(resources: list[dict[str, Any]], language: str | None) -> dict[str, Any]:
    violation = {"rule": "filter.unavailable", "category": "unknown", "severity": "block"}
    text = last_resort.text(resources, language=language)
    return {"verdict": "block", "violations": [violation], "text": text, "resources": resources}
