"""Which learned stage? `make compare-shield` trains each candidate on the same lines and judges the same tune part.

Candidates: hashed word and character n-grams (linear); all-MiniLM-L6-v2 and multilingual-e5-small, frozen, with a
linear head; MiniLM fine-tuned; the upper half of e5's layers fine-tuned (the one that ships). `--curve` instead trains
the last one on 500, 1,000, 2,500, 5,000 and all lines.
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from eval.cases import ShieldCase, shield_cases
from eval.training import minilm, network, source, vocabulary
from eval.training.examples import Example
from eval.training.fitting import Plan, Scores, fit, scores
from eval.training.ngrams import BUCKETS, buckets
from eval.training.shield import FIXED, LAYERS, last
from eval.training.shield_lines import WEIGHTS, Line, dull, read, varied
from shield.learned import OUTPUTS, segments
from textrules.encoder import Segments

CURVE = (500, 1000, 2500, 5000)
_Judge = Callable[[Sequence[Line], list[Segments]], Scores]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m eval.training.compare", description=__doc__)
    parser.add_argument("--curve", action="store_true")
    parser.add_argument("--only", type=int, default=9)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    told = parser.parse_args()
    lines, cases = read(), [case for case in shield_cases() if case.split == "tune"]
    plan = Plan(WEIGHTS, epochs=told.epochs, threads=told.threads, varied=varied(dull()))
    if told.curve:
        order = np.random.default_rng(0).permutation(len(lines))
        for count in (*CURVE, len(lines)):
            _show(f"{count} lines", _e5_tuned(plan), [lines[n] for n in order[:count]], cases)
        return
    candidates: dict[str, _Judge] = {
        "hashed n-grams, linear": _ngrams,
        "MiniLM-L6 frozen, linear head": _minilm_frozen,
        "e5-small (12 layers) frozen, linear head": _e5_frozen,
        "MiniLM-L6 fine-tuned": _minilm_tuned(plan),
        "e5-small, upper 6 of 12 layers fine-tuned": _e5_tuned(plan),
    }
    for name, judge in list(candidates.items())[: told.only]:
        _show(name, judge, lines, cases)


def _show(name: str, judge: _Judge, lines: Sequence[Line], cases: Sequence[ShieldCase]) -> None:
    began = time.perf_counter()
    found = judge(lines, [segments(case.turns, last(case)) for case in cases])
    took = time.perf_counter() - began
    print(json.dumps({"candidate": name, "seconds": round(took), **_figures(found, cases)}), flush=True)


def _figures(found: Scores, cases: Sequence[ShieldCase]) -> dict[str, Any]:
    """Area under the curve and recall at 5 % false alarms, in all, in English, in the other languages."""
    crisis = np.array([case.crisis for case in cases])
    english = np.array([case.language == "en" for case in cases])
    said = {}
    for name, part in (("all", english | ~english), ("en", english), ("other languages", ~english)):
        limit = np.quantile(found[part & ~crisis], 0.95)
        auc = roc_auc_score(crisis[part], found[part])
        said[name] = {"auc": round(float(auc), 3), "recall": round(float((found[part & crisis] > limit).mean()), 3)}
    return said


def _linear(train: Any, lines: Sequence[Line], judged: Any, strength: float) -> Scores:
    truth = np.array([line.level != "none" for line in lines])
    model = LogisticRegression(C=strength, max_iter=2000, random_state=0).fit(train, truth)
    return np.asarray(model.decision_function(judged), np.float32)


def _ngrams(lines: Sequence[Line], asked: list[Segments]) -> Scores:
    return _linear(_hashed([one.example.segments for one in lines]), lines, _hashed(asked), 8.0)


def _hashed(texts: Sequence[Segments]) -> csr_matrix:
    rows = [sorted(buckets(" ".join(text))) for text in texts]
    starts = np.cumsum([0, *map(len, rows)])
    values = np.concatenate([np.full(len(row), 1 / np.sqrt(max(1, len(row)))) for row in rows])
    return csr_matrix((values, [bucket for row in rows for bucket in row], starts), shape=(len(texts), BUCKETS))


def _frozen(made: network.Network, tokenizer: Any, lines: Sequence[Line], asked: list[Segments]) -> Scores:
    width = made.head.in_features
    made.head = network.identity(width)
    train = scores(made, tokenizer, [line.example.segments for line in lines])
    return _linear(_unit(train), lines, _unit(scores(made, tokenizer, asked)), 100.0)


def _minilm_frozen(lines: Sequence[Line], asked: list[Segments]) -> Scores:
    return _frozen(minilm.started(1), minilm.tokenizer(), lines, asked)


def _e5_frozen(lines: Sequence[Line], asked: list[Segments]) -> Scores:
    start = source.installed()
    ids = vocabulary.kept(start, (text for line in lines for text in line.example.segments), vocabulary.EVERY)
    made = network.started(start, ids, range(start.layers), 1)
    return _frozen(made, vocabulary.tokenizer(start, ids), lines, asked)


def _minilm_tuned(plan: Plan) -> _Judge:
    def judge(lines: Sequence[Line], asked: list[Segments]) -> Scores:
        return _tuned(minilm.started(len(OUTPUTS)), minilm.tokenizer(), plan, lines, asked)

    return judge


def _e5_tuned(plan: Plan) -> _Judge:
    def judge(lines: Sequence[Line], asked: list[Segments]) -> Scores:
        start = source.installed()
        ids = vocabulary.kept(start, (text for line in lines for text in line.example.segments), vocabulary.EVERY)
        made = network.started(start, ids, LAYERS, len(OUTPUTS), fixed=FIXED)
        return _tuned(made, vocabulary.tokenizer(start, ids), plan, lines, asked)

    return judge


def _tuned(made: network.Network, tokenizer: Any, plan: Plan, lines: Sequence[Line], asked: list[Segments]) -> Scores:
    examples: list[Example] = [line.example for line in lines]
    for _ in fit(made, tokenizer, examples, plan):
        pass
    return scores(made, tokenizer, asked)[:, 0]


def _unit(vectors: Scores) -> Scores:
    unit: Scores = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


if __name__ == "__main__":
    main()
