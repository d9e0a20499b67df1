"""Chain entries of the engines at an address: a wrong setting is one clear line, and the service still answers."""

from pathlib import Path
from typing import Any

import pytest
from llama_server_binary import BINARY, needs_server
from pydantic import TypeAdapter
from running import service

from models.catalogue import Catalogue
from serving.backends.led import LedBackend
from serving.backends.ollama_chat import OllamaBackend
from serving.backends.openai_chat import OpenAIBackend
from serving.conversation import Conversation
from serving.events import DoneEvent
from serving.links import make_link
from serving.settings import ChainEntry, Settings
from serving.wiring import build
from shield.assessment import Turn

QWEN = "qwen2.5-7b-instruct-q4_k_m"
DEMO = "smollm2-135m-instruct-q4_1"


def chain(**entry: Any) -> Settings:
    return Settings(chain=(TypeAdapter(ChainEntry).validate_python({"name": "x", "model": QWEN, **entry}),))


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"engine": "openai", "url": "http://127.0.0.1:1/v1", "model": "mistral-7b-instruct-q4_k_m"}, "is refused"),
        ({"engine": "openai", "url": "http://127.0.0.1:1/v1", "model": "nobody"}, "no model is called 'nobody'"),
        ({"engine": "openai", "url": "http://127.0.0.1:1/v1", "model": DEMO}, "is not approved to speak to people"),
        ({"engine": "openai", "url": "https://models.example.org/v1"}, "set remote = true"),
        ({"engine": "openai", "url": "http://192.0.2.1/v1", "remote": True}, "plain_http = true"),
        ({"engine": "openai", "url": "http://127.0.0.1:1/v1", "api_key_env": "NO_SUCH_KEY"}, "NO_SUCH_KEY"),
        ({"engine": "openai", "url": "http://127.0.0.1:1/v1", "extra": {"messages": []}}, "extra may not set messages"),
        ({"engine": "ollama", "served_as": "x", "url": "ollama"}, "an http or https address"),
        ({"engine": "ollama", "served_as": "x", "url": "http://192.0.2.1:11434"}, "another machine"),
        ({"engine": "llama_server", "url": "http://127.0.0.1:1", "api_key_env": "NO_SUCH_KEY"}, "NO_SUCH_KEY"),
        ({"engine": "llama_server", "path": "/nowhere/x.gguf"}, "is not a file"),
    ],
)
async def test_a_wrong_setting_is_one_clear_line_and_the_service_answers(entry: dict[str, Any], says: str) -> None:
    running = build(chain(**entry))
    (link,) = running.links()
    assert link.state == "off"
    assert says in link.reason
    assert "\n" not in link.reason
    await running.start()
    events = [event async for event in running.respond(Conversation((Turn("user", "hello"),)))]
    await running.stop()
    assert isinstance(events[-1], DoneEvent)
    assert events[-1].answer.reply


def test_a_missing_server_says_how_to_get_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    entry = TypeAdapter(ChainEntry).validate_python({"engine": "llama_server", "model": DEMO})
    link = make_link(entry, Settings(allow_unapproved=True), Catalogue.load())
    assert link.backend is None
    assert "scripts/build-llama-server" in link.status.reason


@pytest.mark.parametrize(
    ("entry", "kind"),
    [
        ({"engine": "openai", "url": "http://127.0.0.1:1/v1", "served_as": "qwen"}, OpenAIBackend),
        ({"engine": "ollama", "served_as": "qwen2.5:7b"}, OllamaBackend),
    ],
)
async def test_an_approved_model_is_asked_and_an_unapproved_one_is_led(entry: dict[str, Any], kind: type) -> None:
    cards = Catalogue.load()
    (wanted,) = chain(**entry).chain
    link = make_link(wanted, Settings(), cards)
    assert isinstance(link.backend, kind)
    assert link.engine is link.backend
    demo = wanted.model_copy(update={"model": DEMO})
    led = make_link(demo, Settings(allow_unapproved=True), cards)
    assert isinstance(led.backend, LedBackend)
    assert build(Settings(allow_unapproved=True, chain=(demo,))).demo


async def test_an_engine_that_is_not_there_costs_nobody_an_answer() -> None:
    running = build(chain(engine="openai", url="http://127.0.0.1:9/v1"))
    await running.start()
    events = [event async for event in running.respond(Conversation((Turn("user", "hello"),)))]
    (link,) = running.links()
    await running.stop()
    assert isinstance(events[-1], DoneEvent)
    assert "x-unavailable" in events[-1].answer.degraded
    assert link.state in ("starting", "failed")


@needs_server
@pytest.mark.engine
def test_the_whole_service_on_a_server_of_its_own(tmp_path: Path) -> None:
    config = f"""
allow_unapproved = true
[reply]
first_text_s = 20.0
between_s = 20.0
total_s = 60.0
[[chain]]
engine = "llama_server"
model = "{DEMO}"
binary = "{BINARY}"
context = 2048
parallel = 2
"""
    with service(tmp_path, config) as running:
        running.wait_for("ready")
        (link,) = running.ready()["chain"]
        assert "2 slots of 2048 tokens" in link["reason"]
        answer = running.respond("I feel so alone tonight.")
        assert answer["resources"]
        assert "demo-model" in answer["degraded"]
        assert "local-unavailable" not in answer["degraded"]
