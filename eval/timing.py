"""Times calls, in microseconds: the median is what a message costs, the 99th percentile what it may.

The time is the calling thread's on the processor. On an idle machine that is the time that passes; on a shared one the
neighbours would be measured instead.
"""

import statistics
import time
from collections.abc import Callable
from typing import Any, TypeVar

from eval.bench.figures import percentile

Result = TypeVar("Result")


class Stopwatch:
    """Collects the time of every call made through it."""

    def __init__(self) -> None:
        self._taken_us: list[float] = []

    def __call__(self, call: Callable[[], Result]) -> Result:
        began = time.thread_time_ns()
        result = call()
        self._taken_us.append((time.thread_time_ns() - began) / 1000)
        return result

    def to_json(self) -> dict[str, Any]:
        """Median and 99th percentile in microseconds; None where nothing was timed."""
        if not self._taken_us:
            return {"median_us": None, "p99_us": None, "calls": 0}
        return {
            "median_us": round(statistics.median(self._taken_us), 1),
            "p99_us": round(percentile(self._taken_us, 0.99), 1),
            "calls": len(self._taken_us),
        }
