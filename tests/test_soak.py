"""Twenty people write to one service while everything around it breaks. `make soak` goes on for ten minutes.

Nobody may go without a whole, safe answer; nothing unchecked may be read; the process stays the same one, and its
memory does not grow. SOAK_S: seconds; SOAK_SEED: which troubles come.
"""

import os
import random
import re
import statistics
import threading
import time
from pathlib import Path

import httpx
import psutil
import pytest
from peers.process import Peer
from running import Running, service
from soak_people import LATE_S, Heard, Person, counted
from soak_troubles import Troubles, settings

from eval.bench.figures import percentile
from serving.settings import Settings
from serving.wiring import build_responder

SOAK_S = float(os.environ.get("SOAK_S", "12"))
SEED = int(os.environ.get("SOAK_SEED", "1"))
PEOPLE = 20
LONG_S = 200.0
"""From here on the memory of the end has to be that of the middle: before, caches are still filled."""

pytestmark = [pytest.mark.engine, pytest.mark.timeout(SOAK_S * 2 + 600)]


class Memory(threading.Thread):
    """MB of the process, each second."""

    def __init__(self, pid: int, enough: threading.Event) -> None:
        super().__init__(daemon=True)
        self._process = psutil.Process(pid)
        self._enough = enough
        self.born = self._process.create_time()
        self.mb: list[float] = []

    def run(self) -> None:
        while not self._enough.wait(1.0):
            self.mb.append(self._process.memory_info().rss / 1e6)

    def around(self, share: float) -> float:
        """The median of the tenth of all samples that lies there."""
        width = max(1, len(self.mb) // 10)
        at = min(int(share * len(self.mb)), len(self.mb) - width)
        return statistics.median(self.mb[max(0, at) : at + width])

    def same_process(self) -> bool:
        return self._process.is_running() and self._process.create_time() == self.born


def test_whatever_breaks_everybody_gets_a_whole_and_safe_answer(tmp_path: Path):
    peer, enough = Peer.start("chaos"), threading.Event()
    (tmp_path / "records").mkdir()
    try:
        env = {"XDG_STATE_HOME": str(tmp_path / "state"), "CRISIS_ANTHROPIC_API_KEY": "sk-test"}
        with service(tmp_path, settings(tmp_path, peer.url, 0), env=env) as running:
            running.wait_for("ready", 120)
            luck = random.Random(SEED)
            memory = Memory(running.process.pid, enough)
            people = [Person(running.url, random.Random(SEED * 100 + n), enough) for n in range(PEOPLE)]
            troubles = Troubles(running, tmp_path, peer.url, luck, enough)
            threads = (memory, troubles, *people)
            for thread in threads:
                thread.start()
            time.sleep(SOAK_S)
            enough.set()
            for thread in threads:
                thread.join(3 * LATE_S)
            _tell(people, troubles, memory, httpx.get(f"{peer.url}/seen", timeout=10).json(), running)
            assert memory.same_process()
            assert not [line for line in running.lines if "Traceback" in line]
            assert not any(thread.is_alive() for thread in threads)
            _recovers(running)
    finally:
        peer.stop()
    faults = [fault for person in people for fault in person.faults]
    assert faults == []
    assert unchecked([heard for person in people for heard in person.heard]) == []
    assert sum(bool(person.heard) for person in people) >= PEOPLE / 2
    if SOAK_S >= LONG_S:
        assert memory.around(0.9) <= 1.1 * memory.around(0.45)


def _tell(people: list[Person], troubles: Troubles, memory: Memory, failed: dict[str, int], running: Running) -> None:
    answers = [heard for person in people for heard in person.heard]
    seconds = [heard.seconds for heard in answers] or [0.0]
    sources, steps = counted(people)
    print(f"\n{len(answers)} answers to {PEOPLE} people in {SOAK_S:g} s; {sum(p.left for p in people)} left early")
    print(f"  faults      {sum(len(person.faults) for person in people)}")
    for fault in [fault for person in people for fault in person.faults][:20]:
        print(f"              {fault}")
    print(f"  who spoke   {dict(sources)}")
    print(f"  degraded    {dict(steps.most_common())}")
    print(
        f"  seconds     p50 {percentile(seconds, 0.5):.2f}  p95 {percentile(seconds, 0.95):.2f}  max {max(seconds):.2f}"
    )
    print(f"  troubles    {dict(troubles.count.most_common())}; left out: {sorted(troubles.missing) or 'none'}")
    print(f"  provider    {dict(sorted(failed.items(), key=lambda one: -one[1]))}")
    print(f"  changes     {running.ready()['swap']['swaps']} of the settings")
    cpu, load = sum(psutil.Process(running.process.pid).cpu_times()[:2]), os.getloadavg()[1]
    print(
        f"  processor   {cpu:.0f} s for the service itself; the machine's load is {load:.0f} on {os.cpu_count()} cores"
    )
    marks = "  ".join(f"{share:.0%} {memory.around(share):.0f}" for share in (0, 0.25, 0.45, 0.75, 0.9))
    print(f"  memory, MB  {marks}")


def _recovers(running: Running) -> None:
    """When the troubles are over, the engine of our own comes back."""
    ends = time.monotonic() + 180
    while True:
        running.respond("Are you there?")  # a circuit that is open is closed by a message that comes through
        states = {row["name"]: row["state"] for row in running.ready()["chain"]}
        if states["demo"] == "ready":
            return
        assert time.monotonic() < ends, [(row["name"], row["state"], row["reason"]) for row in running.ready()["chain"]]
        time.sleep(0.5)


def unchecked(answers: list[Heard]) -> list[str]:
    """Replies in which a fresh filter's rules find something. Each is looked at that has a sentence no other one had.

    Its learned stage is not counted: it is made for what models write, and half of a reply is our own words.
    """
    responder = build_responder(Settings())
    found, known, looked_at = [], set[str](), 0
    for heard in answers:
        reply = heard.done["reply"]
        sentences = set(re.split(r"(?<=[.!?…])\s+", reply))
        if sentences <= known:
            continue
        known |= sentences
        looked_at += 1
        result = responder.filter(heard.user, reply, country="US", language="en")
        broken = [one.rule_id for one in result.violations if not one.rule_id.startswith("learned.")]
        if broken:
            found.append(f"{broken}: {reply}")
    print(f"  checked     {len(known)} sentences in {looked_at} replies again: {len(found)} with something in them")
    return found
