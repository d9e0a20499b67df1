"""Who is writing, from where and in which language, and what may be named to them: fixed before any model is asked."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from prompts import told as heard
from safety_filter.contacts import Contacts
from safety_filter.helplines import Helplines, Resources, named_country, resolve_country
from safety_filter.places import spoken_of
from safety_filter.tongue import JUDGED
from serving.conversation import Conversation
from shield.assessment import Assessment, Turn
from textrules.language import identify, likely

_SAYS_WHOSE = ("en", "es")
_MOST_PLACES = 4
"""Of so many other countries that the person speaks of may a reply name the lines."""


@dataclass(frozen=True, slots=True)
class Scene:
    """`user` is the person's last message; `allowed` are the only contacts that a reply to them may name.

    `shown` is the structured field: of somebody whose country nobody knows it always has the United States' lines too,
    as theirs. `resources` are what the words of a reply are made of: the same, but in a language that has no sentence
    which says whose these lines are they are not in it, and a model may not name them.
    """

    turns: tuple[Turn, ...]
    user: str
    language: str
    resources: Resources
    shown: Resources
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
    young = "minor" in told or heard.is_young(texts)

    def lines(*, name_home: bool) -> Resources:
        level = assessment.level
        found = helplines.resources(place, language=spoken, level=level, audiences=told, name_home=name_home)
        return _for_a_child(found) if young else found

    resources = lines(name_home=nowhere and spoken in _SAYS_WHOSE)
    others = sorted(spoken_of("\n".join(texts)) - {place})[:_MOST_PLACES]
    allowed = Contacts.of(resources, [helplines.resources(other, language=spoken) for other in others])
    user = texts[0] if texts else ""
    return Scene(asked.turns, user, spoken, resources, lines(name_home=nowhere), allowed)


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
