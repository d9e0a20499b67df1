"""The llama.cpp server that we start ourselves: its command line, its life as a process, its end.

Everything it prints is read and forgotten but for a fixed reason (serving/worker/reasons.py). It gets none of the
service's secrets; its own key is made anew for each start and travels in its environment, where `ps` does not show it.
"""

import asyncio
import os
import secrets
import signal
import socket
import sys
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from serving.llama_server.settings import Launch, LlamaServerSettings
from serving.worker import reasons
from serving.worker.cores import available, plan
from serving.worker.environment import for_engine

HOST = "127.0.0.1"
PORT_TAKEN = "its port is taken by another program (set `port` to another one, or to 0 for any free one)"
UNKNOWN_OPTION = "this llama-server does not know an option that we need; build one with scripts/build-llama-server"
_SIGNS = (("couldn't bind", PORT_TAKEN), ("invalid argument", UNKNOWN_OPTION))
_CHUNK_BYTES = 1 << 16
_DECIDED_BY_US = ("LLAMA_",)  # LLAMA_ARG_… variables would be options that nobody sees here


@dataclass(frozen=True, slots=True)
class Ticket:
    """What makes one start recognisable: the port it was told, the key it asks for, the name it answers to."""

    port: int
    key: str
    alias: str

    @classmethod
    def draw(cls, port: int) -> Self:
        return cls(port or free_port(), secrets.token_urlsafe(32), f"crisis-{secrets.token_hex(8)}")

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    def __repr__(self) -> str:
        return f"Ticket({self.port})"


class ServerProcess:
    """One started server. `ended` is set when the process is gone and everything it printed was read."""

    def __init__(self, process: Process) -> None:
        if process.stdout is None:
            raise ValueError("the server's output must be a pipe")
        self.ended = asyncio.Event()
        self._process = process
        self._cause: str | None = None
        self._killed_for: str | None = None
        self._reader = asyncio.get_running_loop().create_task(self._read(process.stdout))

    @classmethod
    async def start(cls, command: Sequence[str], *, key: str) -> Self:
        """In a session of its own: Ctrl-C in the terminal reaches the service only. Raises OSError."""
        guard = (sys.executable, "-P", "-m", "serving.llama_server.guard", str(os.getpid()), *command)
        process = await asyncio.create_subprocess_exec(
            *guard,
            stdin=DEVNULL if sys.platform == "linux" else PIPE,
            stdout=PIPE,
            stderr=STDOUT,
            env=environment(key),
            start_new_session=True,
        )
        return cls(process)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def reason(self) -> str:
        """Why it ended, after `ended`: what it was killed for, what it complained of, or how it exited."""
        return self._killed_for or self._cause or reasons.of_exit(self._process.returncode)

    def kill(self, reason: str) -> None:
        """End it and whatever it started, at once; `reason` is what `reason` will say."""
        self._killed_for = self._killed_for or reason
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    async def close(self, patience_s: float) -> None:
        """End it in order, then by force; returns when it is gone. May be called again."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.terminate()
        try:
            async with asyncio.timeout(patience_s):
                await self.ended.wait()
        except TimeoutError:
            self.kill("it did not stop when asked to")
            await self.ended.wait()

    async def _read(self, stream: asyncio.StreamReader) -> None:
        rest = ""
        try:
            while data := await stream.read(_CHUNK_BYTES):
                *lines, rest = (rest + data.decode("utf-8", "replace")).split("\n")
                rest = rest[-1000:]
                for reason in filter(None, map(classify, lines)):
                    self._cause = min(self._cause or reason, reason, key=reasons.rank)
            await self._process.wait()
        finally:
            self.ended.set()


def classify(line: str) -> str | None:
    """The fixed reason that a line of the server's output stands for; None for most lines."""
    lowered = line.lower()
    return next((reason for sign, reason in _SIGNS if sign in lowered), None) or reasons.classify(line)


def command_line(
    settings: LlamaServerSettings, launch: Launch, ticket: Ticket, states: Path | None = None
) -> list[str]:
    """llama-server and its options. Nothing is left to a default that differs between versions.

    Each conversation has its own cells (no unified cache), so that none can push another's out; the context is never
    made smaller silently (--fit off); no prompt is kept in memory beyond the slots (--cache-ram 0). states: a folder
    through which one slot's state is copied into the others (warming.py).
    """
    threads = plan(available(), generate=launch.threads, prompt=launch.prompt_threads)
    return [
        str(launch.binary),
        *("--model", str(launch.model_path), "--alias", ticket.alias),
        *("--host", HOST, "--port", str(ticket.port)),
        *("--ctx-size", str(settings.context * settings.parallel), "--parallel", str(settings.parallel)),
        *("--no-kv-unified", "--cont-batching", "--no-context-shift", "--fit", "off"),
        *("--cache-prompt", "--cache-ram", "0", "--slots"),
        *("--batch-size", str(launch.batch), "--ubatch-size", str(launch.batch)),
        *("--threads", str(threads.generate), "--threads-batch", str(threads.prompt)),
        *("--n-gpu-layers", "all" if launch.gpu_layers < 0 else str(launch.gpu_layers)),
        *("--flash-attn", launch.flash_attention),
        *("--cache-type-k", launch.type_k, "--cache-type-v", launch.type_v),
        *("--offline", "--no-ui"),
        *(("--slot-save-path", f"{states}{os.sep}") if states else ()),
    ]


def environment(key: str) -> dict[str, str]:
    """What the server sees: the service's environment without its secrets, and the server's own key."""
    return for_engine(without=_DECIDED_BY_US) | {"LLAMA_API_KEY": key}


def free_port() -> int:
    """A port that nobody listens on at this moment. If somebody takes it meanwhile, the next start draws another."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port
