"""An answer while it grows: what was shown, by whom, and what went wrong on the way."""

import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from safety_filter.helplines import Resources
from serving.backend import Backend, BackendBusy
from serving.conversation import Conversation
from serving.cost import Cost
from serving.events import Answer, FilterNote, SentenceEvent, Source, Timings
from serving.race import Moved
from serving.scene import Scene
from serving.spoken import Faltered, Kept, Said
from shield.assessment import Assessment


@dataclass(slots=True)
class Draft:
    """An answer while it grows. Everything in `reply` was shown; nothing is ever taken back.

    busy: a backend had no place for it. scene: as it was last looked at, for whoever has to end the answer.
    """

    conversation: Conversation
    started: float
    reply: str = ""
    assessment: Assessment = field(default_factory=lambda: Assessment("none"))
    shield_ms: float = 0.0
    first_ms: float = 0.0
    speaker: Backend | None = None
    cost: Callable[[], Cost] = Cost
    degraded: list[str] = field(default_factory=list)
    violations: list[FilterNote] = field(default_factory=list)
    blocked: bool = False
    busy: bool = False
    scene: Scene | None = None

    def say(self, text: str) -> Iterator[SentenceEvent]:
        """The event for a checked sentence, joined to what was said before; none for empty text."""
        joined = glue(self.reply, text)
        if not joined:
            return
        if not self.reply:
            self.first_ms = self._elapsed()
        self.reply += joined
        yield SentenceEvent(joined)

    def spoke(self, said: Said) -> None:
        """Who is named as having answered: the last model that did, else our own words."""
        if said.backend.source != "static":
            self.speaker, self.cost = said.backend, said.cost
        elif self.speaker is None:
            self.speaker = said.backend

    def note(self, event: Moved | Faltered | Kept) -> None:
        if isinstance(event, Kept):
            self.violations += [FilterNote(v.rule_id, v.category) for v in event.violations]
            self.blocked |= event.blocked
        else:
            self.degraded.append(f"{event.backend.name}-{event.reason}")
            self.busy |= event.reason == BackendBusy.reason

    def answer(self, resources: Resources) -> Answer:
        verdict: Literal["pass", "repair", "block"] = "pass"
        if self.violations:
            verdict = "block" if self.blocked else "repair"
        source: Source = "static"
        if self.speaker is not None and self.speaker.source in ("local", "claude"):
            source = "claude" if self.speaker.source == "claude" else "local"
        full = source == "static" and self.busy
        return Answer(
            id=f"cr-{uuid.uuid4().hex}",
            conversation_id=self.conversation.id or f"conv-{uuid.uuid4().hex}",
            reply=self.reply,
            resources=resources,
            assessment=self.assessment,
            source=source,
            model=self.speaker.model if self.speaker is not None and source != "static" else "static",
            degraded=tuple(dict.fromkeys([*self.degraded, *(["overload"] if full else [])])),
            verdict=verdict,
            violations=tuple(self.violations),
            usage=self.cost(),
            timings=Timings(self.shield_ms, self.first_ms, self._elapsed()),
        )

    def _elapsed(self) -> float:
        return (time.perf_counter() - self.started) * 1000


def glue(reply: str, text: str) -> str:
    """`text` as it continues `reply`: line breaks stay, every other gap is one blank."""
    body = text.strip()
    if not body:
        return ""
    if not reply:
        return body
    gap = text[: len(text) - len(text.lstrip())]
    return ("\n\n" if "\n\n" in gap else "\n" if "\n" in gap else " ") + body
