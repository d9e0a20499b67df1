"""Becomes llama-server, in such a way that it dies with the service: `python -m serving.llama_server.guard PID ARGS…`.

On Linux this very process turns into the server, after asking the kernel to be killed when the service ends, however it
ends. Elsewhere it stays, waits for the pipe from the service to close, and kills the server then.
"""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from threading import Thread

_PR_SET_PDEATHSIG = 1


def become(parent: int, command: Sequence[str]) -> None:
    """Turn into the command, to be killed by the kernel when `parent` dies. Linux only. Never returns."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the line above
        os._exit(0)
    os.execv(command[0], list(command))  # noqa: S606 - the command is the operator's


def attend(command: Sequence[str]) -> int:
    """Run the command until it ends, or until our own input closes. Returns its exit status."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL)  # noqa: S603 - the command is the operator's
    signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    Thread(target=_kill_when_left, args=(process,), daemon=True).start()
    return process.wait()


def _kill_when_left(process: subprocess.Popen[bytes]) -> None:
    sys.stdin.buffer.read()
    process.kill()


def main(arguments: Sequence[str]) -> int:
    parent, *command = arguments
    if sys.platform == "linux":
        become(int(parent), command)
    return attend(command)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
