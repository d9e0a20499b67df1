"""Errors that a caller sees: a status, a code, a sentence on what, where and how to mend it; and always resources.

    Problem      anything that ends in an error body
    CallerLeft   the caller hung up: nobody is left to be answered

A message never holds a piece of what was sent: it may be the worst sentence of somebody's life.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from pydantic import ValidationError

_CODES = {
    400: "malformed_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "body_timeout",
    413: "too_large",
    415: "unsupported_media_type",
    421: "unknown_host",
    422: "invalid_request",
    429: "too_many_requests",
    500: "internal_error",
    503: "unavailable",
}
_OPENAI_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


@dataclass(slots=True)
class Problem(Exception):
    """country and language: what could be read of the request, so that the error holds the right resources."""

    status: int
    message: str
    country: str | None = None
    language: str | None = None
    headers: tuple[tuple[bytes, bytes], ...] = ()

    @property
    def code(self) -> str:
        return _CODES.get(self.status, HTTPStatus(self.status).name.lower())


class CallerLeft(Exception):
    """Raised inside the edge only."""


def problem_json(problem: Problem, resources: list[dict[str, Any]]) -> dict[str, Any]:
    return {"error": {"code": problem.code, "message": problem.message}, "resources": resources}


def openai_problem_json(problem: Problem, resources: list[dict[str, Any]]) -> dict[str, Any]:
    """The same in the shape that OpenAI's clients read."""
    kind = _OPENAI_TYPES.get(problem.status, "invalid_request_error" if problem.status < 500 else "server_error")
    error = {"message": problem.message, "type": kind, "param": None, "code": problem.code}
    return {"error": error, "resources": resources}


_HINTS = {
    "role": "roles are 'user' and 'assistant'; leave system and tool messages out",
    "channel": "a channel is a name, such as 'chat' or 'sms'",
}
_MOST_FAULTS = 3


def explain(error: ValidationError) -> str:
    """Where and what is wrong with a body, in words, without what stood there."""
    faults = error.errors(include_url=False, include_input=False, include_context=False)
    said = [_fault(fault["loc"], fault["msg"]) for fault in faults[:_MOST_FAULTS]]
    more = f"; and {len(faults) - _MOST_FAULTS} more" if len(faults) > _MOST_FAULTS else ""
    return "; ".join(said) + more


def _fault(loc: Sequence[int | str], what: str) -> str:
    where = ".".join(str(part) for part in loc)
    hint = _HINTS.get(str(loc[-1])) if loc else None
    return f"{where}: {hint or what}" if where else what


def where(exc: BaseException) -> str:
    """The place an exception came from, for the log: file and line, never its message, which may quote a person."""
    step = exc.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    if step is None:
        return "unknown"
    return f"{step.tb_frame.f_code.co_filename.rsplit('/', 1)[-1]}:{step.tb_lineno}"
