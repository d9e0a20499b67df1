"""Starts a peer as a real process on a free loopback port, and ends it."""

import json
import subprocess
import sys
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parent.parent


@dataclass(slots=True)
class Peer:
    """A running peer. It ends when its stdin closes, and so also when the tests are killed."""

    process: subprocess.Popen[str]
    url: str

    @classmethod
    def start(cls, module: str) -> "Peer":
        """Start peers.<module> and wait for the port that it prints."""
        command = [sys.executable, "-m", f"peers.{module}"]
        process = subprocess.Popen(command, cwd=TESTS, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if process.stdout is None:
            raise RuntimeError("the peer has no stdout")
        return cls(process, f"http://127.0.0.1:{int(process.stdout.readline())}")

    def shapes(self) -> dict[str, Any]:
        """What the peer was asked for since it started."""
        with urllib.request.urlopen(f"{self.url}/shapes", timeout=5) as answer:  # noqa: S310 - our own loopback address
            told: dict[str, Any] = json.load(answer)
            return told

    def asked(self, scenario: str) -> list[dict[str, Any]]:
        """The requests for one scenario, oldest first."""
        return [shape for shape in self.shapes()["asked"] if shape["scenario"] == scenario]

    def stop(self) -> None:
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.wait(timeout=10)
        if self.process.stdout is not None:
            self.process.stdout.close()
