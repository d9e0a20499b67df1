"""Trains SHIELD's learned stage: `make train` writes shield/learned_model and the figures of its model card.

Text: eval/data/shield_*.jsonl (the develop parts) and eval/data/train/*.jsonl, all written for this project. Thresholds
come from predictions across authors: each file is judged by a model that never saw it. Needs scikit-learn (extra
`train`); nothing of it is needed to run the service. The same text and seed give the same bytes.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from eval.intervals import wilson
from shield.features import BUCKETS, buckets, windows

DATA = Path(__file__).parent / "data"
OUT = Path(__file__).parent.parent / "shield" / "learned_model"
LANGUAGES = ("en", "es")
STRENGTH = 8.0  # inverse regularisation; 4 to 16 differ by less than a point
FALSE_ALARMS = {"low": 0.04, "moderate": 0.02, "high": 0.01}
"""The share of hard negatives, judged across authors, that may reach each threshold."""

Vector = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Line:
    """One labelled message and the file it stands in."""

    source: str
    text: str
    crisis: bool
    grave: bool


def main() -> None:
    lines = read()
    sources = np.array([line.source for line in lines])
    heads = {name: np.array([getattr(line, name) for line in lines]) for name in ("crisis", "grave")}
    judged = {name: across_authors(lines, name) for name in heads}
    limits = thresholds(judged, heads)
    models = {name: fitted(lines, name) for name in heads}
    facts = {
        "buckets": BUCKETS,
        "languages": list(LANGUAGES),
        "thresholds": limits,
        "heads": {name: {"scale": scale(model), "bias": float(model.intercept_[0])} for name, model in models.items()},
        "trained_on": {source: int((sources == source).sum()) for source in sorted(set(sources))},
        "across_authors": figures(judged["crisis"], heads, sources, limits),
    }
    OUT.mkdir(exist_ok=True)
    (OUT / "model.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    (OUT / "weights.bin").write_bytes(b"".join(quantised(models[name]) for name in ("crisis", "grave")))
    print(json.dumps(facts, indent=2))


def read() -> list[Line]:
    """Every labelled single message but the report parts, which only report."""
    lines = []
    for file in sorted([*DATA.glob("shield_*.jsonl"), *(DATA / "train").glob("*.jsonl")]):
        for row in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
            if "text" in row and row.get("split") != "report" and row.get("language", "en") in LANGUAGES:
                lines.append(Line(file.stem, row["text"], row["level"] != "none", row["level"] in ("high", "imminent")))
    return lines


def features(texts: Sequence[str]) -> csr_matrix:
    """Rows of length one, as `LearnedStage` weighs them."""
    filled = [sorted(buckets(text)) for text in texts]
    starts = np.cumsum([0, *map(len, filled)])
    ones = np.ones(starts[-1])
    matrix = csr_matrix((ones, [bucket for row in filled for bucket in row], starts), shape=(len(texts), BUCKETS))
    return diags(1 / np.sqrt(np.maximum(1, np.diff(starts)))) @ matrix


def fitted(lines: Sequence[Line], head: str) -> LogisticRegression:
    """Learns from whole messages, and from every run of sentences of the harmless ones, which are harmless too."""
    rows = [(line.text, getattr(line, head)) for line in lines]
    rows += [(run, False) for line in lines if not line.crisis for run in windows(line.text) if run != line.text]
    truth = np.array([label for _, label in rows])
    return LogisticRegression(C=STRENGTH, max_iter=1000, random_state=0).fit(
        features([text for text, _ in rows]), truth
    )


def across_authors(lines: Sequence[Line], head: str) -> Vector:
    """The probability of each line's gravest run of sentences, by a model that saw none of its file."""
    judged = np.zeros(len(lines))
    for source in sorted({line.source for line in lines}):
        model = fitted([line for line in lines if line.source != source], head)
        for place, line in enumerate(lines):
            if line.source == source:
                judged[place] = model.predict_proba(features(windows(line.text)))[:, 1].max()
    return judged


def thresholds(judged: dict[str, Vector], heads: dict[str, Flags]) -> dict[str, float]:
    """Where the allowed share of negatives lies below: of no crisis for low and moderate, of nothing grave for high."""
    calm, mild = ~heads["crisis"], ~heads["grave"]
    return {
        "low": round(float(np.quantile(judged["crisis"][calm], 1 - FALSE_ALARMS["low"])), 4),
        "moderate": round(float(np.quantile(judged["crisis"][calm], 1 - FALSE_ALARMS["moderate"])), 4),
        "high": round(float(np.quantile(judged["grave"][mild], 1 - FALSE_ALARMS["high"])), 4),
    }


def scale(model: LogisticRegression) -> float:
    return float(np.abs(model.coef_).max() / 127)


def quantised(model: LogisticRegression) -> bytes:
    rounded: NDArray[np.int8] = np.round(model.coef_[0] / scale(model)).astype(np.int8)
    return rounded.tobytes()


def figures(
    judged: Vector, heads: dict[str, Flags], sources: NDArray[np.str_], limits: dict[str, float]
) -> dict[str, Any]:
    """Area under the curve, recall and false alarms at the low threshold, for each file and in all."""
    return {
        name: _figures(judged[part], heads["crisis"][part], limits["low"])
        for name, part in [("all", sources == sources), *((s, sources == s) for s in sorted(set(sources)))]
    }


def _figures(judged: Vector, truth: Flags, limit: float) -> dict[str, Any]:
    found, alarms = int((judged[truth] >= limit).sum()), int((judged[~truth] >= limit).sum())
    return {
        "auc": round(float(roc_auc_score(truth, judged)), 3),
        "recall": _share(found, int(truth.sum())),
        "false_alarms": _share(alarms, int((~truth).sum())),
    }


def _share(part: int, whole: int) -> dict[str, Any]:
    low, high = wilson(part, whole)
    return {
        "n": part,
        "of": whole,
        "share": round(part / max(1, whole), 3),
        "interval": [round(low, 3), round(high, 3)],
    }


if __name__ == "__main__":
    main()
