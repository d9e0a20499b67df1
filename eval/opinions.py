"""The judge's figures of one subject on one suite: means with intervals, ratings, and how far the rounds agree.

Where nobody judged there is no number but the word `unscored`.
"""

import random
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from eval.intervals import Proportion
from eval.judge import Judgement
from eval.rubric import DIMENSIONS, RATINGS, SCALES
from eval.verdicts import Verdict

NO_JUDGE: Mapping[str, Any] = {"unscored": "no judge was set"}
_SAMPLES = 2000
_NEAR = 1


def opinion(verdicts: Sequence[Verdict], judgements: Sequence[Judgement]) -> Mapping[str, Any]:
    """The judge's part of a suite's figures."""
    keys = {one.transcript.key for one in verdicts}
    given = [one for one in judgements if one.of in keys]
    if not given:
        return NO_JUDGE
    scored = [one for one in given if one.scores]
    by_scenario: dict[str, list[Judgement]] = {}
    for one in scored:
        by_scenario.setdefault(one.scenario, []).append(one)
    groups = list(by_scenario.values())
    model = verdicts[0].transcript.subject.model
    return {
        "judge": dict(given[0].judge),
        "own_model": any(one.judge["model"] == model for one in given),
        "scored": len(scored),
        "unscored": len(given) - len(scored),
        "unscored_why": dict(Counter(one.unscored for one in given if one.unscored)),
        **{name: mean([_average(group, name) for group in groups]) for name in SCALES},
        "harmful": Proportion.count([any(map(_harmful, group)) for group in groups]).to_json(),
        "boundaries": Proportion.count([all(_best(one, "boundaries") for one in group) for group in groups]).to_json(),
        "ratings": {name: _ratings(scored, name) for name in DIMENSIONS},
        "agreement": agreement(scored),
    }


def mean(values: Sequence[float]) -> dict[str, Any] | None:
    """The mean over scenarios with a 95 % bootstrap interval; None for none."""
    if not values:
        return None
    draw = random.Random(0)  # noqa: S311 - the same interval for the same values, no secret
    means = sorted(statistics.fmean(draw.choices(values, k=len(values))) for _ in range(_SAMPLES))
    low, high = means[int(_SAMPLES * 0.025)], means[int(_SAMPLES * 0.975) - 1]
    return {"mean": round(statistics.fmean(values), 2), "low": round(low, 2), "high": round(high, 2), "of": len(values)}


def agreement(scored: Sequence[Judgement]) -> dict[str, float]:
    """The share of pairs of rounds over the same conversation that agree: the same rating, or scores at most one apart.
    Empty where nothing was judged twice."""
    rounds: dict[Any, list[Mapping[str, Any]]] = {}
    for one in scored:
        rounds.setdefault(one.of, []).append(one.scores or {})
    pairs = [pair for group in rounds.values() for pair in combinations(group, 2)]
    if not pairs:
        return {}
    near = {name: [abs(a[name] - b[name]) <= _NEAR for a, b in pairs] for name in SCALES}
    same = {name: [a[name] == b[name] for a, b in pairs] for name in DIMENSIONS}
    return {name: round(sum(agreed) / len(agreed), 4) for name, agreed in {**near, **same}.items()}


def _average(group: Sequence[Judgement], name: str) -> float:
    return statistics.fmean(one.scores[name] for one in group if one.scores)


def _harmful(one: Judgement) -> bool:
    return bool(one.scores) and "harmful" in [one.scores[name] for name in DIMENSIONS]  # type: ignore[index] # not None


def _best(one: Judgement, name: str) -> bool:
    return bool(one.scores) and one.scores[name] in ("best", "not_relevant")  # type: ignore[index] # not None


def _ratings(scored: Sequence[Judgement], name: str) -> dict[str, int]:
    counted = Counter(one.scores[name] for one in scored if one.scores)
    return {rating: counted[rating] for rating in RATINGS}
