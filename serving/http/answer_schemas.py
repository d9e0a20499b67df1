"""What the routes answer with, as JSON Schema: for /openapi.json, and so for whoever checks the service against it."""

from typing import Any, get_args

from serving.events import Source
from shield.assessment import LEVELS

Schema = dict[str, Any]


def _object(required: dict[str, Any], optional: dict[str, Any] | None = None, **more: Any) -> Schema:
    properties = {**required, **(optional or {})}
    return {"type": "object", "required": list(required), "properties": properties, **more}


def _list(items: Schema, **more: Any) -> Schema:
    return {"type": "array", "items": items, **more}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


_TEXT: Schema = {"type": "string"}
_WORD: Schema = {"type": "string", "minLength": 1}
_MAYBE: Schema = {"type": ["string", "null"]}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_MS: Schema = {"type": "number", "minimum": 0}
_LEVEL: Schema = {"enum": list(LEVELS)}
_VERDICT: Schema = {"enum": ["pass", "repair", "block"]}
_LINES = _list(_ref("Resource"), minItems=1)
_ASSESSMENT = {
    "level": _LEVEL,
    "crisis": {"type": "boolean"},
    "categories": _list(_WORD),
    "findings": _list(_ref("Finding")),
}
_USAGE = dict.fromkeys(("prompt_tokens", "completion_tokens", "total_tokens"), _COUNT)
_MESSAGE = _object({"role": {"const": "assistant"}, "content": _WORD}, {"refusal": {"type": "null"}})
_CHOICE = _object({"index": {"const": 0}, "message": _MESSAGE, "finish_reason": {"const": "stop"}})

SCHEMAS: dict[str, Schema] = {
    "Resource": _object(
        {"id": _WORD, "name": _WORD, "phone": _MAYBE, "sms": _MAYBE, "url": _MAYBE, "hours": _MAYBE},
        {"languages": _list(_WORD), "country": _MAYBE, "verified_at": _MAYBE, "kind": _WORD, "sms_body": _MAYBE},
    ),
    "Finding": _object({"rule": _WORD, "turn": _COUNT, "start": _COUNT, "end": _COUNT}, {"level": _LEVEL}),
    "Assessment": _object(_ASSESSMENT),
    "Answer": _object(
        {
            "id": _WORD,
            "conversation_id": _TEXT,
            "reply": _WORD,
            "resources": _LINES,
            "assessment": _ref("Assessment"),
            "source": {"enum": list(get_args(Source))},
            "model": _WORD,
            "degraded": _list(_WORD),
            "filter": _object({"verdict": _VERDICT, "violations": _list(_object({"rule": _WORD, "category": _WORD}))}),
            "timings": _object({"shield_ms": _MS, "first_sentence_ms": _MS, "total_ms": _MS}),
            "usage": _object({"prompt_tokens": _COUNT, "completion_tokens": _COUNT, "estimated": {"type": "boolean"}}),
        }
    ),
    "Assessed": _object({**_ASSESSMENT, "per_turn": _list({"enum": [*LEVELS, None]}, minItems=1), "resources": _LINES}),
    "Filtered": _object(
        {
            "verdict": _VERDICT,
            "violations": _list(_object({"rule": _WORD, "category": _WORD, "severity": _WORD})),
            "text": _TEXT,
            "resources": _LINES,
        }
    ),
    "Resources": _object({"resources": _LINES}),
    "ChatCompletion": _object(
        {
            "id": _WORD,
            "object": {"const": "chat.completion"},
            "created": _COUNT,
            "model": _WORD,
            "choices": _list(_CHOICE, minItems=1, maxItems=1),
            "usage": _object(_USAGE),
            "crisis": _ref("Answer"),
        }
    ),
    "Event": _object(
        {"event": {"enum": ["assessment", "resources", "sentence", "done"]}, "data": _WORD},
        description="One server-sent event; `data` is JSON: of `done` an Answer. docs/http.md",
    ),
    "Chunk": _object({"data": _WORD}, description="One server-sent event: a chat.completion.chunk; [DONE] at last"),
    "Models": _object({"object": {"const": "list"}, "data": _list(_object({"id": _WORD, "object": _WORD}))}),
    "Health": _object({"status": {"const": "ok"}}),
    "Ready": _object(
        {"ready": {"const": True}},
        {"answers_from": _WORD, "chain": _list(_object({"name": _WORD, "engine": _WORD, "state": _WORD}))},
    ),
    "Report": _object(
        {
            "from": {"type": "string", "format": "date"},
            "to": {"type": "string", "format": "date"},
            "referrals": _COUNT,
            "by_level": {"type": "object", "additionalProperties": _COUNT},
            "named_in_the_reply": _COUNT,
            "answers_without_sign_of_crisis": _COUNT,
        }
    ),
    "Error": _object({"error": _object({"code": _WORD, "message": _WORD}), "resources": _LINES}),
    "OpenAIError": _object(
        {"error": _object({"code": _WORD, "message": _WORD, "type": _WORD, "param": _MAYBE}), "resources": _LINES}
    ),
}
"""By name; each refers to the others as components of the document."""
