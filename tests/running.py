"""A real service in a real process on loopback, for tests of what callers and operators see."""

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil


@dataclass
class Running:
    """A started `crisis serve`: `url` is its address, `lines` what it printed."""

    process: subprocess.Popen[str]
    url: str
    lines: list[str] = field(default_factory=list)

    def respond(self, message: str, **more: Any) -> dict[str, Any]:
        answer = httpx.post(f"{self.url}/crisis/respond", json={"message": message, **more}, timeout=60)
        assert answer.status_code == 200, answer.text
        body: dict[str, Any] = answer.json()
        return body

    def events(self, message: str, **more: Any) -> Iterator[tuple[str, dict[str, Any], float]]:
        """(event, data, seconds since the request) as they arrive."""
        began = time.perf_counter()
        body = {"message": message, "stream": True, **more}
        with httpx.stream("POST", f"{self.url}/crisis/respond", json=body, timeout=60) as response:
            assert response.status_code == 200
            name = ""
            for line in response.iter_lines():
                if line.startswith("event:"):
                    name = line.removeprefix("event:").strip()
                elif line.startswith("data:"):
                    yield name, json.loads(line.removeprefix("data:")), time.perf_counter() - began

    def ready(self) -> dict[str, Any]:
        body: dict[str, Any] = httpx.get(f"{self.url}/readyz", timeout=10).json()
        return body

    def wait_for(self, state: str, seconds: float = 60) -> None:
        """Until the first chain entry is in `state`."""
        ends = time.monotonic() + seconds
        while self.ready()["chain"][0]["state"] != state:
            assert time.monotonic() < ends, f"not {state} within {seconds} s: {self.ready()}"
            time.sleep(0.1)

    def workers(self) -> list[psutil.Process]:
        """The engine's processes."""
        children = psutil.Process(self.process.pid).children(recursive=True)
        return [child for child in children if _is_worker(child)]


def _is_worker(process: psutil.Process) -> bool:
    try:
        return "serving.llama.worker" in " ".join(process.cmdline())
    except psutil.Error:  # it is ending
        return False


@contextlib.contextmanager
def service(tmp_path: Path, config: str, *arguments: str, env: dict[str, str] | None = None) -> Iterator[Running]:
    """`crisis serve` with this crisis.toml, on a free port, until the block ends."""
    file = tmp_path / "crisis.toml"
    file.write_text(config, encoding="utf-8")
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("CRISIS_", "ANTHROPIC_"))}
    process = subprocess.Popen(
        [sys.executable, "-m", "cli", "serve", "--config", str(file), "--port", "0", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**clean, **(env or {})},
    )
    printed: queue.Queue[str] = queue.Queue()
    lines: list[str] = []
    drain = threading.Thread(target=_drain, args=(process, printed, lines), daemon=True)
    drain.start()
    try:
        yield Running(process, _address(printed, lines), lines)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(5)
        drain.join(5)
        if process.stdout is not None:
            process.stdout.close()


def _drain(process: subprocess.Popen[str], printed: "queue.Queue[str]", lines: list[str]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        lines.append(line)
        printed.put(line)


def _address(printed: "queue.Queue[str]", lines: list[str]) -> str:
    ends = time.monotonic() + 240
    url = ""
    while time.monotonic() < ends:
        with contextlib.suppress(queue.Empty):
            line = printed.get(timeout=0.2)
            if "listening on " in line:
                url = line.split("listening on ")[1].split()[0]
        if url:
            with contextlib.suppress(httpx.TransportError):
                httpx.get(f"{url}/healthz", timeout=2).raise_for_status()
                return url
    raise AssertionError(f"the service did not start: {''.join(lines)}")
