"""What each backend was asked and wrote in one exchange: the text before the filter, when it came, what it cost."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import asdict, dataclass, field
from typing import Any

from eval.transcripts import Call
from serving.backend import Backend, BackendError, BackendTimeout

_STATIC = "static"


@dataclass(slots=True)
class Hearing:
    """Collects the calls of one exchange. `listen` is a serving.listening.Listener. The static replies, which are no
    model's, are passed on unheard."""

    calls: list[Call] = field(default_factory=list)

    async def listen(self, backend: Backend, pieces: AsyncIterator[str]) -> AsyncIterator[str]:
        """The pieces as they come."""
        if backend.source == _STATIC:
            async for piece in pieces:
                yield piece
            return
        heard = _Heard(backend)
        try:
            async with aclosing(pieces) as texts:  # type: ignore[type-var] # every backend's stream is a generator
                async for piece in texts:
                    heard.note(piece)
                    yield piece
            heard.outcome = "done"
        except BackendError as error:
            heard.outcome = error.reason
            raise
        except asyncio.CancelledError:  # a deadline; whoever has read enough closes the generator instead
            heard.outcome = BackendTimeout.reason
            raise
        finally:
            self.calls.append(heard.call())


@dataclass(slots=True)
class _Heard:
    backend: Backend
    outcome: str = "closed"
    texts: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.perf_counter)
    first_ms: float | None = None
    usage_before: Any = None

    def __post_init__(self) -> None:
        self.usage_before = getattr(self.backend, "stats", None)

    def note(self, piece: str) -> None:
        if piece and self.first_ms is None:
            self.first_ms = self._ms()
        self.texts.append(piece)

    def call(self) -> Call:
        return Call(
            backend=self.backend.name,
            model=self.backend.model,
            outcome=self.outcome,
            text="".join(self.texts),
            first_text_ms=self.first_ms,
            total_ms=self._ms(),
            usage=self._usage(),
        )

    def _ms(self) -> float:
        return round((time.perf_counter() - self.began) * 1000, 2)

    def _usage(self) -> dict[str, Any] | None:
        """The engine's own count, where it made one for this request: a reply that was cut short has none yet."""
        usage = getattr(self.backend, "stats", None)
        return asdict(usage) if usage is not None and usage is not self.usage_before else None
