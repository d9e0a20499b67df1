"""Reads the answer of a server with OpenAI's chat interface: the text in its events, why it ended, what it cost."""

import time
from collections.abc import Mapping
from typing import Any

from serving.backend import BackendMisconfigured, BackendRefused, BackendTimeout, BackendUnavailable
from serving.backends.wire_errors import answered
from serving.worker.protocol import Finish, Usage

WHO = "the OpenAI-compatible server"
"""Its name in errors."""


class Reading:
    """One answer, event by event. read_timeout_s: the longest wait for the next piece of text."""

    def __init__(self, read_timeout_s: float) -> None:
        self._read_timeout_s = read_timeout_s
        self._last_text = time.monotonic()
        self._finish = ""
        self._usage: Mapping[str, Any] = {}

    def patience_s(self) -> float:
        """Seconds left for the next piece of text: events without text, pings among them, give no more time."""
        left_s = self._last_text + self._read_timeout_s - time.monotonic()
        if left_s <= 0:
            raise BackendTimeout(f"{WHO} did not answer in time")
        return left_s

    def take(self, event: dict[str, Any]) -> str:
        """The text of an event. Raises BackendError for one that is an error or cannot be read."""
        if event.get("error") or event.get("object") == "error":
            raise answered(200, event, WHO)
        if isinstance(event.get("usage"), dict):
            self._usage = event["usage"]
        choices = event.get("choices")
        if not isinstance(choices, list):
            raise BackendUnavailable(f"{WHO} sent an event that cannot be read")
        text = "".join(self._choice(choice) for choice in choices[:1])
        if text:
            self._last_text = time.monotonic()
        return text

    def _choice(self, choice: Any) -> str:
        delta = choice.get("delta") if isinstance(choice, dict) else None
        content = delta.get("content") if isinstance(delta, dict) else None
        if not isinstance(delta, dict) or not isinstance(content, str | None):
            raise BackendUnavailable(f"{WHO} sent an event that cannot be read")
        self._finish = choice.get("finish_reason") or self._finish
        if self._finish == "content_filter" or delta.get("refusal"):
            raise BackendRefused(f"{WHO} refused to answer")
        return content or ""

    def usage(self, dropped: int) -> Usage:
        """At the end. Raises BackendUnavailable when the answer never said why it ended: then it broke off."""
        if not self._finish:
            raise BackendUnavailable(f"{WHO}'s answer broke off")
        finish: Finish = "length" if self._finish == "length" else "stop"
        details = self._usage.get("prompt_tokens_details")
        return Usage(
            n_prompt=_count(self._usage, "prompt_tokens"),
            n_cached=_count(details, "cached_tokens"),
            n_generated=_count(self._usage, "completion_tokens"),
            n_dropped=dropped,
            finish=finish,
        )


def _count(table: object, name: str) -> int:
    value = table.get(name) if isinstance(table, dict) else None
    return value if isinstance(value, int) else 0


def likeliest(answer: Any) -> list[tuple[str, float]]:
    """The likeliest first tokens of an answer that was asked for them. Raises BackendMisconfigured without any."""
    try:
        told = answer["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
        return [(str(one["token"]), float(one["logprob"])) for one in told]
    except (KeyError, TypeError, ValueError, IndexError):
        raise BackendMisconfigured(f"{WHO} tells no probabilities (logprobs)") from None
