"""A worker's process from its first line to its last: takes the settings, loads, answers, and dies with the service.

Two threads: the main one loads, evaluates and generates; the other reads the pipe, so that a cancellation is heard
while the model is busy and the end of the service ends this process at once, whatever it is doing.
"""

import ctypes
import os
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, BinaryIO

from serving.worker import reasons
from serving.worker.desk import Desk, Outlet
from serving.worker.protocol import decode
from serving.worker.reasons import LoadFailure
from serving.worker.runtime import FATAL_EXIT

if TYPE_CHECKING:  # at run time imported after loading: what it needs comes with the engine, whose absence is a reason
    from serving.worker.answering import Loaded

_PR_SET_PDEATHSIG = 1

Load = Callable[[dict[str, Any]], "Loaded"]
"""Loads a model as these settings say. Raises LoadFailure with a fixed reason."""


def serve(load: Load) -> None:
    """The whole life of a worker."""
    outlet = Outlet(private_output())
    line = sys.stdin.buffer.readline()
    if not line:  # the service changed its mind
        return
    first = decode(line)
    die_with_parent(first["parent"])
    desk = Desk()
    threading.Thread(target=listen, args=(sys.stdin.buffer, desk, outlet), daemon=True).start()
    try:
        loaded = load(first["settings"])
        from serving.worker.answering import Worker

        worker = Worker(loaded, desk, outlet)
        outlet.send({"e": "ready", "info": asdict(loaded.info)})
        worker.run()
    except LoadFailure as failure:
        outlet.send({"e": "failed", "reason": str(failure)})
    except Exception as fault:  # noqa: BLE001 - the process's edge: a traceback could show a person's text
        outlet.send({"e": "failed", "reason": reasons.of_fault(fault)})
    finally:
        os._exit(FATAL_EXIT)  # at once: the other thread sits in a read that an orderly end would wait for


def limit_memory(limit: int | None) -> None:
    """Bound the address space, so that a model too large fails here and not by the system's choice of victim."""
    if limit is None:
        return
    import resource  # not on Windows

    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def die_with_parent(parent: int) -> None:
    """Be killed by the kernel when the service dies, even while stopped. Elsewhere the closed pipe does it."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the line above
        os._exit(0)


def listen(stream: BinaryIO, desk: Desk, outlet: Outlet) -> None:
    """Read frames until the service closes the pipe, which is the end of this process."""
    for line in stream:
        message = decode(line)
        if message["op"] == "cancel":
            desk.call_off(message["id"])
        elif message["op"] == "ping":
            outlet.send({"e": "pong"})
        else:
            desk.submit(message)
    os._exit(0)


def private_output() -> BinaryIO:
    """The pipe to the service, moved away from descriptor 1, so that a stray print cannot break a frame."""
    private = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(private, "wb")
