"""/openapi.json, written from the models that parse the bodies: the routes themselves are plain ASGI, for speed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel

from serving.http.answer_schemas import SCHEMAS
from serving.http.openai_api import ChatBody
from serving.http.schemas import AssessBody, FilterBody, RespondBody

_REF = "#/components/schemas/{model}"
_DAY = {"type": "string", "format": "date"}


@dataclass(frozen=True, slots=True)
class _Post:
    """body: what is read; answer: the name of its schema; event: that of one event, "" where it does not stream."""

    path: str
    summary: str
    body: type[BaseModel]
    answer: str
    event: str = ""


@dataclass(frozen=True, slots=True)
class _Get:
    """answer: the name of its schema, "" for plain text. open: no key is needed."""

    path: str
    summary: str
    answer: str = ""
    parameters: tuple[tuple[str, dict[str, Any]], ...] = ()
    open: bool = False


_POSTS = (
    _Post("/crisis/respond", "Answer a person: one object, or events where asked", RespondBody, "Answer", "Event"),
    _Post("/crisis/assess", "What SHIELD says of a message or a conversation", AssessBody, "Assessed"),
    _Post("/crisis/filter", "Check an agent's own reply before it is shown", FilterBody, "Filtered"),
    _Post("/v1/chat/completions", "The same answers in OpenAI's shapes", ChatBody, "ChatCompletion", "Chunk"),
)
_PLACE = (("country", {"type": "string"}), ("language", {"type": "string"}))
_GETS = (
    _Get("/crisis/resources", "The verified lines of a country", "Resources", _PLACE),
    _Get("/crisis/report", "Referrals of a period, counted (scope admin)", "Report", (("from", _DAY), ("to", _DAY))),
    _Get("/v1/models", "The one model id of this service", "Models"),
    _Get("/healthz", "The process runs", "Health", open=True),
    _Get("/readyz", "Who answers now, and what an operator should do next", "Ready", open=True),
    _Get("/metrics", "Prometheus metrics (scope metrics)"),
)
_KEYS = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
}
_WHO_MAY: dict[str, list[dict[str, list[str]]]] = {"closed": [{}, {"bearer": []}, {"header": []}], "open": [{}]}


def describe(app: FastAPI) -> Callable[[], dict[str, Any]]:
    """A replacement for `app.openapi`: builds the document at the first call."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _document(app)
        return app.openapi_schema

    return openapi


def _document(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(title=app.title, version=app.version, routes=[])
    schemas: dict[str, Any] = dict(SCHEMAS)
    for post in _POSTS:
        document["paths"][post.path] = {"post": _post(post, schemas)}
    for get in _GETS:
        document["paths"][get.path] = {"get": _get(get)}
    document["components"] = {"schemas": schemas, "securitySchemes": _KEYS}
    return document


def _post(post: _Post, schemas: dict[str, Any]) -> dict[str, Any]:
    schema = post.body.model_json_schema(ref_template=_REF)
    schemas.update(schema.pop("$defs", {}))
    schemas[post.body.__name__] = schema
    body = {"required": True, "content": _json(post.body.__name__)}
    events = _content("text/event-stream", post.event) if post.event else {}
    content = {**_json(post.answer), **events}
    return {
        "summary": post.summary,
        "security": _WHO_MAY["closed"],
        "requestBody": body,
        "responses": _responses(content, post.path),
    }


def _get(get: _Get) -> dict[str, Any]:
    asked = [{"name": name, "in": "query", "schema": schema} for name, schema in get.parameters]
    content = _json(get.answer) if get.answer else {"text/plain": {"schema": {"type": "string"}}}
    security = _WHO_MAY["open" if get.open else "closed"]
    return {
        "summary": get.summary,
        "security": security,
        "parameters": asked,
        "responses": _responses(content, get.path),
    }


def _responses(content: dict[str, Any], path: str) -> dict[str, Any]:
    error = "OpenAIError" if path.startswith("/v1/") else "Error"
    failure = {"description": "An error, with resources all the same", "content": _json(error)}
    return {"200": {"description": "Answered", "content": content}, "default": failure}


def _json(name: str) -> dict[str, Any]:
    return _content("application/json", name)


def _content(media_type: str, name: str) -> dict[str, Any]:
    return {media_type: {"schema": {"$ref": _REF.format(model=name)}}}
