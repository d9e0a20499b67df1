"""Requests a second of the service with a scripted backend, over a bare FastAPI route that returns the same bytes."""

import contextlib
import http.client
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

from eval.bench.client import post_many
from eval.bench.figures import summary
from eval.bench.sample import MESSAGE

AIM = 0.4
_ROUNDS, _REQUESTS, _CONNECTIONS = 7, 600, 4


def measure() -> dict[str, Any]:
    """Both servers run side by side and are asked in turn; the ratio is taken round by round."""
    with _peer("service") as ours, _peer("bare") as bare:
        pairs = [(_rate(ours), _rate(bare)) for _ in range(_ROUNDS + 1)][1:]
    ratios = [one / other for one, other in pairs]
    return {
        "service": summary([one for one, _ in pairs], 1),
        "bare_fastapi": summary([other for _, other in pairs], 1),
        "ratio": summary(ratios),
        "aim": f"median ratio at least {AIM}",
        "met": summary(ratios)["median"] >= AIM,
    }


def _rate(port: int) -> float:
    return post_many(port, "/crisis/respond", MESSAGE, requests=_REQUESTS, connections=_CONNECTIONS)


@contextlib.contextmanager
def _peer(kind: str) -> Iterator[int]:
    port = free_port()
    process = subprocess.Popen([sys.executable, "-m", "eval.bench.peers", kind, str(port)])  # noqa: S603 - our own module
    try:
        await_answer(port, process)
        yield port
    finally:
        process.terminate()
        process.wait(10)


def free_port() -> int:
    """One that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def await_answer(port: int, process: "subprocess.Popen[bytes]") -> None:
    """Until the server answers anything at all. Raises RuntimeError when it does not."""
    ends = time.monotonic() + 60
    while time.monotonic() < ends and process.poll() is None:
        with contextlib.suppress(OSError):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
            with contextlib.closing(connection):
                connection.request("GET", "/healthz")
                connection.getresponse().read()
                return
        time.sleep(0.1)
    raise RuntimeError("a benchmark server did not start")
