"""A request's body: read within a size and a time, and parsed once."""

import asyncio
import json
import re
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.types import Receive, Scope

from serving.http.errors import CallerLeft, Problem, explain

Model = TypeVar("Model", bound=BaseModel)

_SURROGATES = re.compile("[\ud800-\udfff]")
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


async def read_json(scope: Scope, receive: Receive, *, limit: int, deadline_s: float) -> bytes:
    """The raw body of a JSON request. Raises Problem 408, 413 or 415."""
    _require_json(scope)
    return await read(scope, receive, limit=limit, deadline_s=deadline_s)


async def read(scope: Scope, receive: Receive, *, limit: int, deadline_s: float) -> bytes:
    """The raw body, not longer than `limit` bytes and not slower than `deadline_s`."""
    declared = _header(scope, b"content-length")
    if declared.isdigit() and int(declared) > limit:
        raise _too_large(limit)
    first = await _timed(receive, deadline_s)
    if not first.get("more_body"):
        return _bounded(first.get("body", b""), limit)
    try:
        async with asyncio.timeout(deadline_s):
            return await _rest(first.get("body", b""), receive, limit)
    except TimeoutError:
        raise _too_slow(deadline_s) from None


def parse(model: type[Model], raw: bytes) -> Model:
    """The body as a model. Raises Problem 400 (not JSON) or 422 (JSON of another shape)."""
    try:
        return model.model_validate_json(raw.removeprefix(b"\xef\xbb\xbf"))
    except ValidationError as error:
        return _second_look(model, raw, error)


def _second_look(model: type[Model], raw: bytes, error: ValidationError) -> Model:
    """A text cut in the middle of an emoji holds half a surrogate pair. That must not cost anybody an answer."""
    if error.errors(include_input=False)[0]["type"] != "json_invalid":
        raise _invalid(raw, explain(error)) from None
    mended = _mended(raw)
    if mended is None:
        what = explain(error).removeprefix("Invalid JSON: ")
        raise Problem(400, f"The body is not JSON that can be read: {what}. Send UTF-8 encoded JSON.") from None
    try:
        return model.model_validate(mended)
    except ValidationError as again:
        raise _invalid(raw, explain(again)) from None


def _mended(raw: bytes) -> Any:
    """The JSON with lone surrogates replaced, or None where those are not what is wrong with it."""
    try:
        decoded = json.loads(raw.decode("utf-8"))
        escaped = json.dumps(decoded, ensure_ascii=False)
    except (ValueError, RecursionError):
        return None
    return json.loads(_SURROGATES.sub(_REPLACEMENT, escaped)) if _SURROGATES.search(escaped) else None


def _invalid(raw: bytes, message: str) -> Problem:
    sent = _mapping(raw)
    country, language = sent.get("country"), sent.get("language")
    return Problem(
        422,
        message,
        country=country[:64] if isinstance(country, str) else None,
        language=language[:35] if isinstance(language, str) else None,
    )


def _mapping(raw: bytes) -> dict[str, Any]:
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _require_json(scope: Scope) -> None:
    media_type = _header(scope, b"content-type").split(b";", 1)[0].strip().lower()
    if media_type and media_type != b"application/json" and not media_type.endswith(b"+json"):
        raise Problem(415, "The body must be JSON: send the header 'Content-Type: application/json'.")
    if _header(scope, b"content-encoding") not in {b"", b"identity"}:
        raise Problem(415, "Compressed bodies are not read: send the JSON without Content-Encoding.")


def _header(scope: Scope, name: bytes) -> bytes:
    for key, value in scope["headers"]:
        if key == name:
            return bytes(value)
    return b""


async def _timed(receive: Receive, deadline_s: float) -> Any:
    try:
        async with asyncio.timeout(deadline_s):
            message = await receive()
    except TimeoutError:
        raise _too_slow(deadline_s) from None
    if message["type"] == "http.disconnect":
        raise CallerLeft
    return message


async def _rest(start: bytes, receive: Receive, limit: int) -> bytes:
    parts, size, more = [start], len(start), True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise CallerLeft
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > limit:
            raise _too_large(limit)
        more = message.get("more_body", False)
    return b"".join(parts)


def _bounded(raw: bytes, limit: int) -> bytes:
    if len(raw) > limit:
        raise _too_large(limit)
    return raw


def _too_large(limit: int) -> Problem:
    return Problem(413, f"The body is larger than {limit} bytes. Send the newest 40 turns only: no more are used.")


def _too_slow(deadline_s: float) -> Problem:
    return Problem(408, f"The body did not arrive within {deadline_s:g} s. Send it again.")
