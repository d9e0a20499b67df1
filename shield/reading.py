"""One message read by the rules: what was found in it, once its context has been heard.

A rule's category says what it is for:
- a crisis category (`direct_ideation`, …): a finding of the rule's level;
- `cue.<kind>`: too weak to count alone; `shield.combine` says which kinds count together;
- `signal.<name>`: chooses words and never moves a level;
- `ask.<kind>`: a question of the assistant's, which gives the next short reply its meaning;
- `reply.<kind>`: such a reply; the signals `affirms` and `denies` are replies too;
- `context.<kind>`: lowers what stands near it. Its tag says how far it reaches, its level (if any) to which level.

Reach of a context: `overlap` (the default) only findings that share its words; `clause` also those up to moderate in
its clause; `any` every finding in its clause; `third` as `clause`, and third-person findings anywhere in the message;
`reported` turns the first-person findings that follow it in its clause into worry about someone else; `doubt` marks
those findings of its clause that it does not lower as `unsure`, which lets the learned stage contradict them; alone it
lowers nothing. `third` doubts too.

A rule tagged `settles` that covers half of a message or more says what the message is: the learned stage does not raise
it above that rule's level.
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
_UNSURE = "unsure"
_SETTLES = "settles"
_SURE = "sure"
_SENTENCE_END = ".!?\n。؟！？।…"
_HALF_NO = "half_no"
_OWNED = frozenset({"cue.means"})
_CLAUSE = frozenset({"clause", "third"})
_DOUBTING = frozenset({"doubt", "third"})


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
    """What one message says. `kinds` pairs each cue kind with the rule that showed it, `sure` with each sure rule.

    `asks` names what it asks for, in order, `asks_last` what its last question does. `calm`: a short answer that is
    understood whole, with nothing in it that frightens.
    """

    findings: tuple[Found, ...] = ()
    kinds: frozenset[tuple[str, str]] = frozenset()
    signals: frozenset[str] = frozenset()
    asks: tuple[str, ...] = ()
    asks_last: frozenset[str] = frozenset()
    replies: frozenset[str] = frozenset()
    third_person_context: bool = False
    context: bool = False
    settled: Level | None = None
    calm: bool = False

    @property
    def level(self) -> Level:
        return max((found.level for found in self.findings), key=rank, default="none")


EMPTY = Reading()
"""What is read of a message in which no rule finds anything: most messages, so it is told by `is`."""


def read(text: str, matcher: Matcher, *, story: bool = False) -> Reading:
    """Reads one message. `story`: an earlier message said that the people in it are invented or studied."""
    hits = list(_hits(text, matcher))
    if not hits:
        return EMPTY
    contexts: list[Found] = []
    claims: list[Found] = []
    for hit in hits:
        if hit.category.startswith("context."):
            contexts.append(hit)
        elif hit.rule.level is not None or hit.category.startswith("cue."):
            claims.append(hit)
    third = story or any("third" in hit.rule.tags for hit in contexts)
    kept = tuple(_heard(claims, contexts, text, third=third)) if contexts or third else tuple(claims)
    return Reading(
        findings=tuple(hit for hit in kept if not hit.category.startswith("cue.") and hit.level != "none"),
        kinds=frozenset(kind for hit in kept for kind in _kinds(hit)),
        signals=frozenset(_names(hits, "signal.")),
        replies=_replies(hits),
        asks=tuple(_names(sorted(hits, key=lambda hit: hit.start), "ask.")),
        asks_last=frozenset(_names(_last_asked(hits, text), "ask.")),
        third_person_context=third,
        context=bool(contexts),
        settled=_settled(hits, len(text)),
    )


def finding(found: Found, turn: int) -> Finding:
    """The public form of what was found."""
    unsure = _UNSURE in found.rule.tags
    return Finding(found.rule.id, found.category, found.level, turn, found.start, found.end, unsure=unsure)


def _settled(hits: Iterable[Found], length: int) -> Level | None:
    levels = [hit.level for hit in hits if _SETTLES in hit.rule.tags and 2 * (hit.end - hit.start) >= length]
    return sorted(levels, key=rank)[-1] if levels else None


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


def traced(text: str, matcher: Matcher) -> Iterator[tuple[Found, Found | None, Found | None]]:
    """Every claim of one message with what its contexts leave of it, and the first context that changed it.

    None for what is left where it counts for nothing, None for the context where none changed it or it is the people,
    who are invented, that make a claim about another person nothing.
    """
    hits = list(_hits(text, matcher))
    contexts = [hit for hit in hits if hit.category.startswith("context.")]
    third = any("third" in hit.rule.tags for hit in contexts)
    clauses = Clauses(text)
    for claim in hits:
        if claim in contexts or (claim.rule.level is None and not claim.category.startswith("cue.")):
            continue
        if third and claim.category == _THIRD and not _someone_near(claim):
            yield claim, None, None
            continue
        left: Found | None = claim
        changed = None
        for context in contexts:
            before, part = left, clauses.around(context.start, context.end)
            left = _in_context(left, context, part) if left else None
            changed = changed or (context if left != before else None)
        yield claim, left, changed


def _someone_near(claim: Found) -> bool:
    return "near" in claim.rule.tags


def _in_context(claim: Found, context: Found, part: tuple[int, int]) -> Found | None:
    tags = frozenset(context.rule.tags)
    overlaps = claim.start < context.end and context.start < claim.end
    within = part[0] <= claim.start < part[1] and _near(claim, context)
    if "reported" in tags:
        if within and claim.start >= context.start and claim.category != _THIRD:
            return replace(claim, category=_third(claim.category))
        return claim
    if claim.rule.id == context.rule.id or not (within or overlaps):
        return claim
    if _reaches(tags, claim, overlaps=overlaps):
        return _lowered(claim, cast(Level | None, context.rule.level))
    return claim if tags.isdisjoint(_DOUBTING) else _doubted(claim)


def _reaches(tags: frozenset[str], claim: Found, *, overlaps: bool) -> bool:
    """Whether a context that is near lowers the claim, and does not only cast doubt on it."""
    if "any" in tags:
        return True
    if not tags.isdisjoint(_CLAUSE):
        return overlaps or claim.category == _THIRD or rank(claim.level) <= rank("moderate")
    return overlaps and "doubt" not in tags


def _lowered(claim: Found, cap: Level | None) -> Found | None:
    if cap is None:
        return None
    return replace(claim, level=LEVELS[min(rank(claim.level), rank(cap))])


def _doubted(claim: Found) -> Found:
    tags = claim.rule.tags
    return claim if _UNSURE in tags else replace(claim, rule=replace(claim.rule, tags=(*tags, _UNSURE)))


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
    if _UNSURE not in hit.rule.tags:
        yield _SURE, hit.rule.id


def _replies(hits: Sequence[Found]) -> frozenset[str]:
    """What a short message may be in answer to a question. A yes at its beginning outweighs an "I'm fine" after it.

    "I'm fine" and "I'm not going to hurt myself" deny, and do not say that one is not safe; "no, just tired" half does.
    """
    said = {*_names(hits, "reply."), *({*_names(hits, "signal.")} & {"affirms", "denies"})}
    if "fine" in said:
        half = any(_HALF_NO in hit.rule.tags for hit in hits)
        said = said - {"fine", "denies", "no"} | ({"half_no"} if half else set())
    if "yes" in said:
        said = {"affirms" if reply == "yes" else reply for reply in said} - {"denies"}
    if "safe" in said:
        said -= {"safe", "affirms", "denies", "no"}
    if any(hit.category in _OWNED for hit in hits):
        said.add("owns")
    return frozenset({"denies" if reply == "no" else reply for reply in said})


def _last_asked(hits: Sequence[Found], text: str) -> list[Found]:
    """What the last of several questions asks for: one may ask for two things."""
    asked = [hit for hit in hits if hit.category.startswith("ask.")]
    last = max((hit.start for hit in asked), default=0)
    begins = max(text.rfind(mark, 0, last) for mark in _SENTENCE_END)
    return [hit for hit in asked if hit.start > begins]


def _names(hits: Iterable[Found], prefix: str) -> Iterator[str]:
    return (hit.category.removeprefix(prefix) for hit in hits if hit.category.startswith(prefix))
