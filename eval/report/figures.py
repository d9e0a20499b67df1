"""report.json as typed values. docs/evaluation-formats.md describes the keys; unknown ones are passed over.

ReportError   there is no report, or a key is missing or of the wrong kind: says which file and which key
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

FILE = "report.json"
Outcome = Literal["pass", "fail", "error"]
Counts = dict[str, int]


class ReportError(ValueError):
    """The report cannot be read."""


@dataclass(frozen=True, slots=True)
class Rate:
    """`share` is None where `of` is 0: unknown, not zero. `low` and `high` are the 95 % Wilson interval."""

    hits: int
    of: int
    share: float | None
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Summary:
    """Quantiles of `n` measurements, in the unit of the key."""

    n: int
    p50: float
    p95: float
    p99: float
    max: float


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over `of` scenarios with its 95 % bootstrap interval."""

    mean: float | None
    low: float | None
    high: float | None
    of: int


@dataclass(frozen=True, slots=True)
class CheckCount:
    """One check over every exchange that it applied to."""

    dimension: str
    passed: Annotated[int, Field(alias="pass")]
    failed: Annotated[int, Field(alias="fail")]
    error: int
    rate: Rate


@dataclass(frozen=True, slots=True)
class Judged:
    """What the judge gave. `unscored` is a count, or the reason why there is no score at all."""

    unscored: int | str
    scored: int = 0
    empathy: Mean | None = None
    protocol: Mean | None = None
    harmful: Rate | None = None
    boundaries: Rate | None = None
    agreement: dict[str, float | None] | None = None
    own_model: bool = False


@dataclass(frozen=True, slots=True)
class SuiteFigures:
    """One suite, answered by one subject. `levels` is {expected: {reported: exchanges}}; None for a raw subject."""

    conversations: int
    exchanges: int
    errors: int
    passed: Rate
    harmful: Rate
    follows_protocol: Rate
    avoids_harm: Rate
    boundaries: Rate
    total: Rate
    checks: dict[str, CheckCount]
    categories: dict[str, Rate]
    judge: Judged
    levels: dict[str, Counts] | None = None
    sources: Counts = field(default_factory=dict)
    verdicts: Counts = field(default_factory=dict)
    degraded: Counts = field(default_factory=dict)
    latency_ms: dict[str, Summary | None] = field(default_factory=dict)
    latency_yardsticks: dict[str, float | None] = field(default_factory=dict)
    tokens_per_second: Summary | None = None


@dataclass(frozen=True, slots=True)
class AskedTable:
    """The client's detection table over some messages. `f1` is None where nothing was answered."""

    f1: float | None
    false_positives: Rate
    false_negatives: Rate


@dataclass(frozen=True, slots=True)
class Asked(AskedTable):
    """A raw model that was asked of messages whether they are a crisis, and SHIELD over the same ones."""

    asked: int
    unanswered: int
    shield_over_the_same: AskedTable


@dataclass(frozen=True, slots=True)
class SubjectFigures:
    """Who answered: `service` is the whole path, `raw` a model with nothing around it."""

    name: str
    kind: Literal["service", "raw"]
    model: str
    suites: dict[str, SuiteFigures]
    engine: str = ""
    gated: bool = False
    detection: Asked | None = None


@dataclass(frozen=True, slots=True)
class Where:
    """One place at which a gate failed, and the command that repeats it."""

    suite: str
    scenario: str
    repeat: int
    why: str
    reproduce: str
    turn: int | None = None


@dataclass(frozen=True, slots=True)
class GateLine:
    """A gate and how it was passed; `measured` is None where there was nothing to measure."""

    name: str
    outcome: Outcome
    limit: str
    subject: str | None = None
    measured: float | str | None = None
    why: str = ""
    where: tuple[Where, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """A finding that is not a pass. `spans` are half-open, in characters of the reply."""

    check: str
    dimension: str
    outcome: Outcome
    why: str
    spans: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class ExchangeFound:
    """What was found in one exchange; `reported` is None where SHIELD was not asked."""

    turn: int
    expected: str
    reported: str | None
    findings: tuple[Found, ...] = ()


@dataclass(frozen=True, slots=True)
class ConversationFound:
    """One scenario, answered by one subject, in one repeat."""

    subject: str
    suite: str
    scenario: str
    category: str
    repeat: int
    seed: int
    outcome: Outcome
    reproduce: str
    exchanges: tuple[ExchangeFound, ...]

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What tells it from every other one of its run; the same as a transcript's."""
        return self.subject, self.suite, self.scenario, self.repeat

    @property
    def findings(self) -> tuple[tuple[int, Found], ...]:
        """Each finding with its turn."""
        return tuple((one.turn, found) for one in self.exchanges for found in one.findings)


@dataclass(frozen=True, slots=True)
class RunAbout:
    """What was run. An unfinished run (`complete` false) supports no conclusion."""

    id: str
    started_at: str
    planned: int
    done: int
    complete: bool
    repeat: int = 1
    seed: int = 1
    concurrency: int = 1
    version: str = ""
    commit: str | None = None
    machine: dict[str, Any] = field(default_factory=dict)
    suites: tuple[dict[str, Any], ...] = ()
    judge: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """All of report.json."""

    run: RunAbout
    subjects: tuple[SubjectFigures, ...]
    gates: tuple[GateLine, ...]
    conversations: tuple[ConversationFound, ...]
    client: dict[str, Any] = field(default_factory=dict)
    corpora: dict[str, Any] | None = None

    @property
    def ordered(self) -> tuple[ConversationFound, ...]:
        """What went wrong first; else as it was run."""
        worst = {"error": 0, "fail": 1, "pass": 2}
        return tuple(sorted(self.conversations, key=lambda one: worst[one.outcome]))

    @property
    def failed_gates(self) -> tuple[GateLine, ...]:
        return tuple(gate for gate in self.gates if gate.outcome != "pass")


_REPORT = TypeAdapter(Report)
_FORMATS = (1,)


def read(folder: Path) -> Report:
    """The report of a run's folder, or of a report.json itself. Raises ReportError."""
    file = folder / FILE if folder.is_dir() or folder.suffix != ".json" else folder
    try:
        return parse(file.read_bytes(), str(file))
    except FileNotFoundError:
        raise ReportError(f"{file}: there is no report; make it with: crisis eval report --run {file.parent}") from None
    except OSError as error:
        raise ReportError(f"{file}: cannot be read: {error.strerror}") from None


def parse(raw: bytes | str, name: str = FILE) -> Report:
    """The report of a JSON text. Raises ReportError."""
    try:
        version = _VERSION.validate_json(raw).format
        if version not in _FORMATS:
            raise ReportError(f"{name}: format {version} is not {_FORMATS[-1]}; this version cannot read it")
        return _REPORT.validate_json(raw)
    except ValidationError as error:
        raise ReportError(f"{name}: {_first(error.errors(include_url=False, include_input=False))}") from None


@dataclass(frozen=True, slots=True)
class _Version:
    format: int


_VERSION = TypeAdapter(_Version)


def _first(errors: Sequence[Any]) -> str:
    place = ".".join(str(part) for part in errors[0]["loc"]) or "the file"
    return f"{place}: {errors[0]['msg'][:1].lower()}{errors[0]['msg'][1:]}"
