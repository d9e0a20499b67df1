"""/openapi.json, written from the models that parse the bodies: the routes themselves are plain ASGI, for speed."""

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel

from serving.http.openai_api import ChatBody
from serving.http.schemas import AssessBody, FilterBody, RespondBody

_REF = "#/components/schemas/{model}"
_POSTS: tuple[tuple[str, str, type[BaseModel]], ...] = (
    ("/crisis/respond", "Answer a person: one object, or events with stream: true", RespondBody),
    ("/crisis/assess", "What SHIELD says of a message or a conversation", AssessBody),
    ("/crisis/filter", "Check an agent's own reply before it is shown", FilterBody),
    ("/v1/chat/completions", "The same answers in OpenAI's shapes", ChatBody),
)
_GETS = (
    ("/crisis/resources", "The verified lines of a country", ("country", "language")),
    ("/v1/models", "The one model id of this service", ()),
    ("/healthz", "The process runs", ()),
    ("/readyz", "Who answers now, and what an operator should do next", ()),
    ("/metrics", "Prometheus metrics", ()),
)
_ERROR = {
    "type": "object",
    "required": ["error", "resources"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {"code": {"type": "string"}, "message": {"type": "string"}},
        },
        "resources": {"type": "array", "items": {"type": "object"}},
    },
}
_FAILURE = {
    "description": "An error, with resources all the same",
    "content": {"application/json": {"schema": {"$ref": _REF.format(model="Error")}}},
}


def describe(app: FastAPI) -> Callable[[], dict[str, Any]]:
    """A replacement for `app.openapi`: builds the document at the first call."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _document(app)
        return app.openapi_schema

    return openapi


def _document(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(title=app.title, version=app.version, routes=[])
    schemas: dict[str, Any] = {"Error": _ERROR}
    for path, summary, model in _POSTS:
        document["paths"][path] = {"post": _post(summary, model, schemas)}
    for path, summary, parameters in _GETS:
        document["paths"][path] = {"get": _get(summary, parameters)}
    document["components"] = {"schemas": schemas}
    return document


def _post(summary: str, model: type[BaseModel], schemas: dict[str, Any]) -> dict[str, Any]:
    schema = model.model_json_schema(ref_template=_REF)
    schemas.update(schema.pop("$defs", {}))
    schemas[model.__name__] = schema
    reference = {"$ref": _REF.format(model=model.__name__)}
    body = {"required": True, "content": {"application/json": {"schema": reference}}}
    return {"summary": summary, "requestBody": body, "responses": _responses()}


def _get(summary: str, parameters: tuple[str, ...]) -> dict[str, Any]:
    asked = [{"name": name, "in": "query", "schema": {"type": "string"}} for name in parameters]
    return {"summary": summary, "parameters": asked, "responses": _responses()}


def _responses() -> dict[str, Any]:
    return {"200": {"description": "Answered"}, "default": _FAILURE}
