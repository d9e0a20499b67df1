"""What was said in a run: one line of transcripts.jsonl a conversation, with everything that a figure is computed from.

docs/evaluation-formats.md describes the lines. Reading and writing are inverse; a last line that was cut off by a crash
is passed over, any other line that cannot be read is an error.

    TranscriptError   a line that cannot be used: the file, its number, and what is wrong with it
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

from eval.scenarios import Said, Scenario

FORMAT = 1
FILE = "transcripts.jsonl"
Kind = Literal["service", "raw"]
Record = dict[str, Any]


class TranscriptError(ValueError):
    """A transcript cannot be used."""


@dataclass(frozen=True, slots=True)
class Answering:
    """Who answered: `service` is the whole path, `raw` a chain entry without SHIELD, own words, filter or resources."""

    name: str
    kind: Kind
    model: str
    engine: str
    chain: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """One request to a backend. `text` is what it wrote, unfiltered. Times count from the request, in milliseconds;
    None where no text came. `outcome`: done, closed (the reply had enough), or a reason of serving.backend."""

    backend: str
    model: str
    outcome: str
    text: str
    first_text_ms: float | None
    total_ms: float
    usage: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Exchange:
    """A message, the reply as it was delivered, and what is known of how it came about."""

    user: str
    reply: str
    error: str | None = None
    assessment: Mapping[str, Any] | None = None
    resources: tuple[Mapping[str, Any], ...] = ()
    source: str = ""
    model: str = ""
    degraded: tuple[str, ...] = ()
    filter: Mapping[str, Any] | None = None
    timings: Mapping[str, float | None] = field(default_factory=dict)
    calls: tuple[Call, ...] = ()

    @property
    def level(self) -> str | None:
        """The level that SHIELD gave; None where it was not asked."""
        return None if self.assessment is None else str(self.assessment["level"])

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """The inverse of dataclasses.asdict."""
        plain: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in values.items()
        }
        return cls(**plain | {"calls": tuple(Call(**call) for call in values["calls"])})


@dataclass(frozen=True, slots=True)
class Transcript:
    """One scenario, answered by one subject, in one repeat. A conversation ends at an error, so `exchanges` may be
    fewer than the scenario's turns."""

    suite: str
    subject: Answering
    scenario: Scenario
    repeat: int
    seed: int
    started_at: str
    yardstick_ms: float
    exchanges: tuple[Exchange, ...]

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What tells it from every other one of its run."""
        return self.subject.name, self.suite, self.scenario.id, self.repeat

    @property
    def error(self) -> str | None:
        """What broke it off, if anything did."""
        return next((one.error for one in self.exchanges if one.error), None)

    @property
    def answered(self) -> tuple[tuple[Said, Exchange], ...]:
        """Each exchange with the turn of the scenario that it answers."""
        return tuple(zip(self.scenario.turns, self.exchanges, strict=False))

    def to_json(self) -> Record:
        return {"format": FORMAT, **asdict(self)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """The inverse of to_json. Raises KeyError or TypeError for what is none."""
        if values["format"] != FORMAT:
            raise ValueError(f"format {values['format']!r} is not {FORMAT}")
        subject = values["subject"]
        return cls(
            suite=values["suite"],
            subject=Answering(**subject | {"chain": tuple(subject["chain"])}),
            scenario=Scenario.from_json(values["scenario"]),
            repeat=values["repeat"],
            seed=values["seed"],
            started_at=values["started_at"],
            yardstick_ms=values["yardstick_ms"],
            exchanges=tuple(Exchange.from_json(one) for one in values["exchanges"]),
        )


def read(folder: Path) -> tuple[Transcript, ...]:
    """Every whole conversation of a run, in the order in which they ended; the last of each key. Raises
    TranscriptError."""
    return tuple(
        {one.key: one for one in map(Transcript.from_json, lines(folder / FILE, Transcript.from_json))}.values()
    )


def lines(file: Path, check: Any) -> list[Record]:
    """The records of a JSON Lines file; () where there is none. A last line without its end was being written when the
    run was stopped, and is passed over."""
    if not file.exists():
        return []
    # Not splitlines(): it also splits at characters that may stand inside a text.
    *whole, _unfinished = file.read_bytes().decode("utf-8", "replace").split("\n")
    return [_record(line, f"{file.name}:{number}", check) for number, line in enumerate(whole, 1) if line.strip()]


def append(file: Path, record: Record) -> None:
    """One line, on the disk before this returns. After a break the half line of the last run is cut away first."""
    with file.open("a+b") as out:
        _cut_half_line(out)
        out.write(_encoded(record))
        out.flush()


def _encoded(record: Record) -> bytes:
    """In readable letters; escaped only where a text cannot be written as UTF-8 (half a surrogate pair)."""
    try:
        return json.dumps(record, ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(record).encode() + b"\n"


def _cut_half_line(out: Any) -> None:
    end = out.seek(0, 2)
    if not end:
        return
    out.seek(end - 1)
    if out.read(1) == b"\n":
        return
    out.seek(0)
    out.truncate(out.read().rfind(b"\n") + 1)
    out.seek(0, 2)


def _record(line: str, where: str, check: Any) -> Record:
    try:
        record: Record = json.loads(line)
        check(record)
    except (ValueError, KeyError, TypeError) as error:
        raise TranscriptError(f"{where}: {type(error).__name__}: {error}") from error
    return record


def done(transcripts: Sequence[Transcript]) -> frozenset[tuple[str, str, str, int]]:
    """The conversations that need not be had again: those that were not broken off."""
    return frozenset(one.key for one in transcripts if one.error is None)
