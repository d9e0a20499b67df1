"""How long people wait when many write at the same moment: `python -m eval.bench.load`, from a process of its own.

So many streams are opened at once on warm connections; each is timed to its resources and to its last byte. The service
has a scripted backend; beside it, in turn and in the same run, a bare FastAPI route streams the same bytes. The ratios
are what counts: seconds are those of this machine at this moment. Raises RuntimeError for an answer that is not whole.
"""

import asyncio
import json
import resource
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import psutil

from eval.bench.figures import percentile
from eval.bench.sample import MESSAGE
from eval.bench.throughput import await_answer, free_port

STREAMS = (1, 50, 200, 500)
ROUNDS = {1: 60, 50: 6, 200: 3, 500: 2}
SHARES = (0.5, 0.95, 0.99)
_LIMIT_S = 300.0
_BODY = json.dumps({**MESSAGE, "stream": True}).encode()
_REQUEST = (
    b"POST /crisis/respond HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
)


@dataclass(slots=True)
class Waits:
    """Seconds of each stream to its resources and to its last byte. peak_mb: the most memory the server had."""

    resources: list[float] = field(default_factory=list)
    last_byte: list[float] = field(default_factory=list)
    peak_mb: float = 0.0

    def in_ms(self) -> dict[str, dict[str, float]]:
        return {
            name: {f"p{share * 100:g}": round(1000 * percentile(values, share), 1) for share in SHARES}
            for name, values in (("resources", self.resources), ("last_byte", self.last_byte))
        }

    def over(self, other: "Waits") -> dict[str, dict[str, float]]:
        """The ratios of the percentiles."""
        mine, theirs = self.in_ms(), other.in_ms()
        return {
            name: {share: round(value / max(theirs[name][share], 0.1), 2) for share, value in row.items()}
            for name, row in mine.items()
        }


@dataclass(frozen=True, slots=True)
class Peer:
    """A started server."""

    port: int
    process: psutil.Process

    def memory_mb(self) -> float:
        return float(self.process.memory_info().rss) / 1e6


def measure(streams: Sequence[int] = STREAMS, *, rounds: int | None = None) -> dict[str, Any]:
    """The table: for each number of streams the waits of both, and their ratios."""
    _allow_files(max(streams))
    with peer("service") as ours, peer("bare") as bare:
        idle_mb = ours.memory_mb()
        rows = [asyncio.run(_row(ours, bare, count, rounds or ROUNDS.get(count, 3))) for count in streams]
        return {"rows": rows, "memory_mb": {"idle": round(idle_mb), "after": round(ours.memory_mb())}}


async def _row(ours: Peer, bare: Peer, count: int, rounds: int) -> dict[str, Any]:
    """The two are asked in turn, so that both meet the same moments of a busy machine."""
    mine, theirs = Waits(), Waits()
    for _ in range(rounds):
        await _round(ours, count, mine)
        await _round(bare, count, theirs)
    return {
        "streams": count,
        "rounds": rounds,
        "service_ms": mine.in_ms(),
        "bare_fastapi_ms": theirs.in_ms(),
        "ratio": mine.over(theirs),
        "service_peak_mb": round(mine.peak_mb),
    }


async def _round(server: Peer, count: int, waits: Waits) -> None:
    pairs = await asyncio.gather(*(asyncio.open_connection("127.0.0.1", server.port) for _ in range(count)))
    watch = asyncio.create_task(_watch(server, waits))
    try:
        async with asyncio.timeout(_LIMIT_S):
            timed = await asyncio.gather(*(_stream(reader, writer) for reader, writer in pairs))
    finally:
        watch.cancel()
        for _, writer in pairs:
            writer.close()
    waits.resources += [first for first, _ in timed]
    waits.last_byte += [last for _, last in timed]


async def _watch(server: Peer, waits: Waits) -> None:
    while True:
        waits.peak_mb = max(waits.peak_mb, server.memory_mb())
        await asyncio.sleep(0.05)


async def _stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> tuple[float, float]:
    began, first, text = perf_counter(), 0.0, b""
    writer.write(_REQUEST % len(_BODY) + _BODY)
    while not text.endswith(b"0\r\n\r\n"):
        piece = await reader.read(65_536)
        if not piece:
            raise RuntimeError("a stream broke off")
        text += piece
        if not first and b"event: resources" in text:
            first = perf_counter() - began
    if not text.startswith(b"HTTP/1.1 200") or b"event: done" not in text:
        raise RuntimeError("an answer is not whole")
    return first, perf_counter() - began


@contextmanager
def peer(kind: str) -> Iterator[Peer]:
    port = free_port()
    process = subprocess.Popen([sys.executable, "-m", "eval.bench.load_peers", kind, str(port)])  # noqa: S603 - our own
    try:
        await_answer(port, process)
        yield Peer(port, psutil.Process(process.pid))
    finally:
        process.terminate()
        process.wait(30)


def _allow_files(streams: int) -> None:
    """A file for each connection, here and in the servers, which inherit the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * streams + 200
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, hard), hard))


def table(report: dict[str, Any]) -> Iterator[str]:
    """The report for people to read."""
    yield f"{'streams':>7}  {'to':<9}  {'service ms (p50 / p95 / p99)':<30}  {'bare FastAPI ms':<30}  ratio"
    for row in report["rows"]:
        for what in ("resources", "last_byte"):
            cells = [
                " / ".join(f"{value:g}" for value in row[of][what].values())
                for of in ("service_ms", "bare_fastapi_ms", "ratio")
            ]
            yield f"{row['streams']:>7}  {what:<9}  {cells[0]:<30}  {cells[1]:<30}  {cells[2]}"
    memory = report["memory_mb"]
    peaks = ", ".join(f"{row['service_peak_mb']} with {row['streams']}" for row in report["rows"])
    yield f"memory of the service, MB: {memory['idle']} idle, at most {peaks} streams; {memory['after']} afterwards"


def main() -> None:
    report = measure()
    print("\n".join(table(report)))
    print(json.dumps(report))


if __name__ == "__main__":
    main()
