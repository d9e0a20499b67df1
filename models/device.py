"""What memory there is: the GPU's as its driver tells it, the machine's as the kernel and its control group do.

Asked of the drivers' own tools and files, never through a library that would take memory of the card to answer.
"""

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_MIB = 1 << 20
_QUERY = ("--query-gpu=name,memory.total,memory.free", "--format=csv,noheader,nounits")


@dataclass(frozen=True, slots=True)
class Device:
    """One place for a model, in bytes."""

    name: str
    total_bytes: int
    free_bytes: int


def gpus(root: Path = Path("/")) -> tuple[Device, ...]:
    """The GPUs of this machine, none where no driver tells of one."""
    return (*_nvidia(), *_amd(root))


def main_memory(root: Path = Path("/")) -> Device:
    """The machine's memory, or the container's share of it if that is less. Zeros where it cannot be told."""
    kib = dict(_pairs(_read(root / "proc/meminfo")))
    total, free = kib.get("MemTotal", 0) * 1024, kib.get("MemAvailable", 0) * 1024
    group = root / "sys/fs/cgroup"
    limit, used = _read(group / "memory.max").strip(), _read(group / "memory.current").strip()
    if limit.isdigit() and used.isdigit():
        total, free = min(total, int(limit)), min(free, int(limit) - int(used))
    return Device("main memory", total, max(free, 0))


def _nvidia() -> Iterator[Device]:
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return
    try:
        told = subprocess.run((tool, *_QUERY), capture_output=True, text=True, timeout=5)  # noqa: S603 - found on the path
    except (OSError, subprocess.TimeoutExpired):
        return
    for line in told.stdout.splitlines() if told.returncode == 0 else ():
        name, *numbers = (part.strip() for part in line.rsplit(",", 2))
        if len(numbers) == 2 and all(number.isdigit() for number in numbers):
            yield Device(name, int(numbers[0]) * _MIB, int(numbers[1]) * _MIB)


def _amd(root: Path) -> Iterator[Device]:
    for card in sorted((root / "sys/class/drm").glob("card[0-9]/device")):
        total, used = _read(card / "mem_info_vram_total").strip(), _read(card / "mem_info_vram_used").strip()
        if total.isdigit() and used.isdigit():
            yield Device(f"AMD {card.parent.name}", int(total), int(total) - int(used))


def _pairs(text: str) -> Iterator[tuple[str, int]]:
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        if words and words[0].isdigit():
            yield name, int(words[0])


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return ""
