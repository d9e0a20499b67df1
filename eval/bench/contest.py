"""Runs the contenders in turn, round by round, so that a change of the machine's load falls on all of them alike.

In a round every engine is asked for a first token with its situation evaluated (as for the second person in the same
plight), then 1, 2, 4, 8 conversations come at once, each with our path around the engine and without. In the first
rounds it is also asked as nobody asked before: with nothing evaluated, with the protocol alone, and by several at once.
An engine that breaks is out of the contest, with the reason.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from time import perf_counter
from typing import Any

from eval.bench.client import stream_events
from eval.bench.contenders import TOGETHER, Contender
from eval.bench.stand_in import LEVEL, Question, messages
from eval.bench.talk import Broken
from shield.assessment import Level

REPLY_TOKENS = 120
"""Of each of their replies: the length of the client's latency table."""

SITUATIONS = ("urgent", "other", "seen")
"""What was evaluated when they come: the protocol with the most urgent level's notes, which are theirs; the same, but
theirs are other notes; their notes, since somebody had them before."""

_LEVELS: tuple[Level, ...] = ("imminent", LEVEL, LEVEL)
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Run:
    """So many conversations at once. Seconds in all; of each, to the engine's first piece; pieces of them together."""

    wall_s: float
    first_s: tuple[float, ...]
    pieces: int


@dataclass(slots=True)
class Record:
    """What was measured of one contender. Runs by how many conversations there were at once, pair by pair.

    first, bare_first: seconds to a first token, by what was evaluated before: cold, protocol (with our path only),
    cached. together: seconds to the slowest first token of TOGETHER at once, by SITUATIONS. short: runs that do not
    count. broken: why it is out.
    """

    name: str
    first: dict[str, list[float]] = field(default_factory=dict)
    bare_first: dict[str, list[float]] = field(default_factory=dict)
    together: dict[str, list[float]] = field(default_factory=dict)
    path: dict[int, list[Run]] = field(default_factory=dict)
    bare: dict[int, list[Run]] = field(default_factory=dict)
    prompt_tokens: int = 0
    short: int = 0
    memory_bytes: int | None = None
    broken: str = ""


@dataclass(frozen=True, slots=True)
class Contest:
    """counts: how many conversations at once. tokens: of each reply. fresh: rounds in which engines are asked as nobody
    asked before."""

    counts: Sequence[int]
    tokens: int
    rounds: int
    fresh: int
    say: Say

    @property
    def most(self) -> int:
        return max(self.counts)

    def hold(self, contenders: Sequence[Contender]) -> list[Record]:
        """Measure. Never fails for a contender that does."""
        texts = messages()
        records = [Record(one.name) for one in contenders]
        pairs = list(zip(contenders, records, strict=True))
        for contender, record in pairs:  # the first replies of all are not counted
            self._guarded(self._seen, contender, record, texts)
        for number in range(self.rounds):
            for contender, record in pairs:
                if not record.broken and number < contender.rounds:
                    self.say(f"round {number + 1} of {self.rounds}: {contender.name}")
                    self._guarded(self._round, contender, record, texts, number)
        for contender, record in pairs:
            record.memory_bytes = None if record.broken else contender.memory_bytes()
        return records

    def _guarded(self, work: Callable[..., None], contender: Contender, record: Record, *more: Any) -> None:
        try:
            work(contender, record, *more)
        except Broken as fault:
            record.broken = str(fault)
            self.say(f"{contender.name} is out: {fault}")

    def _round(self, contender: Contender, record: Record, texts: Iterator[str], number: int) -> None:
        if number < self.fresh:
            self._fresh(contender, record, texts)
            self._seen(contender, record, texts)
        for bare in (False, True):
            self._first(contender, record, "cached", self._questions(1, texts), bare=bare)
        for count in self.counts:
            self._at_once(contender, record, count, texts, swapped=bool(number % 2))

    # as nobody asked before

    def _fresh(self, contender: Contender, record: Record, texts: Iterator[str]) -> None:
        for bare in (False, True):
            self._first(contender, record, "cold", self._questions(1, texts, cold=True), bare=bare)
        if not contender.keeps:
            return
        self._warm(contender)
        self._first(contender, record, "protocol", self._questions(1, texts), bare=False)
        if not contender.together:
            return
        for situation, level in zip(SITUATIONS, _LEVELS, strict=True):
            if situation != "seen":
                self._warm(contender)
            asked = [replace(one, max_tokens=REPLY_TOKENS, level=level) for one in self._questions(TOGETHER, texts)]
            answer = contender.host.ask({"ask": [asdict(one) for one in asked], "until_first": True})
            slowest = max(float(one["first_s"]) for one in answer["heard"])
            record.together.setdefault(situation, []).append(slowest)

    def _warm(self, contender: Contender) -> None:
        """As after a start: what else was evaluated is gone."""
        contender.host.ask({"warm": True})

    def _seen(self, contender: Contender, record: Record, texts: Iterator[str]) -> None:
        """Every place has seen this situation, with our path and without. Not counted. First without, since nobody
        there waits for an answer in time."""
        for bare in (True, False):
            self._asked(contender, self._questions(self.most, texts), bare=bare)

    def _first(
        self, contender: Contender, record: Record, what: str, questions: Sequence[Question], *, bare: bool
    ) -> None:
        heard = self._asked(contender, questions, bare=bare)["heard"][0]
        kept = record.bare_first if bare else record.first
        kept.setdefault(what, []).append(float(heard["first_s"]))

    def _asked(self, contender: Contender, questions: Sequence[Question], *, bare: bool) -> dict[str, Any]:
        """For the first token alone."""
        short = [replace(question, max_tokens=2) for question in questions]
        return contender.bare(short) if bare else contender.host.ask({"ask": [asdict(one) for one in short]})

    # with our path and without

    def _at_once(
        self, contender: Contender, record: Record, count: int, texts: Iterator[str], *, swapped: bool
    ) -> None:
        def without() -> Run:
            return _run(contender.bare(self._questions(count, texts)))

        if swapped:
            bare, path = without(), self._path(contender, count, texts)
        else:
            path, bare = self._path(contender, count, texts), without()
        if path.pieces < contender.least_pieces * count * self.tokens:  # the engine ended a reply itself
            record.short += 1
            return
        record.path.setdefault(count, []).append(path)
        record.bare.setdefault(count, []).append(bare)

    def _path(self, contender: Contender, count: int, texts: Iterator[str]) -> Run:
        """Conversations over HTTP, all at once, to the end of the last one."""
        contender.host.ask({"heard": True})
        asked = list(islice(texts, count))
        with ThreadPoolExecutor(count) as pool:
            began = perf_counter()
            ends = list(pool.map(lambda text: _conversation(contender.port, text), asked))
            wall_s = perf_counter() - began
        if "static" in ends:
            raise Broken("a reply came from nobody: no text in time")
        return _run({"wall_s": wall_s, "heard": contender.host.ask({"heard": True})["heard"]})

    def _questions(self, count: int, texts: Iterator[str], *, cold: bool = False) -> list[Question]:
        return [Question(text, self.tokens, cold=cold, prefix=_OPENING) for text in islice(texts, count)]


# What the path itself says first, in the length of its own opening: the bare engine gets the same to continue.
_OPENING = "Thank you for telling me. I want to understand how you are right now. Are you safe right now? "


def _conversation(port: int, text: str) -> str:
    """Where the reply came from."""
    source = ""
    for name, event, _ in stream_events(port, {"message": text, "country": "US", "language": "en"}):
        if name == "done":
            source = str(event["source"])
    return source


def _run(answer: dict[str, Any]) -> Run:
    heard = answer["heard"]
    return Run(answer["wall_s"], tuple(one["first_s"] for one in heard), sum(one["pieces"] for one in heard))
