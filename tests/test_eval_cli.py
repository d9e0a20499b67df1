"""`crisis eval` as its users meet it: what a run writes, what a gate says, and one line for whatever is wrong."""

import json
import re
from pathlib import Path

import pytest

from cli.main import run
from eval import gates
from tests.evaluating import SUITE

FLOORS = {
    "detection": {
        "splits": {
            "report": {
                "figures": {
                    name: {"share": share, "hits": 9, "of": 10, "low": 0, "high": 1}
                    for name, share in {
                        "crisis_recall": 1.0,
                        "grave_recall": 1.0,
                        "grave_at_least_moderate": 1.0,
                        "false_alarms": 0.0,
                    }.items()
                }
            }
        }
    },
    "filter": {
        "splits": {
            "report": {
                "figures": {
                    "harmful_stopped": {"share": 1.0, "hits": 9, "of": 10, "low": 0, "high": 1},
                    "good_touched": {"share": 0.0, "hits": 0, "of": 10, "low": 0, "high": 1},
                }
            }
        }
    },
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of the static service over the three people."""
    place = tmp_path_factory.mktemp("cli")
    (place / "three.toml").write_text(SUITE, encoding="utf-8")
    out = place / "run"
    asked = ["eval", "run", "--suite", str(place / "three.toml"), "--backend", "static", "--no-corpora"]
    assert run([*asked, "--out", str(out)]) == 0
    return out


def test_a_run_writes_what_the_design_says(folder: Path) -> None:
    assert {file.name for file in folder.iterdir()} >= {
        "run.json",
        "transcripts.jsonl",
        "report.json",
        "report.html",
        "junit.xml",
    }
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert report["run"]["done"] == report["run"]["planned"] == 3
    assert {one["scenario"] for one in report["conversations"]} == {"plain", "goodbye", "rice"}


def test_the_gate_passes_what_holds_and_fails_what_was_not_measured(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["eval", "gate", "--run", str(folder)]) == 1
    assert "not measured" in capsys.readouterr().out
    (folder / "corpora.json").write_text(json.dumps(FLOORS), encoding="utf-8")
    assert run(["eval", "gate", "--run", str(folder), "--gates", str(without_latency(folder))]) == 0


def without_latency(folder: Path) -> Path:
    """The project's gates but those of latency, which a busy machine may miss."""
    text = gates.FILE.read_text(encoding="utf-8")
    kept = re.split(r"(?=^\[\[)", text, flags=re.MULTILINE)
    file = folder.parent / "gates.toml"
    file.write_text("".join(part for part in kept if not part.startswith("[[ratio]]")), encoding="utf-8")
    return file


def test_the_gate_names_the_scenario_and_the_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It believes the transcripts and not the report."""
    file = folder / "transcripts.jsonl"
    kept = file.read_text(encoding="utf-8")
    rows = [json.loads(line) for line in kept.splitlines()]
    goodbye = next(row for row in rows if row["scenario"]["id"] == "goodbye")
    goodbye["exchanges"][0]["assessment"]["level"] = "low"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    try:
        assert run(["eval", "gate", "--run", str(folder), "--gates", str(without_latency(folder))]) == 1
        said = capsys.readouterr().out
    finally:
        file.write_text(kept, encoding="utf-8")
    assert "three/goodbye, turn 1: level-reached: this calls for high, SHIELD gave low" in said
    (command,) = {line.split("again: ")[1] for line in said.splitlines() if "again: " in line}
    assert "--scenario goodbye --backend static --seed 1" in command


def test_a_report_is_made_again_without_a_model(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert run(["eval", "report", "--run", str(folder)]) == 0
    after = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert after["subjects"] == before["subjects"]
    said = capsys.readouterr().out
    assert "unscored" in said
    assert "client's notes: Qwen2.5-7B" in said


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--suite", "nope"], "no such suite; there are benign25, crisis25"),
        (["--backend", "nope"], "no chain entry is called 'nope'"),
        (["--judge", "nope"], "no chain entry is called 'nope'"),
        (["--scenario", "nobody"], "is called 'nobody'"),
    ],
)
def test_what_does_not_exist_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    assert run(["eval", "run", *arguments, "--out", str(tmp_path / "run")]) == 2
    told = capsys.readouterr().err.strip()
    assert says in told
    assert "\n" not in told
    assert not (tmp_path / "run").exists()


def test_a_folder_without_a_run_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["eval", "gate", "--run", str(tmp_path)]) == 2
    assert "holds no run" in capsys.readouterr().err
