"""Turns whatever goes wrong on the way to a server into our errors: the kind of failure, never its words.

An error's message may quote the request, so it is only searched for what an operator could mend. The shapes are those
of OpenAI's API and of what llama.cpp, vLLM, SGLang, LM Studio and LiteLLM make of it.
"""

import email.utils
import math
import time
from collections.abc import Mapping
from typing import Any

from serving.backend import (
    BackendError,
    BackendMisconfigured,
    BackendRefused,
    BackendThrottled,
    BackendTimeout,
    BackendUnavailable,
    PrefillRejected,
)
from serving.backends.sse import BrokenEvents

_REFUSED = {
    "content_filter": "its own filter refused the conversation",
    "content management policy": "its own filter refused the conversation",
}
_TOO_LONG = (
    "exceed_context_size",
    "context_length_exceeded",
    "context length",
    "context size",
    "context window",
    "maximum context",
    "prompt is too long",
    "input is too long",
)
_NO_PREFILL = ("continue_final_message", "prefill", "last message must be")
_REJECTED = {
    "conversation roles must alternate": "the model's template takes no system message; set system_role = false",
    "system role not supported": "the model's template takes no system message; set system_role = false",
}
_BY_STATUS = {
    401: "the key is not accepted",
    402: "billing: the account has no credit left",
    403: "the key may not use this model or this address",
    404: "no such model at this address: check the model's name and the url",
    405: "this address is no such interface: check the url",
}
_SOON = frozenset({429, 503, 529})
_TIMEOUTS = frozenset({408, 504})


def failure_of(error: Exception, who: str, *, answering: bool = True) -> BackendError:
    """Our error for what lies beneath HTTP, or for an answer that is not what was promised.

    answering: False while no headers have come. A connection that was lost so early is worth another.
    """
    from httpx2 import ConnectError, ConnectTimeout, HTTPError, TimeoutException

    if isinstance(error, BackendError):
        return error
    if isinstance(error, (ConnectError, ConnectTimeout)):
        return BackendUnavailable(f"no connection to {who}")
    if isinstance(error, TimeoutException):
        return BackendTimeout(f"{who} did not answer in time")
    if isinstance(error, HTTPError):
        return BackendUnavailable(f"the connection to {who} broke", retry_after_s=None if answering else 0.0)
    if isinstance(error, (BrokenEvents, ValueError, TypeError, AttributeError, KeyError)):
        return BackendUnavailable(f"{who} sent an event that cannot be read")
    return BackendUnavailable(f"asking {who} failed ({type(error).__name__})")


def answered(status: int, document: Any, who: str, wait_s: float | None = None) -> BackendError:
    """For an answer that is no reply: a status that is no success, or an error in a body that came with 200.

    wait_s: how long the server asked to be left alone (retry_after_s).
    """
    said = _said(document)
    inner = _status_in(document)
    status = inner if status == 200 and inner else status
    for word, why in _REFUSED.items():
        if word in said:
            return BackendRefused(f"{who}: {why}")
    if status in (200, 400, 413, 422, 500) and any(word in said for word in _TOO_LONG):
        return BackendRefused(f"{who}: the conversation does not fit the model's context")
    if status in (400, 422, 500):
        if any(word in said for word in _NO_PREFILL):
            why = 'it does not continue a given beginning; set prefill = "off"'
            return PrefillRejected(f"{who}: {why}", retry_after_s=0.0)
        for word, why in _REJECTED.items():
            if word in said:
                return BackendMisconfigured(f"{who}: {why}")
    return _by_status(status, who, wait_s)


def _by_status(status: int, who: str, wait_s: float | None) -> BackendError:
    if status in _BY_STATUS:
        return BackendMisconfigured(f"{who}: {_BY_STATUS[status]}")
    if status in _TIMEOUTS:
        return BackendTimeout(f"{who} did not answer in time")
    if status in _SOON:
        return BackendThrottled(f"{who} takes no request at the moment (status {status})", retry_after_s=wait_s)
    if status == 200:
        return BackendUnavailable(f"{who} answered with something that is no reply")
    retry_after_s = 0.0 if status == 500 else None  # a crash may have been that of one worker of several
    return BackendUnavailable(f"{who} answered with an error (status {status})", retry_after_s=retry_after_s)


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait by an answer's headers (RFC 9110, 10.2.3, and milliseconds as OpenAI and Anthropic send them).

    None where there is nothing that can be read.
    """
    milliseconds, seconds = headers.get("retry-after-ms", ""), headers.get("retry-after", "")
    try:
        asked_s = float(milliseconds) / 1000 if milliseconds else float(seconds)
    except ValueError:
        asked_s = _until(seconds)
    return max(asked_s, 0.0) if math.isfinite(asked_s) else None


def _until(date: str) -> float:
    try:
        return email.utils.parsedate_to_datetime(date).timestamp() - time.time()
    except (ValueError, OverflowError):
        return math.nan


def _said(document: Any) -> str:
    """Every text of an error's body, for searching only."""
    if isinstance(document, dict):
        return " ".join(map(_said, document.values()))
    if isinstance(document, list):
        return " ".join(map(_said, document[:8]))
    return document.lower()[:4000] if isinstance(document, str) else ""


def _status_in(document: Any) -> int:
    """The status that an error's body names itself, 0 where it names none."""
    inner = document.get("error") if isinstance(document, dict) else None
    for part in (inner, document):
        code = part.get("code") if isinstance(part, dict) else None
        if isinstance(code, (int, str)) and str(code).isdigit() and 400 <= int(code) < 600:
            return int(code)
    return 0
