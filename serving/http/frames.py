"""The responder's events as the JSON that leaves, and the promise that each ends with resources and whole words.

Do not fix: this is a second net below the responder's own. It is what is left when that one is broken.
"""

import asyncio
import logging
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Literal

from serving import last_resort
from serving.cost import Cost
from serving.events import (
    AssessmentEvent,
    DoneEvent,
    Event,
    ResourcesEvent,
    SentenceEvent,
    answer_json,
    assessment_json,
)
from serving.http.errors import where
from serving.http.schemas import Asked

Name = Literal["assessment", "resources", "sentence", "done"]

# A detector that can't be asked has not found "nothing": the unknown is treated as grave.
UNKNOWN_ASSESSMENT: dict[str, Any] = {"level": "high", "crisis": True, "categories": ["unknown"], "findings": []}

_NAMES: dict[type[Event], Name] = {
    AssessmentEvent: "assessment",
    ResourcesEvent: "resources",
    SentenceEvent: "sentence",
    DoneEvent: "done",
}

logger = logging.getLogger("crisis.http")


@dataclass(frozen=True, slots=True)
class Frame:
    """One event of an answer: its name in the stream, and its data."""

    name: Name
    data: dict[str, Any]


@dataclass(slots=True)
class _Shown:
    """What has come so far, from which an answer that broke off is completed."""

    began: float = field(default_factory=perf_counter)
    assessment: AssessmentEvent | None = None
    resources: ResourcesEvent | None = None
    sentences: list[str] = field(default_factory=list)
    first_sentence_ms: float = 0.0

    def note(self, event: Event) -> None:
        if isinstance(event, SentenceEvent):
            self.first_sentence_ms = self.first_sentence_ms or self.elapsed_ms()
            self.sentences.append(event.text)
        elif isinstance(event, AssessmentEvent):
            self.assessment = event
        elif isinstance(event, ResourcesEvent):
            self.resources = event

    def elapsed_ms(self) -> float:
        return round((perf_counter() - self.began) * 1000, 1)


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked for: the conversation, the lines to show if the responder gives none, and how patient to be.

    forgive tells why a cancellation only wants the answer to be completed, and not dropped; "" where it wants more.
    whole: nobody listens to the stream, only `done` is wanted.
    """

    asked: Asked
    resources: Callable[[], list[dict[str, Any]]]
    forgive: Callable[[], str]
    whole: bool = False


async def frames(respond: Callable[[], AsyncIterator[Event]], question: Question) -> AsyncGenerator[Frame, None]:
    """The frames of one answer; the last is always `done`. Closing this generator closes the responder's at once."""
    shown, why = _Shown(), "internal-error"
    try:
        events = respond()
        try:
            async for event in events:
                shown.note(event)
                done = isinstance(event, DoneEvent)
                if done or not question.whole:
                    yield Frame(_NAMES[type(event)], _data(event, question.asked))
                if done:
                    return
        finally:
            await _close(events)
        logger.error("answer ended without done")
    except asyncio.CancelledError:
        why = question.forgive()
        if not why:
            raise
        logger.error("answer was ended: %s", why)
    except Exception as exc:  # noqa: BLE001 - the invariant's last net: whatever broke, the person gets the rest
        logger.error("answer broke off: %s at %s", type(exc).__name__, where(exc))
    for frame in _rest(shown, question, why):
        yield frame


async def _close(events: AsyncIterator[Event]) -> None:
    if isinstance(events, AsyncGenerator):
        with suppress(Exception):  # it is over for this answer, whatever its clean-up says
            await events.aclose()


def _data(event: Event, asked: Asked) -> dict[str, Any]:
    """One event in the contract's JSON."""
    match event:
        case SentenceEvent(text):
            return {"text": text}
        case AssessmentEvent(assessment):
            return as_sent(assessment_json(assessment), asked.dropped)
        case ResourcesEvent(resources):
            return {"resources": resources.to_json() or last_resort.resources()}
        case DoneEvent(answer):
            done = answer_json(answer)
            as_sent(done["assessment"], asked.dropped)
            done["resources"] = done["resources"] or last_resort.resources()
            done["conversation_id"] = asked.conversation.id
            return done


def as_sent(assessment: dict[str, Any], dropped: int) -> dict[str, Any]:
    """Findings count turns as the caller sent them, also where the oldest were left out."""
    if dropped:
        for finding in assessment["findings"]:
            finding["turn"] += dropped
    return assessment


def _rest(shown: _Shown, question: Question, why: str) -> Iterator[Frame]:
    """What is still missing of a whole answer."""
    assessment = _made(shown.assessment, question.asked) or UNKNOWN_ASSESSMENT
    if shown.assessment is None:
        yield Frame("assessment", assessment)
    resources = _made(shown.resources, question.asked) or {"resources": question.resources()}
    if shown.resources is None:
        yield Frame("resources", resources)
    said = "".join(shown.sentences)
    gap = "" if not said or said[-1].isspace() else " "
    language = question.asked.conversation.language
    closing = gap + last_resort.text(resources["resources"], language=language)
    yield Frame("sentence", {"text": closing})
    timings = {"first_sentence_ms": shown.first_sentence_ms or shown.elapsed_ms(), "total_ms": shown.elapsed_ms()}
    done = {
        "id": secrets.token_hex(16),
        "conversation_id": question.asked.conversation.id,
        "reply": said + closing,
        **resources,
        "assessment": assessment,
        "source": "static",
        "model": "static",
        "degraded": [why],
        "filter": {"verdict": "pass", "violations": []},
        "timings": {"shield_ms": 0.0, **timings},
        "usage": Cost().to_json(),
    }
    yield Frame("done", done)


def _made(event: Event | None, asked: Asked) -> dict[str, Any] | None:
    if event is None:
        return None
    try:
        return _data(event, asked)
    except Exception as exc:  # noqa: BLE001 - it may be this event that broke the answer
        logger.error("event lost: %s at %s", type(exc).__name__, where(exc))
        return None
