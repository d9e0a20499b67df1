"""What the HTTP face needs from the rest: something that answers, and a few plain values."""

import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from safety_filter.check import FilterResult
from safety_filter.helplines import Resources
from serving.conversation import Conversation
from serving.events import Event
from shield.assessment import Assessment, Turn

_HASH = re.compile(r"[0-9a-f]{64}")


class Responder(Protocol):
    """The pipeline behind every route. Its streams are closed as soon as the caller leaves."""

    @property
    def demo(self) -> bool:
        """True when a model that is not approved for people may answer."""
        ...

    @property
    def default_country(self) -> str | None: ...

    def respond(self, conversation: Conversation) -> AsyncIterator[Event]: ...
    def overloaded(self, conversation: Conversation) -> AsyncIterator[Event]:
        """The static answer, for when the service is full: as complete as any other."""
        ...

    def assess(self, turns: Sequence[Turn]) -> Assessment: ...
    def filter(self, user: str, reply: str, *, country: str | None, language: str | None) -> FilterResult: ...
    def resources(self, country: str | None, language: str | None) -> Resources: ...
    def ready(self) -> dict[str, Any]:
        """`ready`, `answers_from`, `chain` (name, engine, model, state, reason) and `next_step` for the operator."""
        ...


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """api_keys: SHA-256 of each accepted key, in hex; none means open. cors_origins: exact origins, or "*".

    max_concurrent: answers under way at once; more get the static reply. body_deadline_s bounds the wait for a caller's
    body, answer_deadline_s a whole answer.
    """

    api_keys: tuple[str, ...] = ()
    max_body_bytes: int = 262_144
    max_concurrent: int = 64
    cors_origins: tuple[str, ...] = ()
    body_deadline_s: float = 20.0
    answer_deadline_s: float = 120.0

    def __post_init__(self) -> None:
        for key in self.api_keys:
            if not _HASH.fullmatch(key):
                raise ValueError("api_keys: each is the SHA-256 of a key, 64 lower-case hex digits; one of them is not")
