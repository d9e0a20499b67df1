"""A peer that speaks OpenAI's chat interface and misbehaves. Its scenario is what follows "/" in the model's name.

`GET /shapes` tells what was asked for: which fields, headers and roles, how long; no text of a request is kept.
"""

import json
from typing import Any

from peers.streams import SENTENCES, Scenario, Shapes, answer_json, broken, fails, going_on, says, split, tell_shapes
from peers.wire import Exchange, serve

REPEATED = ("Are you safe", " right now", "? ", *SENTENCES)
DONE = b"data: [DONE]\n\n"
LIKELY = (("Yes", -0.5), (" no", -1.5), ("yes", -2.0), ("y", -3.0), ("Maybe", -3.5), ("\n", -4.0))


def event(**fields: Any) -> bytes:
    body = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m", **fields}
    return f"data: {json.dumps(body)}\n\n".encode()


def delta(text: str | None = None, *, finish: str | None = None, **more: Any) -> bytes:
    said = {} if text is None else {"content": text}
    return event(choices=[{"index": 0, "delta": {**said, **more}, "finish_reason": finish}])


OPENING = delta("", role="assistant")
USAGE = event(choices=[], usage={"prompt_tokens": 30, "completion_tokens": 12, "total_tokens": 42})


def reply(*texts: str, finish: str = "stop") -> tuple[bytes, ...]:
    return (OPENING, *map(delta, texts), delta(finish=finish), USAGE, DONE)


def error(message: str, kind: str = "invalid_request_error", code: int | str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def inside(document: dict[str, Any]) -> Scenario:
    """An error inside of an answer that began with 200."""
    return says(OPENING, delta(SENTENCES[0]), f"data: {json.dumps(document)}\n\n".encode())


SCENARIOS: dict[str, Scenario] = {
    "ok": says(*reply(*SENTENCES)),
    "split": split(*reply("¿Estás a salvo? ", "Sí… ")),
    "carriage-returns": split(b"".join(reply("¿Estás a salvo? ", "Sí… ")).replace(b"\n", b"\r\n")),
    "pings": says(OPENING, b": ping\n\n", *map(delta, SENTENCES), b":\n\n", delta(finish="stop"), DONE),
    "no-done": says(OPENING, *map(delta, SENTENCES), delta(finish="stop")),
    "thinks": says(OPENING, delta(reasoning_content="hidden"), *map(delta, SENTENCES), delta(finish="stop"), DONE),
    "length": says(*reply(*SENTENCES[:2], finish="length")),
    "echo": says(*reply(*REPEATED)),
    "two-choices": says(
        OPENING,
        event(
            choices=[
                {"index": 0, "delta": {"content": SENTENCES[0]}, "finish_reason": "stop"},
                {"index": 1, "delta": {"content": "Another."}, "finish_reason": "stop"},
            ]
        ),
        DONE,
    ),
    "401": fails(401, error("Incorrect API key provided", code="invalid_api_key")),
    "402": fails(402, error("insufficient quota")),
    "403": fails(403, error("not allowed", "permission_error")),
    "404": fails(404, error("The model does not exist", code="model_not_found")),
    "404-vllm": fails(404, {"object": "error", "message": "The model does not exist.", "type": "NotFoundError"}),
    "400": fails(400, error("messages: something else")),
    "400-prefill": fails(400, error("Cannot set both continue_final_message and add_generation_prompt")),
    "400-roles": fails(400, error("Conversation roles must alternate user/assistant/user/assistant/...")),
    "too-long": fails(400, error("This model's maximum context length is 4096 tokens", code="context_length_exceeded")),
    "too-long-llama": fails(
        400,
        {
            "error": {
                "code": 400,
                "message": "request exceeds the available context size",
                "type": "exceed_context_size",
            }
        },
    ),
    "filtered-400": fails(400, error("blocked", code="content_filter")),
    "413": fails(413, error("too large")),
    "422": fails(422, {"detail": [{"loc": ["body"], "msg": "field required"}]}),
    "429": fails(429, error("rate limit", "rate_limit_error")),
    "500": fails(500, error("oops", "server_error")),
    "503": fails(503, error("Loading model", "unavailable_error", 503)),
    "504": fails(504, error("timeout")),
    "200-error": fails(200, error("rate limit", "rate_limit_error", 429)),
    "200-string-error": fails(200, {"error": "the model crashed"}),
    "200-whole": lambda exchange: answer_json(exchange, {"choices": [{"message": {"content": "All at once."}}]}),
    **broken(OPENING, *map(delta, SENTENCES[:2])),
    "no-finish": says(OPENING, *map(delta, SENTENCES[:2]), DONE),
    "malformed": says(OPENING, delta(SENTENCES[0]), b'data: {"choices": [\n\n'),
    "not-utf8": says(OPENING, delta(SENTENCES[0]), b"data: \xff\xfe\n\n"),
    "wrong-shape": says(OPENING, delta(SENTENCES[0]), b"data: [1, 2]\n\n", DONE),
    "no-choices": says(OPENING, delta(SENTENCES[0]), event(), DONE),
    "no-delta": says(OPENING, delta(SENTENCES[0]), event(choices=[{"index": 0}]), DONE),
    "text-is-a-number": says(OPENING, delta(SENTENCES[0]), event(choices=[{"delta": {"content": 7}}]), DONE),
    "overloaded-inside": inside(error("overloaded", "server_error", 503)),
    "timeout-inside": inside(error("timeout", "server_error", 504)),
    "key-inside": inside(error("no", "authentication_error", 401)),
    "error-object-inside": inside({"object": "error", "message": "EngineDeadError", "type": "InternalServerError"}),
    "content-filter": says(OPENING, *map(delta, SENTENCES[:2]), delta(finish="content_filter"), DONE),
    "refusal": says(OPENING, delta(refusal="I can't help with that."), delta(finish="stop"), DONE),
    "empty": says(*reply()),
    "only-blanks": says(*reply(" \n", "  ")),
    "late": going_on(b": ping\n\n", pause_s=0.05),
    "late-empty": going_on(delta(""), pause_s=0.05),
    "endless": going_on(delta("And another thing. ") * 50, pause_s=0),
    "slow": going_on(delta("word "), pause_s=0.01),
}
LISTED = (*SCENARIOS, "mistral-7b-instruct")


async def models(exchange: Exchange) -> None:
    """What vLLM's list looks like; `renamed` stands for other weights than its name says."""
    cards = [{"id": f"m/{name}", "object": "model", "root": f"m/{name}", "max_model_len": 8192} for name in LISTED]
    cards.append({"id": "m/renamed", "object": "model", "root": "/models/Mistral-7B-Instruct-v0.3"})
    cards.append({"id": "m/small", "object": "model", "max_model_len": 1024})
    await answer_json(exchange, {"object": "list", "data": cards})


async def handle(exchange: Exchange) -> None:
    if exchange.path == "/shapes":
        await tell_shapes(exchange)
    elif exchange.path == "/v1/models":
        await models(exchange)
    elif exchange.path == "/unlisted/models":
        await answer_json(exchange, {"error": "no such page"}, 404)
    elif exchange.path.endswith("/models"):
        await answer_json(exchange, {"models": "elsewhere"})
    elif exchange.body.get("logprobs"):
        await answer_json(exchange, likely(exchange.body))
    else:
        scenario = exchange.body["model"].rpartition("/")[2]
        Shapes.asked.append(shape(exchange, scenario))
        await SCENARIOS[scenario](exchange)


def likely(body: dict[str, Any]) -> dict[str, Any]:
    """One token with the likeliest ones; the scenario "no-done" is a server that tells no probabilities."""
    whole = body["max_tokens"] == 1 and not body["stream"] and body["top_logprobs"] == 20
    told = [{"token": token, "logprob": logprob, "bytes": None} for token, logprob in LIKELY]
    logprobs = {"content": [{**told[0], "top_logprobs": told}]}
    silent = body["model"].endswith("/no-done") or not whole
    message = {"role": "assistant", "content": LIKELY[0][0]}
    choice = {"index": 0, "message": message, "logprobs": None if silent else logprobs, "finish_reason": "length"}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": body["model"], "choices": [choice]}


def shape(exchange: Exchange, scenario: str) -> dict[str, Any]:
    body = exchange.body
    return {
        "scenario": scenario,
        "path": exchange.path,
        "headers": sorted(exchange.headers),
        "bearer_length": len(exchange.headers.get("authorization", "").removeprefix("Bearer ")),
        "fields": sorted(body),
        "roles": [message["role"] for message in body["messages"]],
        "lengths": [len(message["content"]) for message in body["messages"]],
        "max_tokens": body["max_tokens"],
        "continues": body.get("continue_final_message"),
        "ends_blank": body["messages"][-1]["content"][-1:].isspace(),
    }


if __name__ == "__main__":
    serve(handle)
