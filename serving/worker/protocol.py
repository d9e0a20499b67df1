"""What the service and its llama.cpp worker say to each other: one JSON object a line, over private pipes.

To the worker:    {"op": "load", settings…, "parent": pid}   first, once
                  {"op": "warm", "prefix": text, "rest": text}   keep this beginning of the system text evaluated
                  {"op": "generate", "id": n, job…}          one reply, or with labels their probabilities; may queue
                  {"op": "cancel", "id": n}                  stop within a token; "done" still follows
                  {"op": "ping"}
From the worker:  {"e": "ready", info…} or {"e": "failed", "reason"}
                  {"e": "warm", "n_prefix", "ms"}
                  {"e": "progress", "id"}                    part of a prompt was evaluated
                  {"e": "t", "id", "s"}                      a piece of text
                  {"e": "done", "id", "reason", usage…, "chances"}   chances: of each label as the next words
                  {"e": "pong"}
Closing the worker's input ends it. Reasons are fixed sentences of this project: never a text of the person.
"""

import json
from dataclasses import dataclass
from typing import Any, Literal, Self

Finish = Literal["stop", "length", "cancelled", "refused", "error"]
Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Job:
    """One reply to generate. prefix_chars: how much of `system` is the part that never changes between requests.

    labels: nothing is generated; asked is only how likely each of them is to come next.
    """

    id: int
    system: str
    prefix_chars: int
    turns: tuple[tuple[str, str], ...]
    prefix: str
    max_tokens: int
    stop: tuple[str, ...]
    labels: tuple[str, ...] = ()

    def to_message(self) -> Message:
        return {
            "op": "generate",
            "id": self.id,
            "system": self.system,
            "prefix_chars": self.prefix_chars,
            "turns": self.turns,
            "prefix": self.prefix,
            "max_tokens": self.max_tokens,
            "stop": self.stop,
            "labels": self.labels,
        }

    @classmethod
    def from_message(cls, message: Message) -> Self:
        values = {key: value for key, value in message.items() if key != "op"}
        turns = tuple((role, text) for role, text in values.pop("turns"))
        return cls(turns=turns, stop=tuple(values.pop("stop")), labels=tuple(values.pop("labels")), **values)


@dataclass(frozen=True, slots=True)
class Usage:
    """What one request cost, in tokens and milliseconds, without any text.

    n_cached of the n_prompt tokens were already in the KV cache; n_evaluated of the rest were evaluated before the
    end (all, unless it was cancelled). n_dropped turns and, with message_cut, the beginning of the last message
    did not fit the context.
    """

    n_prompt: int = 0
    n_cached: int = 0
    n_evaluated: int = 0
    n_generated: int = 0
    n_dropped: int = 0
    message_cut: bool = False
    prompt_ms: float = 0.0
    generate_ms: float = 0.0
    finish: Finish = "error"


@dataclass(frozen=True, slots=True)
class Info:
    """What the worker really loaded; `notes` are wishes that could not be met, in words for the operator."""

    description: str
    context: int
    context_trained: int
    threads: int
    prompt_threads: int
    gpu: bool
    system_role: bool
    load_ms: float
    notes: tuple[str, ...] = ()


def encode(message: Message) -> bytes:
    """One line. ASCII on the wire, so that even half a surrogate pair in somebody's text arrives as it was sent."""
    return json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n"


def decode(line: bytes) -> Message:
    """The inverse of encode."""
    message: Message = json.loads(line)
    return message
