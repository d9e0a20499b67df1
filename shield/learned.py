"""SHIELD's learned stage: what no list of patterns can hold. Linear weights over hashed words cost microseconds.

It may only raise a level, never lower one, and only where its probability reaches a threshold that was chosen for a
stated rate of false alarms on text it was not trained on (docs/shield-model.md). It is asked about languages that it
was trained on.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from shield.assessment import Level
from shield.features import BUCKETS, buckets_of_windows
from textrules.language import identify


@dataclass(frozen=True, slots=True)
class Likelihood:
    """Probabilities between 0 and 1, at the half-and-half mixture of the training text: a crisis; high or imminent."""

    crisis: float
    grave: float


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Where a level begins: low and moderate by the probability of a crisis, high by that of a grave one."""

    low: float
    moderate: float
    high: float


@dataclass(frozen=True, slots=True)
class LearnedStage:
    """One byte a weight. `scales` and `biases` belong to the two heads, crisis and grave, in this order."""

    weights: tuple[memoryview, memoryview]
    scales: tuple[float, float]
    biases: tuple[float, float]
    thresholds: Thresholds
    languages: frozenset[str]

    @classmethod
    def load(cls) -> "LearnedStage":
        """The model that ships with the package. Raises ValueError when its two files do not belong together."""
        folder = files("shield") / "learned_model"
        facts = json.loads((folder / "model.json").read_text(encoding="utf-8"))
        raw = memoryview((folder / "weights.bin").read_bytes()).cast("b")
        if facts["buckets"] != BUCKETS or len(raw) != 2 * BUCKETS:
            raise ValueError(
                "shield/learned_model: weights.bin and model.json are of different trainings; run make train"
            )
        crisis, grave = facts["heads"]["crisis"], facts["heads"]["grave"]
        return cls(
            weights=(raw[:BUCKETS], raw[BUCKETS:]),
            scales=(crisis["scale"], grave["scale"]),
            biases=(crisis["bias"], grave["bias"]),
            thresholds=Thresholds(**facts["thresholds"]),
            languages=frozenset(facts["languages"]),
        )

    def reads(self, text: str) -> bool:
        """Whether the text is in a language of the training; one that cannot be told passes where it is plain ASCII."""
        language = identify(text)
        return language in self.languages or (language is None and text.isascii())

    def likelihood(self, text: str) -> Likelihood:
        """How likely the text comes from a person in crisis: that of its gravest run of sentences. Any Unicode."""
        runs = buckets_of_windows(text)
        return Likelihood(max(self._head(0, run) for run in runs), max(self._head(1, run) for run in runs))

    def level(self, text: str) -> tuple[Level, float]:
        """The level that the stage vouches for, and the probability that carries it; "none" below its thresholds."""
        found, limits = self.likelihood(text), self.thresholds
        if found.crisis < limits.low:
            return "none", found.crisis
        if found.grave >= limits.high and found.crisis >= limits.moderate:
            return "high", found.grave
        return ("moderate" if found.crisis >= limits.moderate else "low"), found.crisis

    def _head(self, head: int, filled: Sequence[int] | frozenset[int]) -> float:
        weights = self.weights[head]
        total = sum(map(weights.__getitem__, filled)) * self.scales[head] / math.sqrt(max(1, len(filled)))
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, total + self.biases[head]))))
