"""How an Ollama server is asked: its settings, and the body of a request."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from serving.backends.messages import Message
from serving.classification import TOP
from serving.llama.settings import Sampling
from serving.supervision import Pauses


@dataclass(frozen=True, slots=True)
class OllamaSettings:
    """url: checked (wire.checked_url). served_as: the model's name there. context: num_ctx, tokens of prompt and reply
    together. keep_alive: how long the model stays loaded; negative: for good. load_timeout_s: loading it."""

    url: str
    served_as: str
    key: str = field(default="", repr=False)
    context: int = 4096
    parallel: int = 4
    keep_alive: str = "-1m"
    prefill: bool = False
    system_role: bool = True
    sampling: Sampling = field(default_factory=Sampling)
    stop: tuple[str, ...] = ()
    connect_s: float = 3.0
    load_timeout_s: float = 120.0
    read_timeout_s: float = 30.0
    look_s: float = 15.0
    pauses: Pauses = field(default_factory=Pauses)


def body(
    settings: OllamaSettings, messages: Sequence[Message], *, max_tokens: int, stop: Sequence[str] = ()
) -> dict[str, Any]:
    """The body of /api/chat. truncate and shift are for newer servers, which then answer with an error instead."""
    options = sampled(settings.sampling) | {"num_ctx": settings.context, "num_predict": max_tokens}
    if marks := [mark for mark in (*settings.stop, *stop) if mark]:
        options["stop"] = marks
    return {
        "model": settings.served_as,
        "messages": list(messages),
        "stream": True,
        "keep_alive": settings.keep_alive,
        "truncate": False,
        "shift": False,
        "options": options,
    }


def question(settings: OllamaSettings, messages: Sequence[Message]) -> dict[str, Any]:
    """The body of a request for the likeliest next tokens: one token."""
    return body(settings, messages, max_tokens=1) | {"logprobs": True, "top_logprobs": TOP}


def sampled(sampling: Sampling) -> dict[str, Any]:
    """The sampling in Ollama's names."""
    options: dict[str, Any] = {
        "temperature": sampling.temperature,
        "top_k": sampling.top_k,
        "top_p": sampling.top_p,
        "min_p": sampling.min_p,
        "repeat_penalty": sampling.repeat_penalty,
        "repeat_last_n": sampling.repeat_last,
        "frequency_penalty": sampling.frequency_penalty,
    }
    return options if sampling.seed is None else options | {"seed": sampling.seed}
