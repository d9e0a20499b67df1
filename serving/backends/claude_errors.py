"""Turns whatever goes wrong in the anthropic SDK into our errors: the kind of failure, never its words.

An API error's message may quote the request, so it is only searched for what an operator could mend.
"""

from typing import TYPE_CHECKING

from serving.backend import (
    BackendError,
    BackendMisconfigured,
    BackendRefused,
    BackendThrottled,
    BackendTimeout,
    BackendUnavailable,
    PrefillRejected,
)
from serving.backends.wire_errors import retry_after_s

if TYPE_CHECKING:
    from anthropic import APIError

_NO_PREFILL = "the model does not continue a given beginning (prefill)"
_REJECTED = {
    "temperature": "the model does not take a temperature",
    "thinking": "the model rejects this thinking setting; use a model of the table in docs/claude.md",
    "effort": "the model rejects this effort setting; use a model of the table in docs/claude.md",
    "credit balance": "the account has no credit left",
    "spend limit": "the account has reached its spend limit",
    "usage limit": "the account has reached its usage limit",
}
_NO_ANSWER = ("prompt is too long", "context window", "context limit", "content filtering policy")
_MENDED = {
    "authentication_error": "the key is not accepted: check the key and the workspace it belongs to",
    "permission_error": "the key may not use this model or this address",
    "not_found_error": "no such model at this address: check `model` and `base_url`",
    "billing_error": "billing: check the account's payment details",
}
_BY_STATUS = {401: "authentication_error", 402: "billing_error", 403: "permission_error", 404: "not_found_error"}
_TIMEOUTS = frozenset({408, 504})
_SOON = frozenset({"rate_limit_error", "overloaded_error"})
_SOON_STATUS = frozenset({429, 503, 529})
_OTHER_TYPES = ("invalid_request_error", "rate_limit_error", "overloaded_error", "api_error", "timeout_error")


def failure_of(error: Exception) -> BackendError:
    """Our error for the SDK's, for what lies beneath it, or for an event that is not what the API promises."""
    from anthropic import APIConnectionError, APIError, APITimeoutError
    from httpx2 import ConnectError, HTTPError, TimeoutException

    if isinstance(error, BackendError):
        return error
    if isinstance(error, (TimeoutError, APITimeoutError, TimeoutException)):
        return BackendTimeout("Claude did not answer in time")
    if isinstance(error, APIConnectionError):
        lost = isinstance(error.__cause__, HTTPError) and not isinstance(error.__cause__, ConnectError)
        return BackendUnavailable("no connection to Claude", retry_after_s=0.0 if lost else None)
    if isinstance(error, APIError):
        return _api_failure(error)
    if isinstance(error, HTTPError):
        return BackendUnavailable("the connection to Claude broke")
    if isinstance(error, (ValueError, TypeError, AttributeError, KeyError)):
        return BackendUnavailable("Claude sent an event that cannot be read")
    return BackendUnavailable(f"asking Claude failed ({type(error).__name__})")


def _api_failure(error: "APIError") -> BackendError:
    """For a status that is no success, or an error event inside of an answer that began with 200."""
    from anthropic import APIStatusError

    status: int = getattr(error, "status_code", 0)
    kind = _error_type(error.body) or _BY_STATUS.get(status, "")
    if kind in _MENDED:
        return BackendMisconfigured(f"Claude: {_MENDED[kind]}")
    if kind == "timeout_error" or status in _TIMEOUTS:
        return BackendTimeout("Claude did not answer in time")
    if kind == "invalid_request_error":
        message = str(error.message).lower()
        if any(words in message for words in _NO_ANSWER):
            return BackendRefused("Claude: this conversation gets no answer (too long, or its content filter)")
        if "prefill" in message:
            return PrefillRejected(f"Claude: {_NO_PREFILL}", retry_after_s=0.0)
        for word, why in _REJECTED.items():
            if word in message:
                return BackendMisconfigured(f"Claude: {why}")
    said = f"Claude answered with an error ({kind or status})"
    if kind in _SOON or status in _SOON_STATUS:
        headers = error.response.headers if isinstance(error, APIStatusError) else {}
        return BackendThrottled(said, retry_after_s=retry_after_s(headers))
    return BackendUnavailable(said, retry_after_s=0.0 if status == 500 else None)


def _error_type(body: object) -> str:
    """The type that an error's body names, where it is one we know: a body may say anything."""
    inner = body.get("error") if isinstance(body, dict) else None
    kind = inner.get("type") if isinstance(inner, dict) else None
    return kind if isinstance(kind, str) and (kind in _MENDED or kind in _OTHER_TYPES) else ""
