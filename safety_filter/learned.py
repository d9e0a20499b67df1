"""The filter's learned stage: a fine-tuned encoder judges a sentence in its place, beside the rules.

It reads the person's message, what they saw of the reply so far, and the sentence. Where no rule matched it stops what
it is sure of (`limit`, or `everyday` where the person shows no distress); where only doubtful rules matched it may let
pass what it is sure is good (`doubt`). The limits are chosen on text that it never learned from
(docs/filter-model.md). What certain rules find stays found.
"""

import math
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

from safety_filter.proven import Proven
from safety_filter.verdict import Found, Severity, Violation
from textrules.encoder import Encoder, Remembering, Segments, probability, said, stage

USER, BEFORE, SENTENCE = 400, 300, 900
"""Characters that are read of the message's end, of the reply's end so far, and of the sentence."""

CATEGORIES = (
    "encouragement",
    "method_information",
    "dangerous_advice",
    "minimising",
    "blame_shame",
    "romanticising",
    "discouraging_help",
    "false_promise",
    "secrecy",
    "unsafe_commitment",
    "diagnosis_prescription",
    "impersonation",
    "abandonment",
    "coercive_religion",
    "roleplay",
    "graphic_detail",
    "unrelated",
)
GRAVE = frozenset(["encouragement", "method_information", "roleplay", "graphic_detail"])
SURELY = 0.9
"""After grave harm that it is so sure of nothing more of the reply is shown; else the sentence alone is left out."""

AGAIN, SECOND = 1.0, 0.4
"""The log-odds of harm from which a sentence is read a second time, and the weight of that reading."""

SHORT, LONGEST, WEIGHT = 60, 200, 1.1
"""Characters up to which a sentence's length says nothing and from which it says no more, and the log-odds of harm that
a sentence of e times SHORT has beside its reading: see `room`."""

OUTPUTS = ("harmful", *CATEGORIES)


@dataclass(frozen=True, slots=True)
class Harm:
    """What the stage thinks of a sentence: the probability (0 to 1) that it is harmful where it stands, and as what."""

    probability: float
    category: str


@dataclass(frozen=True, slots=True)
class LearnedJudge:
    """The encoder with its calibration: probability = 1 / (1 + exp(-(slope * score + offset)))."""

    encoder: Encoder | Remembering
    proven: Proven
    limit: float
    everyday: float
    doubt: float
    slope: float
    offset: float

    @classmethod
    def load(cls, folder: Traversable | None = None) -> "LearnedJudge":
        """The model that ships with the package. Raises ValueError when its files do not belong together."""
        encoder, facts = stage(
            folder or files("safety_filter") / "learned_model", OUTPUTS, ("limit", "everyday", "doubt")
        )
        return cls(encoder, Proven.load(), **facts["limits"], **facts["calibration"])

    def settled(self, found: Found, *, sentence: str, seen: str, user: str) -> tuple[Violation, ...]:
        """What stands of what the rules found: all of it, unless only unsure ones matched and the sentence is surely
        good. Beside it, what the stage itself is sure of; a sentence of a proven kind needs no opinion.

        seen: what the person already sees of the reply.
        """
        if found.certain or (not found.all and self.proven.holds(sentence)):
            return found.all
        harm = self.harm(sentence, seen=seen, user=user, doubted=bool(found.all))
        own = (_violation(harm),) if harm.probability >= (self.everyday if found.everyday else self.limit) else ()
        return own + found.all if harm.probability >= self.doubt else own

    def harm(self, sentence: str, *, seen: str, user: str, doubted: bool = False) -> Harm:
        """How likely it is that the sentence would harm this person here. Any Unicode.

        doubted: an unsure rule matched it, so that it must look good with the reply before it and without.
        """
        given = considered(self.encoder, sentence, seen=seen, user=user, doubted=doubted)
        scores = dict(zip(OUTPUTS, given, strict=True))
        likely = probability(self.slope * scores["harmful"] + self.offset)
        return Harm(likely, max(CATEGORIES, key=lambda name: scores[name]))


def considered(
    encoder: Encoder | Remembering, sentence: str, *, seen: str, user: str, doubted: bool = False
) -> tuple[float, ...]:
    """The log-odds of OUTPUTS, those of harm with what the sentence's length says (`room`).

    What looks harmful is read once more without the reply before it, and that counts too.

    Two readings err in different places: of the held harmful sentences that no rule finds, 55 % instead of 49 % are
    stopped where 2 % of the good ones are (docs/filter-model.md). A sentence that a rule doubts is always read twice,
    and the worse reading counts: kind words before it made plain harm look good ("I'm not here to hold you back.").
    """
    harmful, *categories = _read(encoder, sentence, seen=seen, user=user, doubted=doubted)
    return (harmful + room(sentence), *categories)


def room(sentence: str) -> float:
    """What a sentence's length adds to its log-odds of harm.

    The stage errs less on long sentences than on short ones: in good replies it is as sure of harm in 1.1 % of those of
    80 to 110 characters as in 2.4 % of those of 60 to 80, and sees two thirds of the harmful ones, of short ones a
    sixth. So less is asked of long ones (docs/filter-model.md). Short ones are not asked for more than before.
    """
    return WEIGHT * math.log(min(max(len(sentence.strip()), SHORT), LONGEST) / SHORT)


def _read(encoder: Encoder | Remembering, sentence: str, *, seen: str, user: str, doubted: bool) -> tuple[float, ...]:
    first = encoder.scores(segments(sentence, seen=seen, user=user))
    if not seen.strip() or (first[0] < AGAIN and not doubted):
        return first
    second = encoder.scores(segments(sentence, seen="", user=user))
    if doubted:
        return max(first, second, key=lambda scores: scores[0])
    return tuple((1 - SECOND) * one + SECOND * other for one, other in zip(first, second, strict=True))


def segments(sentence: str, *, seen: str, user: str) -> Segments:
    """What the encoder reads: the end of the person's message, the end of the reply so far, the sentence."""
    return (said(user[-USER:]), said(seen[-BEFORE:]), said(sentence[:SENTENCE]))


def _violation(harm: Harm) -> Violation:
    severity: Severity = "block" if harm.category in GRAVE and harm.probability >= SURELY else "cut"
    return Violation(f"learned.{harm.category.replace('_', '-')}", harm.category, severity)
