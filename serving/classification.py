"""Which of a few labels would the model say next, and how likely: one token, no sampling, and nothing to parse.

A model spells a label in several ways (" yes", "Yes"), and often begins it with a part of it only. The probabilities of
all tokens that can begin a label count for it; those that could begin two labels count for none.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from serving.backend import BackendRefused

TOP = 20
"""How many of the likeliest tokens are asked for where a server tells no more; OpenAI's interface gives 20 at most."""


@dataclass(frozen=True, slots=True)
class Classification:
    """A model's choice. probability: its share among the labels, 0 to 1. shares: every label's; they sum to 1.

    mass: the probability that it would say any of them at all; with little of it, it did not take up the question.
    """

    label: str
    probability: float
    shares: Mapping[str, float]
    mass: float


def classified(chances: Mapping[str, float], *, who: str) -> Classification:
    """From each label's probability as the model's next words. Raises BackendRefused when all are nothing."""
    mass = math.fsum(chances.values())
    if not mass > 0:
        raise BackendRefused(f"{who}: it would say none of the labels")
    shares = {label: chance / mass for label, chance in chances.items()}
    label = max(shares, key=shares.__getitem__)
    return Classification(label, shares[label], shares, min(mass, 1.0))


def spellings(label: str) -> tuple[str, ...]:
    """How a model may write a label."""
    words = dict.fromkeys((label, label.capitalize(), label.upper()))
    return tuple(f"{blank}{word}" for word in words for blank in ("", " "))


def first_tokens(tokens: Sequence[Sequence[Sequence[int]]]) -> list[list[int]]:
    """For each label the tokens that begin it and no other label. tokens: for each label, those of every spelling."""
    firsts = [{spelling[0] for spelling in label if spelling} for label in tokens]
    return [
        sorted(own.difference(*(other for at, other in enumerate(firsts) if at != number)))
        for number, own in enumerate(firsts)
    ]


def by_text(labels: Sequence[str], likely: Sequence[tuple[str, float]]) -> dict[str, float]:
    """Each label's probability, from the likeliest next tokens as (text, log probability)."""
    chances = dict.fromkeys(labels, 0.0)
    for text, logarithm in likely:
        begins = [label for label in labels if _begins(label, text)]
        if len(begins) == 1 and logarithm <= 0:
            chances[begins[0]] += math.exp(logarithm)
    return chances


def _begins(label: str, token: str) -> bool:
    word = token.strip().casefold()
    return bool(word) and label.casefold().startswith(word)
