"""What a conversation adds to its messages: answers to questions, and risk that outlives its sentence."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from shield.assessment import LEVELS, Finding, Level, Turn, higher, rank
from shield.reading import Reading

_STEP = 4  # the level falls by one for so many messages in a row that give no sign
_FLOOR: Level = "low"


class _Meaning(NamedTuple):
    level: Level
    category: str


_ANSWERS: dict[tuple[str, str], _Meaning] = {
    ("suicide", "affirms"): _Meaning("moderate", "direct_ideation"),
    ("tonight", "affirms"): _Meaning("imminent", "direct_ideation"),
    ("plan", "affirms"): _Meaning("high", "plan_or_means"),
    ("means", "affirms"): _Meaning("high", "plan_or_means"),
    ("done", "affirms"): _Meaning("imminent", "act_under_way"),
    ("safe", "denies"): _Meaning("moderate", "indirect_ideation"),
    ("hurt", "affirms"): _Meaning("moderate", "self_harm"),
}
_GRAVER: dict[tuple[str, str], Level] = {("safe", "denies"): "high", ("means", "affirms"): "imminent"}


def answered(turns: Sequence[Turn], readings: Sequence[Reading], number: int, *, before: Level) -> Iterator[Finding]:
    """The finding that a bare yes or no is, by the question it answers; `before` is the gravest level so far."""
    if number == 0 or turns[number - 1].role != "assistant" or not readings[number - 1].asks:
        return
    asked = readings[number - 1].asks[-1]
    for answer in sorted(readings[number].signals & {"affirms", "denies"}):
        meaning = _ANSWERS.get((asked, answer))
        if meaning is None:
            continue
        level = meaning.level
        if rank(before) >= rank("moderate"):
            level = higher(level, _GRAVER.get((asked, answer), level))
        rule = f"answer.{'yes' if answer == 'affirms' else 'no'}-to-{asked}"
        yield Finding(rule, meaning.category, level, number, 0, len(turns[number].text))


def carried(turns: Sequence[Turn], per_turn: Sequence[Level]) -> Level:
    """The level now: never below the last message's own, falling slowly from the gravest, never by a denial."""
    level: Level = "none"
    quiet = 0
    for turn, own in zip(turns, per_turn, strict=True):
        if turn.role != "user":
            continue
        if rank(own) >= rank(level):
            level, quiet = own, 0
            continue
        quiet = quiet + 1 if own == "none" else 0
        if quiet and quiet % _STEP == 0:
            level = higher(LEVELS[rank(level) - 1], _FLOOR)
    return level
