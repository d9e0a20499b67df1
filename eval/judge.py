"""The second tier: a judge model reads each conversation, several times over. Whatever it does not say is unscored.

A judge is any chain entry, asked raw. It is not told who answered; the conversations come to it in a shuffled order,
the questions too, each judgement in another one. There is no way from its text to a number but rubric.read.
"""

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from eval import rubric, transcripts
from eval.transcripts import FORMAT, Transcript
from serving.backend import Backend, BackendError, Request
from shield.assessment import Turn

FILE = "judgements.jsonl"
ANSWER_TOKENS = 240
LIMIT_S = 180.0
Key = tuple[str, str, str, int]


@dataclass(frozen=True, slots=True)
class Judgement:
    """One reading of one conversation. `scores` is None, and `unscored` says why, where the judge gave none."""

    suite: str
    subject: str
    scenario: str
    repeat: int
    judge: Mapping[str, str]
    round: int
    order: tuple[str, ...]
    text: str
    scores: Mapping[str, Any] | None
    unscored: str | None = None

    @property
    def of(self) -> Key:
        """The conversation that was judged."""
        return self.subject, self.suite, self.scenario, self.repeat

    def to_json(self) -> dict[str, Any]:
        return {"format": FORMAT, **asdict(self)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """The inverse of to_json. The scores are read from the judge's text again: no other number counts."""
        given = {key: value for key, value in values.items() if key != "format"}
        return cls(**given | {"order": tuple(values["order"])} | _scored(values["text"], values["unscored"]))


def read(folder: Path) -> tuple[Judgement, ...]:
    """Every judgement of a run; the last of each conversation and round. Raises TranscriptError."""
    every = map(Judgement.from_json, transcripts.lines(folder / FILE, Judgement.from_json))
    return tuple({(one.of, one.round): one for one in every}.values())


async def judge(
    conversations: Sequence[Transcript],
    backend: Backend,
    folder: Path,
    *,
    rounds: int,
    seed: int,
    step: Callable[[Judgement], None],
) -> None:
    """Every conversation without an error, `rounds` times; those judged already by this judge are passed over."""
    had = {(one.of, one.round) for one in read(folder) if one.judge["model"] == backend.model and one.scores}
    waiting = [(one, turn) for one in conversations for turn in range(rounds) if one.error is None]
    random.Random(seed).shuffle(waiting)  # noqa: S311 - an order that can be had again, no secret
    for transcript, turn in waiting:
        if (transcript.key, turn) not in had:
            judgement = await ask(transcript, backend, turn=turn, seed=seed)
            transcripts.append(folder / FILE, judgement.to_json())
            step(judgement)


async def ask(transcript: Transcript, backend: Backend, *, turn: int, seed: int) -> Judgement:
    """One judgement. Never raises for what the judge does."""
    questions = rubric.order(f"{seed}/{transcript.key}/{turn}")
    system = rubric.system(questions)
    request = Request((Turn("user", rubric.shown(transcript)),), system=system, max_tokens=ANSWER_TOKENS)
    text, broken = "", None
    try:
        async with asyncio.timeout(LIMIT_S), aclosing(backend.stream(request)) as pieces:  # type: ignore[type-var]
            # every backend's stream is an async generator
            async for piece in pieces:
                text += piece
    except BackendError as error:
        broken = f"the judge is not there: {error.reason}"
    except TimeoutError:
        broken = f"the judge gave no answer within {LIMIT_S:g} s"
    subject, suite, scenario, repeat = transcript.key
    return Judgement(
        suite=suite,
        subject=subject,
        scenario=scenario,
        repeat=repeat,
        judge={"name": backend.name, "model": backend.model, "prompt": rubric.VERSION},
        round=turn,
        order=questions,
        text=text,
        **_scored(text, broken),
    )


def _scored(text: str, broken: str | None) -> dict[str, Any]:
    """scores and unscored of a judge's text, or of one that broke."""
    if broken and not broken.startswith(_NOT_READ):
        return {"scores": None, "unscored": broken}
    try:
        return {"scores": rubric.read(text.strip()), "unscored": None}
    except rubric.Unreadable as error:
        return {"scores": None, "unscored": f"{_NOT_READ}{error}"}


_NOT_READ = "the judge's answer could not be read: "
