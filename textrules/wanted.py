"""What each of many patterns cannot do without, kept (see textrules.kept) because thousands take seconds to read."""

import json
import sys
import time
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from textrules import kept
from textrules.rules import needed

Needs = tuple[frozenset[str], ...]
# What the answer depends on besides the patterns: when any of these changes, nothing kept before is used again.
_SOURCES = ("required.py", "rules.py", "commonness.py", "vocabulary.py", "words.txt", "wanted.py")


def wanted(
    patterns: Sequence[str], marks: Sequence[str], *, cache_dir: Path | None = None, worth_s: float = 0.1
) -> list[Needs]:
    """`textrules.rules.needed` of each pattern; kept where that takes longer than `worth_s` seconds."""
    code = [(files("textrules") / source).read_text(encoding="utf-8") for source in _SOURCES]
    file = (cache_dir or kept.folder()) / f"{kept.name(sys.version, *code, *marks, '', *patterns)}.json"
    body = kept.read(file)
    if body is not None:
        return _decoded(body)
    began = time.monotonic()
    needs = [needed(pattern, marks) for pattern in patterns]
    if time.monotonic() - began > worth_s:
        kept.write(file, _encoded(needs))
    return needs


def _encoded(needs: Sequence[Needs]) -> bytes:
    """Each set once, then the numbers of each pattern's sets."""
    numbers: dict[frozenset[str], int] = {}
    rows = [[numbers.setdefault(one, len(numbers)) for one in sets] for sets in needs]
    return json.dumps([[sorted(one) for one in numbers], rows]).encode()


def _decoded(body: bytes) -> list[Needs]:
    listed, rows = json.loads(body)
    sets = [frozenset(one) for one in listed]
    return [tuple(sets[number] for number in row) for row in rows]
