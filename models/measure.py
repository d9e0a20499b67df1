"""Tries the real engine on a model's shape before anybody downloads gigabytes: memory, first token, speed.

Where the model's file is here, it is tried itself; else a replica with random weights is written, tried and removed.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import models
from models import replica
from models.catalogue import ModelError
from models.memory import Run
from models.reported import Reported
from models.shape import Recipe, Shape

PROMPT_TOKENS, GENERATED_TOKENS = 512, 32
_TIMEOUT_S = 900.0
_REPLICA = ".replica-"
_SPIN_COUNT = "1000"  # as the service runs its engine (docs/engine.md, threads)


class TrialFailed(ModelError):
    """The engine would not run the model; the message is one line."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What of this machine the engine may use. gpu_layers: None for all of them, where the build can."""

    threads: int = 1
    prompt_threads: int = 1
    gpu_layers: int | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """One trial. Milliseconds, tokens a second (of all conversations together), bytes. written_s: making the replica,
    0 for the model's own file. rss_bytes: all of the engine's process; anonymous_bytes: what no file stands behind."""

    reported: Reported
    load_ms: float
    prompt_tokens: int
    first_token_ms: float
    prompt_tokens_per_s: float
    tokens_per_s: float
    rss_bytes: int
    anonymous_bytes: int
    gpu: bool
    machine: Machine
    replica_bytes: int = 0
    written_s: float = 0.0

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def of_file(path: Path, run: Run, machine: Machine) -> Measured:
    """Try a file. Raises TrialFailed."""
    job = {"path": str(path), "runs": [asdict(run)], "prompt": PROMPT_TOKENS, "generate": GENERATED_TOKENS}
    told = _ask(job | asdict(machine))
    return Measured(reported=Reported(**told.pop("report")), machine=machine, **told)


def of_shape(shape: Shape, recipe: Recipe, run: Run, folder: Path, machine: Machine) -> Measured:
    """Write a replica into a folder of its own inside `folder`, try it, remove it. Raises NoRoom or TrialFailed."""
    with _own_folder(folder) as own, _ended_in_order():
        path, began = own / "replica.gguf", time.perf_counter()
        try:
            size = replica.write(path, shape, recipe)
        except OSError as exc:
            raise TrialFailed(f"{folder}: the replica could not be written: {exc.strerror}") from exc
        written_s = time.perf_counter() - began
        measured = of_file(path, run, machine)
        return replace(measured, replica_bytes=size, written_s=written_s)


@contextmanager
def _own_folder(folder: Path) -> Iterator[Path]:
    """A folder for this process's replica, removed at the end; so are those of processes that did not come so far."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for left in folder.glob(f"{_REPLICA}*"):
            if not _alive(left.name.removeprefix(_REPLICA).partition("-")[0]):
                shutil.rmtree(left, ignore_errors=True)
        own = tempfile.TemporaryDirectory(dir=folder, prefix=f"{_REPLICA}{os.getpid()}-")
    except OSError as exc:
        raise TrialFailed(f"{folder}: no replica can be put there: {exc.strerror}; set CRISIS_WEIGHTS_DIR") from exc
    with own as name:
        yield Path(name)


@contextmanager
def _ended_in_order() -> Iterator[None]:
    """While it lasts, a request to end is an exit like any other: gigabytes are not left behind."""
    if threading.current_thread() is not threading.main_thread():  # only that one may handle signals
        yield
        return

    def leave(number: int, _: object) -> None:
        sys.exit(128 + number)

    before = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _alive(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except PermissionError:
        return True
    except (ValueError, OSError):
        return False
    return True


def simulated(path: Path, runs: Sequence[Run]) -> list[Reported]:
    """What llama.cpp itself reckons that a file would take with these settings, in milliseconds and without memory."""
    told = _ask({"path": str(path), "runs": [asdict(run) for run in runs], "simulate": True})
    return [Reported(**report) for report in told["reports"]]


def _ask(job: dict[str, Any]) -> dict[str, Any]:
    command = (sys.executable, "-P", "-m", "models.trial")
    try:
        ended = subprocess.run(  # noqa: S603 - this very interpreter
            command, input=json.dumps(job), capture_output=True, text=True, env=_environment(), timeout=_TIMEOUT_S
        )
    except subprocess.TimeoutExpired as exc:
        raise TrialFailed(f"the engine was not done within {_TIMEOUT_S:g} s") from exc
    if "No module named 'llama_cpp'" in ended.stderr:
        raise TrialFailed("measuring needs llama-cpp-python: pip install 'crisis-support[llama-cpp]'")
    if ended.returncode != 0:
        ending = f"signal {-ended.returncode}" if ended.returncode < 0 else f"status {ended.returncode}"
        raise TrialFailed(f"the engine's process ended with {ending}; most often that means too little memory")
    told: dict[str, Any] = json.loads(ended.stdout)
    if "failed" in told:
        raise TrialFailed(f"the engine would not run it: {told['failed']}")
    return told


def _environment() -> dict[str, str]:
    """Ours without its secrets; this very copy of the project is what the process imports."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CRISIS_", "ANTHROPIC_", "HF_"))}
    path = os.pathsep.join(filter(None, (str(Path(models.__file__).parent.parent), kept.get("PYTHONPATH"))))
    return {"GOMP_SPINCOUNT": _SPIN_COUNT} | kept | {"PYTHONPATH": path}
