"""What a model's part of a reply cost in tokens: by its own count, or estimated where it told none.

It tells none where it broke off, or where enough was said and its stream was closed before its end.
"""

from dataclasses import dataclass, field
from typing import Any

from serving.backend import Request

_CHARACTERS_A_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Cost:
    """Tokens that a model read and wrote. Nothing where no model answered."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    estimated: bool = False

    def to_json(self) -> dict[str, Any]:
        return {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "estimated": self.estimated,
        }


@dataclass(slots=True)
class Meter:
    """Adds up what one backend was asked and wrote in its turn."""

    read: int = field(default=0, init=False)
    wrote: int = field(default=0, init=False)
    counted: tuple[int, int] | None = field(default=None, init=False)

    def asked(self, request: Request) -> None:
        """A request that is sent. Raises nothing."""
        texts = (request.system, request.prefix, *(turn.text for turn in request.turns))
        self.read += sum(map(len, texts))

    def text(self, piece: str) -> None:
        """A piece of what it wrote."""
        self.wrote += len(piece)

    def count(self, prompt_tokens: int, completion_tokens: int) -> None:
        """Its own count, at the end of one request."""
        before = self.counted or (0, 0)
        self.counted = (before[0] + prompt_tokens, before[1] + completion_tokens)

    def cost(self) -> Cost:
        """As it stands now."""
        if self.counted is not None:
            return Cost(*self.counted)
        return Cost(-(-self.read // _CHARACTERS_A_TOKEN), -(-self.wrote // _CHARACTERS_A_TOKEN), estimated=True)
