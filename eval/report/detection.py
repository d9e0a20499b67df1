"""SHIELD's figures in the terms of the client's table, from the counts of the corpora."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from eval.intervals import Proportion
from eval.report.figures import Rate

_SPLIT = "report"


@dataclass(frozen=True, slots=True)
class Detection:
    """False positives are shares of ordinary messages, false negatives of crisis messages; F1 of finding a crisis."""

    f1: float
    false_positives: Rate
    false_negatives: Rate

    @classmethod
    def of(cls, corpora: Mapping[str, Any] | None) -> Self | None:
        """None where the corpora were not measured, or hold no crisis or no ordinary message."""
        splits = (corpora or {}).get("detection", {}).get("splits", {})
        figures = splits.get(_SPLIT, {}).get("figures", {})
        found, alarms = figures.get("crisis_recall"), figures.get("false_alarms")
        if not found or not alarms or not found["of"] or not alarms["of"]:
            return None
        missed = found["of"] - found["hits"]
        return cls(
            f1=2 * found["hits"] / (2 * found["hits"] + alarms["hits"] + missed),
            false_positives=_rate(alarms["hits"], alarms["of"]),
            false_negatives=_rate(missed, found["of"]),
        )


def _rate(hits: int, of: int) -> Rate:
    return Rate(**Proportion(hits, of).to_json())
