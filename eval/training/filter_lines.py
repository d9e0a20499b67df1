"""What the filter's encoder learns from: sentences of replies, each in its place, good or harmful."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from eval.training.examples import Example, sayings
from safety_filter.learned import CATEGORIES, segments
from textrules.language import identify

TRAIN = Path(__file__).parent.parent / "data" / "train"
WEIGHTS = (1.0, *(0.15 for _ in CATEGORIES))
UNSEEN, KIND = 0.15, 0.25
"""The shares of sentences that are read without what stands before them, or behind a kind opening, in each epoch
others."""
HELD = 8
"""Of so many moments one is held back: calibration and limits come from these."""

_CATEGORY = {
    "agreeing": "encouragement",
    "wrong_about_988": "discouraging_help",
    "role_play_complicity": "roleplay",
    "abandonment_refusal": "abandonment",
    "unrelated_content": "unrelated",
    "prompt_leakage": "unrelated",
}
_MARKED = tuple(f"filter_w{one}" for one in "4789abcdefg")
_PROOFS = "filter_w7_proofs"
"""The rules' own examples and near misses: rules know them all, so nothing is measured by them."""
_NOT_LEARNED = frozenset(["gibberish", "invented_contact"])  # rules see these better


@dataclass(frozen=True, slots=True)
class Spoken:
    """A sentence of a reply to `user`, who saw `seen` before it. `category`: of its harm, "" where it has none."""

    user: str
    seen: str
    sentence: str
    harmful: bool
    category: str
    language: str
    source: str
    held: bool

    @property
    def example(self) -> Example:
        """The first output says whether it is harmful, the others as what."""
        named = [float(self.harmful and self.category == category) for category in CATEGORIES]
        return Example(segments(self.sentence, seen=self.seen, user=self.user), (float(self.harmful), *named))


def read(folder: Path = TRAIN) -> list[Spoken]:
    """Every sentence that was written to be learned from, the held ones among them."""
    files = sorted(folder.glob("filter_*.jsonl"))
    rows = [(file.stem, json.loads(row)) for file in files for row in file.read_text("utf-8").splitlines() if row]
    return [
        one
        for number, (name, row) in enumerate(rows)
        for one in _spoken(name, row, held=number % HELD == 3 and name != _PROOFS)
    ]


def plain(spoken: Sequence[Spoken], chance: np.random.Generator, times: int = 5) -> list[Spoken]:
    """The plain good sentences that every model writes (filter_plain.txt), each in some of the places of `spoken`."""
    told = []
    for sentence in (TRAIN / "filter_plain.txt").read_text("utf-8").splitlines():
        spoken_in = identify(sentence) or "en"
        places = [one for one in spoken if one.language == spoken_in] or list(spoken)
        for _ in range(times):
            at = places[int(chance.integers(len(places)))]
            told.append(replace(at, sentence=sentence, harmful=False, category="", source="filter_plain"))
    return told


def kind(file: Path = TRAIN / "kind.tsv") -> dict[str, list[str]]:
    """Kind openings by language that say nothing of what follows them."""
    return sayings(file)


def varied(openings: Mapping[str, Sequence[str]]) -> Callable[[Example, np.random.Generator], Example]:
    """The same sentence for one epoch: now and then without what stands before it, or behind a kind opening.

    openings: by language, English among them. Without them the stage took plain harm for good in warm company ("I hear
    how tired you are. It's okay to stop.").
    """

    def change(example: Example, chance: np.random.Generator) -> Example:
        user, seen, sentence = example.segments
        if seen and chance.random() < UNSEEN:
            return replace(example, segments=(user, "", sentence))
        if chance.random() < KIND:
            of = openings.get(identify(sentence) or "en", openings["en"])
            before = [of[int(number)] for number in chance.choice(len(of), size=1 if seen else 2, replace=False)]
            return replace(example, segments=(user, " ".join([*before, seen]).rstrip(), sentence))
        return example

    return change


def _spoken(source: str, row: dict[str, Any], *, held: bool) -> Iterator[Spoken]:
    if "sentences" in row:
        yield from _of_a_reply(source, row, held=held)
        return
    for harmful, key in ((True, "harm"), (False, "good")):
        for each in row[key]:
            family = _CATEGORY.get(each["family"], each["family"])
            yield Spoken(row["user"], row["before"], each["text"], harmful, family, row["language"], source, held)


def _of_a_reply(source: str, row: dict[str, Any], *, held: bool) -> Iterator[Spoken]:
    """All of a good reply; of a harmful one what is marked, since the rest may be no better in its company: only where
    the authors marked with that in mind (_MARKED) does what stands before the first harm count as good."""
    seen, family = "", _CATEGORY.get(row["family"], row["family"])
    trusted = not row["harmful"] or source.startswith(_MARKED)
    good_until = min(row["harmful"], default=len(row["sentences"])) if trusted else 0
    for number, sentence in enumerate(row["sentences"]):
        harmful = number in row["harmful"]
        if (harmful or number < good_until) and not (harmful and family in _NOT_LEARNED):
            yield Spoken(row["user"], seen, sentence, harmful, family, row["language"], source, held)
        seen = f"{seen} {sentence}".lstrip()
