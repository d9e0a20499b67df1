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

from serving.events import (
    AssessmentEvent,
    DoneEvent,
    Event,
    ResourcesEvent,
    SentenceEvent,
    answer_json,
    assessment_json,
)
from serving.http import last_resort
from serving.http.errors import where
from serving.http.schemas import Asked

Name = Literal["assessment", "resources", "sentence", "done"]

# A detector that can't be asked has not found "nothing": the unknown is treated as grave.
UNKNOWN_ASSESSMENT: dict[str, Any] = {"level": "high", "crisis": True, "categories": ["unknown"], "findings": []}

logger = logging.getLogger("crisis.http")


@dataclass(frozen=True, slots=True)
class Frame:
    """One event of an answer: its name in the stream, and its data."""

    name: Name
    data: dict[str, Any]


@dataclass(slots=True)
class _Shown:
    """What has left so far, from which an answer that broke off is completed."""

    began: float = field(default_factory=perf_counter)
    assessment: dict[str, Any] | None = None
    resources: list[dict[str, Any]] | None = None
    sentences: list[str] = field(default_factory=list)
    first_sentence_ms: float = 0.0

    def note(self, frame: Frame) -> None:
        if frame.name == "assessment":
            self.assessment = frame.data
        elif frame.name == "resources":
            self.resources = frame.data["resources"]
        elif frame.name == "sentence":
            self.first_sentence_ms = self.first_sentence_ms or self.elapsed_ms()
            self.sentences.append(frame.data["text"])

    def elapsed_ms(self) -> float:
        return round((perf_counter() - self.began) * 1000, 1)


async def frames(
    respond: Callable[[], AsyncIterator[Event]],
    asked: Asked,
    *,
    resources: Callable[[], list[dict[str, Any]]],
    deadline_s: float,
) -> AsyncGenerator[Frame, None]:
    """The frames of one answer; the last is always `done`. `resources` gives the lines when `respond` did not.

    `deadline_s` bounds the whole answer. Closing this generator closes the responder's at once.
    """
    shown = _Shown()
    deadline = asyncio.get_running_loop().time() + deadline_s
    try:
        events = respond()
        try:
            while (event := await _next(events, deadline)) is not None:
                frame = to_frame(event, asked)
                shown.note(frame)
                yield frame
                if frame.name == "done":
                    return
        finally:
            await _close(events)
        logger.error("answer ended without done")
    except Exception as exc:  # noqa: BLE001 - the invariant's last net: whatever broke, the person gets the end of the answer
        logger.error("answer broke off: %s at %s", type(exc).__name__, where(exc))
    for frame in _rest(shown, asked, resources):
        yield frame


async def _next(events: AsyncIterator[Event], deadline: float) -> Event | None:
    try:
        async with asyncio.timeout_at(deadline):
            return await anext(events)
    except StopAsyncIteration:
        return None


async def _close(events: AsyncIterator[Event]) -> None:
    if isinstance(events, AsyncGenerator):
        with suppress(Exception):  # it is over for this answer, whatever its clean-up says
            await events.aclose()


def to_frame(event: Event, asked: Asked) -> Frame:
    """One event in the contract's JSON."""
    match event:
        case SentenceEvent(text):
            return Frame("sentence", {"text": text})
        case AssessmentEvent(assessment):
            return Frame("assessment", as_sent(assessment_json(assessment), asked.dropped))
        case ResourcesEvent(resources):
            return Frame("resources", {"resources": resources.to_json() or last_resort.resources()})
        case DoneEvent(answer):
            done = answer_json(answer)
            as_sent(done["assessment"], asked.dropped)
            done["resources"] = done["resources"] or last_resort.resources()
            done["conversation_id"] = asked.conversation.id
            return Frame("done", done)


def as_sent(assessment: dict[str, Any], dropped: int) -> dict[str, Any]:
    """Findings count turns as the caller sent them, also where the oldest were left out."""
    if dropped:
        for finding in assessment["findings"]:
            finding["turn"] += dropped
    return assessment


def _rest(shown: _Shown, asked: Asked, resources: Callable[[], list[dict[str, Any]]]) -> Iterator[Frame]:
    """What is still missing of a whole answer."""
    if shown.assessment is None:
        shown.assessment = UNKNOWN_ASSESSMENT
        yield Frame("assessment", UNKNOWN_ASSESSMENT)
    if shown.resources is None:
        shown.resources = resources()
        yield Frame("resources", {"resources": shown.resources})
    said = "".join(shown.sentences)
    gap = "" if not said or said[-1].isspace() else " "
    closing = Frame("sentence", {"text": gap + last_resort.text(shown.resources, language=asked.conversation.language)})
    shown.note(closing)
    yield closing
    yield Frame("done", _done(shown, asked))


def _done(shown: _Shown, asked: Asked) -> dict[str, Any]:
    return {
        "id": secrets.token_hex(16),
        "conversation_id": asked.conversation.id,
        "reply": "".join(shown.sentences),
        "resources": shown.resources,
        "assessment": shown.assessment,
        "source": "static",
        "model": "static",
        "degraded": ["internal-error"],
        "filter": {"verdict": "pass", "violations": []},
        "timings": {
            "shield_ms": 0.0,
            "first_sentence_ms": shown.first_sentence_ms,
            "total_ms": shown.elapsed_ms(),
        },
    }
