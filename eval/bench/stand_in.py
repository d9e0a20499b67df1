"""What the engine benchmarks say and hear. Nobody's real words.

The models that are measured have random weights: their text would be kept back by the filter, and no two replies would
be equally long. So each piece that the engine gives is replaced by a piece of a good reply before it goes on its way:
the engine works on every token, and the path does on every piece what it does for a model that speaks well.
"""

import re
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from prompts.protocol import protocol_prefix, system_prompt
from serving.backend import Backend, Request
from serving.backends.wrapped import Wrapped
from serving.worker.protocol import Job
from shield.assessment import Level, Turn

REPLY = (
    "That is a lot for one person, and I am glad you wrote. Nothing of it is too much to say here. That sounds heavy "
    "and lonely. It makes sense that you are tired after such a day. You matter to me, and so does what happens next. "
    "Who is one person that could sit with you tonight?"
)
"""Fewer words than a reply in a crisis may have, and its one question at the end (serving/respond.py): the path hears
it out."""

_HOURS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_WORD = re.compile(r"[A-Za-z']+")
LEVEL: Level = "moderate"
"""What SHIELD makes of these messages."""


def messages() -> Iterator[str]:
    """Messages of one length in words, each another one, so that no cache has seen the next."""
    number = 0
    while True:
        day, rest = _DAYS[number % 7], number // 7
        first, second, third = (_HOURS[rest // 12**place % 12] for place in range(3))
        yield f"On {day} at {first} past {second}, or {third}, I thought that I want to die."
        number += 1


def system(level: str = LEVEL) -> str:
    """What the engine is told when it is asked without the path."""
    return system_prompt(
        level=level, kind="direct", language="en", channel="chat", gospel="always", signals=frozenset()
    )


def words() -> tuple[str, ...]:
    """Every word that a prompt of these benchmarks is made of, our own openings among them: one token each in a
    replica's vocabulary."""
    ours = (files("prompts") / "en.toml").read_text(encoding="utf-8")
    texts = (ours, system(), system("imminent"), REPLY, next(messages()), *_HOURS, *_DAYS)
    return tuple(sorted({word for text in texts for word in _WORD.findall(text)}))


@dataclass(frozen=True, slots=True)
class Question:
    """One request to an engine without the path around it. cold: nothing of it was ever evaluated."""

    text: str
    max_tokens: int
    cold: bool = False
    prefix: str = ""
    level: Level = LEVEL

    def request(self) -> Request:
        """A cold one begins with words that no other one begins with."""
        system_text = f"{self.text}\n{system(self.level)}" if self.cold else system(self.level)
        return Request(
            turns=(Turn("user", self.text),),
            system=system_text,
            protocol_prefix="" if self.cold else protocol_prefix(),
            prefix=self.prefix,
            max_tokens=self.max_tokens,
            level=self.level,
            kind="direct",
        )

    def job(self) -> Job:
        """The same as engines' processes take it."""
        request = self.request()
        turns = tuple((turn.role, turn.text) for turn in request.turns)
        kept = len(request.protocol_prefix)
        return Job(1, request.system, kept, turns, request.prefix, request.max_tokens, stop=())


@dataclass(frozen=True, slots=True)
class Heard:
    """One reply of an engine: seconds from the question to the first piece and to the last, and how many came."""

    first_s: float
    total_s: float
    pieces: int


@dataclass(slots=True)
class Barrier:
    """Counts until everybody was here."""

    missing: int

    @property
    def over(self) -> bool:
        return self.missing <= 0

    def one(self) -> None:
        self.missing -= 1


@dataclass
class StandIn(Wrapped):
    """A backend that takes its time and its number of pieces from another, and its words from REPLY."""

    heard: list[Heard] = field(default_factory=list)

    async def stream(self, request: Request) -> AsyncIterator[str]:
        said = cut(REPLY, request.max_tokens)
        began, first_s, pieces = time.perf_counter(), 0.0, 0
        try:
            async with aclosing(self.inner.stream(request)) as texts:  # type: ignore[type-var] # an async generator
                async for _ in texts:
                    first_s = first_s or time.perf_counter() - began
                    pieces += 1
                    yield next(said, "")
        finally:
            self.heard.append(Heard(first_s, time.perf_counter() - began, pieces))


def cut(text: str, count: int) -> Iterator[str]:
    """The text in so many pieces of nearly the same length."""
    for number in range(count):
        piece = text[len(text) * number // count : len(text) * (number + 1) // count]
        if piece:
            yield piece


async def listen(backend: Backend, question: Question, begun: Barrier | None = None) -> dict[str, Any]:
    """Ask it without the path; what was heard, in seconds. begun: leave when everybody has heard a first piece."""
    began, first_s, pieces = time.perf_counter(), 0.0, 0
    async with aclosing(backend.stream(question.request())) as texts:  # type: ignore[type-var] # an async generator
        async for _ in texts:
            if not first_s and begun:
                begun.one()
            first_s = first_s or time.perf_counter() - began
            pieces += 1
            if begun and begun.over:
                break
    return {"first_s": first_s, "total_s": time.perf_counter() - began, "pieces": pieces}
