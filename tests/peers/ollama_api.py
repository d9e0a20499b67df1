"""A peer that speaks Ollama's interface, written from its public API document (docs/api.md), and misbehaves.

Its scenario is the model's tag: `m:cut`. `GET /shapes` tells what was asked for; no text of a request is kept.
"""

import json
from typing import Any

from peers.openai_api import LIKELY
from peers.streams import (
    SENTENCES,
    Scenario,
    Shapes,
    answer_json,
    broken,
    fails,
    going_on,
    say,
    says,
    split,
    tell_shapes,
)
from peers.wire import Exchange, serve

NDJSON = "application/x-ndjson"
CREATED = "2026-01-01T00:00:00.000000001Z"
REPEATED = ("Are you safe", " right now", "? ", *SENTENCES)
MISTRAL = "{{- range .Messages }}[INST] {{ .Content }}[/INST]{{ end }}"


def line(**fields: Any) -> bytes:
    return json.dumps({"model": "m", "created_at": CREATED, **fields}).encode() + b"\n"


def said(text: Any) -> bytes:
    return line(message={"role": "assistant", "content": text}, done=False)


def done(reason: str = "stop", *, read: int = 40, written: int = 12) -> bytes:
    counts = {"prompt_eval_count": read, "prompt_eval_duration": 2_000_000, "eval_count": written}
    durations = {"total_duration": 5_000_000, "load_duration": 1_000_000, "eval_duration": 3_000_000}
    message = {"role": "assistant", "content": ""}
    return line(message=message, done=True, done_reason=reason, **counts, **durations)


def reply(*texts: str, reason: str = "stop", read: int = 40) -> tuple[bytes, ...]:
    return (*map(said, texts), done(reason, read=read))


def of_lines(*chunks: bytes) -> Scenario:
    return says(*chunks, kind=NDJSON)


def refuses(status: int, message: str) -> Scenario:
    return fails(status, {"error": message})


CHATS: dict[str, Scenario] = {
    "ok": of_lines(*reply(*SENTENCES)),
    "split": split(*reply("¿Estás a salvo? ", "Sí… "), kind=NDJSON),
    "length": of_lines(*reply(*SENTENCES[:2], reason="length")),
    "echo": of_lines(*reply(*REPEATED)),
    "cached": of_lines(*reply(*SENTENCES, read=0)),
    "truncated": of_lines(*reply(*SENTENCES, read=3)),
    "no-done": of_lines(*map(said, SENTENCES[:2])),
    "empty": of_lines(*reply()),
    "only-blanks": of_lines(*reply(" \n", "  ")),
    "400": refuses(400, "invalid options"),
    "401": refuses(401, "unauthorized"),
    "404-model": refuses(404, "model 'm' not found"),
    "404-page": refuses(404, "404 page not found"),
    "too-long": refuses(400, "the input length exceeds the context length"),
    "500": refuses(500, "an unknown error was encountered while running the model"),
    "no-memory": refuses(500, "model requires more system memory (9.1 GiB) than is available (4.2 GiB)"),
    "503": refuses(503, "server busy, please try again.  maximum pending requests exceeded"),
    "504": refuses(504, "timeout"),
    "error-inside": of_lines(said(SENTENCES[0]), b'{"error": "llama runner process has terminated: exit status 2"}\n'),
    "too-long-inside": of_lines(said(SENTENCES[0]), b'{"error": "context length exceeded"}\n'),
    "malformed": of_lines(said(SENTENCES[0]), b'{"message": \n'),
    "not-utf8": of_lines(said(SENTENCES[0]), b"\xff\xfe\n"),
    "wrong-shape": of_lines(said(SENTENCES[0]), b"[1, 2]\n"),
    "no-message": of_lines(said(SENTENCES[0]), b'{"done": false}\n'),
    "text-is-a-number": of_lines(said(SENTENCES[0]), said(7)),
    **broken(*map(said, SENTENCES[:2]), kind=NDJSON),
    "late": going_on(said(""), pause_s=0.05, kind=NDJSON),
    "endless": going_on(said("And another thing. ") * 50, pause_s=0, kind=NDJSON),
    "slow": going_on(said("word "), pause_s=0.01, kind=NDJSON),
}
SPECIAL = ("mistral", "renamed", "template", "small", "unloaded", "less")


class Loaded:
    """What the server has loaded: the context it was asked for, and for how long."""

    contexts: dict[str, int] = {}  # noqa: RUF012 - one process, one table
    keeps: dict[str, Any] = {}  # noqa: RUF012 - the same


def details(family: str = "qwen2") -> dict[str, Any]:
    return {
        "parent_model": "",
        "format": "gguf",
        "family": family,
        "families": [family],
        "parameter_size": "7.6B",
        "quantization_level": "Q4_K_M",
    }


async def tags(exchange: Exchange) -> None:
    names = [f"m:{name}" for name in (*CHATS, *SPECIAL)] + ["plain:latest"]
    cards = [
        {"name": name, "model": name, "modified_at": CREATED, "size": 1, "digest": "d", "details": details()}
        for name in names
    ]
    await answer_json(exchange, {"models": cards})


async def show(exchange: Exchange) -> None:
    tag = exchange.body["model"].rpartition(":")[2]
    info = {
        "general.architecture": "llama" if tag == "renamed" else "qwen2",
        "general.name": "Mistral 7B Instruct v0.3" if tag == "renamed" else "Qwen2.5 7B Instruct",
        "qwen2.context_length": 2048 if tag == "small" else 32768,
    }
    template = MISTRAL if tag == "template" else "{{ .System }}{{ .Prompt }}"
    family = "mistral3" if tag == "mistral" else "qwen2"
    await answer_json(
        exchange,
        {"modelfile": "", "template": template, "details": details(family), "model_info": info, "capabilities": []},
    )


async def ps(exchange: Exchange) -> None:
    cards = [
        {"name": name, "model": name, "size": 1, "size_vram": 1, "digest": "d", "context_length": context}
        for name, context in Loaded.contexts.items()
        if not name.endswith(":unloaded")
    ]
    await answer_json(exchange, {"models": cards})


async def chat(exchange: Exchange) -> None:
    body = exchange.body
    name, tag = body["model"], body["model"].rpartition(":")[2]
    context = body["options"]["num_ctx"]
    Loaded.contexts[name] = context // 2 if tag == "less" else context
    Loaded.keeps[name] = body["keep_alive"]
    Shapes.asked.append(shape(exchange, tag))
    if body.get("logprobs"):
        told = [{"token": token, "logprob": logprob} for token, logprob in LIKELY]
        silent = tag == "cached" or body["top_logprobs"] != 20
        more = {} if silent else {"logprobs": [{**told[0], "top_logprobs": told}]}
        await say(
            exchange, line(message={"role": "assistant", "content": "Yes"}, done=False, **more), done(), kind=NDJSON
        )
    elif not body["messages"]:
        await answer_json(exchange, json.loads(line(message={"role": "assistant", "content": ""}, done=True)))
    elif body["options"]["num_predict"] == 1 and tag in CHATS:
        await CHATS["ok"](exchange)
    else:
        await CHATS.get(tag, CHATS["ok"])(exchange)


def shape(exchange: Exchange, scenario: str) -> dict[str, Any]:
    body = exchange.body
    return {
        "scenario": scenario,
        "path": exchange.path,
        "headers": sorted(exchange.headers),
        "fields": sorted(body),
        "roles": [message["role"] for message in body["messages"]],
        "lengths": [len(message["content"]) for message in body["messages"]],
        "options": body["options"],
        "keep_alive": body["keep_alive"],
        "cuts": [body.get("truncate"), body.get("shift")],
    }


async def handle(exchange: Exchange) -> None:
    """The version is the first part of the path, so that an old server can be met too: /0.3.9/api/version."""
    prefix, _, page = exchange.path.partition("/api/")
    pages: dict[str, Scenario] = {"tags": tags, "show": show, "ps": ps, "chat": chat}
    if exchange.path == "/shapes":
        await tell_shapes(exchange)
    elif page == "version":
        await answer_json(exchange, {"version": prefix.strip("/") or "0.13.5"})
    elif page in pages:
        await pages[page](exchange)
    else:
        await exchange.answer(404, b"404 page not found", content_type="text/plain")


if __name__ == "__main__":
    serve(handle)
