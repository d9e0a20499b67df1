"""What a run must hold, or it passes no gate: eval/gates.toml's [[zero]], [[ratio]] and the corpora's [[gate]] floors.

Unknown is not a pass: an unfinished run, a figure that was not measured, and a run with nothing to gate are errors.
"""

import statistics
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from eval import baselines, gates
from eval.findings import Finding, Outcome
from eval.transcripts import Exchange
from eval.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class Zero:
    """Replies that broke one of the checks are counted; with `grave` only those to high and imminent danger.

    `share`: as many of the replies that are asked may break it; `calm`: it is asked of people who are in no crisis.
    """

    name: str
    why: str
    checks: tuple[str, ...] = ()
    grave: bool = False
    errors: bool = False
    share: float = 0.0
    calm: bool = False


@dataclass(frozen=True, slots=True)
class Ratio:
    """`measure` is a name in _MEASURES; `unit` says what it counts."""

    name: str
    why: str
    measure: str
    at_most: float
    unit: str = ""

    @property
    def limit(self) -> str:
        return f"<= {self.at_most:g} {self.unit}".rstrip()


@dataclass(frozen=True, slots=True)
class Place:
    """Where a gate was missed, and the command that has this conversation again."""

    suite: str
    scenario: str
    repeat: int
    turn: int
    why: str
    reproduce: str


@dataclass(frozen=True, slots=True)
class Passage:
    """A gate and how it was passed. `measured` is None where there was nothing to measure."""

    name: str
    subject: str
    outcome: Outcome
    measured: float | None
    limit: str
    why: str
    where: tuple[Place, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class RunGates:
    """The gates of a file."""

    zero: tuple[Zero, ...]
    ratio: tuple[Ratio, ...]
    floors: tuple[gates.Gate, ...]

    @classmethod
    def load(cls, file: Path = gates.FILE) -> "RunGates":
        """Raises OSError, ValueError, KeyError or TypeError for a file that is none."""
        table = tomllib.loads(file.read_text(encoding="utf-8"))
        zero = tuple(Zero(**row | {"checks": tuple(row.get("checks", ()))}) for row in table.get("zero", ()))
        return cls(zero, tuple(Ratio(**row) for row in table.get("ratio", ())), gates.load(file))


def gated(subjects: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The subjects that reach people; where a run has none of them, all it has."""
    every = list(subjects)
    return [one for one in every if one["kind"] == "service"] or every


def check(
    report: Mapping[str, Any],
    verdicts: Sequence[Verdict],
    wanted: RunGates,
    *,
    reproduce: Mapping[Any, str],
    folder: Path = baselines.FOLDER,
) -> list[Passage]:
    """Every gate against a report as far as it is made, and the verdicts it was made from."""
    passages = [_complete(report["run"])]
    digests = {suite["name"]: suite["digest"] for suite in report["run"]["suites"]}
    for subject in gated(report["subjects"]):
        own = [one for one in verdicts if one.transcript.subject.name == subject["name"]]
        passages += [_zero(gate, subject["name"], own, reproduce) for gate in wanted.zero]
        known = baselines.find(subject, digests, folder)
        passages += list(_ratios(wanted.ratio, subject, own, known))
    if not report["subjects"]:
        passages.append(Passage("gated", "run", "error", 0, ">= 1 subject", "Something is evaluated."))
    return passages + list(_floors(wanted.floors, report["corpora"]))


def _complete(run: Mapping[str, Any]) -> Passage:
    done, planned = run["done"], run["planned"]
    outcome: Outcome = "pass" if planned and done >= planned else "error"
    why = "Every conversation that was planned is had; --resume goes on with an unfinished run."
    return Passage("complete", "run", outcome, done, f">= {planned} conversations", why)


def _zero(gate: Zero, subject: str, verdicts: Sequence[Verdict], reproduce: Mapping[Any, str]) -> Passage:
    places = tuple(
        Place(
            suite=one.transcript.suite,
            scenario=one.transcript.scenario.id,
            repeat=one.transcript.repeat,
            turn=turn,
            why="; ".join(dict.fromkeys(f"{found.check}: {found.why}" for found in broken)),
            reproduce=reproduce[one.transcript.key],
        )
        for one in verdicts
        for turn, broken in _broken(gate, one)
    )
    asked = sum(any(_asks(gate, found) for found in each) for one in verdicts for each in one.exchanges)
    broken = len(places) > gate.share * asked
    outcome: Outcome = "fail" if broken else "pass" if asked or not _needed(gate, verdicts) else "error"
    limit = f"<= {gate.share:.0%} of {asked} replies" if gate.share else "<= 0 replies"
    return Passage(gate.name, subject, outcome, len(places), limit, gate.why, places)


def _broken(gate: Zero, verdict: Verdict) -> Iterator[tuple[int, list[Finding]]]:
    for turn, found in enumerate(verdict.exchanges):
        if gate.grave and not verdict.transcript.scenario.turns[turn].grave:
            continue
        broken = [one for one in found if _asks(gate, one) and one.outcome != "pass"]
        if broken:
            yield turn, broken


def _asks(gate: Zero, found: Finding) -> bool:
    return found.outcome == "error" if gate.errors else found.check in gate.checks


def _needed(gate: Zero, verdicts: Sequence[Verdict]) -> bool:
    """Whether the run has turns that the gate is about: then no finding at all means that nothing was checked."""
    if gate.errors or (
        gate.checks == ("level-reached",) and all(one.transcript.subject.kind == "raw" for one in verdicts)
    ):
        return False  # no error is what is hoped for; a raw model gives no level
    turns = [turn for one in verdicts for turn in one.transcript.scenario.turns]
    return any(not turn.crisis if gate.calm else turn.grave if gate.grave else turn.crisis for turn in turns)


def _ratios(
    wanted: Sequence[Ratio], subject: Mapping[str, Any], verdicts: Sequence[Verdict], known: Mapping[str, Any]
) -> Iterator[Passage]:
    for gate in wanted:
        for suite, figures in subject["suites"].items():
            own = [one for one in verdicts if one.transcript.suite == suite]
            measured = _MEASURES[gate.measure](figures, own, known.get(suite))
            if measured is not None:
                outcome: Outcome = "pass" if measured <= gate.at_most else "fail"
                name = f"{subject['name']} on {suite}"
                yield Passage(gate.name, name, outcome, round(measured, 3), gate.limit, gate.why)


def _floors(floors: Sequence[gates.Gate], corpora: Mapping[str, Any] | None) -> Iterator[Passage]:
    for one in gates.check(tuple(floors), corpora or {}):
        why = (
            "What was reached on the corpora is kept."
            if corpora
            else "The corpora were not measured: run without --no-corpora."
        )
        yield Passage(one.gate.figure, "corpora", one.outcome, one.share, one.gate.limit, why)


def _first_help(figures: Mapping[str, Any], _own: object, _known: object) -> float | None:
    value: float | None = figures["latency_yardsticks"]["first_help"]
    return value


def _own_time(_figures: object, own: Sequence[Verdict], _known: object) -> float | None:
    """Of what goes through the service: the whole reply without its model's part."""
    shares = [
        ((one.timings["total_ms"] or 0.0) - sum(call.total_ms for call in one.calls)) / each.transcript.yardstick_ms
        for each in own
        for one in each.transcript.exchanges
        if not one.error and each.transcript.subject.kind == "service"
    ]
    return statistics.median(shares) if shares else None


def _timeouts(_figures: object, own: Sequence[Verdict], _known: object) -> float | None:
    """Of the replies for which a model was asked, or was not because it had been too slow before."""
    every = [one for each in own for one in each.transcript.exchanges]
    replies = [one for one in every if one.calls or _left_alone(one)]
    late = [one for one in replies if _left_alone(one) or any(call.outcome == "timeout" for call in one.calls)]
    return len(late) / len(replies) if replies else None


def _left_alone(exchange: Exchange) -> bool:
    """Whether the chain went past a backend that had failed too often."""
    return any(mark.endswith("-circuit-open") for mark in exchange.degraded)


def _total_over_baseline(figures: Mapping[str, Any], _own: object, known: Any) -> float | None:
    before = known and known["latency_yardsticks"]["total"]
    now = figures["latency_yardsticks"]["total"]
    return now / before if before and now else None


_MEASURES: Mapping[str, Any] = {
    "first_help_yardsticks": _first_help,
    "own_yardsticks": _own_time,
    "timeouts": _timeouts,
    "total_over_baseline": _total_over_baseline,
}
