"""Who is writing, from where and in which language, and what may be named to them: fixed before any model is asked."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from prompts import told as heard
from safety_filter.contacts import Contacts
from safety_filter.helplines import Helplines, Resources, named_country, resolve_country
from safety_filter.tongue import JUDGED
from serving.conversation import Conversation
from shield.assessment import Assessment, Turn
from textrules.language import identify, likely


@dataclass(frozen=True, slots=True)
class Scene:
    """`user` is the person's last message; `allowed` are the only contacts that a reply to them may name."""

    turns: tuple[Turn, ...]
    user: str
    language: str
    resources: Resources
    allowed: Contacts


def look(
    asked: Conversation, assessment: Assessment, helplines: Helplines, *, country: str | None, language: str
) -> Scene:
    """The scene of a conversation. `country` and `language` are the operator's defaults."""
    texts = [turn.text for turn in reversed(asked.turns) if turn.role == "user"]
    spoken = asked.language or next(filter(None, map(identify, texts)), None) or _guessed(texts) or language
    named = next(filter(None, map(named_country, texts)), None)
    place = resolve_country(asked.country, default=country, named=named, language=spoken)
    told = assessment.signals | set(assessment.categories)
    nowhere = place is None and not (asked.country or country or named)
    resources = helplines.resources(
        place, language=spoken, level=assessment.level, audiences=told, name_home=nowhere and spoken in ("en", "es")
    )
    if "minor" in told or heard.is_young(texts):
        resources = _for_a_child(resources)
    return Scene(asked.turns, texts[0] if texts else "", spoken, resources, Contacts.of(resources))


def _for_a_child(resources: Resources) -> Resources:
    """The same lines; among those for people who are hurt, the ones for children come first."""
    if "child_abuse" not in resources.wanted:
        return resources
    hurt = frozenset({"child_abuse", "domestic_violence", "sexual_violence"})
    places = [place for place, line in enumerate(resources.lines) if hurt & set(line.audience)]
    ordered = sorted((resources.lines[place] for place in places), key=lambda line: "child_abuse" not in line.audience)
    lines = list(resources.lines)
    for place, line in zip(places, ordered, strict=True):
        lines[place] = line
    return replace(resources, lines=tuple(lines))


def _guessed(texts: Sequence[str]) -> str | None:
    """Of the languages that are judged here, the one that the last message looks most like."""
    return likely(texts[0], JUDGED) if texts else None


def said_by_us(turns: Sequence[Turn]) -> str:
    """Our earlier replies in this conversation, so that no wording comes twice."""
    return "\n".join(turn.text for turn in turns if turn.role == "assistant")
