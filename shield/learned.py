"""SHIELD's learned stage: a fine-tuned encoder for what no list of patterns can hold, some milliseconds a message.

It raises a level only where its probability reaches a threshold that was chosen for a stated rate of false alarms on
text it was not trained on; where it is as good as certain that a message is ordinary, what doubtful rules found does
not count (docs/shield-model.md). It reads a message with the turns before it, in the languages of its training.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from importlib.resources import files
from importlib.resources.abc import Traversable

from shield.assessment import LEVELS, Level, Turn
from textrules.encoder import Encoder, Remembering, Segments, probability, said, stage
from textrules.language import identify

BEFORE = 6  # turns before the judged one that it sees
CUT = 400  # characters of each of them
WINDOW = 450  # characters of a long message that it reads at once: what is added must not dilute what was said
WINDOWS = 4  # of a longer message than four windows, the first two and the last two are read
CERTAIN = 0.96
SEVERAL = 0.9
"""So sure it must be of a message that it reads in several parts: each part is a chance to err, and of 64 long ordinary
messages it raised half at the limit for short ones."""
READ_WHOLE = 160
"""Characters that it reads to the end in any script (128 tokens): only then may a message be plainly ordinary."""
SURE = 0.9  # who is not as sure of a crisis does not speak of minutes: "call 911" to somebody alone at home costs trust
SHORT = 48  # characters
SHORT_FOREIGN = 0.9
"""Of a message as short as this in another language than English it must be surer: three quarters of what it learned
from is English, and "I don't want to live in this city" was a crisis to it in seven other languages."""
FEW = 12
"""Of a first message as short as this ("I'm done") it vouches for no plan and no hour; rules know such words."""
LANGUAGES = ("ar", "de", "en", "es", "fr", "hi", "it", "pt", "ru", "tl", "uk", "zh")
"""The languages of its training, each with three hundred lines or more."""
CATEGORIES = (
    "direct_ideation",
    "indirect_ideation",
    "self_harm",
    "despair",
    "farewell",
    "method_seeking",
    "plan_or_means",
    "act_under_way",
    "third_party_concern",
    "abuse",
    "violence",
    "psychosis",
    "medical_emergency",
)
OUTPUTS = (*LEVELS[1:], *CATEGORIES)


@dataclass(frozen=True, slots=True)
class Opinion:
    """What the stage thinks of one message: the level it vouches for, and the probability (0 to 1) of any crisis.

    ordinary, plainly: whether it is as good as certain that the message is an ordinary one, and surer still.
    """

    level: Level
    category: str
    probability: float
    ordinary: bool
    plainly: bool = False


@dataclass(frozen=True, slots=True)
class Limits:
    """Probabilities from which a level is vouched for, and below which a message counts as ordinary, and plainly so."""

    plainly: float
    ordinary: float
    low: float
    moderate: float
    high: float
    imminent: float


@dataclass(frozen=True, slots=True)
class LearnedStage:
    """The encoder with its calibration: probability = 1 / (1 + exp(-(slope * score + offset)))."""

    encoder: Encoder | Remembering
    limits: Limits
    slope: float
    offset: float

    @classmethod
    def load(cls, folder: Traversable | None = None) -> "LearnedStage":
        """The model that ships with the package. Raises ValueError when its files do not belong together."""
        limits = [one.name for one in fields(Limits)]
        encoder, facts = stage(folder or files("shield") / "learned_model", OUTPUTS, limits)
        return cls(encoder, Limits(**facts["limits"]), **facts["calibration"])

    def opinion(self, turns: Sequence[Turn], number: int) -> Opinion:
        """What it thinks of turn `number` of the conversation: that of the gravest part of it. Any Unicode."""
        parts = windows(segments(turns, number))
        found = max(map(self._judged, parts), key=lambda one: one.probability)
        text = turns[number].text
        if len(text) > READ_WHOLE:
            found = replace(found, plainly=False)
        if len(parts) > 1 and found.probability < SEVERAL:
            found = replace(found, level="none")
        if found.level != "none" and found.probability < SHORT_FOREIGN and _short_foreign(text):
            return replace(found, level="none")
        if _unlearned(text):
            return replace(found, level=_guessed(found), ordinary=False, plainly=False)
        if number == 0 and len(text.strip()) < FEW:
            return replace(found, level=min(found.level, "moderate", key=LEVELS.index))
        return found

    def _judged(self, read: Segments) -> Opinion:
        scores = dict(zip(OUTPUTS, self.encoder.scores(read), strict=True))
        crisis = probability(self.slope * scores["low"] + self.offset)
        category = max(CATEGORIES, key=lambda name: scores[name])
        limits = self.limits
        return Opinion(self._level(scores, crisis), category, crisis, crisis < limits.ordinary, crisis < limits.plainly)

    def _level(self, scores: dict[str, float], crisis: float) -> Level:
        if crisis < self.limits.low:
            return "none"
        for level in reversed(LEVELS[2:] if crisis >= SURE else LEVELS[2:-1]):
            if probability(scores[level]) >= getattr(self.limits, level):
                return level
        return "low"


def segments(turns: Sequence[Turn], number: int) -> Segments:
    """What the encoder reads of a conversation to judge turn `number`: some turns before it, then its own text.

    The assistant's turns are marked with a dash, so that an answer has its question.
    """
    before = turns[max(0, number - BEFORE) : number]
    earlier = (f"- {said(turn.text[:CUT])}" if turn.role == "assistant" else said(turn.text[-CUT:]) for turn in before)
    return (*earlier, said(turns[number].text))


def windows(read: Segments) -> list[Segments]:
    """The same with the last text cut at blanks into parts that the encoder can read whole."""
    *earlier, last = read
    if len(last) <= WINDOW:
        return [read]
    parts = list(_parts(last))
    kept = parts if len(parts) <= WINDOWS else parts[: WINDOWS // 2] + parts[-WINDOWS // 2 :]
    return [(*earlier, part) for part in kept]


def _parts(text: str) -> Iterator[str]:
    while len(text) > WINDOW:
        cut = text.rfind(" ", WINDOW // 2, WINDOW)
        end = WINDOW if cut < 0 else cut
        yield text[:end]
        text = text[end:]
    yield text


def _guessed(found: Opinion) -> Level:
    """What is believed of a guess about a language it never learned."""
    if found.probability >= CERTAIN:
        return found.level
    return min(found.level, "moderate", key=LEVELS.index) if found.probability >= SURE else "none"


def _unlearned(text: str) -> bool:
    """Whether it is written in a language of which the stage has read next to nothing: there it guesses."""
    return identify(text) not in (*LANGUAGES, None)


def _short_foreign(text: str) -> bool:
    return len(text) < SHORT and (not text.isascii() or identify(text) not in ("en", None))
