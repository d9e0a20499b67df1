"""Speaks JSON lines with a process of the benchmarks: one line there, one line back."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any

LIMIT_S = 1200.0


class Broken(Exception):
    """The process could not do what it was asked; the message is one line."""


class Talk:
    """A started process; `first` is its answer to the job."""

    def __init__(self, process: "subprocess.Popen[str]", name: str) -> None:
        self._process = process
        self._name = name
        self.first: dict[str, Any] = {}

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Raises Broken when it says that it failed, ends, or takes longer than LIMIT_S."""
        stdin, stdout = _pipes(self._process)
        watchdog = threading.Timer(LIMIT_S, self._process.kill)
        watchdog.start()
        try:
            stdin.write(json.dumps(message) + "\n")
            stdin.flush()
            line = stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            watchdog.cancel()
        answer: dict[str, Any] = json.loads(line) if line else {"failed": f"ended with {self._process.wait()}"}
        if "failed" in answer:
            raise Broken(f"{self._name}: {answer['failed']}")
        return answer


@contextmanager
def talking(module: str, job: Mapping[str, Any], env: Mapping[str, str] | None = None) -> Iterator[Talk]:
    """The module as a process that was given its job; it is ended with the block. env: beside ours. Raises Broken."""
    process = subprocess.Popen(  # noqa: S603 - our own module
        [sys.executable, "-P", "-m", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=_clean() | dict(env or {}),
    )
    stdin, stdout = _pipes(process)
    try:
        talk = Talk(process, module.rpartition(".")[2])
        talk.first = talk.ask(job)
        yield talk
    finally:
        stdin.close()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        stdout.close()


def _clean() -> dict[str, str]:
    """No setting of a service that runs here counts for a benchmark."""
    return {name: value for name, value in os.environ.items() if not name.startswith("CRISIS_")}


def _pipes(process: "subprocess.Popen[str]") -> tuple[IO[str], IO[str]]:
    if process.stdin is None or process.stdout is None:
        raise ValueError("two pipes are needed")
    return process.stdin, process.stdout
