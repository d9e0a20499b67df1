"""Cells of the fault matrix: a real service, a real provider that misbehaves, and what is wrong with what callers saw.

A cell is asked by each route, as JSON and as a stream; after each the provider gets well, and the primary has to answer
again.
"""

import json
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import httpx
import psutil
from peers.faults import BACKUP, HALF_SAID, SENTENCES, TRICKLED, TWO_THIRDS
from peers.process import Peer
from running import Running, service

from prompts.wording import Wording

Api = Literal["openai", "anthropic"]
Who = Literal["primary", "backup", "both", "static"]

CRISIS = "I can't do this anymore. I want to end my life."
WORDING = Wording.load()
DEADLINE_S = 12.0
GRACE_S = 3.0
"""For a machine on which others work too: there the service gets its turn late, and so does this client."""

RECOVERY_S = 30.0
ROUTES = tuple((route, stream) for route in ("/crisis/respond", "/v1/chat/completions") for stream in (False, True))
_GROWTH_BYTES = 120e6
_KEY = {"CRISIS_ANTHROPIC_API_KEY": "sk-test"}
_QWEN = "qwen2.5-7b-instruct-q4_k_m"
_OPENAI = """
[[chain]]
engine = "openai"
name = "{name}"
model = "{qwen}"
url = "{url}/v1"
served_as = "m/{fault}"
prefill = "assistant"
"""
_ANTHROPIC = """
[[chain]]
engine = "claude"
name = "{name}"
model = "claude-haiku-4-5/{fault}"
enabled = true
base_url = "{url}"
"""


@dataclass(frozen=True, slots=True)
class Cell:
    """A fault of the primary, and what is right: who is heard, the steps in `degraded`, requests that it may get."""

    fault: str
    api: Api
    who: Who
    steps: tuple[str, ...]
    attempts: int = 1
    backup: str = "backup"

    @property
    def name(self) -> str:
        return f"{self.fault} ({self.api})" if self.backup == "backup" else f"{self.fault} + {self.backup} ({self.api})"

    def config(self, url: str) -> str:
        """The primary by its own interface, the backup by the other one."""
        kinds = {"openai": _OPENAI, "anthropic": _ANTHROPIC}
        other: Api = "anthropic" if self.api == "openai" else "openai"
        primary = kinds[self.api].format(name="primary", fault=self.fault, url=url, qwen=_QWEN)
        backup = kinds[other].format(name="backup", fault=self.backup, url=url, qwen=_QWEN)
        return f'[reply]\ndefault_country = "US"\n{primary}{backup}'

    @property
    def asked_as(self) -> str:
        """The primary's name at the provider."""
        return f"m/{self.fault}" if self.api == "openai" else f"claude-haiku-4-5/{self.fault}"

    @property
    def both(self) -> tuple[str, str]:
        """The primary's name at the provider, and the backup's."""
        return self.asked_as, f"claude-haiku-4-5/{self.backup}" if self.api == "openai" else f"m/{self.backup}"

    @property
    def models(self) -> dict[str, str]:
        """What a reply reports of whoever answered."""
        claude = "claude-haiku-4-5"
        own = {"openai": _QWEN, "anthropic": f"{claude}/{self.fault}"}
        other = {"openai": f"{claude}/{self.backup}", "anthropic": _QWEN}
        return {"primary": own[self.api], "backup": other[self.api], "both": other[self.api], "static": "static"}


@dataclass(slots=True)
class Outcome:
    """One reply to one cell."""

    cell: Cell
    route: str
    stream: bool
    seconds: float
    attempts: int
    who: str
    degraded: list[str]
    recovered_s: float = 0.0
    wrong: list[str] = field(default_factory=list)

    def row(self) -> str:
        how = "stream" if self.stream else "json"
        verdict = "ok" if not self.wrong else "WRONG: " + "; ".join(self.wrong)
        steps = " ".join(self.degraded) or "-"
        return (
            f"{self.cell.name:<38} {self.route:<21} {how:<6} {self.who:<8} {self.seconds:6.2f} s {self.attempts:>3}"
            f"  {self.recovered_s:5.1f} s  {steps:<38} {verdict}"
        )


HEAD = (
    f"{'fault':<38} {'route':<21} {'as':<6} {'heard':<8} {'time':>8} {'asked':>3} {'well in':>8}  {'steps':<38} outcome"
)


Tell = Callable[[Cell, list[Outcome]], None]


def run(cells: Sequence[Cell], peer: Peer, folder: Path, tell: Tell, starting: threading.Lock) -> None:
    """One cell after the other in one service, which is told to exchange its chain in between; it has to stay healthy.

    tell: called with all four replies to a cell. starting: held while the service loads, which takes the processor.
    """
    folder.mkdir()
    _well(peer, cells[0])
    with ExitStack() as stack:
        with starting:
            running = stack.enter_context(service(folder, cells[0].config(peer.url), env=_KEY))
            running.wait_for("ready")
        before = psutil.Process(running.process.pid).memory_info().rss
        for place, cell in enumerate(cells):
            if place:
                _well(peer, cell)
                exchange(running, folder, cell.config(peer.url))
            outcomes = [_one(cell, peer, running, *how) for how in ROUTES]
            outcomes[-1].wrong += unhealthy(running, before)
            tell(cell, outcomes)


def _well(peer: Peer, cell: Cell) -> None:
    for model in cell.both:
        control(peer, model, healthy=True)


def exchange(running: Running, folder: Path, config: str) -> None:
    """Another chain for a running service."""
    swaps = running.ready()["swap"]["swaps"]
    (folder / "crisis.toml").write_text(config, encoding="utf-8")
    running.process.send_signal(signal.SIGHUP)
    ends = time.monotonic() + 240
    while running.ready()["swap"]["swaps"] == swaps:
        assert time.monotonic() < ends, running.ready()
        time.sleep(0.1)
    assert running.ready()["swap"]["last"]["outcome"] == "swapped", running.ready()


def _one(cell: Cell, peer: Peer, running: Running, route: str, stream: bool) -> Outcome:
    for model in cell.both:
        control(peer, model, healthy=False)
    began = time.monotonic()
    done, wrong = ask(running.url, route, stream=stream)
    seconds, seen = time.monotonic() - began, asked(peer, cell.asked_as)
    outcome = Outcome(cell, route, stream, seconds, seen["asked"], heard_in(done["reply"]), done["degraded"])
    outcome.wrong += [*wrong, *incomplete(done), *_unexpected(outcome, done)]
    if cell.fault == "no-prefill" and seen["prefilled"] > ((route, stream) == ROUTES[0]):
        outcome.wrong.append("a prefill was sent again")
    _well(peer, cell)
    outcome.recovered_s = recovery(cell, running)
    if outcome.recovered_s > RECOVERY_S:
        outcome.wrong.append("the primary did not come back")
    return outcome


def control(peer: Peer, model: str, *, healthy: bool) -> None:
    """Make a model well or ill, and forget how often it was asked."""
    httpx.post(f"{peer.url}/control", json={"model": model, "healthy": healthy}, timeout=10).raise_for_status()


def asked(peer: Peer, model: str) -> dict[str, int]:
    """How often a model was asked since, and how often with a prefill."""
    told: dict[str, int] = httpx.get(f"{peer.url}/seen", timeout=10).json().get(model, {"asked": 0, "prefilled": 0})
    return told


def ask(url: str, route: str, *, stream: bool) -> tuple[dict[str, Any], list[str]]:
    """The `done` object by one of the routes, and what was wrong with the way it came."""
    body = {"messages": [{"role": "user", "content": CRISIS}], "stream": stream}
    if not stream:
        answer = httpx.post(f"{url}{route}", json=body, timeout=60).raise_for_status().json()
        return (answer["crisis"], _choice(answer)) if "crisis" in answer else (answer, [])
    with httpx.stream("POST", f"{url}{route}", json=body, timeout=60) as response:
        events = list(_events(response.raise_for_status().iter_lines()))
    return _of_chunks(events) if route.startswith("/v1/") else _of_events(events)


def _events(lines: Iterator[str]) -> Iterator[tuple[str, str]]:
    name = ""
    for line in lines:
        if line.startswith("event:"):
            name = line.removeprefix("event:").strip()
        elif line.startswith("data:"):
            yield name, line.removeprefix("data:").strip()


def _of_events(events: list[tuple[str, str]]) -> tuple[dict[str, Any], list[str]]:
    done: dict[str, Any] = json.loads(events[-1][1])
    said = "".join(json.loads(data)["text"] for name, data in events if name == "sentence")
    names = [name for name, _ in events]
    wrong = ["resources came late"] if names[:2] != ["assessment", "resources"] else []
    wrong += ["the stream has no end"] if names[-1] != "done" else []
    return done, wrong + (["the stream said something else"] if said != done["reply"] else [])


def _of_chunks(events: list[tuple[str, str]]) -> tuple[dict[str, Any], list[str]]:
    chunks = [json.loads(data) for _, data in events if data != "[DONE]"]
    said = "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks if chunk["choices"])
    last = next(chunk for chunk in chunks if chunk["choices"] and chunk["choices"][0]["finish_reason"])
    done: dict[str, Any] = last["crisis"]
    wrong = ["the stream has no end"] if events[-1][1] != "[DONE]" else []
    return done, wrong + (["the stream said something else"] if said != done["reply"] else [])


def _choice(answer: dict[str, Any]) -> list[str]:
    choice = answer["choices"][0]
    same = choice["message"]["content"] == answer["crisis"]["reply"] and choice["finish_reason"] == "stop"
    return [] if same else ["the choice is not the reply"]


def heard_in(reply: str) -> str:
    """Whose sentences are in it."""
    primary = any(sentence.strip() in reply for sentence in (*SENTENCES, *TRICKLED))
    backup = any(sentence.strip() in reply for sentence in BACKUP)
    return "both" if primary and backup else "primary" if primary else "backup" if backup else "static"


def incomplete(done: dict[str, Any]) -> Iterator[str]:
    """What a whole and safe reply has, and this one lacks."""
    contacts = {str(entry[key]) for entry in done["resources"] for key in ("phone", "sms") if entry[key]}
    if not {"988", "741741", "911"} <= contacts or "988" not in done["reply"]:
        yield "lines are missing"
    if not WORDING.says_ai(done["reply"], "en"):
        yield "it does not say that it is an AI"
    if done["reply"].rstrip()[-1] not in '.!?…")':
        yield "it ends in the middle"
    if HALF_SAID in done["reply"].replace(SENTENCES[TWO_THIRDS].strip(), ""):
        yield "half a sentence was shown"
    if not done["assessment"]["crisis"]:
        yield "no crisis seen"


def _unexpected(outcome: Outcome, done: dict[str, Any]) -> Iterator[str]:
    cell = outcome.cell
    if outcome.seconds > DEADLINE_S + GRACE_S:
        yield "late"
    first = (outcome.route, outcome.stream) == ROUTES[0]
    learned = cell.fault == "no-prefill" and not first
    attempts, steps = (1, ()) if learned else (cell.attempts, cell.steps)
    if outcome.attempts != attempts:
        yield f"asked {outcome.attempts} times, not {attempts}"
    told = [step.replace("backup-circuit-open", *cell.steps[-1:] or ("",)) for step in outcome.degraded]
    if told != list(steps):
        yield f"degraded is not {' '.join(steps) or 'empty'}"
    if outcome.who != cell.who:
        yield f"not {cell.who}"
    if done["model"] != cell.models[cell.who]:
        yield f"model is {done['model']}"
    if cell.who == "primary" and not steps and cell.fault not in ("endless",) and SENTENCES[-1] not in done["reply"]:
        yield "a part is missing and nobody says so"


def recovery(cell: Cell, running: Running) -> float:
    """Seconds until the primary, which is well again, gives a whole reply and its circuit is closed."""
    began = time.monotonic()
    while time.monotonic() - began <= RECOVERY_S:
        done = running.respond(CRISIS)
        mine = done["model"] == cell.models["primary"] and not done["degraded"]
        if mine and running.ready()["chain"][0]["state"] == "ready":
            break
        time.sleep(0.3)
    return time.monotonic() - began


def unhealthy(running: Running, memory_before: int) -> Iterator[str]:
    """What is wrong with the process after all that."""
    process = psutil.Process(running.process.pid)
    if httpx.get(f"{running.url}/healthz", timeout=10).status_code != 200:
        yield "not healthy"
    if process.memory_info().rss > memory_before + _GROWTH_BYTES:
        yield f"memory grew by {(process.memory_info().rss - memory_before) / 1e6:.0f} MB"
    if any("Traceback" in line or "never retrieved" in line for line in running.lines):
        yield "a traceback in the log"
    if any("end my life" in line for line in running.lines):
        yield "a person's words in the log"
    if left := [c for c in process.net_connections("tcp") if c.status == psutil.CONN_ESTABLISHED and c.raddr]:
        yield f"{len(left)} connections are open"
