"""One message read by the rules: what was found in it, once its context has been heard.

A rule's category says what it is for:
- a crisis category (`direct_ideation`, …): a finding of the rule's level;
- `cue.<kind>`: too weak to count alone; `shield.combine` says which kinds count together;
- `signal.<name>`: chooses words and never moves a level;
- `ask.<kind>`: a question of the assistant's, which gives the next bare answer its meaning;
- `context.<kind>`: lowers what stands near it. Its tag says how far it reaches, its level (if any) to which level.

Reach of a context: `overlap` (the default) only findings that share its words; `clause` also those up to moderate in
its clause; `any` every finding in its clause; `third` the same, and third-person findings anywhere in the message;
`reported` turns the first-person findings that follow it in its clause into worry about someone else.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

from shield.assessment import LEVELS, Finding, Level, rank
from textrules.matcher import Clauses, Matcher
from textrules.normalise import views
from textrules.rules import Rule

_WINDOW = (
    90  # characters: a text without punctuation is one clause, and a game at its end excuses nothing at its beginning
)
_THIRD = "third_party_concern"


@dataclass(frozen=True, slots=True)
class Found:
    """A rule at a place of the original text, with the level and category it has there."""

    rule: Rule
    start: int
    end: int
    level: Level
    category: str


@dataclass(frozen=True, slots=True)
class Reading:
    """What one message says. `kinds` pairs each cue kind with the rule that showed it."""

    findings: tuple[Found, ...] = ()
    kinds: frozenset[tuple[str, str]] = frozenset()
    signals: frozenset[str] = frozenset()
    asks: tuple[str, ...] = ()
    third_person_context: bool = False
    context: bool = False

    @property
    def level(self) -> Level:
        return max((found.level for found in self.findings), key=rank, default="none")


def read(text: str, matcher: Matcher, *, story: bool = False) -> Reading:
    """Reads one message. `story`: an earlier message said that the people in it are invented or studied."""
    hits = list(_hits(text, matcher))
    if not hits:
        return Reading()
    contexts = [hit for hit in hits if hit.category.startswith("context.")]
    third = story or any("third" in hit.rule.tags for hit in contexts)
    claims = [hit for hit in hits if hit.rule.level is not None or hit.category.startswith("cue.")]
    claims = [hit for hit in claims if not hit.category.startswith("context.")]
    kept = tuple(_heard(claims, contexts, text, third=third)) if contexts or third else tuple(claims)
    return Reading(
        findings=tuple(hit for hit in kept if not hit.category.startswith("cue.") and hit.level != "none"),
        kinds=frozenset(kind for hit in kept for kind in _kinds(hit)),
        signals=frozenset(_names(hits, "signal.")),
        asks=tuple(_names(sorted(hits, key=lambda hit: hit.start), "ask.")),
        third_person_context=third,
        context=bool(contexts),
    )


def finding(found: Found, turn: int) -> Finding:
    """The public form of what was found."""
    return Finding(found.rule.id, found.category, found.level, turn, found.start, found.end)


def _hits(text: str, matcher: Matcher) -> Iterator[Found]:
    seen: set[tuple[str, int, int]] = set()
    for view in views(text):
        for hit in matcher.hits(view.text):
            start, end = view.span(hit.start, hit.end)
            key = (hit.rule.id, start, end)
            if key not in seen:
                seen.add(key)
                yield Found(hit.rule, start, end, cast(Level, hit.rule.level or "none"), hit.rule.category)


def _heard(claims: Iterable[Found], contexts: Sequence[Found], text: str, *, third: bool) -> Iterator[Found]:
    clauses = Clauses(text)
    parts = [clauses.around(context.start, context.end) for context in contexts]
    for claim in claims:
        if third and claim.category == _THIRD and not _someone_near(claim):
            continue
        if (now := _through(claim, contexts, parts)) is not None:
            yield now


def _through(claim: Found, contexts: Sequence[Found], parts: Sequence[tuple[int, int]]) -> Found | None:
    now: Found | None = claim
    for context, part in zip(contexts, parts, strict=True):
        if now is None:
            return None
        now = _in_context(now, context, part)
    return now


def _someone_near(claim: Found) -> bool:
    return "near" in claim.rule.tags


def _in_context(claim: Found, context: Found, part: tuple[int, int]) -> Found | None:
    tags = context.rule.tags
    overlaps = claim.start < context.end and context.start < claim.end
    within = part[0] <= claim.start < part[1] and _near(claim, context)
    if "reported" in tags:
        if within and claim.start >= context.start and claim.category != _THIRD:
            return replace(claim, category=_third(claim.category))
        return claim
    weak = rank(claim.level) <= rank("moderate")
    reached = overlaps or (within and (("clause" in tags and weak) or "any" in tags or "third" in tags))
    if not reached or claim.rule.id == context.rule.id:
        return claim
    cap = context.rule.level
    if cap is None:
        return None
    return replace(claim, level=LEVELS[min(rank(claim.level), LEVELS.index(cast(Level, cap)))])


def _near(claim: Found, context: Found) -> bool:
    return claim.start - context.end < _WINDOW and context.start - claim.end < _WINDOW


def _third(category: str) -> str:
    return category if category.startswith("cue.") else _THIRD


def _kinds(hit: Found) -> Iterator[tuple[str, str]]:
    if hit.category.startswith("cue."):
        yield hit.category.removeprefix("cue."), hit.rule.id
    elif hit.level != "none":
        yield hit.category, hit.rule.id
    if hit.level != "none":
        yield from ((tag, hit.rule.id) for tag in hit.rule.tags)


def _names(hits: Iterable[Found], prefix: str) -> Iterator[str]:
    return (hit.category.removeprefix(prefix) for hit in hits if hit.category.startswith(prefix))
