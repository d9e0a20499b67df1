"""JSON out: compact bytes, and never an error, whatever a model put into a string."""

import json
from typing import Any

from pydantic_core import PydanticSerializationError, to_json


def encode(value: Any) -> bytes:
    """UTF-8 JSON. A lone surrogate, which UTF-8 can't carry, is written as its escape."""
    try:
        return to_json(value)
    except PydanticSerializationError:
        return json.dumps(value, separators=(",", ":")).encode("ascii")


def sse(name: str, value: Any) -> bytes:
    """One server-sent event. JSON escapes line breaks, so that no text can end the event early."""
    return b"event: " + name.encode("ascii") + b"\ndata: " + encode(value) + b"\n\n"


def sse_data(value: Any) -> bytes:
    """An unnamed server-sent event, as OpenAI's streams have them."""
    return b"data: " + encode(value) + b"\n\n"
