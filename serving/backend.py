"""What every source of text is: one protocol with one method, one request type, one tree of errors.

BackendError
├── BackendUnavailable      not there: no model, no key, connection refused, crashed, 429/5xx, busy
│   └── BackendBusy         its queue is full
├── BackendTimeout          no first text, or no further text, within its deadline
├── BackendRefused          it answered, and the answer is no answer: policy refusal, empty, a loop
│   └── BackendBlocked      the filter blocked what it wrote
└── BackendMisconfigured    it will never work like this: wrong key, unknown model, an option the model rejects
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Protocol

from shield.assessment import Level, Turn


class BackendError(Exception):
    """A backend could not give (the rest of) an answer. The message names no text of the person."""

    reason = "error"


class BackendUnavailable(BackendError):
    reason = "unavailable"


class BackendBusy(BackendUnavailable):
    reason = "busy"


class BackendTimeout(BackendError):
    reason = "timeout"


class BackendRefused(BackendError):
    reason = "refused"


class BackendBlocked(BackendRefused):
    reason = "blocked"


class BackendMisconfigured(BackendError):
    reason = "misconfigured"


@dataclass(frozen=True, slots=True)
class Request:
    """One request for the continuation of a reply.

    turns: the conversation, oldest first, the last one the user's. system: the protocol, rendered; protocol_prefix is
    the part of it that never changes between requests, so that an engine can keep it warm. prefix: the beginning of the
    reply, already shown to the person; the backend yields only what comes after it. continued: another backend already
    spoke after the opening, so one without a model only closes the reply. max_tokens bounds the continuation.
    level, kind, categories, language, channel, variant: what the static backend chooses its words by.
    """

    turns: tuple[Turn, ...]
    system: str = ""
    protocol_prefix: str = ""
    prefix: str = ""
    continued: bool = False
    max_tokens: int = 160
    level: Level = "none"
    kind: str = "none"
    categories: tuple[str, ...] = ()
    language: str = "en"
    channel: str = "chat"
    variant: int = 0
    stop: tuple[str, ...] = field(default=())


class Backend(Protocol):
    """A source of text. `name` is its name in the chain, `model` what really answers, `source` what a reply reports."""

    @property
    def name(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def source(self) -> str: ...

    def stream(self, request: Request) -> AsyncIterator[str]:
        """Pieces of text in order, of any size. Raises BackendError; closing the iterator cancels the work at once."""
        ...
