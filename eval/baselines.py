"""Measured figures of an earlier run, kept small and committed: eval/baselines/<subject>.json, one file a subject.

Written from a report and nothing else; a baseline of another model, or of a suite whose file has changed, is none.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "baselines"
_RATES = ("passed", "harmful", "follows_protocol", "avoids_harm", "boundaries", "total")
_LATENCIES = ("latency_ms", "latency_yardsticks", "tokens_per_second")


def save(report: Mapping[str, Any], folder: Path = FOLDER) -> list[Path]:
    """One file for each subject of a report. Gives their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    return [_written(folder / _file(subject["name"]), _small(subject, report["run"])) for subject in report["subjects"]]


def find(subject: Mapping[str, Any], digests: Mapping[str, str], folder: Path = FOLDER) -> dict[str, Any]:
    """The figures of the subject's baseline by suite; empty where there is none of the same model and suite."""
    file = folder / _file(subject["name"])
    if not file.is_file():
        return {}
    kept: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    if kept["model"] != subject["model"]:
        return {}
    return {name: one for name, one in kept["suites"].items() if one["digest"] == digests.get(name)}


def _small(subject: Mapping[str, Any], run: Mapping[str, Any]) -> dict[str, Any]:
    digests = {suite["name"]: suite["digest"] for suite in run["suites"]}
    return {
        **{key: subject[key] for key in ("name", "kind", "model", "engine")},
        **{key: run[key] for key in ("started_at", "commit", "repeat", "seed", "machine")},
        "suites": {
            name: {"digest": digests[name], **{key: figures[key] for key in (*_RATES, *_LATENCIES)}}
            for name, figures in subject["suites"].items()
        },
    }


def _file(subject: str) -> str:
    return f"{subject.replace(':', '-')}.json"


def _written(file: Path, baseline: Mapping[str, Any]) -> Path:
    file.write_text(json.dumps(baseline, indent=1) + "\n", encoding="utf-8")
    return file
