"""Writes what is read of a run beside its report.json: the page, the JUnit file, the summary."""

from pathlib import Path

from eval import transcripts
from eval.report import figures, junit, page, summary

PAGE, JUNIT, SUMMARY = "report.html", "junit.xml", "summary.md"


def write(folder: Path) -> tuple[Path, ...]:
    """From report.json and transcripts.jsonl of the folder. Raises ReportError, TranscriptError."""
    report = figures.read(folder)
    texts = {
        PAGE: page.render(report, transcripts.read(folder)),
        JUNIT: junit.render(report),
        SUMMARY: summary.render(report),
    }
    return tuple(_written(folder / name, text) for name, text in texts.items())


def _written(file: Path, text: str) -> Path:
    # A text may hold half a surrogate pair, which no file in UTF-8 can.
    file.write_text(text, encoding="utf-8", errors="replace")
    return file
