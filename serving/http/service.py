"""What the HTTP face needs from the rest: something that answers, and a few plain values."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from safety_filter.check import FilterResult
from safety_filter.helplines import Resources
from serving.admission import Admits
from serving.conversation import Conversation
from serving.events import Event
from serving.keys import plain
from shield.assessment import Assessment, Turn


class Responder(Protocol):
    """The pipeline behind every route. Its streams are closed as soon as the caller leaves."""

    @property
    def demo(self) -> bool:
        """True when a model that is not approved for people may answer."""
        ...

    @property
    def default_country(self) -> str | None: ...

    def respond(self, conversation: Conversation, *, admits: Admits) -> AsyncIterator[Event]:
        """The answer. admits: whether models may be asked; where not it is static, with "overload" in `degraded`."""
        ...

    def overloaded(self, conversation: Conversation, *, why: str = "overload") -> AsyncIterator[Event]:
        """The static answer, for who asks too much: as complete as any other. `why` is named in `degraded`."""
        ...

    def assess(self, turns: Sequence[Turn]) -> Assessment: ...
    def filter(self, user: str, reply: str, *, country: str | None, language: str | None) -> FilterResult: ...
    def resources(self, country: str | None, language: str | None) -> Resources: ...
    def ready(self) -> dict[str, Any]:
        """`ready`, `answers_from`, `chain` (name, engine, model, state, reason) and `next_step` for the operator."""
        ...

    def swap_counts(self) -> Mapping[str, int]:
        """How many changes of the chain there were, by outcome."""
        ...


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """api_keys: SHA-256 of each key that may do everything, in hex; keys_file: named keys (serving/keys.py); neither
    means open. per_minute: for keys without a limit of their own. hosts: names it goes by, none for any. cors_origins:
    exact origins, or "*".

    max_concurrent: answers that ask models at once; others get the static reply, but for a quarter more who are in
    danger. body_deadline_s bounds the wait for a caller's body, answer_deadline_s a whole answer. A stream that has
    been quiet for quiet_s says a comment.
    """

    api_keys: tuple[str, ...] = ()
    keys_file: Path | None = None
    per_minute: int = 600
    hosts: tuple[str, ...] = ()
    max_body_bytes: int = 262_144
    max_concurrent: int = 64
    cors_origins: tuple[str, ...] = ()
    body_deadline_s: float = 20.0
    answer_deadline_s: float = 120.0
    quiet_s: float = 5.0

    def __post_init__(self) -> None:
        plain(self.api_keys)  # or it raises
