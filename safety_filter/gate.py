"""The gate between a model and a person: text goes in as it comes, whole sentences that passed review come out.

Closed until proven open: `blocked` is set before a sentence is reviewed and lifted only by the review's result, so a
review that crashes leaves the gate shut. Judged against everything the source wrote, also what was cut: adding a rule
can only hold back more.
"""

from safety_filter.coherence import leans, listed
from safety_filter.review import Reviewer, Verified
from safety_filter.sentences import Sentences
from safety_filter.verdict import Violation

_MOST_CUT = 2
_CONTEXT = 4000
_CONTACT = "invented_contact"


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
        self._said = self._seen = before
        self._released = 0
        self._after_cut = False
        self._in_list = False
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
            shown = self._passed(sentence)
            if shown:
                released.append(shown)
            if self.blocked:
                break
        return released

    def _passed(self, sentence: str) -> str:
        """What may be shown of the sentence: all of it, the sentence with its contacts put right, or nothing."""
        self.blocked = True
        found = self._review(sentence)
        self._violations.extend(found)
        if any(violation.severity == "block" for violation in found):
            return ""
        shown = sentence if not found else self._mended(sentence, found)
        if shown and self._hangs_on_a_cut(sentence):
            shown = ""
        self._said = (self._said + sentence)[-_CONTEXT:]
        self._seen = (self._seen + shown)[-_CONTEXT:]
        if sentence.strip():
            self._count(sentence, shown=bool(shown), mended=bool(found))
        self.blocked = self.cut > _MOST_CUT
        return "" if self.blocked else shown

    def _review(self, sentence: str) -> tuple[Violation, ...]:
        return self._reviewer.review(
            sentence,
            before=self._said,
            seen=self._seen,
            user=self._user,
            language=self._language,
            allowed=self._allowed,
            crisis=self._crisis,
        )

    def _mended(self, sentence: str, found: tuple[Violation, ...]) -> str:
        """The sentence with verified contacts, where nothing else was wrong with it and the result passes too."""
        if any(violation.category != _CONTACT for violation in found):
            return ""
        mended = self._allowed.mended(sentence)
        return mended if mended and not self._review(mended) else ""

    def _count(self, sentence: str, *, shown: bool, mended: bool) -> None:
        self._after_cut = not shown or mended  # what is said of a contact after it may not hold of another one
        self.cut += not shown
        self._released += shown
        if shown:
            self._in_list = listed(sentence.rstrip().rpartition("\n")[2]) or sentence.rstrip().endswith(":")

    def _hangs_on_a_cut(self, sentence: str) -> bool:
        return self._after_cut and (leans(sentence) or (listed(sentence) and not self._in_list))
