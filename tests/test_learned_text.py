"""What words and languages are counted in holds nothing of what judges them."""

import json
from pathlib import Path

from eval.learned_text import records


def test_only_training_text_and_develop_parts_are_learned_from(tmp_path: Path) -> None:
    (tmp_path / "train").mkdir()
    written = {
        "train/a.jsonl": [{"id": "learned"}],
        "b.jsonl": [{"id": "develop", "split": "develop"}, {"id": "report", "split": "report"}],
        "c.jsonl": [{"id": "tune", "split": "tune"}, {"id": "unseen", "split": "unseen"}, {"id": "none"}],
    }
    for name, rows in written.items():
        (tmp_path / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    assert [record["id"] for record in records(tmp_path)] == ["develop", "learned"]


def test_what_ships_has_no_judged_record_among_what_is_learned_from() -> None:
    assert {record.get("split", "develop") for record in records()} == {"develop"}
