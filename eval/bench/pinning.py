"""Which cores an engine has in a benchmark, and which all else: shared, one run would be unlike the next."""

import os
from dataclasses import dataclass
from pathlib import Path

from serving.worker.cores import available


@dataclass(frozen=True, slots=True)
class Cores:
    """Numbers of cores; both empty where nothing is pinned."""

    engine: tuple[int, ...] = ()
    others: tuple[int, ...] = ()

    def to_json(self) -> dict[str, list[int]]:
        return {"engine": list(self.engine), "others": list(self.others)}


def share() -> Cores:
    """One core for everything else (two from eight on), the rest for the engine. None where there is but one."""
    if not hasattr(os, "sched_setaffinity"):
        return Cores()
    cores = sorted(os.sched_getaffinity(0))[: available()]
    if len(cores) < 2:
        return Cores()
    others = 2 if len(cores) >= 8 else 1
    return Cores(tuple(cores[others:]), tuple(cores[:others]))


def pin(cores: tuple[int, ...]) -> None:
    """Keep every thread of this process on these cores; what it starts later stays there too."""
    if not cores:
        return
    for thread in Path("/proc/self/task").iterdir():
        os.sched_setaffinity(int(thread.name), cores)
