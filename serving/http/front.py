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
from serving.http.frames import Frame, Question, frames
from serving.http.hangup import HangUp
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

    async def answer(
        self, asked: Asked, visit: Visit, caller: HangUp, *, whole: bool = False
    ) -> AsyncGenerator[Frame, None]:
        """The frames of an answer, counted; with `whole` little more than the last, `done`.

        Past the limit the static reply answers: full is no reason to send anybody away.
        """
        full = self._running >= self.options.max_concurrent
        respond = self.responder.overloaded if full else self.responder.respond
        resources = partial(self.resources, asked.conversation.country, asked.conversation.language)
        question = Question(asked, resources, caller.forgive, whole=whole)
        self._running += not full
        try:
            async with aclosing(frames(partial(respond, asked.conversation), question)) as answer:
                async for frame in answer:
                    yield frame
                    self._count(frame, visit, whole=whole)
        finally:
            self._running -= not full

    def _count(self, frame: Frame, visit: Visit, *, whole: bool) -> None:
        """After the frame has left, so that the times are those of the caller; early ones only where it left early."""
        if frame.name == "done":
            visit.level, visit.source = frame.data["assessment"]["level"], frame.data["source"]
            self.metrics.answered(frame.data, visit.elapsed_s())
        elif whole or visit.spoke:
            return
        elif frame.name == "resources":
            self.metrics.resources_shown(visit.elapsed_s())
        elif frame.name == "sentence":
            visit.spoke = True
            self.metrics.first_sentence(visit.elapsed_s())

    def caller(self, receive: Receive) -> HangUp:
        """The bounds of one answer: while its caller is there, and for so long."""
        return HangUp(receive, deadline_s=self.options.answer_deadline_s)

    async def done(self, asked: Asked, visit: Visit, caller: HangUp) -> dict[str, Any]:
        """The whole answer, for who does not listen to a stream."""
        done: dict[str, Any] = {}
        async with aclosing(self.answer(asked, visit, caller, whole=True)) as answer:
            async for frame in answer:
                done = frame.data
        return done
