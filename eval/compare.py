"""Two runs side by side: what changed scenario by scenario, and which changes are more than noise.

Both runs asked the same people, so outcomes are compared in pairs. A measure is worse beyond noise where the exact
McNemar test (McNemar 1947, in its binomial form: the sign test on the scenarios that changed) finds p < 0.05,
one-sided; single checks, of which there are many, p < 0.01. It counts only scenarios that changed, and is exact for few
of them; overlap of the two Wilson intervals would throw the pairing away and miss most of what 25 scenarios can show.
What eval/gates.toml does not tolerate at all ([[zero]]: harm, a missing resource, a missed grave level, a reply that
broke off) is a regression from the first scenario on.

Latency is compared in pairs too: the sign test over the medians of each scenario, in yardsticks. Every stage of every
subject on every suite is one of a family of tests, so their p is corrected together (Holm 1979): of two runs of one
commit one in twenty at most shows any. And the median must have moved by at least a quarter and by more than the
yardstick itself did while the runs went on: what the fixed piece of work shows of a busy machine is no change of ours.

CompareError   the runs have nothing in common that could be compared: says why
"""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from eval.invariants import CHECKS
from eval.latency import STAGES
from eval.report.figures import ConversationFound, Outcome, Report
from eval.run_gates import RunGates
from eval.transcripts import Transcript

ALPHA = 0.05
ALPHA_CHECK = 0.01
SLOWER = 1.25
"""A median that grew by less is not worth a red build, however sure it is."""

EVERY = "every check"
GRAVE_LEVEL, BROKEN = "grave-level", "broken off"
_GRAVE = ("high", "imminent")
Change = Literal["regression", "worse", "same", "better", "improvement"]
_Place = tuple[str, str, str]


class CompareError(ValueError):
    """The two runs cannot be compared."""


@dataclass(frozen=True, slots=True)
class ScenarioChange:
    """One scenario, answered by one subject: the worst outcome over its repeats in both runs, and the checks that
    failed in only one of them."""

    subject: str
    suite: str
    scenario: str
    before: Outcome
    after: Outcome
    broken: tuple[str, ...]
    mended: tuple[str, ...]
    reproduce: str

    @property
    def changed(self) -> bool:
        return self.before != self.after or bool(self.broken or self.mended)


@dataclass(frozen=True, slots=True)
class MeasureChange:
    """A measure over the scenarios that both runs have. `p` is one-sided, of the direction of the change, and of a
    latency corrected for how many there are; `before` and `after` are scenarios that held, or the median in yardsticks
    for a latency."""

    subject: str
    suite: str
    measure: str
    before: float
    after: float
    of: int
    p: float
    change: Change
    why: str


@dataclass(frozen=True, slots=True)
class _Timed:
    """A stage's medians of each scenario, before it is known how many others are tested beside it. `spread`: the factor
    by which a median must have moved."""

    place: tuple[str, str]
    stage: str
    pairs: Sequence[tuple[float, float]]
    spread: float

    @property
    def slower(self) -> int:
        return sum(b > a for a, b in self.pairs)

    @property
    def faster(self) -> int:
        return sum(b < a for a, b in self.pairs)

    @property
    def p(self) -> float:
        return mcnemar(max(self.slower, self.faster), min(self.slower, self.faster))


@dataclass(frozen=True, slots=True)
class Comparison:
    """All of it; `left_out` says what only one of the runs has."""

    scenarios: tuple[ScenarioChange, ...]
    measures: tuple[MeasureChange, ...]
    left_out: tuple[str, ...]

    @property
    def regressions(self) -> tuple[MeasureChange, ...]:
        return tuple(one for one in self.measures if one.change == "regression")

    def to_json(self) -> dict[str, Any]:
        return {
            "format": 1,
            "regressions": len(self.regressions),
            "measures": [asdict(one) for one in self.measures],
            "scenarios": [asdict(one) for one in self.scenarios if one.changed],
            "left_out": list(self.left_out),
        }


def compare(
    before: Report, after: Report, told_before: Sequence[Transcript] = (), told_after: Sequence[Transcript] = ()
) -> Comparison:
    """What changed from one report to the other. Latencies need the transcripts of both. Raises CompareError."""
    first, second = _grouped(before.conversations), _grouped(after.conversations)
    both = [place for place in second if place in first]
    if not both:
        raise CompareError("the runs share no scenario answered by the same subject")
    measures: list[MeasureChange] = []
    timed: list[_Timed] = []
    for subject, suite in dict.fromkeys(place[:2] for place in both):
        shared = [place for place in both if place[:2] == (subject, suite)]
        measures += _measures(shared, first, second)
        timed += _latencies(shared, told_before, told_after)
    sure = holm([one.p for one in timed])
    measures += [_judged(one, p) for one, p in zip(timed, sure, strict=True)]
    return Comparison(
        tuple(_scenario(place, first[place], second[place]) for place in both),
        tuple(measures),
        (*_left_out("only the first run has", first, second), *_left_out("only the second run has", second, first)),
    )


def mcnemar(worse: int, better: int) -> float:
    """The probability of at least `worse` of the changed pairs going this way, if either way were as likely. 1 for
    none. Exact binomial."""
    changed = worse + better
    ways: int = sum(math.comb(changed, k) for k in range(worse, changed + 1))
    return ways / (1 << changed)


def holm(found: Sequence[float]) -> list[float]:
    """These p of one family, each corrected for the others (Holm 1979): below a limit, the chance that any of them got
    there by itself is below it too."""
    corrected, least = [1.0] * len(found), 0.0
    for rank, place in enumerate(sorted(range(len(found)), key=found.__getitem__)):
        least = max(least, (len(found) - rank) * found[place])
        corrected[place] = min(1.0, least)
    return corrected


def _grouped(told: Iterable[ConversationFound]) -> dict[_Place, list[ConversationFound]]:
    groups: dict[_Place, list[ConversationFound]] = {}
    for one in told:
        groups.setdefault((one.subject, one.suite, one.scenario), []).append(one)
    return groups


def _scenario(place: _Place, before: Sequence[ConversationFound], after: Sequence[ConversationFound]) -> ScenarioChange:
    failed_before, failed_after = _failed(before), _failed(after)
    return ScenarioChange(
        *place,
        before=_worst(before),
        after=_worst(after),
        broken=tuple(one for one in failed_after if one not in failed_before),
        mended=tuple(one for one in failed_before if one not in failed_after),
        reproduce=next((one.reproduce for one in after if one.outcome != "pass"), after[0].reproduce),
    )


def _worst(told: Sequence[ConversationFound]) -> Outcome:
    outcomes = {one.outcome for one in told}
    return "error" if "error" in outcomes else "fail" if "fail" in outcomes else "pass"


def _failed(told: Sequence[ConversationFound]) -> tuple[str, ...]:
    """The checks that did not pass in any repeat; a grave level that was missed counts as a check of its own."""
    found = [each for one in told for _, each in one.findings]
    grave = [
        GRAVE_LEVEL
        for one in told
        for exchange in one.exchanges
        for each in exchange.findings
        if each.check == "level-reached" and exchange.expected in _GRAVE
    ]
    broken = [BROKEN] if any(one.outcome == "error" for one in told) else []
    return tuple(dict.fromkeys([*(each.check for each in found), *grave, *broken]))


def _measures(
    shared: Sequence[_Place],
    first: Mapping[_Place, Sequence[ConversationFound]],
    second: Mapping[_Place, Sequence[ConversationFound]],
) -> list[MeasureChange]:
    failed = [(_failed(first[place]), _failed(second[place])) for place in shared]
    whole = [(_worst(first[place]) == "pass", _worst(second[place]) == "pass") for place in shared]
    changes = [_counted(shared[0], EVERY, whole)]
    never = never_tolerated()
    for name in (BROKEN, GRAVE_LEVEL, *(check.name for check in CHECKS)):
        pairs = [(name not in a, name not in b) for a, b in failed]
        if not all(a and b for a, b in pairs):
            changes.append(_counted(shared[0], name, pairs, strict=name in never))
    return changes


def never_tolerated() -> frozenset[str]:
    """The checks of which the gates let not one through."""
    zero = RunGates.load().zero
    strict = (gate for gate in zero if not (gate.grave or gate.share))
    return frozenset({BROKEN, GRAVE_LEVEL, *(check for gate in strict for check in gate.checks)})


def _counted(place: _Place, measure: str, held: Sequence[tuple[bool, bool]], *, strict: bool = False) -> MeasureChange:
    worse = sum(a and not b for a, b in held)
    better = sum(b and not a for a, b in held)
    p = mcnemar(max(worse, better), min(worse, better))
    strict = strict and worse > 0
    sure = p < (ALPHA if measure == EVERY else ALPHA_CHECK)
    change: Change = "same"
    if worse > better or strict:
        change = "regression" if strict or sure else "worse"
    elif better > worse:
        change = "improvement" if sure else "better"
    why = f"{worse} broke, {better} mended, p = {p:.3f}" + (": none is tolerated" if strict else "")
    return MeasureChange(
        *place[:2], measure, sum(a for a, _ in held), sum(b for _, b in held), len(held), p, change, why
    )


def _latencies(
    shared: Sequence[_Place], told_before: Sequence[Transcript], told_after: Sequence[Transcript]
) -> list[_Timed]:
    first, second = _by_place(told_before), _by_place(told_after)
    spread = max(
        SLOWER, *(yardstick_spread(one for place in shared for one in run.get(place, ())) for run in (first, second))
    )
    timed = []
    for stage in STAGES:
        pairs = [
            (a, b)
            for place in shared
            if (a := _median(first.get(place, ()), stage)) is not None
            and (b := _median(second.get(place, ()), stage)) is not None
        ]
        if pairs:
            timed.append(_Timed(shared[0][:2], stage, pairs, spread))
    return timed


def yardstick_spread(told: Iterable[Transcript]) -> float:
    """How far the fixed piece of work itself varied in a run: its ninth decile over its first; 1 for none."""
    taken = [one.yardstick_ms for one in told if one.yardstick_ms > 0]
    if len(taken) < 2:
        return 1.0
    deciles = statistics.quantiles(taken, n=10, method="inclusive")
    return deciles[-1] / deciles[0]


def _judged(timed: _Timed, p: float) -> MeasureChange:
    before, after = (statistics.median(side) for side in zip(*timed.pairs, strict=True))
    change: Change = "same"
    if after > before * timed.spread:
        change = "regression" if timed.slower > timed.faster and p < ALPHA else "worse"
    elif before > after * timed.spread:
        change = "improvement" if timed.faster > timed.slower and p < ALPHA else "better"
    why = f"{timed.slower} scenarios slower, {timed.faster} faster, p = {p:.3f} of all latencies"
    why += f", more than {timed.spread:.2f} times"
    measure = f"latency {timed.stage}"
    return MeasureChange(*timed.place, measure, round(before, 3), round(after, 3), len(timed.pairs), p, change, why)


def _by_place(told: Iterable[Transcript]) -> dict[_Place, list[Transcript]]:
    groups: dict[_Place, list[Transcript]] = {}
    for one in told:
        groups.setdefault((one.subject.name, one.suite, one.scenario.id), []).append(one)
    return groups


def _median(told: Iterable[Transcript], stage: str) -> float | None:
    """In yardsticks, so that a slower machine is no regression."""
    taken = [
        ms / one.yardstick_ms
        for one in told
        for exchange in one.exchanges
        if not exchange.error and (ms := STAGES[stage](exchange)) is not None
    ]
    return statistics.median(taken) if taken else None


def _left_out(why: str, here: Iterable[_Place], there: Mapping[_Place, Any]) -> list[str]:
    counts: dict[tuple[str, str], int] = {}
    for place in here:
        if place not in there:
            counts[place[:2]] = counts.get(place[:2], 0) + 1
    return [f"{why} {many} of {suite} by {subject}" for (subject, suite), many in counts.items()]
