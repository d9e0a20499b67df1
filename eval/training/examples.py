"""What an encoder learns from, whatever the task."""

from dataclasses import dataclass
from pathlib import Path

from textrules.encoder import Segments, said


@dataclass(frozen=True, slots=True)
class Example:
    """What is read, and for each output 1, 0, or NaN where nothing is known of it."""

    segments: Segments
    targets: tuple[float, ...]


def sayings(file: Path) -> dict[str, list[str]]:
    """Sentences by language, as the encoder reads them: lines of a language code, a tab and the sentence."""
    found: dict[str, list[str]] = {}
    for row in file.read_text("utf-8").splitlines():
        language, sentence = row.split("\t")
        found.setdefault(language, []).append(said(sentence))
    return found
