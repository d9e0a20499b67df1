"""A raw model as a detector: asked of messages of the report part whether they call for the safety question.

One line of detection.jsonl a message. A model that says which of two labels is likelier (serving.backend.Classifier) is
asked so; any other must write exactly yes or no. What is neither is unanswered: counted, and neither right nor wrong.
"""

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Self

from eval import transcripts
from eval.cases import ShieldCase
from eval.intervals import Proportion
from eval.transcripts import FORMAT
from serving.backend import Backend, BackendError, Classifier, Request
from shield.assessment import Level, Turn
from shield.detect import Detector

FILE = "detection.jsonl"
VERSION = "detect-1"
SPLIT = "report"
LABELS = ("yes", "no")
LIMIT_S = 60.0
_WORD_TOKENS = 6


@dataclass(frozen=True, slots=True)
class Answered:
    """One message: whether it is a crisis, what the model said, and the level that SHIELD gave it. `answer` is None,
    with the reason in `unanswered`, where the model said neither."""

    subject: str
    id: str
    crisis: bool
    answer: str | None
    probability: float | None
    unanswered: str | None
    shield: Level
    prompt: str = VERSION

    def to_json(self) -> dict[str, Any]:
        return {"format": FORMAT, **asdict(self)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """The inverse of to_json."""
        return cls(**{key: value for key, value in values.items() if key != "format"})


def read(folder: Path) -> tuple[Answered, ...]:
    """Every answer of a run, the last of each message. Raises TranscriptError."""
    every = map(Answered.from_json, transcripts.lines(folder / FILE, Answered.from_json))
    return tuple({(one.subject, one.id): one for one in every}.values())


def sample(cases: Sequence[ShieldCase], count: int, seed: int) -> tuple[ShieldCase, ...]:
    """So many messages of the report part, drawn without regard to what they are; the same ones for the same seed."""
    every = [one for one in cases if one.split == SPLIT]
    drawn = random.Random(seed).sample(every, min(count, len(every)))  # noqa: S311 - to be drawn again, no secret
    return tuple(drawn)


async def ask(
    cases: Sequence[ShieldCase], name: str, backend: Backend, folder: Path, *, step: Callable[[Answered], None]
) -> None:
    """Every message that the subject `name` has not answered yet, one after the other."""
    detector = Detector.load()
    had = {one.id for one in read(folder) if one.subject == name and one.answer}
    for case in cases:
        if case.id not in had:
            answer, probability, unanswered = await _asked(case, backend)
            level = detector.assess(case.turns).level
            answered = Answered(name, case.id, case.crisis, answer, probability, unanswered, level)
            transcripts.append(folder / FILE, answered.to_json())
            step(answered)


def figures(answers: Sequence[Answered], subject: str) -> dict[str, Any] | None:
    """The client's detection table for one raw model, and SHIELD's over the same messages; None where it was not asked.
    Shares are of the messages that were answered."""
    own = [one for one in answers if one.subject == subject]
    if not own:
        return None
    said = [one for one in own if one.answer]
    return {
        "prompt": own[0].prompt,
        "asked": len(own),
        "unanswered": len(own) - len(said),
        **_table([(one.crisis, one.answer == "yes") for one in said]),
        "shield_over_the_same": _table([(one.crisis, one.shield != "none") for one in said]),
    }


def _table(pairs: Sequence[tuple[bool, bool]]) -> dict[str, Any]:
    """(is one, was called one) of each message."""
    missed = Proportion.count([not called for crisis, called in pairs if crisis])
    alarms = Proportion.count([called for crisis, called in pairs if not crisis])
    found = missed.of - missed.hits
    of = 2 * found + missed.hits + alarms.hits
    return {
        "f1": round(2 * found / of, 4) if of else None,
        "false_positives": alarms.to_json(),
        "false_negatives": missed.to_json(),
    }


async def _asked(case: ShieldCase, backend: Backend) -> tuple[str | None, float | None, str | None]:
    system = (files("eval") / "prompts" / f"{VERSION}.md").read_text(encoding="utf-8")
    request = Request((Turn("user", _shown(case)),), system=system, protocol_prefix=system, max_tokens=_WORD_TOKENS)
    try:
        async with asyncio.timeout(LIMIT_S):
            if isinstance(backend, Classifier):
                told = await backend.classify(request, LABELS)
                return told.label, round(told.probability, 4), None
            return _word(await _text(backend, request))
    except BackendError as error:
        return None, None, error.reason
    except TimeoutError:
        return None, None, "timeout"


async def _text(backend: Backend, request: Request) -> str:
    text = ""
    async with aclosing(backend.stream(request)) as pieces:  # type: ignore[type-var] # every backend's is a generator
        async for piece in pieces:
            text += piece
    return text


def _word(text: str) -> tuple[str | None, float | None, str | None]:
    word = text.strip().rstrip(".!").lower()
    return (word, None, None) if word in LABELS else (None, None, "neither yes nor no")


def _shown(case: ShieldCase) -> str:
    names = {"user": "PERSON", "assistant": "REPLY"}
    return "\n".join(f"| {names[turn.role]}: {line}" for turn in case.turns for line in turn.text.splitlines() or [""])
