"""JSON out: compact bytes, and never an error, whatever a model put into a string."""

import json
from typing import Any

from pydantic_core import PydanticSerializationError, to_json

_ALSO_BREAKS = tuple((mark.encode(), f"\\u{ord(mark):04x}".encode()) for mark in "\u0085\u2028\u2029")


def encode(value: Any) -> bytes:
    """UTF-8 JSON. A lone surrogate, which UTF-8 can't carry, is written as its escape."""
    try:
        return to_json(value)
    except PydanticSerializationError:
        return json.dumps(value, separators=(",", ":")).encode("ascii")


def sse(name: str, value: Any) -> bytes:
    """One server-sent event. No text can end the event early."""
    return b"event: " + name.encode("ascii") + b"\ndata: " + _one_line(value) + b"\n\n"


def sse_data(value: Any) -> bytes:
    """An unnamed server-sent event, as OpenAI's streams have them."""
    return b"data: " + _one_line(value) + b"\n\n"


def _one_line(value: Any) -> bytes:
    """JSON that no client's reading of lines can cut. JSON itself escapes the line breaks of the standard; these three
    end a line for Python's `splitlines`, and so for httpx and who builds on it."""
    data = encode(value)
    for mark, escape in _ALSO_BREAKS:
        data = data.replace(mark, escape)
    return data
