"""run.json: what a run was asked for, so that it can be gone on with, recomputed and repeated.

RunError   the folder holds no run, another one, or an unfinished one: says which, and what to do
"""

import json
import os
import platform
import subprocess
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

from eval import scenarios
from eval.scenarios import Scenario, Suite
from eval.transcripts import FORMAT

FILE = "run.json"


class RunError(ValueError):
    """A run cannot be begun, gone on with, or read."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be run. `options` are what the command that repeats one scenario has to be given."""

    suites: tuple[Suite, ...]
    subjects: tuple[str, ...]
    repeat: int = 1
    seed: int = 1
    concurrency: int = 1
    options: tuple[str, ...] = ()
    judge: str | None = None

    @property
    def planned(self) -> int:
        """How many conversations."""
        return sum(len(suite.scenarios) for suite in self.suites) * len(self.subjects) * self.repeat

    def conversations(self) -> Iterator[tuple[str, int, Suite, Scenario]]:
        """(subject, repeat, suite, scenario), so ordered that each subject is opened once for each repeat."""
        for repeat in range(self.repeat):
            for subject in self.subjects:
                for suite in self.suites:
                    for scenario in suite.scenarios:
                        yield subject, repeat, suite, scenario


@dataclass(frozen=True, slots=True)
class RunRecord:
    """run.json as it stands. docs/evaluation-formats.md describes the keys."""

    id: str
    started_at: str
    suites: tuple[Mapping[str, Any], ...]
    subjects: tuple[str, ...]
    repeat: int
    seed: int
    concurrency: int
    planned: int
    options: tuple[str, ...]
    machine: Mapping[str, Any]
    version: str
    commit: str | None
    judge: str | None = None

    @classmethod
    def of(cls, plan: Plan) -> Self:
        """The record of a run that begins now, here."""
        return cls(
            id=uuid.uuid4().hex,
            started_at=datetime.now(UTC).isoformat(timespec="seconds"),
            suites=tuple(_suite(suite) for suite in plan.suites),
            subjects=plan.subjects,
            repeat=plan.repeat,
            seed=plan.seed,
            concurrency=plan.concurrency,
            planned=plan.planned,
            options=plan.options,
            machine={
                "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
                "architecture": platform.machine(),
                "python": platform.python_version(),
            },
            version=version("crisis-support"),
            commit=_commit(),
            judge=plan.judge,
        )

    def same_run(self, other: "RunRecord") -> bool:
        """Whether the other one asks for the same conversations."""
        return self._asked() == other._asked()

    def _asked(self) -> tuple[Any, ...]:
        return self.suites, self.subjects, self.repeat, self.seed, self.options

    def to_json(self) -> dict[str, Any]:
        return {"format": FORMAT, **asdict(self)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """The inverse of to_json."""
        given: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in values.items()}
        del given["format"]
        suites = tuple(dict(suite) | {"scenarios": tuple(suite["scenarios"])} for suite in values["suites"])
        return cls(**given | {"suites": suites})


def read(folder: Path) -> RunRecord:
    """The record of the run in a folder. Raises RunError."""
    try:
        return RunRecord.from_json(json.loads((folder / FILE).read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise RunError(f"{folder}: holds no run; make one with: crisis eval run --out {folder}") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunError(f"{folder / FILE}: cannot be read: {type(error).__name__}: {error}") from error


def write(folder: Path, record: RunRecord) -> None:
    """Makes the folder where there is none."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FILE).write_text(json.dumps(record.to_json(), indent=2) + "\n", encoding="utf-8")


def plan(suite_names: Sequence[str], only: Sequence[str], subjects: Sequence[str], **more: Any) -> Plan:
    """The plan for these suites (all scenarios, or only some by id) and subjects. Raises SuiteError, RunError."""
    suites = tuple(scenarios.load(name) for name in dict.fromkeys(suite_names))
    known = {scenario.id for suite in suites for scenario in suite.scenarios}
    if strange := [one for one in only if one not in known]:
        raise RunError(f"no scenario of {', '.join(suite_names)} is called {strange[0]!r}")
    kept = tuple(suite.only(only) for suite in suites)
    return Plan(tuple(suite for suite in kept if suite.scenarios), tuple(dict.fromkeys(subjects)), **more)


def _suite(suite: Suite) -> dict[str, Any]:
    return {
        "name": suite.name,
        "digest": suite.digest,
        "scenarios": tuple(scenario.id for scenario in suite.scenarios),
    }


def _commit() -> str | None:
    """The commit of the source, where it is run from its repository."""
    try:
        asked = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
        told = subprocess.run(asked, capture_output=True, text=True, timeout=5, check=True)  # noqa: S603 - fixed words
    except (OSError, subprocess.SubprocessError):
        return None
    return told.stdout.strip() or None
