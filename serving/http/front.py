"""What all routes share: the responder, the limits, and the one way to an answer."""

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from typing import Any

from starlette.types import Receive, Scope

from serving.http import last_resort
from serving.http.auth import Keys
from serving.http.body import read, read_json
from serving.http.errors import where
from serving.http.frames import Frame, frames
from serving.http.metrics import Metrics
from serving.http.schemas import Asked, country_code, primary_language
from serving.http.service import HttpOptions, Responder
from serving.http.visit import Visit

logger = logging.getLogger("crisis.http")


class Front:
    """One per app; its only state is how many answers are under way."""

    def __init__(self, responder: Responder, options: HttpOptions) -> None:
        self.responder = responder
        self.options = options
        self.metrics = Metrics()
        self.keys = Keys(options.api_keys)
        self._running = 0
        self.metrics.in_flight.set_function(lambda: self._running)

    async def json_body(self, scope: Scope, receive: Receive) -> bytes:
        options = self.options
        return await read_json(scope, receive, limit=options.max_body_bytes, deadline_s=options.body_deadline_s)

    async def form_body(self, scope: Scope, receive: Receive) -> bytes:
        options = self.options
        return await read(scope, receive, limit=options.max_body_bytes, deadline_s=options.body_deadline_s)

    def resources(self, country: str | None, language: str | None) -> list[dict[str, Any]]:
        """The lines as JSON; those of the last resort where the responder has none. Never empty, never an exception."""
        try:
            asked = country_code(country) or self.responder.default_country
            return self.responder.resources(asked, primary_language(language)).to_json() or last_resort.resources()
        except Exception as exc:  # noqa: BLE001 - an error body without resources is worse than any error
            logger.error("resources failed: %s at %s", type(exc).__name__, where(exc))
            return last_resort.resources()

    async def answer(self, asked: Asked, visit: Visit) -> AsyncGenerator[Frame, None]:
        """The frames of an answer, counted. Past the limit the static reply answers: full is no reason to send away."""
        full = self._running >= self.options.max_concurrent
        respond = self.responder.overloaded if full else self.responder.respond
        conversation = asked.conversation
        answer = frames(
            partial(respond, conversation),
            asked,
            resources=partial(self.resources, conversation.country, conversation.language),
            deadline_s=self.options.answer_deadline_s,
        )
        self._running += not full
        try:
            async with aclosing(answer):
                async for frame in answer:
                    yield frame
                    self._count(frame, visit)
        finally:
            self._running -= not full

    def _count(self, frame: Frame, visit: Visit) -> None:
        """After the frame has left, so that the times are those of the caller."""
        if frame.name == "resources":
            self.metrics.resources_shown(visit.elapsed_s())
        elif frame.name == "sentence" and not visit.spoke:
            visit.spoke = True
            self.metrics.first_sentence(visit.elapsed_s())
        elif frame.name == "done":
            visit.level, visit.source = frame.data["assessment"]["level"], frame.data["source"]
            self.metrics.answered(frame.data, visit.elapsed_s())
