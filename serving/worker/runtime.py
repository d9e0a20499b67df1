"""What a worker asks of the engine inside it: one model, one conversation at a time, tokens in and tokens out.

The conversation is what was evaluated last; the kept tokens are the protocol's, which no request can push out.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

FATAL_EXIT = 70
"""The exit status of a worker whose engine is not to be used again."""


class Aborted(Exception):
    """Evaluation was stopped by abort()."""


class EngineFault(Exception):
    """The engine failed while evaluating. fatal: it is not to be used again. reason: in fixed words."""

    def __init__(self, reason: str, *, fatal: bool) -> None:
        super().__init__(reason)
        self.reason = reason
        self.fatal = fatal


class Sampler(Protocol):
    """Chooses tokens."""

    def next(self) -> int:
        """The token after the last one evaluated."""
        ...


class Runtime(Protocol):
    """A loaded model. Everything but abort() belongs to one thread; abort() may be called from any."""

    @property
    def context(self) -> int:
        """How many tokens prompt and reply may have together."""
        ...

    def begin(self, prompt: Sequence[int], *, room: int) -> int:
        """Make ready for a prompt and `room` tokens after it; returns how many of its tokens are evaluated already.

        At least the last token is left to evaluate, because it gives the first new one.
        """
        ...

    def evaluate(self, tokens: Sequence[int], progress: Callable[[], None] | None = None) -> None:
        """Append tokens to the conversation. Raises Aborted or EngineFault; what was evaluated until then stays."""
        ...

    def keep(self, count: int) -> None:
        """Let the first `count` tokens of the conversation survive whatever request comes next, where that can be."""
        ...

    def keeps(self, tokens: Sequence[int]) -> bool:
        """Whether what is kept begins with these."""
        ...

    def forget(self) -> None:
        """Begin with nothing evaluated."""
        ...

    def evaluated(self) -> int:
        """How many tokens the conversation holds."""
        ...

    def sampler(self, said: Sequence[int]) -> AbstractContextManager[Sampler]:
        """Chooses tokens; `said` is the reply so far, which the repetition penalties count."""
        ...

    def chances(self, groups: Sequence[Sequence[int]]) -> list[float]:
        """How likely the token after the last one evaluated is one of each group: 0 to 1, before any sampling."""
        ...

    def piece(self, token: int) -> bytes:
        """The bytes of a token; nothing for a control token."""
        ...

    def ends(self, token: int) -> bool:
        """Whether a token ends the reply."""
        ...

    def abort(self) -> None:
        """Stop the evaluation that is going on, from another thread, as soon as it can be."""
        ...

    def proceed(self) -> None:
        """Allow evaluation again after abort()."""
        ...
