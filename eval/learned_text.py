"""What of eval/data something is learned from: the training text, and the develop parts. Never the judged parts."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from eval.cases import DATA


def records(folder: Path = DATA) -> Iterator[dict[str, Any]]:
    """Each record of the folder's *.jsonl files that may be learned from, file by file in the order of their paths."""
    for file in sorted(folder.glob("**/*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            record: dict[str, Any] = json.loads(line)
            if file.parent.name == "train" or record.get("split") == "develop":
                yield record
