"""A responder that says what it is told to: the tests of the HTTP face run on it and patch nothing."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from safety_filter.check import FilterResult
from safety_filter.helplines import Helplines, Resources, resolve_country
from safety_filter.verdict import Violation
from serving.admission import Admits, everyone
from serving.conversation import Conversation, bounded
from serving.events import Answer, AssessmentEvent, DoneEvent, Event, ResourcesEvent, SentenceEvent, Timings
from shield.assessment import Assessment, Finding, Turn

Step = str | float | Exception
OPENING = "That sounds heavy to carry alone. Are you safe right now? "
LINES = "You can call or text 988 at any hour. I'm an AI, and I'm still here."


@dataclass(slots=True)
class FakeResponder:
    """Says `script`: a string is a sentence, a number a pause in seconds, an exception is raised at its place."""

    script: Sequence[Step] = (OPENING, LINES)
    demo: bool = False
    default_country: str | None = "US"
    level: Literal["none", "high"] = "high"
    degraded: tuple[str, ...] = ()
    is_ready: bool = True
    broken: frozenset[str] = frozenset()
    seen: list[Conversation] = field(default_factory=list)
    closed: int = 0
    helplines: Helplines = field(default_factory=cache(Helplines.load))

    def respond(self, conversation: Conversation, *, admits: Admits = everyone) -> AsyncIterator[Event]:
        if not admits(self.level):
            return self.overloaded(conversation)
        return self._say(conversation, self.script, "local", self.degraded)

    def overloaded(self, conversation: Conversation, *, why: str = "overload") -> AsyncIterator[Event]:
        return self._say(conversation, ("I'm an AI. Call or text 988.",), "static", (why,))

    def assess(self, turns: Sequence[Turn]) -> Assessment:
        self._break("assess")
        turns = bounded(tuple(turns))
        last = len(turns) - 1
        finding = Finding("direct.want-to-die", "direct_ideation", "high", last, 0, 4)
        per_turn = tuple("high" if turn.role == "user" else "none" for turn in turns)
        if self.level == "none":
            return Assessment("none", per_turn=("none",) * len(turns))
        return Assessment("high", ("direct_ideation",), (finding,), per_turn)  # type: ignore[arg-type]  # literals

    def filter(self, user: str, reply: str, *, country: str | None, language: str | None) -> FilterResult:
        self._break("filter")
        if "calm down" in reply:
            return FilterResult("repair", (Violation("minimising.calm-down", "minimising", "cut"),), "I'm here.")
        return FilterResult("pass", (), reply)

    def resources(self, country: str | None, language: str | None) -> Resources:
        self._break("resources")
        code = resolve_country(country, default=self.default_country, named=None, language=language)
        return self.helplines.resources(code, language=language or "en")

    def ready(self) -> dict[str, Any]:
        entry = {"name": "main", "engine": "llama-cpp", "model": "demo", "state": "ready", "reason": None}
        return {"ready": self.is_ready, "answers_from": "local", "chain": [entry], "next_step": None}

    def swap_counts(self) -> dict[str, int]:
        return {"swapped": 2, "rolled-back": 0}

    async def _say(
        self,
        conversation: Conversation,
        script: Sequence[Step],
        source: Literal["local", "static"],
        why: tuple[str, ...],
    ) -> AsyncIterator[Event]:
        self.seen.append(conversation)
        self._break("respond")
        said: list[str] = []
        try:
            assessment = self.assess(conversation.turns)
            yield AssessmentEvent(assessment)
            resources = self.resources(conversation.country, conversation.language)
            yield ResourcesEvent(resources)
            for step in script:
                if isinstance(step, str):
                    said.append(step)
                    yield SentenceEvent(step)
                elif isinstance(step, Exception):
                    raise step
                else:
                    await asyncio.sleep(step)
            yield DoneEvent(
                Answer(
                    id="a1",
                    conversation_id=conversation.id,
                    reply="".join(said),
                    resources=resources,
                    assessment=assessment,
                    source=source,
                    model="fake",
                    degraded=why,
                    verdict="pass",
                    violations=(),
                    timings=Timings(0.05, 1.0, 2.0),
                )
            )
        finally:
            self.closed += 1

    def _break(self, part: str) -> None:
        if part in self.broken:
            raise RuntimeError(f"{part} broke on I want to die")
