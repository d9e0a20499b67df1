"""How one server with OpenAI's chat interface is asked: its settings, and the body of a request."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from serving.backend import Request
from serving.backends.messages import chat
from serving.classification import TOP
from serving.llama.settings import Sampling
from serving.supervision import Pauses

Prefill = Literal["off", "assistant", "continue_final_message"]
"""How the server is told to go on from a given beginning. off: it is worded as an instruction. assistant: as the last
message (llama.cpp). continue_final_message: the same, with the flags of vLLM and SGLang."""

FIXED = frozenset({"model", "messages", "stream", "max_tokens", "n", "tools", "logprobs", "top_logprobs"})
"""Fields of a request that `extra` may not change."""


@dataclass(frozen=True, slots=True)
class OpenAISettings:
    """url: with its version ("…/v1"), checked (wire.checked_url). served_as: the model's name there. context: tokens of
    prompt and reply together. parallel: conversations at once. extra: further fields of the request's body.
    read_timeout_s: the longest wait for the next piece of text. look_s: between two looks whether it is still there."""

    url: str
    served_as: str
    key: str = field(default="", repr=False)
    context: int = 4096
    parallel: int = 16
    prefill: Prefill = "off"
    system_role: bool = True
    sampling: Sampling = field(default_factory=Sampling)
    stop: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    connect_s: float = 3.0
    read_timeout_s: float = 15.0
    look_s: float = 15.0
    pauses: Pauses = field(default_factory=Pauses)


def body(request: Request, settings: OpenAISettings) -> dict[str, Any]:
    """The body of the request."""
    prefill = settings.prefill != "off"
    made: dict[str, Any] = {
        "model": settings.served_as,
        "messages": chat(request, prefill=prefill, system_role=settings.system_role),
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": request.max_tokens,
        "temperature": settings.sampling.temperature,
        "top_p": settings.sampling.top_p,
    }
    if settings.sampling.frequency_penalty:
        made["frequency_penalty"] = settings.sampling.frequency_penalty
    if settings.sampling.seed is not None:
        made["seed"] = settings.sampling.seed
    if stop := [mark for mark in (*settings.stop, *request.stop) if mark.strip()]:
        made["stop"] = stop[:4]  # the interface takes four
    if settings.prefill == "continue_final_message" and request.prefix.rstrip():
        made |= {"continue_final_message": True, "add_generation_prompt": False}
    return made | dict(settings.extra)


def question(request: Request, settings: OpenAISettings) -> dict[str, Any]:
    """The body of a request for the likeliest next tokens: one token, no stream."""
    made = body(request, settings) | {"stream": False, "max_tokens": 1, "temperature": 0}
    del made["stream_options"]
    return made | {"logprobs": True, "top_logprobs": TOP}
