"""Summaries of repeated measurements: median, spread, percentiles."""

import statistics
from collections.abc import Sequence
from typing import Any


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` of all values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, -int(-share * len(ordered) // 1) - 1))]


def summary(values: Sequence[float], digits: int = 3) -> dict[str, Any]:
    """Median, 5th and 95th percentile, and how many values there were."""
    return {
        "median": round(statistics.median(values), digits),
        "p5": round(percentile(values, 0.05), digits),
        "p95": round(percentile(values, 0.95), digits),
        "n": len(values),
    }
