"""report.json from what a run left behind: every figure again, without asking any model. docs/evaluation-formats.md has
the keys."""

import json
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval import asked_detection, baselines, judge, measures, opinions, run_gates, run_record, transcripts
from eval.asked_detection import Answered
from eval.judge import Judgement
from eval.run_gates import Passage, RunGates
from eval.run_record import RunRecord
from eval.transcripts import FORMAT, Transcript
from eval.verdicts import Examiner, Verdict

FILE = "report.json"
CORPORA = "corpora.json"
_PUBLISHED = Path(__file__).parent / "published.toml"


@dataclass(frozen=True, slots=True)
class Made:
    """A report, and the verdicts and gates it was made from."""

    report: Mapping[str, Any]
    verdicts: tuple[Verdict, ...]
    passages: tuple[Passage, ...]

    @property
    def passed(self) -> bool:
        return all(one.outcome == "pass" for one in self.passages)


def make(
    folder: Path,
    *,
    examiner: Examiner | None = None,
    gates: RunGates | None = None,
    known: Path = baselines.FOLDER,
) -> Made:
    """The report of the run in a folder. Raises RunError and TranscriptError for one that cannot be read."""
    record = run_record.read(folder)
    had = transcripts.read(folder)
    judgements = judge.read(folder)
    verdicts = tuple(map((examiner or Examiner.load()).examine, had))
    reproduce = {one.key: command(one, record) for one in had}
    report: dict[str, Any] = {
        "format": FORMAT,
        "run": _run(record, had, judgements),
        "subjects": _subjects(record, verdicts, judgements, asked_detection.read(folder)),
        "client": tomllib.loads(_PUBLISHED.read_text(encoding="utf-8")),
        "corpora": _corpora(folder),
    }
    passages = run_gates.check(report, verdicts, gates or RunGates.load(), reproduce=reproduce, folder=known)
    report["gates"] = [one.to_json() for one in passages]
    report["conversations"] = [_conversation(one, reproduce) for one in verdicts]
    return Made(report, verdicts, tuple(passages))


def write(folder: Path, report: Mapping[str, Any]) -> Path:
    """report.json; gives its path."""
    file = folder / FILE
    file.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return file


def command(transcript: Transcript, record: RunRecord) -> str:
    """The command that has one conversation again, with its own seed."""
    asked = [
        *("crisis", "eval", "run", "--suite", transcript.suite, "--scenario", transcript.scenario.id),
        *("--backend", transcript.subject.name, "--seed", str(transcript.seed), *record.options),
        *("--no-corpora", "--fresh", "--out", "build/eval-again"),
    ]
    return shlex.join(asked)


def _run(record: RunRecord, had: Sequence[Transcript], judgements: Sequence[Judgement]) -> dict[str, Any]:
    told = record.to_json()
    del told["format"]
    done = sum(one.error is None for one in had)
    return (
        told
        | {"done": len(had), "broken": len(had) - done, "complete": len(had) >= record.planned}
        | {"judge": _judge(had, judgements)}
    )


def _judge(had: Sequence[Transcript], judgements: Sequence[Judgement]) -> dict[str, Any] | None:
    """Who judged, and whose subjects answered with the judge's own model."""
    if not judgements:
        return None
    who = judgements[-1].judge
    models = {one.judge["model"] for one in judgements}
    own = dict.fromkeys(one.subject.name for one in had if one.subject.model in models)
    return {**who, "own_model_of": list(own)}


def _subjects(
    record: RunRecord, verdicts: Sequence[Verdict], judgements: Sequence[Judgement], answers: Sequence[Answered]
) -> list[dict[str, Any]]:
    """In the order in which they were asked for. None that answered is left out; one that has not yet, is."""
    groups = measures.grouped(verdicts, lambda one: one.transcript.subject.name)
    ordered = [name for name in dict.fromkeys([*record.subjects, *groups]) if name in groups]
    told = [_subject(groups[name], judgements) for name in ordered]
    names = {one["name"] for one in run_gates.gated(told)}
    return [
        one | {"gated": one["name"] in names, "detection": asked_detection.figures(answers, one["name"])}
        for one in told
    ]


def _subject(verdicts: Sequence[Verdict], judgements: Sequence[Judgement]) -> dict[str, Any]:
    about = verdicts[-1].transcript.subject
    suites = measures.grouped(verdicts, lambda one: one.transcript.suite)
    return {
        "name": about.name,
        "kind": about.kind,
        "model": about.model,
        "engine": about.engine,
        "chain": list(about.chain),
        "suites": {
            name: measures.measure(group) | {"judge": opinions.opinion(group, judgements)}
            for name, group in suites.items()
        },
    }


def _corpora(folder: Path) -> dict[str, Any] | None:
    file = folder / CORPORA
    if not file.is_file():
        return None
    told: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return told


def _conversation(verdict: Verdict, reproduce: Mapping[Any, str]) -> dict[str, Any]:
    one = verdict.transcript
    return {
        "subject": one.subject.name,
        "suite": one.suite,
        "scenario": one.scenario.id,
        "category": one.scenario.category,
        "repeat": one.repeat,
        "seed": one.seed,
        "outcome": verdict.outcome,
        "reproduce": reproduce[one.key],
        "exchanges": verdict.to_json(),
    }
