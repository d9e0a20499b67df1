"""A conversation in, an Assessment out: pure, no network, no language model, microseconds."""

import functools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.resources import files

from shield.assessment import LEVELS, Assessment, Finding, Level, Turn, higher, rank
from shield.combine import Kinds, combined
from shield.dialogue import answered, carried
from shield.learned import LearnedStage
from shield.reading import Reading, finding, read
from textrules.matcher import Matcher
from textrules.rules import Rule, load

LEARNED_TURNS = 8  # how far back the learned stage looks: what is older has long been answered
LEARNED_WORDS = 4  # fewer words are left to the patterns
LAST_TURN_SIGNALS = frozenset(
    {"declines_resources", "asks_resources", "denies", "affirms", "insults_bot", "asks_if_human"}
)


class Detector:
    """All rules compiled once. `assess` may be called from one thread at a time."""

    def __init__(self, rules: Sequence[Rule], learned: LearnedStage | None = None) -> None:
        self._matcher = Matcher(rules)
        self._learned = learned

    @classmethod
    def load(cls, *, learned: bool = True) -> "Detector":
        """The detector with every rules file of the package, and with the learned stage behind them."""
        return cls(rules(), LearnedStage.load() if learned else None)

    @property
    def rules(self) -> tuple[Rule, ...]:
        return self._matcher.rules

    def assess(self, turns: Sequence[Turn]) -> Assessment:
        """The level of the conversation as it stands after its last turn."""
        readings = list(self._read(turns))
        per_turn: list[Level] = []
        findings: list[Finding] = []
        kinds: Kinds = frozenset()
        for number, (turn, reading) in enumerate(zip(turns, readings, strict=True)):
            if turn.role != "user":
                per_turn.append("none")
                continue
            own = [finding(found, number) for found in reading.findings]
            own += _together(turn, number, reading.kinds, kinds)
            own += answered(turns, readings, number, before=functools.reduce(higher, per_turn, "none"))
            if len(turns) - number <= LEARNED_TURNS:
                own += self._second_look(turn.text, number, reading, own)
            kinds |= reading.kinds
            findings += own
            per_turn.append(max((one.level for one in own), key=rank, default="none"))
        return Assessment(
            level=carried(turns, per_turn),
            categories=tuple(_categories(findings)),
            findings=tuple(findings),
            per_turn=tuple(per_turn),
            signals=_signals(turns, readings),
        )

    def _second_look(self, text: str, number: int, reading: Reading, own: Sequence[Finding]) -> Iterator[Finding]:
        """The learned stage's finding, where it raises what patterns found; none where context explains them."""
        known: Level = max((one.level for one in own), key=rank, default="none")
        if self._learned is None or rank(known) >= rank("high") or reading.third_person_context:
            return
        if any(one.category == "third_party_concern" for one in own):
            return  # it does not know whose danger it sees
        if "denies" in reading.signals or len(text.split()) < LEARNED_WORDS or not self._learned.reads(text):
            return
        level, probability = self._learned.level(text)
        enough = rank(level) >= rank("moderate") or not reading.context
        if enough and rank(level) > rank(known):
            yield Finding("learned.crisis", "indirect_ideation", level, number, 0, len(text), round(probability, 3))

    def _read(self, turns: Sequence[Turn]) -> Iterator[Reading]:
        story = False
        for turn in turns:
            reading = read(turn.text, self._matcher, story=story and turn.role == "user")
            if turn.role == "user":
                story = reading.third_person_context
                yield reading
            else:
                yield replace(reading, findings=(), kinds=frozenset(), signals=frozenset())


@functools.cache
def _default() -> Detector:
    return Detector.load()


def detect(text: str) -> Assessment:
    """The assessment of one message on its own."""
    return _default().assess((Turn("user", text),))


@functools.cache
def rules() -> tuple[Rule, ...]:
    """Every rule of shield/rules, file by file in alphabetical order."""
    folder = files("shield") / "rules"
    return load(sorted((f for f in folder.iterdir() if f.name.endswith(".toml")), key=lambda f: f.name))


def _together(turn: Turn, number: int, here: Kinds, before: Kinds) -> Iterator[Finding]:
    if not here:
        return
    rows = dict.fromkeys(combined(here))
    if before:
        rows |= {
            row: None for row in combined(here | before, across=True) if {kind for kind, _ in here} & set(row.needs)
        }
    for row in rows:
        yield Finding(f"together.{row.name}", row.category, row.level, number, 0, len(turn.text))


def _categories(findings: Sequence[Finding]) -> Iterator[str]:
    """Gravest first, each once."""
    ordered = sorted(findings, key=lambda one: -LEVELS.index(one.level))
    return iter(dict.fromkeys(one.category for one in ordered))


def _signals(turns: Sequence[Turn], readings: Sequence[Reading]) -> frozenset[str]:
    users = [n for n, turn in enumerate(turns) if turn.role == "user"]
    anywhere = {name for n in users for name in readings[n].signals if name not in LAST_TURN_SIGNALS}
    last = {name for name in readings[users[-1]].signals if name in LAST_TURN_SIGNALS} if users else set()
    return frozenset(anywhere | last)
