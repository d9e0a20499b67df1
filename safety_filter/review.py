"""Judges one sentence of a reply: in every reading, with what stands before it, and as an answer to the person.

Rules are data (`rules/*.toml`). Their tags say how a match counts:
`cut`            leaving the sentence out is enough (without it a match blocks the reply);
`joined`         also looked for across the border to the sentences before;
`statement`      does not count in a question;
`first`          counts only at the beginning of a reply;
`user:<name>`    counts only where a rule of category `user.<name>` matches the person's message. `user:distress` also
                 counts where the caller knows of a crisis, and where nothing shows that the message is an everyday one.
Rules of two categories do the opposite of all others. `vouched`: in answer to a question about means, an English
statement that none of them matches is blocked. `supports`: a whole reply to a person in distress that none matches is.

Errors: RuleError for rules that cannot be used. `review` itself catches nothing: a crash must reach the caller.
"""

import re
from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import Protocol

from safety_filter import shape
from safety_filter.verdict import Severity, Violation
from textrules.language import identify
from textrules.matcher import Hit, Matcher
from textrules.normalise import fold, views
from textrules.rules import Rule, RuleError, load

_VOUCHED, _SUPPORTS = "vouched", "supports"
_MEANS_ASKED, _MEANS, _DISTRESS, _EVERYDAY = "means_question", "means", "distress", "everyday"
_JUDGED = frozenset(["en", "es", "pt", "fr", "de"])
_GRAVE = frozenset([_DISTRESS, "wants_to_die", "plan", "farewell", "took_something", "burden", "asks_permission"])
_SUPPORTED = frozenset(["en", "es"])
_NEIGHBOURS = 240
_SURE_WORDS = 8
_QUOTED_CHARACTERS = 160
_USER_CHARACTERS = 4000
_LEADING = " \t\r\n\"'*-(_~•·–"
_TRAILING = " \t\r\n\"'*_.!…。！)~"
_QUOTE = re.compile(rf"[\"“]([^\"“”]{{2,{_QUOTED_CHARACTERS}}})[\"”]")
_CONTRACTED = re.compile(r"(?<=[A-Za-z])['’](d|ll|ve)\b", re.IGNORECASE)
_SPELLED_OUT = {"d": " would", "ll": " will", "ve": " have"}
_STOP = re.compile(r"[.!?…。！？]+")
_START, _END = "xbos ", " xeos"
_MARKS = (_START.strip(), _END.strip())
_STOPS = str.maketrans({".": ",", "!": ",", "…": ",", "。": ",", "！": ",", "\n": ","})


class Verified(Protocol):
    """The contacts known to be true for this person (`safety_filter.contacts.Contacts`)."""

    def unknown(self, text: str) -> list[tuple[int, int]]:
        """Half-open spans of contacts in `text` that are not verified ones."""


class Reviewer:
    """All rules compiled once. `review` is pure; use one object from one thread at a time."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._matcher = Matcher([rule for rule in rules if _judges(rule)], marks=_MARKS)
        self._vouchers = Matcher([rule for rule in rules if rule.category == _VOUCHED], marks=_MARKS)
        self._supports = Matcher([rule for rule in rules if rule.category == _SUPPORTS], marks=_MARKS)
        self._person = Matcher([rule for rule in rules if rule.category.startswith("user.")], marks=_MARKS)
        self._across_stops = Matcher([rule for rule in rules if "joined" in rule.tags], marks=_MARKS)
        self._last_said: tuple[str, frozenset[str]] = ("", frozenset())
        _check_tags(rules)

    @classmethod
    def load(cls) -> "Reviewer":
        return cls(load_rules())

    def review(
        self, sentence: str, *, before: str, user: str, language: str, allowed: Verified, crisis: bool = False
    ) -> tuple[Violation, ...]:
        """What is wrong with `sentence` after `before` in a reply to `user`; empty where nothing is.

        `crisis` says that the conversation is known to be one, whatever the last message looks like.
        """
        if not sentence.strip():
            return ()
        about = self._about(user, crisis=crisis)
        found = [_violation(rule) for rule in self._rules_broken(sentence, before, user, about)]
        if _MEANS_ASKED in about and language[:2].lower() == "en" and self._unvouched(sentence):
            found.append(Violation("method.unvouched-statement", "method_information", "block"))
        found.extend(shape.faults(sentence, before, everyday=_DISTRESS not in about))
        found.extend(_foreign(sentence, before, user, language))
        if allowed.unknown(sentence):
            found.append(Violation("contact.not-verified", "invented_contact", "cut"))
        return tuple(dict.fromkeys(found))

    def serves(self, reply: str, *, user: str, language: str, crisis: bool = False) -> bool:
        """Whether a whole reply has anything in it for a person in distress: a question, hearing, safety, people.

        True where the person shows no distress, or where the language has no rules for it.
        """
        said = self._said(user)
        everyday = _DISTRESS not in said and (_EVERYDAY in said or not (crisis or said & _GRAVE))
        if everyday or "?" in reply or language[:2].lower() not in _SUPPORTED:
            return True
        return bool(self._supports.hits(_marked(fold(_encodable(reply)).text)))

    def _rules_broken(self, sentence: str, before: str, user: str, about: frozenset[str]) -> Iterable[Rule]:
        readings = marked_readings(_without_quotes(sentence, user))
        hits = [hit.rule for text in readings for hit in self._matcher.hits(text)]
        hits.extend(self._across(before, readings[0]))
        question = sentence.rstrip(_TRAILING).endswith("?")
        return [rule for rule in hits if _counts(rule, first=not before.strip(), question=question, about=about)]

    def _unvouched(self, sentence: str) -> bool:
        """Whether this states something that no rule vouches for."""
        if sentence.rstrip(_TRAILING).endswith("?"):
            return False
        return any(char.isalpha() for char in sentence) and not self._vouchers.hits(marked_readings(sentence)[0])

    def _across(self, before: str, reading: str) -> list[Rule]:
        """Rules that match only when the sentence is read on from what stands before it."""
        tail = before[-_NEIGHBOURS:].rstrip()
        if not tail:
            return []
        unfinished = tail[-1].isalnum() or tail[-1] in ",:;-"
        said = _STOP.split(tail)[-1] if unfinished else tail
        head = fold(_encodable(said)).text.translate(_STOPS).strip(_LEADING)
        if not head:
            return []
        border = len(_START) + len(head) + 1
        matcher = self._matcher if unfinished else self._across_stops
        hits = matcher.hits(f"{_START}{head} {reading.removeprefix(_START)}")
        return [hit.rule for hit in hits if _crosses(hit, border)]

    def _about(self, user: str, *, crisis: bool) -> frozenset[str]:
        """What the person's message is about, by the `user.` rules.

        `distress` is among it unless the message shows itself to be an everyday one; of an everyday one nothing else
        counts but that it names means. A question is about means where it names some, or comes out of distress.
        """
        said = self._said(user)
        if not crisis and _EVERYDAY in said and _DISTRESS not in said:
            return said & {_MEANS}
        about = said | {_DISTRESS}
        return about if said & {_DISTRESS, _MEANS} or (crisis and _EVERYDAY not in said) else about - {_MEANS_ASKED}

    def _said(self, user: str) -> frozenset[str]:
        """The names of the `user.` rules that match; remembered for the reply's next sentence."""
        known, said = self._last_said
        if known == user:
            return said
        text = _marked(fold(_encodable(user[-_USER_CHARACTERS:])).text)
        said = frozenset(hit.rule.category.removeprefix("user.") for hit in self._person.hits(text))
        self._last_said = (user, said)
        return said


def _judges(rule: Rule) -> bool:
    return rule.category not in (_VOUCHED, _SUPPORTS) and not rule.category.startswith("user.")


def load_rules() -> tuple[Rule, ...]:
    """Every rule of `safety_filter/rules`, in the order of the files' names."""
    folder = files("safety_filter") / "rules"
    return load(sorted((f for f in folder.iterdir() if f.name.endswith(".toml")), key=lambda f: f.name))


def _foreign(sentence: str, before: str, user: str, language: str) -> Iterable[Violation]:
    """A sentence that this filter cannot judge, or that the person may not be able to read.

    A short Latin sentence says too little about its language: it is read on from what stands before it.
    """
    text = sentence
    if sentence.isascii() or _latin(sentence):
        if sentence.count(" ") < _SURE_WORDS:
            text = before[-_NEIGHBOURS:] + sentence
        if text.count(" ") < _SURE_WORDS:
            return
    spoken = identify(text)
    if spoken is None or (spoken in _JUDGED and spoken == language[:2].lower()):
        return
    if spoken not in _JUDGED:
        yield Violation("language.not-judged", "wrong_language", "block")
    elif spoken != identify(user):
        yield Violation("language.not-the-persons", "wrong_language", "block")


def _latin(sentence: str) -> bool:
    return not any(char.isalpha() and ord(char) > 0x24F for char in sentence)


def _without_quotes(sentence: str, user: str) -> str:
    """The sentence without the person's own words where it quotes them: a quotation claims nothing."""
    if '"' not in sentence and "“" not in sentence:
        return sentence
    said = fold(_encodable(user[-_USER_CHARACTERS:])).text

    def put(quote: re.Match[str]) -> str:
        words = fold(_encodable(quote[1])).text.strip(" .,!?")
        return '"…"' if words and words in said else quote[0]

    return _QUOTE.sub(put, sentence)


def marked_readings(sentence: str) -> list[str]:
    plain = _encodable(sentence)
    texts = [_marked(view.text) for view in views(plain)]
    if _CONTRACTED.search(plain):
        spelled = _CONTRACTED.sub(lambda match: _SPELLED_OUT[match[1].lower()], plain)
        texts.append(_marked(fold(spelled).text))
    for hidden in shape.decoded(plain):
        texts.append(_marked(fold(hidden).text))
    return texts


def _leading(text: str) -> str:
    return text.lstrip(_LEADING).rstrip(_TRAILING)


def _marked(text: str) -> str:
    """The sentence between the marks of words_any.toml: rules see where it begins and ends."""
    return f"{_START}{_leading(text)}{_END}"


def _encodable(text: str) -> str:
    """Lone surrogates cannot be scanned; what they stood for is unreadable anyway."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _crosses(hit: Hit, border: int) -> bool:
    return hit.start < border < hit.end


def _counts(rule: Rule, *, first: bool, question: bool, about: frozenset[str]) -> bool:
    if ("first" in rule.tags and not first) or ("statement" in rule.tags and question):
        return False
    wanted = {tag.removeprefix("user:") for tag in rule.tags if tag.startswith("user:")}
    return not wanted or bool(wanted & about)


def _violation(rule: Rule) -> Violation:
    severity: Severity = "cut" if "cut" in rule.tags else "block"
    return Violation(rule.id, rule.category, severity)


def _check_tags(rules: Sequence[Rule]) -> None:
    asked = {rule.category.removeprefix("user.") for rule in rules if rule.category.startswith("user.")}
    for rule in rules:
        for tag in rule.tags:
            if tag not in ("cut", "joined", "first", "statement") and tag.removeprefix("user:") not in asked:
                raise RuleError(f"rule {rule.id}: unknown tag {tag!r}")
