"""What every source of text is: one protocol with one method, one request type, one tree of errors.

BackendError
├── BackendUnavailable      not there: no model, no key, connection refused, crashed, 5xx
│   ├── BackendNotReady     it is known not to be there, so nothing was asked
│   └── BackendBusy         its queue with us is full
│       └── BackendThrottled    it wants a pause: 429, 503, 529
├── BackendTimeout          no first text, or no further text, within its deadline
├── BackendRefused          it answered, and the answer is no answer: policy refusal, empty, a loop
│   └── BackendBlocked      the filter blocked what it wrote
└── BackendMisconfigured    it will never work like this: wrong key, unknown model, an option the model rejects
    └── PrefillRejected     it does not continue a given beginning; from now on it is told of it instead
"""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, runtime_checkable

from shield.assessment import Level, Turn

if TYPE_CHECKING:  # it needs the errors below
    from serving.classification import Classification


Tells = Literal["ill", "well", "nothing"]


class BackendError(Exception):
    """A backend could not give (the rest of) an answer. The message names no text of the person.

    retry_after_s: where asking once more can help, the seconds to wait before; None where it cannot. tells: what the
    failure says of the backend itself, and not of this one request (serving/circuit.py).
    """

    reason = "error"
    tells: ClassVar[Tells] = "ill"

    def __init__(self, message: str = "", *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class BackendUnavailable(BackendError):
    reason = "unavailable"


class BackendNotReady(BackendUnavailable):
    tells: ClassVar[Tells] = "nothing"


class BackendBusy(BackendUnavailable):
    reason = "busy"
    tells: ClassVar[Tells] = "nothing"


class BackendThrottled(BackendBusy):
    reason = "throttled"
    tells: ClassVar[Tells] = "ill"


class BackendTimeout(BackendError):
    reason = "timeout"


class BackendRefused(BackendError):
    reason = "refused"
    tells: ClassVar[Tells] = "well"


class BackendBlocked(BackendRefused):
    reason = "blocked"


class BackendMisconfigured(BackendError):
    reason = "misconfigured"


class PrefillRejected(BackendMisconfigured):
    tells: ClassVar[Tells] = "nothing"


@dataclass(frozen=True, slots=True)
class Request:
    """One request for the continuation of a reply.

    turns: the conversation, oldest first, the last one the user's. system: the protocol, rendered; protocol_prefix is
    the part of it that never changes between requests, so that an engine can keep it warm. prefix: the beginning of the
    reply, already shown to the person; the backend yields only what comes after it. continued: another backend already
    spoke after the opening, so one without a model only closes the reply. max_tokens bounds the continuation.
    level, kind, categories, language, channel, variant, scene: what the static backend chooses its words by; the level
    also says who goes first where people wait. patience_s: how long it may wait for its turn; None for as long as it
    takes. counted: told what it cost, in tokens read and written, by a backend that knows.
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
    scene: str = ""
    stop: tuple[str, ...] = field(default=())
    patience_s: float | None = None
    counted: Callable[[int, int], None] | None = field(default=None, compare=False, repr=False)

    def cost(self, prompt_tokens: int, completion_tokens: int) -> None:
        """Called by a backend at the end of its answer, with its own count; nothing where it has none."""
        if self.counted is not None and prompt_tokens > 0:
            self.counted(prompt_tokens, completion_tokens)


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


@runtime_checkable
class Classifier(Protocol):
    """What some backends can do besides: say which of a few labels the model would answer with, and how likely."""

    async def classify(self, request: Request, labels: Sequence[str]) -> "Classification":
        """One token's worth of work after the prompt. It waits for its turn as a reply does: bound it by a timeout.

        Start request.system with the protocol, as replies do, or what is kept evaluated is lost for the next one.
        Raises BackendError.
        """
        ...
