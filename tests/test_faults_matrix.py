"""Every way in which a provider of models can fail, against a running service: each reply is whole, safe and in time.

`make test-faults` tries all cells (FAULTS=all) and prints them as a table; without it a few stand for the rest.
"""

import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from fault_cells import CRISIS, HEAD, Api, Cell, Outcome, Who, asked, control, incomplete, run
from peers.process import Peer
from running import service

pytestmark = pytest.mark.timeout(900)

Run = Future[list[Outcome]]
EVERYTHING = os.environ.get("FAULTS") == "all"
LANES = 3 if EVERYTHING else 1
FAULTS: dict[str, tuple[Who, tuple[str, ...], int]] = {
    "429-retry-after": ("primary", ("retried",), 2),
    "429": ("backup", ("throttled",), 1),
    "429-long": ("backup", ("throttled",), 1),
    "500-once": ("primary", ("retried",), 2),
    "500": ("backup", ("retried", "unavailable"), 2),
    "503": ("backup", ("throttled",), 1),
    "400": ("backup", ("unavailable",), 1),
    "reset-once": ("primary", ("retried",), 2),
    "reset": ("backup", ("retried", "unavailable"), 2),
    "silence": ("backup", ("timeout",), 1),
    "late": ("backup", ("timeout",), 1),
    "cut": ("both", ("unavailable",), 1),
    "stalled": ("both", ("timeout",), 1),
    "malformed": ("both", ("unavailable",), 1),
    "no-end": ("both", ("unavailable",), 1),
    "too-long": ("backup", ("refused",), 1),
    "refusal": ("backup", ("refused",), 1),
    "policy": ("backup", ("refused",), 1),
    "no-prefill": ("primary", ("retried",), 2),
    "html": ("backup", ("unavailable",), 1),
    "gigantic": ("both", ("unavailable",), 1),
    "endless": ("both", ("blocked",), 1),  # a model that loops has no more to say: the next one goes on
    "200-error": ("backup", ("unavailable",), 1),
    "late-but-first": ("primary", ("late",), 1),
    "trickle": ("primary", ("timeout",), 1),
}
"""What is right: who is heard, what `degraded` says of the primary, how many requests it gets."""

BOTH_FAIL = (
    Cell("nobody-silence", "openai", "static", ("primary-timeout", "backup-timeout"), backup="backup-silence"),
    Cell("nobody-503", "anthropic", "static", ("primary-throttled", "backup-throttled"), backup="backup-503"),
    Cell("nobody-stalled", "anthropic", "primary", ("primary-timeout", "backup-timeout"), backup="backup-stalled"),
)
SLOW = ("trickle", "nobody-silence", "nobody-stalled", "silence", "late", "late-but-first", "stalled", "429-long")
SAMPLE = {
    ("429-retry-after", "openai"),
    ("cut", "anthropic"),
    ("no-prefill", "anthropic"),
    ("reset", "anthropic"),
}


def cells() -> list[Cell]:
    """Those of this run, the slow ones first."""
    apis: tuple[Api, ...] = ("openai", "anthropic")
    every = [cell(fault, api) for fault in FAULTS for api in apis]
    if not EVERYTHING:
        return [one for one in every if (one.fault, one.api) in SAMPLE]
    return sorted((*BOTH_FAIL, *every), key=lambda one: one.fault not in SLOW)


def cell(fault: str, api: Api) -> Cell:
    who, steps, attempts = FAULTS[fault]
    backup = "backup-late" if fault == "late-but-first" else "backup"
    return Cell(fault, api, who, tuple(f"primary-{step}" for step in steps), attempts, backup)


@pytest.fixture(scope="module")
def peer() -> Iterator[Peer]:
    started = Peer.start("faults")
    yield started
    started.stop()


@pytest.fixture(scope="module")
def runs(peer: Peer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Cell, Run]]:
    """All cells, in several services at a time, for most of the time they wait. The table is printed as it comes."""
    folder, lanes = tmp_path_factory.mktemp("cells"), in_lanes(cells())
    runs: dict[Cell, Run] = {one: Future() for one in cells()}
    starting = threading.Lock()

    def tell(one: Cell, outcomes: list[Outcome]) -> None:
        runs[one].set_result(outcomes)
        print(*(outcome.row() for outcome in outcomes), sep="\n", flush=True)

    def lane(place: int) -> None:
        try:
            run(lanes[place], peer, folder / f"{place}", tell, starting)
        except Exception as fault:  # noqa: BLE001 - whatever broke one service is told by the cells it had left
            for one in lanes[place]:
                if not runs[one].done():
                    runs[one].set_exception(fault)

    print("", HEAD, sep="\n")
    with ThreadPoolExecutor(len(lanes)) as pool:
        list(map(pool.submit, [lane] * len(lanes), range(len(lanes))))
        yield runs


def in_lanes(chosen: list[Cell]) -> list[list[Cell]]:
    """A service for each of them; no service has to change its backup's interface."""
    lanes = [
        [one for one in chosen if one.api == api][start::LANES]
        for api in ("openai", "anthropic")
        for start in range(LANES)
    ]
    return [lane for lane in lanes if lane]


@pytest.mark.parametrize("one", cells(), ids=lambda one: one.name)
def test_a_fault_costs_nobody_an_answer(runs: dict[Cell, Run], one: Cell) -> None:
    assert [outcome.row() for outcome in runs[one].result() if outcome.wrong] == []


def test_a_provider_that_is_down_is_left_in_peace_and_found_again(peer: Peer, tmp_path: Path) -> None:
    """Somebody writes every second. Each request is tried once more, since it was reset before any header."""
    down_s = 60.0 if EVERYTHING else 6.0
    down = Cell("down" if EVERYTHING else "down-briefly", "openai", "backup", ())
    with service(tmp_path, down.config(peer.url)) as running:
        running.wait_for("ready")
        control(peer, down.asked_as, healthy=False)
        began, sources, back_s = time.monotonic(), [], None
        while back_s is None and time.monotonic() - began < 2.5 * down_s:
            done = running.respond(CRISIS)
            assert list(incomplete(done)) == []
            sources.append(done["source"])
            if time.monotonic() - began < down_s:
                asked_meanwhile = asked(peer, down.asked_as)["asked"]
            elif done["source"] == "local" and not done["degraded"]:
                back_s = time.monotonic() - began - down_s
            time.sleep(1.0)
        state = running.ready()["chain"][0]["state"]
    print(f"\ndown for {down_s:g} s: {len(sources)} replies, asked {asked_meanwhile} times, back {back_s} s after")
    assert back_s is not None
    assert state == "ready"
    assert asked_meanwhile <= 18
    assert asked_meanwhile < 2 * len(sources)
