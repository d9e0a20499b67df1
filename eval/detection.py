"""How well SHIELD finds people in crisis, and whom it disturbs for nothing."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from eval.cases import ShieldCase
from eval.intervals import Proportion
from eval.timing import Stopwatch
from shield.assessment import LEVELS, Level, rank
from shield.detect import Detector

Figures = dict[str, Proportion]


@dataclass(frozen=True, slots=True)
class Judged:
    """A case and what SHIELD made of it."""

    case: ShieldCase
    level: Level
    categories: tuple[str, ...]

    @property
    def found(self) -> bool:
        return self.level != "none"

    @property
    def short_by(self) -> int:
        """How many levels below its own the case was reported; 0 where none."""
        return max(0, rank(self.case.level) - rank(self.level))


def judge(cases: Iterable[ShieldCase], detector: Detector, watch: Stopwatch) -> list[Judged]:
    """Every case through the detector, one after the other, each call timed."""
    # Hyperscan allocates and the caches fill on the first calls: these are start-up, not what a message costs.
    kept = list(cases)
    for case in kept[:20]:
        detector.assess(case.turns)
    return [_judged(case, detector, watch) for case in kept]


def figures(judged: Sequence[Judged]) -> Figures:
    """The main figures of a set of cases."""
    crisis = [one for one in judged if one.case.crisis]
    grave = [one for one in judged if one.case.grave]
    ordinary = [one for one in judged if not one.case.crisis]
    return {
        "crisis_recall": Proportion.count([one.found for one in crisis]),
        "grave_recall": Proportion.count([one.found for one in grave]),
        "grave_at_least_moderate": Proportion.count([rank(one.level) >= rank("moderate") for one in grave]),
        "false_alarms": Proportion.count([one.found for one in ordinary]),
        "exact_level": Proportion.count([one.level == one.case.level for one in judged]),
        "at_least_level": Proportion.count([not one.short_by for one in crisis]),
        "category_named": Proportion.count([_names(one, c) for one in crisis for c in one.case.categories]),
    }


def report(judged: Sequence[Judged], watch: Stopwatch) -> dict[str, Any]:
    """Everything that is known of one run, ready for JSON. Missed cases are named for the develop split only: whoever
    reads the others' ids begins to develop on them."""
    return {
        "cases": len(judged),
        "time_per_assess": watch.to_json(),
        "splits": {split: _split(part) for split, part in by(judged, lambda one: [one.case.split]).items()},
        "develop_missed": [one.case.id for one in judged if _missed(one) and one.case.split == "develop"],
        "develop_false_alarms": [one.case.id for one in judged if _alarm(one) and one.case.split == "develop"],
    }


def by(judged: Iterable[Judged], keys: Callable[[Judged], Iterable[str]]) -> dict[str, list[Judged]]:
    """The cases by each of their keys, in the keys' alphabetical order."""
    groups: dict[str, list[Judged]] = {}
    for one in judged:
        for key in keys(one):
            groups.setdefault(key, []).append(one)
    return dict(sorted(groups.items()))


def _split(judged: Sequence[Judged]) -> dict[str, Any]:
    crisis = [one for one in judged if one.case.crisis]
    ordinary = [one for one in judged if not one.case.crisis]
    levels = by(judged, lambda one: [one.case.level])
    return {
        "figures": _json(figures(judged)),
        "recall_by_category": _rates(by(crisis, lambda one: one.case.categories)),
        "recall_by_level": _rates({level: levels[level] for level in LEVELS[1:] if level in levels}),
        "recall_by_language": _rates(by(crisis, lambda one: [one.case.language])),
        "recall_by_source": _rates(by(crisis, lambda one: [one.case.source])),
        "false_alarms_by_source": _rates(by(ordinary, lambda one: [one.case.source])),
        "false_alarms_by_language": _rates(by(ordinary, lambda one: [one.case.language])),
        "false_alarms_by_topic": _rates(by(ordinary, lambda one: [one.case.topic] if one.case.topic else [])),
        "levels": {level: _row(levels[level]) for level in LEVELS if level in levels},
        "under_call_by": dict(sorted(Counter(one.short_by for one in crisis if one.short_by).items())),
    }


def _judged(case: ShieldCase, detector: Detector, watch: Stopwatch) -> Judged:
    assessment = watch(lambda: detector.assess(case.turns))
    return Judged(case, assessment.level, assessment.categories)


def _row(judged: Sequence[Judged]) -> dict[str, int]:
    """How often cases of one level were reported at each level."""
    counted = Counter(one.level for one in judged)
    return {level: counted[level] for level in LEVELS}


def _rates(groups: dict[str, list[Judged]]) -> dict[str, Any]:
    return {key: Proportion.count([one.found for one in group]).to_json() for key, group in groups.items()}


def _json(named: Figures) -> dict[str, Any]:
    return {name: proportion.to_json() for name, proportion in named.items()}


def _names(one: Judged, category: str) -> bool:
    return category in one.categories


def _missed(one: Judged) -> bool:
    return one.case.crisis and not one.found


def _alarm(one: Judged) -> bool:
    return one.found and not one.case.crisis
