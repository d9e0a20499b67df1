"""What all routes share: the responder, the limits, and the one way to an answer."""

import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from functools import partial
from typing import Any

from starlette.types import Receive, Scope, Send

from serving import last_resort
from serving.admission import Admission, Admits
from serving.conversation import Conversation
from serving.events import Event
from serving.http.body import read, read_json
from serving.http.errors import where
from serving.http.frames import Frame, Question, frames
from serving.http.gatekeeper import Gatekeeper
from serving.http.hangup import HangUp
from serving.http.metrics import Metrics
from serving.http.schemas import Asked, country_code, primary_language
from serving.http.sending import EventStream
from serving.http.service import HttpOptions, Responder
from serving.http.tally import audit_facts, names_a_line
from serving.http.visit import Visit
from serving.records import Records
from serving.referrals import How

logger = logging.getLogger("crisis.http")


class Front:
    """One per app; its only state is which answers are under way."""

    def __init__(self, responder: Responder, options: HttpOptions, records: Records | None = None) -> None:
        self.responder = responder
        self.options = options
        self.metrics = Metrics()
        self.gatekeeper = Gatekeeper(options)
        self.records = records
        self._admission = Admission(options.max_concurrent)
        self._callers: set[HangUp] = set()
        self._closing = False
        self.metrics.in_flight.set_function(lambda: self._admission.running)
        self.metrics.swaps_from(responder.swap_counts)
        self.metrics.chain_from(lambda: responder.ready().get("chain", ()))
        if records is not None:
            self.metrics.records_from(records)

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

        Past a limit the static reply answers: neither a full service nor a busy key is a reason to send anybody away.
        """
        resources = partial(self.resources, asked.conversation.country, asked.conversation.language)
        question = Question(asked, resources, caller.forgive, whole=whole)
        try:
            with self._admission.entered() as admits:
                respond = partial(self._events, asked.conversation, visit, admits)
                async with aclosing(frames(respond, question)) as answer:
                    async for frame in answer:
                        yield frame
                        self._count(frame, visit, whole=whole)
        finally:
            if visit.helped:
                self._referred(visit)

    def _events(self, conversation: Conversation, visit: Visit, admits: Admits) -> AsyncIterator[Event]:
        why = "rate-limit" if visit.limited else "shutdown" if self._closing else ""
        if why:
            return self.responder.overloaded(conversation, why=why)
        return self.responder.respond(conversation, admits=admits)

    def hurry(self) -> None:
        """The service is about to end: every open answer is completed without a model, and so is every later one."""
        self._closing = True
        for caller in tuple(self._callers):
            caller.hurry()

    def _count(self, frame: Frame, visit: Visit, *, whole: bool) -> None:
        """After the frame has left, so that the times are those of the caller; early ones only where it left early."""
        if frame.name == "done":
            visit.level, visit.source = frame.data["assessment"]["level"], frame.data["source"]
            visit.helped, visit.named = True, names_a_line(frame.data["reply"], frame.data["resources"])
            self.metrics.answered(frame.data, visit.elapsed_s())
            self._written(frame.data, visit)
        elif whole:
            return
        elif frame.name == "assessment":
            visit.level = frame.data["level"]
        elif frame.name == "resources":
            visit.helped = True
            self.metrics.resources_shown(_marked(visit, "resources"))
        elif frame.name == "sentence" and not visit.spoke:
            visit.spoke = True
            self.metrics.first_sentence(_marked(visit, "first sentence"))

    def _referred(self, visit: Visit) -> None:
        """Counted also for who left before the end: the lines come first."""
        how: How = "words" if visit.named else "field"
        self.metrics.referred(visit.level, how)
        if self.records is not None:
            self.records.referral(visit.level, how)

    def _written(self, done: dict[str, Any], visit: Visit) -> None:
        if self.records is not None:
            self.records.answered({"request": visit.id, "route": visit.route, "key": visit.key, **audit_facts(done)})

    def events(self, send: Send) -> EventStream:
        """A stream of events to the caller, to be opened with `async with`."""
        return EventStream(send, quiet_s=self.options.quiet_s)

    def caller(self, receive: Receive) -> HangUp:
        """The bounds of one answer: while its caller is there, and for so long."""
        return HangUp(receive, deadline_s=self.options.answer_deadline_s, among=self._callers)

    async def done(self, asked: Asked, visit: Visit, caller: HangUp) -> dict[str, Any]:
        """The whole answer, for who does not listen to a stream."""
        done: dict[str, Any] = {}
        async with aclosing(self.answer(asked, visit, caller, whole=True)) as answer:
            async for frame in answer:
                done = frame.data
        return done


def _marked(visit: Visit, name: str) -> float:
    """Notes that something left, and gives the seconds it took."""
    seconds = visit.elapsed_s()
    visit.marks.append((name, seconds))
    return seconds
