"""A peer that speaks the native interface of llama.cpp's server and misbehaves. Its scenario is the path before it:
`/cut/completion`. A token is a byte.

`GET /shapes` tells what was asked for: how many tokens in which slot; no text of a request is kept.
"""

import json
import time
from typing import Any

from peers.streams import SENTENCES, Scenario, Shapes, answer_json, broken, fails, going_on, says, split, tell_shapes
from peers.wire import Exchange, serve

TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
MISTRAL = "{% for m in messages %}[INST] {{ m.content }} [/INST]{% endfor %}"
BEGAN = time.monotonic()
SLOW_START_S = 0.6


def event(**fields: Any) -> bytes:
    return f"data: {json.dumps(fields)}\n\n".encode()


def piece(text: Any) -> bytes:
    return event(index=0, content=text, tokens=[1], stop=False, id_slot=0, tokens_predicted=1, tokens_evaluated=9)


def final(kind: str = "eos", *, truncated: bool = False, tokens: int = 12) -> bytes:
    timings = {"cache_n": 5, "prompt_n": 4, "prompt_ms": 1.5, "predicted_n": tokens, "predicted_ms": 2.5}
    return event(
        index=0,
        content="",
        tokens=[],
        stop=True,
        stop_type=kind,
        truncated=truncated,
        tokens_predicted=tokens,
        tokens_evaluated=9,
        timings=timings,
    )


def error(status: int, kind: str, message: str = "no") -> dict[str, Any]:
    return {"error": {"code": status, "message": message, "type": kind}}


COMPLETIONS: dict[str, Scenario] = {
    "ok": says(*map(piece, SENTENCES), final()),
    "split": split(*map(piece, ("¿Estás a salvo? ", "Sí… ")), final()),
    "pings": says(b":\n\n", *map(piece, SENTENCES), b":\n\n", final()),
    "length": says(*map(piece, SENTENCES[:2]), final("limit")),
    "word": says(*map(piece, SENTENCES[:2]), final("word")),
    "400": fails(400, error(400, "invalid_request_error")),
    "401": fails(401, error(401, "authentication_error", "Invalid API Key")),
    "500": fails(500, error(500, "server_error")),
    "501": fails(501, error(501, "not_supported_error")),
    "503": fails(503, error(503, "unavailable_error", "Loading model")),
    "too-long": fails(400, error(400, "exceed_context_size_error", "request exceeds the available context size")),
    "200-error": fails(200, error(500, "server_error", "decode() failed")),
    **broken(*map(piece, SENTENCES[:2])),
    "no-stop": says(*map(piece, SENTENCES[:2])),
    "malformed": says(piece(SENTENCES[0]), b'data: {"content": \n\n'),
    "not-utf8": says(piece(SENTENCES[0]), b"data: \xff\xfe\n\n"),
    "wrong-shape": says(piece(SENTENCES[0]), b"data: [1, 2]\n\n", final()),
    "no-content": says(piece(SENTENCES[0]), event(stop=False), final()),
    "text-is-a-number": says(piece(SENTENCES[0]), piece(7), final()),
    "error-inside": says(piece(SENTENCES[0]), event(**error(500, "server_error", "Context size has been exceeded."))),
    "crash-inside": says(piece(SENTENCES[0]), event(**error(500, "server_error", "decode() failed"))),
    "old-error-inside": says(piece(SENTENCES[0]), b'error: {"code":500,"message":"no","type":"server_error"}\n\n'),
    "empty": says(final(tokens=0)),
    "late": going_on(b":\n\n", pause_s=0.05),
    "endless": going_on(piece("And another thing. ") * 50, pause_s=0),
    "slow": going_on(piece("word "), pause_s=0.01),
}


async def loading(exchange: Exchange) -> bool:
    """A server that takes its time to load answers 503 to everything meanwhile."""
    busy = time.monotonic() - BEGAN < SLOW_START_S
    if busy:
        await answer_json(exchange, error(503, "unavailable_error", "Loading model"), 503)
    return busy


def props(scenario: str) -> dict[str, Any]:
    template = MISTRAL if scenario == "mistral-template" else TEMPLATE
    return {
        "default_generation_settings": {"n_ctx": 256 if scenario == "small" else 4096, "params": {}},
        "total_slots": 2,
        "model_alias": "peer",
        "model_path": "/w/Mistral-7B-v0.3.gguf" if scenario == "mistral-file" else "/w/model.gguf",
        "chat_template": "{{ nothing" if scenario == "bad-template" else template,
        "bos_token": "",
        "eos_token": "<|im_end|>",
        "build_info": "b1-peer",
    }


async def tokenize(exchange: Exchange, scenario: str) -> None:
    content = exchange.body["content"]
    parts = content if isinstance(content, list) else [content]
    tokens: list[Any] = []
    for part in parts:
        tokens += list(part.encode()) if isinstance(part, str) else [part]
    if scenario == "no-tokens":
        tokens = ["a", "b"]
    elif scenario == "few-tokens":
        tokens = [token for token in tokens if token != -1]
    await answer_json(exchange, {"tokens": tokens})


async def complete(exchange: Exchange, scenario: str) -> None:
    body = exchange.body
    kept = {"n_predict": body["n_predict"], "id_slot": body.get("id_slot"), "n_prompt": len(body["prompt"])}
    Shapes.asked.append({"scenario": scenario, "headers": sorted(exchange.headers), **kept})
    if body["n_predict"] == 0:
        await answer_json(exchange, {"timings": {"cache_n": 0}})
        return
    await COMPLETIONS.get(scenario, COMPLETIONS["ok"])(exchange)


async def handle(exchange: Exchange) -> None:
    _, scenario, page, *_ = [*exchange.path.split("/", 2), ""]
    if exchange.path == "/shapes":
        await tell_shapes(exchange)
    elif scenario == "loading" and await loading(exchange):
        return
    elif page in ("health", "slots"):
        await answer_json(exchange, {"status": "ok"})
    elif page == "props":
        await answer_json(exchange, {} if scenario == "no-props" else props(scenario))
    elif page == "v1/models":
        card = {"id": "peer", "aliases": [], "meta": {"n_ctx_train": 8192, "n_ctx": 4096}}
        await answer_json(exchange, {"data": [card]})
    elif page == "tokenize":
        await tokenize(exchange, scenario)
    else:
        await complete(exchange, scenario)


if __name__ == "__main__":
    serve(handle)
