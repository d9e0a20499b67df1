"""Why a conversation got its level: what carries it, what the learned stage thought, what was withdrawn and by what.

For the audit and for whoever writes rules (`crisis assess --explain`); the detector itself never pays for it. An
explanation quotes the person's words: it is for the eyes of the one who asked, never for a log.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shield.assessment import Assessment, Finding, Level, Turn, rank
from shield.combine import COMBINATIONS
from shield.detect import Detector
from shield.learned import Limits
from shield.reading import Found, Reading, read, traced
from textrules.normalise import fold

_ANSWER = "what a short answer means after the question before it"
_LEARNED = "the learned stage vouches for this level"
_UNLESS = "a pattern of the rule's own `unless` stands in the same clause"
_STORY = "the people spoken of are invented or studied"
_PLAINLY = "to the learned stage the message is plainly an ordinary one, and the words are none of plain danger"
_ORDINARY = "the learned stage is as good as certain that the message, or one after it, is an ordinary one"


@dataclass(frozen=True, slots=True)
class Reason:
    """A finding that counts, with the rule's `why` and the words it stands on; what it was put together from."""

    finding: Finding
    why: str
    words: str
    parts: tuple["Reason", ...] = ()


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """What a rule found and what did not count at its level: `became` is the level that was left of it."""

    finding: Finding
    words: str
    became: Level
    because: str


@dataclass(frozen=True, slots=True)
class Opinion:
    """What the learned stage thought of one message: its probability (0 to 1) of a crisis, the level it vouches for."""

    turn: int
    probability: float
    level: Level
    ordinary: bool
    plainly: bool


@dataclass(frozen=True, slots=True)
class Explanation:
    """Reasons gravest first; `limits` are the learned stage's, None where there is none."""

    assessment: Assessment
    reasons: tuple[Reason, ...]
    withdrawn: tuple[Withdrawn, ...]
    opinions: tuple[Opinion, ...]
    limits: Limits | None


def explain(detector: Detector, turns: Sequence[Turn]) -> Explanation:
    """Why the conversation has its level. Asks the detector twice and reads every message again: some milliseconds."""
    found, alone = detector.assess(turns), detector.assess(turns, learned=False)
    reasons = [_reason(detector, turns, one) for one in found.findings]
    taken_back = (one for one in alone.findings if one not in found.findings)
    return Explanation(
        found,
        tuple(sorted(reasons, key=lambda one: -rank(one.finding.level))),
        (
            *_by_context(detector, turns),
            *(
                Withdrawn(one, _words(turns, one), "none", _ORDINARY if detector.doubts(one) else _PLAINLY)
                for one in taken_back
            ),
        ),
        tuple(_opinions(detector, turns)),
        detector.learned.limits if detector.learned else None,
    )


def _reason(detector: Detector, turns: Sequence[Turn], one: Finding) -> Reason:
    whys = {rule.id: rule.why for rule in detector.rules}
    whys |= {f"together.{row.name}": row.why for row in COMBINATIONS}
    if one.rule_id.startswith("together."):
        return Reason(one, whys[one.rule_id], _words(turns, one), tuple(_parts(detector, turns, one)))
    why = _LEARNED if one.probability is not None else whys.get(one.rule_id, _ANSWER)
    return Reason(one, why, _words(turns, one))


def _parts(detector: Detector, turns: Sequence[Turn], whole: Finding) -> Iterator[Reason]:
    """What was said, here or before, that makes the combination together."""
    needs = next(set(row.needs) for row in COMBINATIONS if f"together.{row.name}" == whole.rule_id)
    for number, reading in _readings(detector, turns[: whole.turn + 1]):
        wanted = {rule for kind, rule in reading.kinds if kind in needs}
        for claim, now, _ in traced(turns[number].text, detector.matcher):
            if now is not None and claim.rule.id in wanted:
                part = _finding(now, number)
                yield Reason(part, claim.rule.why, _words(turns, part))


def _by_context(detector: Detector, turns: Sequence[Turn]) -> Iterator[Withdrawn]:
    for number, turn in enumerate(turns):
        if turn.role != "user":
            continue
        yield from _silenced(detector, turns, number)
        for claim, now, context in traced(turn.text, detector.matcher):
            became: Level = "none" if now is None else now.level
            if rank(became) < rank(claim.level):
                because = _STORY if context is None else f"{context.rule.id}: {context.rule.why}"
                one = _finding(claim, number)
                yield Withdrawn(one, _words(turns, one), became, because)


def _silenced(detector: Detector, turns: Sequence[Turn], number: int) -> Iterator[Withdrawn]:
    plain = fold(turns[number].text)
    for hit in detector.matcher.silenced(plain.text):
        level = _level(hit.rule.level)
        one = Finding(hit.rule.id, hit.rule.category, level, number, *plain.span(hit.start, hit.end))
        if level != "none":
            yield Withdrawn(one, _words(turns, one), "none", _UNLESS)


def _readings(detector: Detector, turns: Sequence[Turn]) -> Iterator[tuple[int, Reading]]:
    users = (number for number, turn in enumerate(turns) if turn.role == "user")
    return ((number, read(turns[number].text, detector.matcher)) for number in users)


def _opinions(detector: Detector, turns: Sequence[Turn]) -> Iterator[Opinion]:
    for number, turn in enumerate(turns):
        if detector.learned and turn.role == "user" and turn.text.strip():
            thought = detector.learned.opinion(turns, number)
            yield Opinion(number, round(thought.probability, 3), thought.level, thought.ordinary, thought.plainly)


def _finding(found: Found, turn: int) -> Finding:
    return Finding(found.rule.id, found.category, found.level, turn, found.start, found.end)


def _level(name: str | None) -> Level:
    return next((level for level in ("low", "moderate", "high", "imminent") if level == name), "none")


def _words(turns: Sequence[Turn], one: Finding) -> str:
    return turns[one.turn].text[one.start : one.end]
