"""What llama.cpp says it took, read from the lines that it logs while it loads."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

_MIB = 1 << 20
_BUFFER = re.compile(r"(\S+) +(model|output|compute) buffer size = +([\d.]+) MiB")
_CACHE = re.compile(r"llama_kv_cache: size = +([\d.]+) MiB")
_OFFLOADED = re.compile(r"offloaded (\d+)/(\d+) layers")
_COPIES = ("REPACK", "AMX", "KLEIDIAI")  # second copies of weights that a CPU keeps in an order of its own


@dataclass(frozen=True, slots=True)
class Reported:
    """Bytes, rounded to 0.01 MiB by llama.cpp. weights are mapped or loaded, copies are a CPU's reordered ones; where
    the engine only simulates, both are 0. offloaded: layers on the GPU, of layers + 1."""

    weights: int
    copies: int
    kv: int
    compute: int
    output: int
    offloaded: int

    @property
    def total(self) -> int:
        """Without the copies, which exist on a CPU only."""
        return self.weights + self.kv + self.compute + self.output


def read(lines: Iterable[str]) -> Reported:
    sums = {"model": 0.0, "output": 0.0, "compute": 0.0, "copies": 0.0, "kv": 0.0}
    offloaded = 0
    for line in lines:
        if found := _BUFFER.search(line):
            device, kind, size = found.groups()
            copied = kind == "model" and any(name in device for name in _COPIES)
            sums["copies" if copied else kind] += float(size)
        elif found := _CACHE.search(line):
            sums["kv"] += float(found[1])
        elif found := _OFFLOADED.search(line):
            offloaded = int(found[1])
    size = {name: round(value * _MIB) for name, value in sums.items()}
    return Reported(size["model"], size["copies"], size["kv"], size["compute"], size["output"], offloaded)
