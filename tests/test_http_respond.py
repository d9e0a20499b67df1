"""POST /crisis/respond: the contract of design.md, and that every answer ends whole, whatever breaks behind it."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from http_fakes import LINES, OPENING, FakeResponder
from http_server import running

from serving.events import AssessmentEvent, Event, ResourcesEvent, SentenceEvent
from serving.http.app import create_app
from serving.http.service import HttpOptions, Responder
from shield.assessment import Assessment

WORDS = "I want to die"


def client(responder: Responder, options: HttpOptions | None = None) -> httpx.AsyncClient:
    app = create_app(responder, options or HttpOptions())
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://test")


async def ask(responder: Responder, body: dict[str, Any], **headers: str) -> httpx.Response:
    async with client(responder) as http:
        return await http.post("/crisis/respond", json=body, headers=headers)


def events(text: str) -> list[tuple[str, dict[str, Any]]]:
    found = []
    for block in text.split("\n\n")[:-1]:
        name, data = block.split("\n")
        found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


def assert_complete(done: dict[str, Any]) -> None:
    """The invariant: resources, an AI that says so, and a reply that is not empty."""
    assert done["resources"]
    assert "AI" in done["reply"]
    assert done["source"] in {"local", "claude", "static"}
    assert done["assessment"]["level"] in {"none", "low", "moderate", "high", "imminent"}


async def test_the_answer_is_the_contracts_object():
    response = await ask(FakeResponder(), {"message": WORDS, "country": "US"})
    done = response.json()
    assert response.status_code == 200
    assert set(done) == {
        "id", "conversation_id", "reply", "resources", "assessment", "source", "model", "degraded", "filter", "timings",
        "usage",
    }  # fmt: skip
    assert done["reply"] == OPENING + LINES
    assert done["resources"][0]["phone"] == "988"
    assert done["assessment"]["crisis"] is True
    assert set(done["assessment"]["findings"][0]) >= {"rule", "turn", "start", "end"}
    assert done["filter"] == {"verdict": "pass", "violations": []}


@pytest.mark.parametrize("how", ["field", "header"])
async def test_a_stream_has_assessment_resources_sentences_and_done_in_this_order(how):
    body: dict[str, Any] = {"message": WORDS, "stream": True} if how == "field" else {"message": WORDS}
    headers = {"Accept": "text/event-stream"} if how == "header" else {}
    response = await ask(FakeResponder(), body, **headers)
    assert response.headers["content-type"].startswith("text/event-stream")
    names = [name for name, _ in events(response.text)]
    assert names == ["assessment", "resources", "sentence", "sentence", "done"]
    done = events(response.text)[-1][1]
    assert done["reply"] == "".join(data["text"] for name, data in events(response.text) if name == "sentence")


def test_each_event_is_flushed_before_the_next_one_exists():
    fake = FakeResponder(script=(0.3, OPENING, 0.3, LINES))
    arrived: dict[str, float] = {}
    with running(create_app(fake, HttpOptions())) as url:
        began = time.monotonic()
        with httpx.stream("POST", f"{url}/crisis/respond", json={"message": WORDS, "stream": True}) as response:
            for line in response.iter_lines():
                if line.startswith("event: "):
                    arrived.setdefault(line.removeprefix("event: "), time.monotonic() - began)
    assert arrived["sentence"] - arrived["resources"] > 0.2
    assert arrived["done"] - arrived["sentence"] > 0.2


async def test_messages_and_message_make_one_conversation():
    fake = FakeResponder()
    history = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello."}]
    await ask(fake, {"messages": history, "message": "it got worse"})
    assert [(turn.role, turn.text) for turn in fake.seen[0].turns] == [
        ("user", "hi"),
        ("assistant", "Hello."),
        ("user", "it got worse"),
    ]


async def test_the_conversation_id_is_echoed_or_made():
    assert (await ask(FakeResponder(), {"message": "x", "conversation_id": "c-7"})).json()["conversation_id"] == "c-7"
    made = {(await ask(FakeResponder(), {"message": "x"})).json()["conversation_id"] for _ in range(2)}
    assert len(made) == 2
    assert "" not in made


async def test_old_turns_are_dropped_and_findings_still_count_as_the_caller_does():
    fake = FakeResponder()
    messages = [{"role": "user", "content": f"{n}"} for n in range(60)]
    done = (await ask(fake, {"messages": messages})).json()
    assert len(fake.seen[0].turns) == 40
    assert done["assessment"]["findings"][0]["turn"] == 59


@pytest.mark.parametrize(
    ("tag", "language"),
    [("en-US", "en"), ("es_MX", "es"), ("PT", "pt"), ("", None), ("??", None), ("x" * 500, None), (None, None)],
)
async def test_language_tags_are_read_by_their_first_part(tag, language):
    fake = FakeResponder()
    assert (await ask(fake, {"message": "x", "language": tag})).status_code == 200
    assert fake.seen[0].language == language


@pytest.mark.parametrize("country", ["ZZ", "Narnia", "", "  ", "x" * 5000, None, "us"])
async def test_no_country_code_is_an_error_and_none_leaves_a_person_without_help(country):
    response = await ask(FakeResponder(), {"message": "x", "country": country})
    assert response.status_code == 200
    assert response.json()["resources"]


async def test_context_is_bounded_and_passed_on():
    fake = FakeResponder()
    context = [{"id": f"p{n}", "text": "y" * 3_000} for n in range(5)]
    assert (await ask(fake, {"message": "x", "context": context})).status_code == 200
    assert [passage.id for passage in fake.seen[0].context] == ["p0", "p1"]


async def test_too_much_context_is_left_out_and_not_refused():
    fake = FakeResponder()
    context = [{"id": f"p{n}", "text": "y"} for n in range(40)]
    assert (await ask(fake, {"message": "x", "context": context})).status_code == 200
    assert [passage.id for passage in fake.seen[0].context] == [f"p{n}" for n in range(32)]
    assert (await ask(fake, {"message": "x", "context": [{"id": "p", "text": "y" * 5_000}]})).status_code == 200
    assert len(fake.seen[1].context[0].text) == 4_000


@pytest.mark.parametrize("sent", ["telegram", "CHAT", "", None, "x" * 5_000])
@pytest.mark.parametrize("path", ["/crisis/respond", "/v1/chat/completions"])
async def test_a_channel_nobody_knows_is_a_chat(path, sent):
    fake = FakeResponder()
    body = {"messages": [{"role": "user", "content": "x"}], "channel": sent}
    async with client(fake) as http:
        assert (await http.post(path, json=body)).status_code == 200
        assert (await http.post(path, json={**body, "channel": " SMS"})).status_code == 200
    assert [conversation.channel for conversation in fake.seen] == ["chat", "sms"]


async def test_a_field_that_is_null_is_a_field_that_is_not_there():
    empty = dict.fromkeys(("messages", "country", "language", "channel", "conversation_id", "context", "stream"))
    fake = FakeResponder()
    assert (await ask(fake, {**empty, "message": "x"})).status_code == 200
    assert [turn.text for turn in fake.seen[0].turns] == ["x"]


async def test_unknown_fields_are_ignored():
    assert (await ask(FakeResponder(), {"message": "x", "temperature": 2, "tools": []})).status_code == 200


async def test_half_an_emoji_costs_nobody_an_answer():
    fake = FakeResponder()
    async with client(fake) as http:
        response = await http.post(
            "/crisis/respond", content=b'{"message":"help \\ud83d"}', headers={"content-type": "application/json"}
        )
    assert response.status_code == 200
    assert fake.seen[0].turns[0].text == "help \N{REPLACEMENT CHARACTER}"


async def test_half_an_emoji_in_a_reply_breaks_no_json():
    response = await ask(FakeResponder(script=("I'm an AI \ud83d.",)), {"message": "x"})
    assert response.status_code == 200
    assert response.json()["reply"] == "I'm an AI \ud83d."


BREAKS = [
    pytest.param(FakeResponder(broken=frozenset({"respond"})), id="before anything"),
    pytest.param(FakeResponder(broken=frozenset({"assess"})), id="no assessment"),
    pytest.param(FakeResponder(broken=frozenset({"resources"})), id="no resources"),
    pytest.param(FakeResponder(broken=frozenset({"respond", "resources"})), id="nothing works"),
    pytest.param(FakeResponder(script=(RuntimeError(WORDS),)), id="before the first sentence"),
    pytest.param(FakeResponder(script=("I hear you.", RuntimeError(WORDS))), id="in mid-reply"),
    pytest.param(FakeResponder(script=(OPENING, 30.0)), id="hangs"),
]


@pytest.mark.parametrize("stream", [False, True], ids=["json", "stream"])
@pytest.mark.parametrize("fake", BREAKS)
async def test_whatever_breaks_the_answer_ends_whole(fake, stream, caplog):
    async with client(fake, HttpOptions(answer_deadline_s=0.1)) as http:
        response = await http.post("/crisis/respond", json={"message": WORDS, "stream": stream})
    assert response.status_code == 200
    told = events(response.text) if stream else [("done", response.json())]
    done = told[-1][1]
    assert told[-1][0] == "done"
    assert_complete(done)
    assert done["source"] == "static"
    assert done["degraded"] == ["deadline" if 30.0 in fake.script else "internal-error"]
    assert "988" in done["reply"]
    assert done["resources"][0]["phone"] == "988"
    if stream:
        assert [name for name, _ in told][:2] == ["assessment", "resources"]
        assert done["reply"] == "".join(data["text"] for name, data in told if name == "sentence")
    assert WORDS not in caplog.text


async def test_what_was_released_before_the_break_stays_and_is_completed():
    done = (await ask(FakeResponder(script=("I hear you.", RuntimeError())), {"message": WORDS})).json()
    assert done["reply"].startswith("I hear you. I want to keep listening")


async def test_the_last_resort_speaks_spanish_and_names_the_lines_of_the_country():
    fake = FakeResponder(script=(RuntimeError(),))
    done = (await ask(fake, {"message": "x", "country": "MX", "language": "es-MX"})).json()
    assert "Soy una IA" in done["reply"]
    assert "800 911 2000" in done["reply"]
    assert "988" not in done["reply"]


async def test_a_responder_that_stops_without_done_is_completed():
    class Silent(FakeResponder):
        async def respond(self, conversation: object, **_: object) -> AsyncIterator[Event]:  # type: ignore[override]  # a generator
            yield AssessmentEvent(Assessment("low"))
            yield ResourcesEvent(self.resources("GB", "en"))
            yield SentenceEvent("I'm listening.")

    done = (await ask(Silent(), {"message": "x", "country": "GB"})).json()
    assert_complete(done)
    assert done["assessment"]["level"] == "low"
    assert "116 123" in done["reply"]


async def test_past_the_limit_the_static_reply_answers():
    fake = FakeResponder(script=(0.3, LINES), level="none")
    async with client(fake, HttpOptions(max_concurrent=2)) as http:
        answers = await asyncio.gather(
            *(http.post("/crisis/respond", json={"message": WORDS}) for _ in range(5)),
        )
        later = await http.post("/crisis/respond", json={"message": WORDS})
    assert [answer.status_code for answer in answers] == [200] * 5
    degraded = sorted(answer.json()["degraded"] for answer in answers)
    assert degraded == [[], [], ["overload"], ["overload"], ["overload"]]
    assert all(answer.json()["resources"] for answer in answers)
    assert later.json()["degraded"] == []
