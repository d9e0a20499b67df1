"""What a person's message is about, as far as it decides what a reply to them may say.

Names come from the rules of category `user.<name>` (rules/user.toml). `distress` is among them unless the message shows
itself to be an everyday one: in doubt a reply is judged as one to a person in distress.
"""

from collections.abc import Sequence

from safety_filter.readings import MARKS, readings
from textrules.matcher import Matcher
from textrules.rules import Rule

DISTRESS, MEANS_ASKED, EVERYDAY = "distress", "means_question", "everyday"
_MEANS = "means"
_PREFIX = "user."
_GRAVE = frozenset([DISTRESS, "wants_to_die", "plan", "farewell", "took_something", "burden", "asks_permission"])
# Said once, it holds for the messages that follow.
_IN_A_CRISIS = frozenset(["wants_to_die"])
_MOST_READ = 4000


class Person:
    """Reads messages by the `user.` rules among `rules`. Use one object from one thread at a time."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._matcher = Matcher([rule for rule in rules if rule.category.startswith(_PREFIX)], marks=MARKS)
        self._last: tuple[str, frozenset[str]] = ("", frozenset())

    def about(self, message: str, *, crisis: bool) -> frozenset[str]:
        """The names that hold for `message`; `crisis` says that the conversation is known to be one.

        Of an everyday message nothing else counts but that it names means. A question is about means where it names
        some, or comes out of distress.
        """
        said = self.said(message)
        if not crisis and EVERYDAY in said and DISTRESS not in said:
            return said & {_MEANS}
        about = said | {DISTRESS} | (_IN_A_CRISIS if crisis else frozenset())
        return about if said & {DISTRESS, _MEANS} or (crisis and EVERYDAY not in said) else about - {MEANS_ASKED}

    def at_ease(self, message: str, *, crisis: bool) -> bool:
        """Whether nothing in the message needs an answer to somebody in distress."""
        said = self.said(message)
        return DISTRESS not in said and (EVERYDAY in said or not (crisis or said & _GRAVE))

    def said(self, message: str) -> frozenset[str]:
        """The names of the rules that match the message in any reading; remembered for the reply's next sentence."""
        known, names = self._last
        if known == message:
            return names
        hits = (hit for text in readings(message[-_MOST_READ:]).texts for hit in self._matcher.hits(text))
        names = frozenset(hit.rule.category.removeprefix(_PREFIX) for hit in hits)
        self._last = (message, names)
        return names
