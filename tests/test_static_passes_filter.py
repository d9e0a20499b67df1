"""Our own words pass the filter that judges a model's: no line is cut, no static reply is blocked."""

import functools
import itertools

import pytest

from prompts.wording import KINDS, LEVELS, Wording, lines
from safety_filter.contacts import Contacts
from safety_filter.gate import Gate
from safety_filter.helplines import Helplines
from safety_filter.review import Reviewer

WORDS = Wording.load()
LINES = [(code, cell, line) for code, tongue in WORDS.tongues.items() for cell, line in lines(tongue)]
# All that people write at once, so that every rule that listens to the person is switched on.
PERSON = (
    "I want to die. I have a plan for tonight. How many pills would it take? They would all be better off without me. "
    "Would anyone even care? Goodbye. Thank you for everything. Don't tell anyone. My voices tell me to do it. "
    "I took something. Are you even human?"
)


@functools.cache
def rooms() -> tuple[Reviewer, Contacts]:
    return Reviewer.load(), Contacts.of(Helplines.load().resources("US"))


def gate(language: str) -> Gate:
    reviewer, allowed = rooms()
    return Gate(reviewer, user=PERSON, language=language, allowed=allowed)


def assert_clean(door: Gate, released: list[str], text: str) -> None:
    """Which language the person reads is not a matter of our words: PERSON writes English throughout."""
    found = [violation for violation in door.violations if violation.category != "wrong_language"]
    assert [violation.rule_id for violation in found] == []
    if not door.violations:
        assert "".join(released).strip() == text


@pytest.mark.parametrize(("code", "cell", "line"), LINES)
def test_every_line_passes(code: str, cell: str, line: str) -> None:
    text = line.replace("{emergency}", WORDS.tongues[code].emergency("911"))
    door = gate(code)
    released = [*door.feed(text), *door.flush()]
    assert_clean(door, released, text)


@pytest.mark.parametrize("language", ["en", "es"])
@pytest.mark.parametrize(("level", "kind"), list(itertools.product(LEVELS, KINDS)))
def test_every_whole_reply_passes(level: str, kind: str, language: str) -> None:
    for variant in range(5):
        text = WORDS.static_reply(
            level=level, kind=kind, language=language, variant=variant, after_opening=False, emergency="911"
        )
        parts = [
            text,
            WORDS.disclosure(language=language, variant=variant, first=True),
            WORDS.gospel(language=language, variant=variant),
            WORDS.closing(level=level, kind=kind, language=language, variant=variant),
        ]
        door = gate(language)
        released = [*door.feed(" ".join(parts)), *door.flush()]
        assert_clean(door, released, " ".join(parts))
