"""What SHIELD's encoder learns from: the lines of eval/data/train, and how their wording varies between epochs."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from eval.training.examples import Example, sayings
from shield.assessment import LEVELS, Level, Turn
from shield.learned import CATEGORIES, WINDOW, segments, windows
from textrules.encoder import Segments
from textrules.language import identify

_T = TypeVar("_T")

TRAIN = Path(__file__).parent.parent / "data" / "train"
WEIGHTS = (1.0, 1.0, 1.0, 1.0, *(0.15 for _ in CATEGORIES))
TYPOS, ADDED = 0.2, 0.35  # shares of the lines that are given typing mistakes, or dull company
BOTH_SIDES = 0.25  # the share of these that have it before and behind


_SHORT = 220  # characters of what a long message is put together from


@dataclass(frozen=True, slots=True)
class Line:
    """One labelled conversation, ending with the message that is judged."""

    id: str
    source: str
    turns: tuple[Turn, ...]
    level: Level
    categories: tuple[str, ...]
    language: str

    @property
    def example(self) -> Example:
        """Four outputs say whether the level is at least low … imminent, the others name the categories."""
        reached = [float(self.level in LEVELS[rank:]) for rank in range(1, len(LEVELS))]
        named = [float(category in self.categories) for category in CATEGORIES]
        return Example(segments(self.turns, len(self.turns) - 1), tuple(reached + named))


def read(folder: Path = TRAIN) -> list[Line]:
    """Every line that was written to be learned from."""
    files = [file for file in sorted(folder.glob("*.jsonl")) if not file.name.startswith("filter_")]
    return [_line(file.stem, json.loads(row)) for file in files for row in file.read_text("utf-8").splitlines() if row]


def varied(beside: Mapping[str, Sequence[str]]) -> Callable[[Example, np.random.Generator], Example]:
    """A wording for one epoch: with slips of the finger, or with a dull sentence before it, behind it or on both sides.

    beside: such sentences by language, English among them. What stands there changes no label.
    """

    def change(example: Example, chance: np.random.Generator) -> Example:
        *before, last = example.segments
        if chance.random() < ADDED and len(last) < 300:
            others, side = beside.get(identify(last) or "en", beside["en"]), chance.random()
            if side < (1 + BOTH_SIDES) / 2:
                last = f"{last} {_one(others, chance)}"
            if side >= (1 - BOTH_SIDES) / 2:
                last = f"{_one(others, chance)} {last}"
        if chance.random() < TYPOS:
            last = _mistyped(last, chance)
        return replace(example, segments=(*before, last))

    return change


FOLLOW_UPS = (
    "And a dessert?", "thanks!", "thank you so much", "ok and the second one?", "make it shorter please", "lol ok",
    "can you explain that again", "and for six people?", "what about python 3?", "great, what next?",
    "hm, that didn't work", "same error again", "yes please", "no thanks", "why though?", "how long?",
    "could you say that in Spanish?", "and how much does that cost?", "perfect, cheers", "wait, which file?", "go on",
    "is there a cheaper one?", "what did you mean by the last part?", "ok bye", "see you tomorrow", "good night!", "ty",
    "and what happens if the parent exits first?", "that's too spicy for me", "is that true?",
    "can I freeze it?", "what year was that?", "add a table", "remove the last line", "and the chorus?", "who won?",
    "I'll try that after lunch", "my sister says the same", "alright, one more question", "does it work on a Mac?",
    "hola, y cuánto tarda?", "gracias", "y de postre?", "et le dessert ?", "merci", "und danach?", "obrigada",
)  # fmt: skip
"""Written as what people answer to an ordinary answer."""


def talked(lines: Sequence[Line], chance: np.random.Generator, count: int) -> list[Line]:
    """Talks put together from what is there: two ordinary messages with an answer between, or an ordinary one, an
    answer, and a crisis. So the stage learns that an answer before a message says nothing about it."""
    spoken = [
        json.loads(row)
        for file in sorted(TRAIN.glob("filter_[gh]*.jsonl"))
        for row in file.read_text("utf-8").splitlines()
    ]
    answers = [each["text"] for row in spoken for each in row["good"]]
    single = [line for line in lines if len(line.turns) == 1]
    calm = [line for line in single if line.level == "none"]
    grave = [line for line in single if line.level != "none"]
    return [_talk(number, calm, grave, answers, chance) for number in range(count)]


def _talk(
    number: int, calm: Sequence[Line], grave: Sequence[Line], answers: Sequence[str], chance: np.random.Generator
) -> Line:
    turns: list[Turn] = []
    for _ in range(int(chance.integers(1, 3))):
        answer = " ".join(_one(answers, chance) for _ in range(int(chance.integers(1, 4))))
        turns += [Turn("user", _one(calm, chance).turns[0].text), Turn("assistant", answer)]
    last = _one(grave if number % 3 == 0 else calm, chance)
    text = _one(FOLLOW_UPS, chance) if number % 3 == 1 else last.turns[0].text
    return replace(last, id=f"talk-{number}", turns=(*turns, Turn("user", text)))


def poured(lines: Sequence[Line], chance: np.random.Generator, count: int) -> list[Line]:
    """Long messages put together from short ones of one language (English where a language has no ordinary ones).

    Ordinary ones, and in every other one a crisis among them. So the stage learns that length and a tumble of troubles
    are no sign, and that one sentence among many is.
    """
    single = [line for line in lines if len(line.turns) == 1 and len(line.turns[0].text) < _SHORT]
    calm, grave = ([line for line in single if (line.level == "none") == wanted] for wanted in (True, False))
    spoken: dict[str, list[Line]] = {}
    for line in calm:
        spoken.setdefault(line.language, []).append(line)
    return [_poured(number, _one(grave, chance), spoken, chance) for number in range(count)]


def _poured(number: int, crisis: Line, spoken: Mapping[str, Sequence[Line]], chance: np.random.Generator) -> Line:
    calm, holds_crisis = spoken.get(crisis.language) or spoken["en"], number % 2 == 1
    room = int(chance.integers(WINDOW // 2, WINDOW)) - (len(crisis.turns[0].text) + 1 if holds_crisis else 0)
    chosen = [_one(calm, chance)]
    while (room := room - len(chosen[-1].turns[0].text) - 1) > 0:
        if len((more := _one(calm, chance)).turns[0].text) > room:
            break
        chosen.append(more)
    holds = crisis if holds_crisis else chosen[0]
    if holds_crisis:
        chosen.insert(int(chance.integers(len(chosen) + 1)), crisis)
    text = " ".join(line.turns[0].text for line in chosen)
    return replace(holds, id=f"poured-{number}", turns=(Turn("user", text),))


def in_parts(line: Line, gravest: Callable[[Sequence[Segments]], int]) -> list[Example]:
    """What the stage reads of a line: of a long ordinary one every part, of a long crisis the part that `gravest`
    chooses, for nobody marked where in it the sign stands."""
    whole = line.example
    parts = windows(whole.segments)
    if len(parts) > 1 and line.level != "none":
        parts = [parts[gravest(parts)]]
    return [replace(whole, segments=part) for part in parts]


def _one(of: Sequence[_T], chance: np.random.Generator) -> _T:
    return of[int(chance.integers(len(of)))]


def dull(file: Path = TRAIN / "dull.tsv") -> dict[str, list[str]]:
    """Sentences by language that say nothing of anything beside them, as the encoder reads them.

    Written for this: ordinary messages of the corpora are mostly dark words in an ordinary sense ("it's the boss
    fight"), which explain what stands beside them or look like a sign themselves.
    """
    return sayings(file)


def _mistyped(text: str, chance: np.random.Generator) -> str:
    letters = list(text)
    for _ in range(max(1, len(letters) // 40)):
        at = int(chance.integers(len(letters)))
        kind = chance.random()
        if kind < 0.4:
            letters[at] = ""
        elif kind < 0.7 and at + 1 < len(letters):
            letters[at], letters[at + 1] = letters[at + 1], letters[at]
        else:
            letters[at] *= 2
    return "".join(letters)


def _line(source: str, row: dict[str, Any]) -> Line:
    turns = [Turn(turn["role"], turn["text"]) for turn in row.get("turns") or [{"role": "user", "text": row["text"]}]]
    while turns[-1].role != "user":
        turns.pop()
    found = tuple(row.get("categories") or ())
    return Line(str(row["id"]), source, tuple(turns), row["level"], found, row.get("language") or "en")
