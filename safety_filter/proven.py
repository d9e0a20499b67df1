"""For models that nobody approved for people: a sentence must be of a kind known to be good, not only break no rule.

A small model strings harmless words into harm that no list foresees ("you have a choice to make, do what feels best").
So in front of a person in crisis its sentences are let through one kind at a time: hearing, presence, an open question,
bringing in a person. `proven/*.toml` holds these kinds, as rules with the same proof as every other rule. A sentence
holds when one of them covers it from beginning to end.
"""

from collections.abc import Sequence
from threading import Lock

from safety_filter.gate import Gate
from safety_filter.readings import visible
from safety_filter.sentences import Sentences
from safety_filter.verdict import Violation
from textrules.matcher import Matcher
from textrules.normalise import fold
from textrules.rules import Rule, load_folder

_EDGES = " \t\r\n\"'*_.!?…¡¿()"
UNPROVEN = Violation("unproven.not-a-known-kind", "unproven", "cut")


class Proven:
    """The kinds of sentences that an unapproved model may say to a person in crisis. For any number of threads."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._matcher = Matcher(rules)
        self._turn = Lock()

    @classmethod
    def load(cls) -> "Proven":
        return cls(load_rules())

    def holds(self, sentence: str) -> bool:
        """Whether one kind covers the whole sentence."""
        return self.kind(sentence) is not None

    def kind(self, sentence: str) -> str | None:
        """The id of the kind that covers the whole sentence."""
        text = fold(visible(sentence)).text.strip(_EDGES)
        asks = sentence.rstrip(" \t\r\n\"'*_)").endswith("?")
        with self._turn:
            hits = list(self._matcher.hits(text))
        whole = (hit.rule for hit in hits if hit.start == 0 and hit.end == len(text))
        return next((rule.id for rule in whole if ("asks" in rule.tags) == asks), None)


class ProvenGate:
    """A gate before the gate: only sentences of a known kind reach the review, each kind once; all others are cut.

    A stage like the one behind it. Small models loop, and each round in slightly other words; and where nothing but
    known kinds can get out, a harmful sentence need not end the model's turn.
    """

    def __init__(self, gate: Gate, proven: Proven) -> None:
        self._gate = gate
        self._proven = proven
        self._sentences = Sentences()
        self._cut: list[Violation] = []
        self._said: set[str] = set()

    @property
    def blocked(self) -> bool:
        return self._gate.blocked

    @property
    def violations(self) -> tuple[Violation, ...]:
        return (*self._gate.violations, *self._cut)

    def feed(self, text: str) -> list[str]:
        return self._reviewed(self._sentences.feed(text))

    def flush(self) -> list[str]:
        return [*self._reviewed(self._sentences.flush()), *self._gate.flush()]

    def _reviewed(self, sentences: list[str]) -> list[str]:
        return [shown for sentence in sentences if self._is_new(sentence) for shown in self._gate.feed(sentence)]

    def _is_new(self, sentence: str) -> bool:
        kind = self._proven.kind(sentence)
        if kind is None or kind in self._said:
            if not self._cut and sentence.strip():
                self._cut.append(UNPROVEN)
            return False
        self._said.add(kind)
        return True


def load_rules() -> tuple[Rule, ...]:
    """Every rule of `safety_filter/proven`."""
    return load_folder("safety_filter", "proven")
