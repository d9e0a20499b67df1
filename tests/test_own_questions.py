"""SHIELD knows what we asked, so that a bare yes or no in the next message is read by the question it answers."""

import pytest

from prompts.wording import Wording, lines
from shield.detect import rules
from shield.reading import read
from textrules.matcher import Matcher

WORDS = Wording.load()
MATCHER = Matcher(rules())
MEANS = {
    "question.safety": {"safe"},
    "question.safety_again": {"safe"},
    "next_question.low": {"suicide"},
    "next_question.moderate": {"suicide", "tonight", "plan"},
    "signal.denies_first": {"suicide"},
    "signal.denies_unclear": {"safe"},
    "signal.affirms_unclear": {"suicide"},
}
# "Who …?" and "Could someone …?" are answered by a name; a bare yes to them says nothing about danger.
OPEN = ("Who ", "Which ", "Could ", "¿Quién ", "¿Qué ", "¿Podría ")


def _asked() -> list[tuple[str, set[str]]]:
    found = []
    for code in ("en", "es"):
        for cell, line in lines(WORDS.tongues[code]):
            topics = MEANS.get(cell)
            if cell.startswith("naming.") and cell != "naming.abuse":
                topics = {"suicide"}
            elif cell in ("next_question.high", "next_question.imminent") and not line.startswith(OPEN):
                topics = {"means", "done"}
            if topics:
                found.append((line, topics))
    return found


@pytest.mark.parametrize(("line", "topics"), _asked())
def test_what_we_ask_is_understood(line: str, topics: set[str]) -> None:
    assert set(read(line, MATCHER).asks) & topics


@pytest.mark.parametrize("code", ["en", "es"])
def test_no_other_line_for_the_person_is_taken_for_such_a_question(code: str) -> None:
    """A question heard where none was asked would hide the safety question before it."""
    for cell, line in lines(WORDS.tongues[code]):
        if cell.startswith(("static.", "follow.", "sms.", "later.", "closing.")) and "third_party" not in cell:
            assert set(read(line, MATCHER).asks) <= {"safe", "hurt"}, line
