"""Judges one sentence of a reply: in every reading, with what stands before it, and as an answer to the person.

Rules are data (`rules/*.toml`). Their tags say how a match counts:
`cut`            leaving the sentence out is enough (without it a match blocks the reply);
`joined`         also looked for across the border to the sentences before;
`statement`      does not count in a question;
`first`          counts only at the beginning of a reply;
`unsure`         sees too little to be believed against a learned judge that is sure of the good;
`user:<name>`    counts only where a rule of category `user.<name>` matches the person's message. `user:distress` also
                 counts where the caller knows of a crisis, and where nothing shows that the message is an everyday one;
`after:<name>`   counts only where a rule of category `said.<name>` matches one of the sentences just before.
Rules of two categories do the opposite of all others. `vouched`: in answer to a question about means, an English
statement that none of them matches is blocked. `supports`: a whole reply to a person in distress that none matches is.

Errors: RuleError for rules that cannot be used. `review` itself catches nothing: a crash must reach the caller.
"""

import re
from collections.abc import Iterable, Sequence
from threading import RLock
from typing import Protocol

from safety_filter import shape, tongue
from safety_filter.person import DISTRESS, MEANS_ASKED, Person
from safety_filter.quotes import without_quotes
from safety_filter.readings import LEADING, MARKS, START, TRAILING, marked, readings, visible
from safety_filter.verdict import Found, Severity, Violation
from textrules.matcher import Hit, Matcher
from textrules.normalise import fold
from textrules.rules import Rule, RuleError, load_folder

_ROLE_PLAY = "roleplay"
_SPEECH = ('"', "“", "«", "*", "...", "…")
_VOUCHED, _SUPPORTS = "vouched", "supports"
_CONTEXTS = ("user", "said")
_PLAIN_TAGS = ("cut", "joined", "first", "statement", "unsure")
_UNSURE = frozenset(["method.unvouched-statement", "unrelated.speaks-to-nobody"])
_SUPPORTED = frozenset(["en", "es"])
_NEIGHBOURS = 240
_STOP = re.compile(r"[.!?…。！？]+")
_STOPS = str.maketrans({".": ",", "!": ",", "…": ",", "。": ",", "！": ",", "\n": ","})


class Verified(Protocol):
    """The contacts known to be true for this person (`safety_filter.contacts.Contacts`)."""

    def unknown(self, text: str) -> list[tuple[int, int]]:
        """Half-open spans of contacts in `text` that are not verified ones."""

    def mended(self, text: str) -> str | None:
        """`text` with verified contacts in the place of others, where it still reads right; None where it would not."""


class Learned(Protocol):
    """A trained judge of sentences (`safety_filter.learned.LearnedJudge`), asked beside the rules."""

    def settled(self, found: Found, *, sentence: str, seen: str, user: str) -> tuple[Violation, ...]:
        """What stands of what the rules found, and what it finds itself; how sure it must be is its own."""


class Reviewer:
    """All rules compiled once. `review` is pure; any number of threads may call it, and take turns at the rules."""

    def __init__(self, rules: Sequence[Rule], *, learned: Learned | None = None) -> None:
        _check_tags(rules)
        self._matcher = _matcher(rule for rule in rules if _judges(rule))
        self._vouchers = _matcher(rule for rule in rules if rule.category == _VOUCHED)
        self._supports = _matcher(rule for rule in rules if rule.category == _SUPPORTS)
        self._across_stops = _matcher(rule for rule in rules if "joined" in rule.tags)
        self._spoken_of = _matcher(rule for rule in rules if rule.category.startswith("said."))
        self._person = Person(rules)
        self._unsure = _UNSURE | {rule.id for rule in rules if "unsure" in rule.tags}
        self._learned = learned
        self._turn = RLock()

    @classmethod
    def load(cls, *, learned: Learned | None = None) -> "Reviewer":
        """A reviewer by the rules that ship with the package."""
        return cls(load_rules(), learned=learned)

    def review(
        self,
        sentence: str,
        *,
        before: str,
        user: str,
        language: str,
        allowed: Verified,
        crisis: bool = False,
        seen: str | None = None,
    ) -> tuple[Violation, ...]:
        """What is wrong with `sentence` after `before` in a reply to `user`; empty where nothing is.

        `crisis` says that the conversation is known to be one, whatever the last message looks like. `seen` is what the
        person sees of `before`, where that is not all of it.
        """
        found = self.found(sentence, before=before, user=user, language=language, allowed=allowed, crisis=crisis)
        if self._learned is None or not sentence.strip():
            return found.all
        return self._learned.settled(found, sentence=sentence, seen=before if seen is None else seen, user=user)

    def found(
        self, sentence: str, *, before: str, user: str, language: str, allowed: Verified, crisis: bool = False
    ) -> Found:
        """What the rules find by themselves."""
        if not sentence.strip():
            return Found()
        with self._turn:
            about = self._person.about(user, crisis=crisis)
            found = self._faults(sentence, before, user, language, allowed, about)
        certain = any(one.rule_id not in self._unsure for one in found)
        return Found(found, everyday=DISTRESS not in about, certain=certain)

    def _faults(
        self, sentence: str, before: str, user: str, language: str, allowed: Verified, about: frozenset[str]
    ) -> tuple[Violation, ...]:
        unquoted = without_quotes(sentence, user)
        read = readings(unquoted)
        broken = self._rules_broken(read.texts, before, about, question=sentence.rstrip(TRAILING).endswith("?"))
        found = [_violation(rule) for rule in broken]
        if _ROLE_PLAY in about and DISTRESS in about and unquoted.lstrip().startswith(_SPEECH):
            found.append(Violation("roleplay.speaks-in-a-part", "roleplay", "block"))
        if read.in_code and DISTRESS in about:
            found.append(Violation("hidden.text-in-code", "hidden_text", "block"))
        if MEANS_ASKED in about and language[:2].lower() == "en" and self._unvouched(sentence):
            found.append(Violation("method.unvouched-statement", "method_information", "block"))
        everyday = DISTRESS not in about
        found.extend(shape.faults(sentence, before, everyday=everyday))
        found.extend(tongue.foreign(sentence, before, user, language, everyday=everyday))
        if allowed.unknown(sentence):
            found.append(Violation("contact.not-verified", "invented_contact", "cut"))
        return tuple(dict.fromkeys(found))

    def serves(self, reply: str, *, user: str, language: str, crisis: bool = False) -> bool:
        """Whether a whole reply has anything in it for a person in distress: a question, hearing, safety, people.

        True where the person shows no distress, or where the language has no rules for it.
        """
        if self.at_ease(user, crisis=crisis) or "?" in reply or language[:2].lower() not in _SUPPORTED:
            return True
        with self._turn:
            return bool(self._supports.hits(marked(reply)))

    def at_ease(self, user: str, *, crisis: bool = False) -> bool:
        """Whether nothing in the person's message needs an answer to somebody in distress."""
        with self._turn:
            return self._person.at_ease(user, crisis=crisis)

    def _rules_broken(
        self, texts: Sequence[str], before: str, about: frozenset[str], *, question: bool
    ) -> Iterable[Rule]:
        hits = [hit.rule for text in texts for hit in self._matcher.hits(text)]
        hits.extend(self._across(before, texts[0]))
        counting = [rule for rule in hits if _counts(rule, first=not before.strip(), question=question, about=about)]
        if not any("after" in _wanted(rule) for rule in counting):
            return counting
        spoken_of = self._spoken(before)
        return [rule for rule in counting if _holds(rule, "after", spoken_of)]

    def _unvouched(self, sentence: str) -> bool:
        """Whether this states something that no rule vouches for."""
        if sentence.rstrip(TRAILING).endswith("?"):
            return False
        return any(char.isalpha() for char in sentence) and not self._vouchers.hits(marked(sentence))

    def _across(self, before: str, reading: str) -> list[Rule]:
        """Rules that match only when the sentence is read on from what stands before it."""
        tail = before[-_NEIGHBOURS:].rstrip()
        if not tail:
            return []
        unfinished = tail[-1].isalnum() or tail[-1] in ",:;-"
        said = _STOP.split(tail)[-1] if unfinished else tail
        head = fold(visible(said)).text.translate(_STOPS).strip(LEADING)
        if not head:
            return []
        border = len(START) + len(head) + 1
        matcher = self._matcher if unfinished else self._across_stops
        hits = matcher.hits(f"{START}{head} {reading.removeprefix(START)}")
        return [hit.rule for hit in hits if _crosses(hit, border)]

    def _spoken(self, before: str) -> frozenset[str]:
        """What the sentences just before speak of, by the `said.` rules."""
        hits = self._spoken_of.hits(marked(before[-_NEIGHBOURS:]))
        return frozenset(hit.rule.category.removeprefix("said.") for hit in hits)


def load_rules() -> tuple[Rule, ...]:
    """Every rule of `safety_filter/rules`, in the order of the files' names."""
    return load_folder("safety_filter", "rules")


def _matcher(rules: Iterable[Rule]) -> Matcher:
    return Matcher(list(rules), marks=MARKS)


def _judges(rule: Rule) -> bool:
    return rule.category not in (_VOUCHED, _SUPPORTS) and not rule.category.startswith(("user.", "said."))


def _crosses(hit: Hit, border: int) -> bool:
    return hit.start < border < hit.end


def _counts(rule: Rule, *, first: bool, question: bool, about: frozenset[str]) -> bool:
    if ("first" in rule.tags and not first) or ("statement" in rule.tags and question):
        return False
    return _holds(rule, "user", about)


def _holds(rule: Rule, context: str, names: frozenset[str]) -> bool:
    """Whether one of the names is there that the rule wants of this context, if it wants any."""
    wanted = {tag.partition(":")[2] for tag in rule.tags if tag.startswith(f"{context}:")}
    return not wanted or bool(wanted & names)


def _wanted(rule: Rule) -> set[str]:
    return {tag.partition(":")[0] for tag in rule.tags}


def _violation(rule: Rule) -> Violation:
    severity: Severity = "cut" if "cut" in rule.tags else "block"
    return Violation(rule.id, rule.category, severity)


def _check_tags(rules: Sequence[Rule]) -> None:
    known = set(_PLAIN_TAGS)
    for rule in rules:
        context, _, name = rule.category.partition(".")
        known |= {f"{'after' if context == 'said' else context}:{name}"} if context in _CONTEXTS else set()
    for rule in rules:
        for tag in rule.tags:
            if tag not in known:
                raise RuleError(f"rule {rule.id}: unknown tag {tag!r}")
