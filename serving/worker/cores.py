"""How many threads llama.cpp may have: never more than the cores this process really gets.

With one thread more than there are free cores, llama.cpp waits at every layer for a thread that is not running and
slows down many times over. os.cpu_count() is wrong in a container: affinity and the cgroup's quota decide.
"""

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath


@dataclass(frozen=True, slots=True)
class Threads:
    generate: int
    prompt: int


def plan(cores: int, *, generate: int = 0, prompt: int = 0) -> Threads:
    """The threads for `cores` cores; 0 is automatic, a larger wish than there are cores is cut.

    One core is left to the service while text is generated: a second thread gains little there (measured: 70 -> 90
    tokens/s quiet, 57 -> 22 beside one busy process). A prompt uses every core: it gains almost twofold, and
    nobody reads yet.
    """
    free = max(1, cores - 1)
    return Threads(min(generate or free, cores), min(prompt or cores, cores))


def available(root: Path = Path("/")) -> int:
    """Cores that this process may use: CPU affinity, bounded by the CPU quota of its cgroup (v2 or v1), at least 1."""
    quotas = [*_quotas_v2(root), *_quotas_v1(root)]
    return max(1, min([_affinity(), *(math.floor(quota) for quota in quotas)]))


def _affinity() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # macOS, Windows: no affinity to ask for


def _quotas_v2(root: Path) -> Iterator[float]:
    for folder in _folders(root, "", ("sys/fs/cgroup", "sys/fs/cgroup/unified")):
        words = _read(folder / "cpu.max").split()
        if len(words) == 2 and words[0].isdigit() and words[1].isdigit():
            yield int(words[0]) / int(words[1])


def _quotas_v1(root: Path) -> Iterator[float]:
    for folder in _folders(root, "cpu", ("sys/fs/cgroup/cpu", "sys/fs/cgroup/cpu,cpuacct")):
        quota, period = _read(folder / "cpu.cfs_quota_us"), _read(folder / "cpu.cfs_period_us")
        if quota.isdigit() and period.isdigit():  # -1, no limit, is no digit
            yield int(quota) / int(period)


def _folders(root: Path, controller: str, mounts: tuple[str, ...]) -> Iterator[Path]:
    """The cgroup's folder and all above it, since the tightest of them binds."""
    own = _own_cgroup(root, controller)
    for mount in mounts:
        for path in (own, *own.parents):
            yield root / mount / path


def _own_cgroup(root: Path, controller: str) -> PurePosixPath:
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controller in controllers.split(","):
            return PurePosixPath(path.lstrip("/") or ".")
    return PurePosixPath()


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""
