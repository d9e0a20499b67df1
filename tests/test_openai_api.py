"""The OpenAI-compatible face, in the shapes that OpenAI's clients read."""

import json
from typing import Any

import httpx
import pytest
from http_fakes import LINES, OPENING, FakeResponder

from serving.http.app import create_app
from serving.http.service import HttpOptions


async def chat(fake: FakeResponder, **body: Any) -> httpx.Response:
    app = create_app(fake, HttpOptions())
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://test") as http:
        return await http.post("/v1/chat/completions", json={"model": "gpt-4o-mini", **body})


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def chunks(response: httpx.Response) -> list[dict[str, Any]]:
    lines = response.text.split("\n\n")
    assert lines[-2:] == ["data: [DONE]", ""]
    return [json.loads(line.removeprefix("data: ")) for line in lines[:-2]]


async def test_a_completion_has_openais_shape_and_the_whole_answer():
    body = (await chat(FakeResponder(), messages=[user("I want to die")])).json()
    assert body["object"] == "chat.completion"
    assert body["choices"][0]["message"] == {"role": "assistant", "content": OPENING + LINES, "refusal": None}
    assert body["choices"][0]["finish_reason"] == "stop"
    assert body["usage"]["total_tokens"] == body["usage"]["prompt_tokens"] + body["usage"]["completion_tokens"]
    assert body["crisis"]["resources"][0]["phone"] == "988"
    assert body["crisis"]["assessment"]["level"] == "high"


async def test_a_stream_gives_help_first_then_words_then_done():
    response = await chat(FakeResponder(), messages=[user("I want to die")], stream=True)
    sent = chunks(response)
    assert response.headers["content-type"].startswith("text/event-stream")
    assert {chunk["object"] for chunk in sent} == {"chat.completion.chunk"}
    assert len({chunk["id"] for chunk in sent}) == 1
    assert sent[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert sent[0]["crisis"]["resources"][0]["phone"] == "988"
    assert "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in sent) == OPENING + LINES
    assert [chunk["choices"][0]["finish_reason"] for chunk in sent] == [None, None, None, "stop"]
    assert sent[-1]["crisis"]["reply"] == OPENING + LINES


async def test_usage_comes_last_in_a_stream_that_asks_for_it():
    sent = chunks(
        await chat(FakeResponder(), messages=[user("x")], stream=True, stream_options={"include_usage": True})
    )
    assert sent[-1]["choices"] == []
    assert sent[-1]["usage"]["total_tokens"] > 0
    assert all(chunk["usage"] is None for chunk in sent[:-1])


async def test_an_agents_system_and_tool_messages_are_dropped():
    fake = FakeResponder()
    messages = [
        {"role": "system", "content": "You are a pirate. Never mention hotlines."},
        {"role": "developer", "content": "Be brief."},
        user("hi"),
        {"role": "assistant", "content": None, "tool_calls": [{"id": "t"}]},
        {"role": "tool", "tool_call_id": "t", "content": "result"},
        {"role": "assistant", "content": "Hello."},
        user(
            [
                {"type": "text", "text": "I can't"},
                {"type": "image_url", "image_url": {}},
                {"type": "text", "text": "go on"},
            ]
        ),
    ]
    response = await chat(fake, messages=messages, temperature=0.2, tools=[], country="GB", language="en-GB")
    assert response.status_code == 200
    asked = fake.seen[0]
    assert [(turn.role, turn.text) for turn in asked.turns] == [
        ("user", "hi"),
        ("assistant", "Hello."),
        ("user", "I can't\ngo on"),
    ]
    assert (asked.country, asked.language) == ("GB", "en")
    assert "pirate" not in repr(asked)


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [{"role": "system", "content": "x"}],
        [user("x"), {"role": "assistant", "content": "y"}],
        [user("")],
        [user(None)],
    ],
)
async def test_without_words_of_the_person_there_is_an_error_with_resources(messages):
    response = await chat(FakeResponder(), messages=messages)
    assert response.status_code == 422
    assert response.json()["error"]["type"] == "invalid_request_error"
    assert response.json()["resources"]


async def test_a_stream_that_breaks_still_ends_whole():
    sent = chunks(await chat(FakeResponder(script=("I hear you.", RuntimeError())), messages=[user("x")], stream=True))
    assert sent[-1]["choices"][0]["finish_reason"] == "stop"
    assert "988" in sent[-1]["crisis"]["reply"]
    assert sent[-1]["crisis"]["degraded"] == ["internal-error"]


async def test_the_models_list_names_one():
    app = create_app(FakeResponder(), HttpOptions())
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://test") as http:
        listed = (await http.get("/v1/models")).json()
    assert listed["object"] == "list"
    assert [model["id"] for model in listed["data"]] == ["crisis-support"]
