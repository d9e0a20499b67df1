"""A whole reply through the gate: what it is worth, and what of it may be shown."""

from dataclasses import dataclass

from safety_filter.gate import Gate
from safety_filter.review import Reviewer, Verified
from safety_filter.verdict import Verdict, Violation

_ROUNDS = 3
_NOTHING_FOR_THEM = Violation("abandonment.nothing-for-the-person", "abandonment", "block")


@dataclass(frozen=True, slots=True)
class FilterResult:
    """`text` is what may be shown of the reply: all of it, the rest of it, or nothing."""

    verdict: Verdict
    violations: tuple[Violation, ...]
    text: str


def check(
    reply: str, *, reviewer: Reviewer, user: str, language: str, allowed: Verified, crisis: bool = False
) -> FilterResult:
    """Filter a finished reply. What remains is filtered again until nothing changes, so twice is the same as once.

    Unlike a gate, which sees one part of an answer, this also asks of the whole that something in it is for the person.
    """
    violations: tuple[Violation, ...] = ()
    text = reply
    for _ in range(_ROUNDS):
        gate = Gate(reviewer, user=user, language=language, allowed=allowed, crisis=crisis)
        shown = "".join(gate.feed(text) + gate.flush())
        violations += tuple(v for v in gate.violations if v not in violations)
        if gate.blocked or not shown.strip():
            break
        if not reviewer.serves(shown, user=user, language=language, crisis=crisis):
            violations += (_NOTHING_FOR_THEM,)
            break
        if shown == text:
            return FilterResult("repair" if violations else "pass", violations, text)
        text = shown.strip()
    if not violations:
        violations = (Violation("gibberish.empty", "gibberish", "block"),)
    return FilterResult("block", violations, "")
