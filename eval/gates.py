"""The floors that a change must not fall through: eval/gates.toml, each a figure of the report and its limit.

A figure that could not be measured is an error, and an error is not a pass.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

FILE = Path(__file__).parent / "gates.toml"
Outcome = Literal["pass", "fail", "error"]


@dataclass(frozen=True, slots=True)
class Gate:
    """`figure` is its path in the report, such as detection.report.crisis_recall; one of the limits is set."""

    figure: str
    at_least: float | None = None
    at_most: float | None = None

    def __post_init__(self) -> None:
        if (self.at_least is None) == (self.at_most is None):
            raise ValueError(f"{self.figure}: set either at_least or at_most")

    @property
    def limit(self) -> str:
        return f">= {self.at_least}" if self.at_least is not None else f"<= {self.at_most}"


@dataclass(frozen=True, slots=True)
class Passage:
    """A gate and how it was passed; `share` is None where there was nothing to measure."""

    gate: Gate
    outcome: Outcome
    share: float | None

    def to_json(self) -> dict[str, Any]:
        return {
            "figure": self.gate.figure,
            "limit": self.gate.limit,
            "share": self.share,
            "outcome": self.outcome,
        }


def load(file: Path = FILE) -> tuple[Gate, ...]:
    """The gates of a file, in its order."""
    return tuple(Gate(**row) for row in tomllib.loads(file.read_text(encoding="utf-8"))["gate"])


def check(gates: tuple[Gate, ...], report: Mapping[str, Any]) -> list[Passage]:
    """Every gate against the report of eval.corpora."""
    return [_passed(gate, _share(gate.figure, report)) for gate in gates]


def _passed(gate: Gate, share: float | None) -> Passage:
    if share is None:
        return Passage(gate, "error", None)
    low, high = gate.at_least, gate.at_most
    held = (low is None or share >= low) and (high is None or share <= high)
    return Passage(gate, "pass" if held else "fail", share)


def _share(figure: str, report: Mapping[str, Any]) -> float | None:
    room, split, name = figure.split(".")
    measured = report.get(room, {}).get("splits", {}).get(split, {}).get("figures", {}).get(name, {})
    share: float | None = measured.get("share")
    return share
