"""A fixed piece of work, timed beside every conversation: latencies are compared between machines, and between a quiet
and a busy hour of one machine, as multiples of it."""

import statistics
import time

_STEPS = 40_000
_TIMES = 3


def yardstick_ms() -> float:
    """Milliseconds that the work takes here and now: the median of a few rounds, about 2 ms each on a core of 2024."""
    return round(statistics.median(_once() for _ in range(_TIMES)), 3)


def _once() -> float:
    began = time.perf_counter_ns()
    state = 1
    for _ in range(_STEPS):
        state = (state * 1_103_515_245 + 12_345) & 0x7FFF_FFFF
    return (time.perf_counter_ns() - began) / 1e6
