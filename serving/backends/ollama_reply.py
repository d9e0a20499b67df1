"""Reads the answer of an Ollama server: the text in its parts, why it ended, and whether the conversation was cut."""

import time
from typing import TYPE_CHECKING

from serving.backend import BackendRefused, BackendTimeout, BackendUnavailable
from serving.worker.protocol import Usage

if TYPE_CHECKING:
    from ollama import ChatResponse

MOST_CHARACTERS_PER_TOKEN = 12.0
"""No text that people write is longer than this for each of its tokens: English is near 4.5, code and lists below 8."""


class Reading:
    """Reads one answer, part by part. characters: how long the conversation is that it answers."""

    def __init__(self, characters: int, read_timeout_s: float) -> None:
        self._characters = characters
        self._read_timeout_s = read_timeout_s
        self._last_text = time.monotonic()
        self._last: ChatResponse | None = None
        self.ended = False

    def take(self, part: "ChatResponse") -> str:
        """The text of a part. Raises BackendTimeout when parts without text go on for too long."""
        self._last = part
        self.ended = bool(part.done)
        text = part.message.content or ""
        if text:
            self._last_text = time.monotonic()
        elif time.monotonic() - self._last_text > self._read_timeout_s:
            raise BackendTimeout("Ollama did not answer in time")
        return text

    def usage(self, dropped: int) -> Usage:
        """At the end. Raises BackendUnavailable when it broke off, BackendRefused when the conversation was cut."""
        last = self._last
        if last is None or not last.done:
            raise BackendUnavailable("Ollama's answer broke off")
        read = last.prompt_eval_count or 0
        if 0 < read < self._characters / MOST_CHARACTERS_PER_TOKEN:
            raise BackendRefused("Ollama cut the conversation before it answered: it read fewer tokens than were sent")
        return Usage(
            n_prompt=read,
            n_generated=last.eval_count or 0,
            n_dropped=dropped,
            prompt_ms=(last.prompt_eval_duration or 0) / 1e6,
            generate_ms=(last.eval_duration or 0) / 1e6,
            finish="length" if last.done_reason == "length" else "stop",
        )


def likeliest(part: "ChatResponse") -> list[tuple[str, float]]:
    """The likeliest tokens that a part tells of; none in most."""
    return [(one.token, one.logprob) for token in part.logprobs or () for one in token.top_logprobs or ()]
