"""The gate between a model and a person: text goes in as it comes, whole sentences that passed review come out.

Closed until proven open: `blocked` is set before a sentence is reviewed and lifted only by the review's result, so a
review that crashes leaves the gate shut. Judged against everything the source wrote, also what was cut: adding a rule
can only hold back more.
"""

import re

from safety_filter.review import Reviewer, Verified
from safety_filter.sentences import Sentences
from safety_filter.verdict import Violation

_MOST_CUT = 2
_CONTEXT = 4000
_DEPENDS = re.compile(
    r"[\s\"'*(]*(?:instead|that['’]?s|that is|this is|which|because|and|but|also|otherwise|for example|it['’]s|it is"
    r"|it will|those|these|they|he|she|so (?!are|is|can|could|what|who|how)"
    r"|en cambio|por eso|eso|esto|y|pero|porque|también|además)\b",
    re.IGNORECASE,
)


class Gate:
    """One source's way to the person. `feed` and `flush` give what may be shown; once `blocked`, nothing ever is.

    `before` is what the person already sees of this reply; `crisis`, that their conversation is known to be one.
    """

    def __init__(
        self,
        reviewer: Reviewer,
        *,
        user: str,
        language: str,
        allowed: Verified,
        before: str = "",
        crisis: bool = False,
    ) -> None:
        self._reviewer = reviewer
        self._user = user
        self._language = language
        self._allowed = allowed
        self._crisis = crisis
        self._sentences = Sentences()
        self._seen = before
        self._released = 0
        self._after_cut = False
        self._violations: list[Violation] = []
        self.blocked = False
        self.cut = 0

    @property
    def violations(self) -> tuple[Violation, ...]:
        return tuple(self._violations)

    def feed(self, text: str) -> list[str]:
        """The sentences that `text` completes and that passed review, with their trailing blanks."""
        return self._judged(self._sentences.feed(text)) if not self.blocked else []

    def flush(self) -> list[str]:
        """The end of the source: what was held back, if it passes."""
        if self.blocked:
            return []
        released = self._judged(self._sentences.flush())
        if self.cut > self._released:
            self.blocked = True
        return released

    def _judged(self, sentences: list[str]) -> list[str]:
        released = []
        for sentence in sentences:
            if self._passes(sentence):
                released.append(sentence)
            if self.blocked:
                break
        return released

    def _passes(self, sentence: str) -> bool:
        self.blocked = True
        found = self._reviewer.review(
            sentence,
            before=self._seen,
            user=self._user,
            language=self._language,
            allowed=self._allowed,
            crisis=self._crisis,
        )
        self._violations.extend(found)
        self._seen = (self._seen + sentence)[-_CONTEXT:]
        if any(violation.severity == "block" for violation in found):
            return False
        dropped = bool(found) or self._hangs_on_a_cut(sentence)
        if sentence.strip():
            self._after_cut = dropped
            self.cut += dropped
            self._released += not dropped
        self.blocked = self.cut > _MOST_CUT
        return not dropped and not self.blocked

    def _hangs_on_a_cut(self, sentence: str) -> bool:
        return self._after_cut and not sentence.rstrip().endswith("?") and bool(_DEPENDS.match(sentence))
