"""Runs `crisis` commands in a process of their own, several one after another: for what a process reads once only.

huggingface_hub reads HF_ENDPOINT when it is imported, so commands that need another hub need another process.
"""

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Ran:
    status: int
    out: str
    err: str


def clean(env: dict[str, str]) -> dict[str, str]:
    """This environment without settings of this machine, with these."""
    ours = ("CRISIS_", "HF_", "ANTHROPIC_")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)} | env


def crisis(
    *commands: Sequence[str],
    env: dict[str, str],
    before: Callable[[], None] | None = None,
    cwd: Path | None = None,
    limit_s: float = 100.0,
) -> list[Ran]:
    """What each command answered; all of them together get limit_s."""
    ended = subprocess.run(
        [sys.executable, __file__],
        input=json.dumps(commands),
        capture_output=True,
        text=True,
        env=clean(env),
        timeout=limit_s,
        preexec_fn=before,
        cwd=cwd,
    )
    assert ended.returncode == 0, ended.stderr
    return [Ran(**ran) for ran in json.loads(ended.stdout.splitlines()[-1])]


def _one(arguments: list[str]) -> dict[str, object]:
    from cli.main import run

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = run(arguments)
    return {"status": status, "out": out.getvalue(), "err": err.getvalue()}


if __name__ == "__main__":
    print(json.dumps([_one(arguments) for arguments in json.load(sys.stdin)]))
