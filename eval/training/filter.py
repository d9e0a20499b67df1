"""Trains the filter's learned stage: `make train-filter` writes safety_filter/learned_model.

It goes on from SHIELD's upper layers, over the trunk that stands in textrules/trunk; with `--onward` from its own, with
the newest files and some of the older sentences. Of every eight moments of eval/data/train/filter_*.jsonl one is held
back; calibration and limits come from those, taken with the very files that the service loads and beside the rules that
ship (`--calibrate` does this alone). Needs the extra `train`.
"""

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from tokenizers import Tokenizer

from eval.intervals import Proportion
from eval.training import packing
from eval.training.filter_lines import WEIGHTS, Spoken, kind, plain, read, varied
from eval.training.fitting import Plan, fit
from eval.training.onward import copies, mix, onward_from
from eval.training.shield import FIXED, LAYERS, TRUNK
from safety_filter.learned import OUTPUTS, considered
from safety_filter.review import Reviewer
from shield.assessment import Turn
from shield.detect import Detector
from textrules.encoder import Encoder

ROOT = Path(__file__).parents[2]
OUT, SHIELD = ROOT / "safety_filter" / "learned_model", ROOT / "shield" / "learned_model"
TOUCHED, TOUCHED_EVERYDAY = 0.024, 0.012
"""The share of held good sentences, untouched by rules, that the stage may stop by itself; of those in answer to an
everyday message."""
BESIDE = 9_000
"""Older sentences that are learned again beside the newest ones, where the command does not say."""
BELIEVED = 0.11
"""The share of held harmful sentences that only unsure rules matched and that the stage may nevertheless let pass."""

Flags = NDArray[np.bool_]
Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Judged:
    """A held sentence: the encoder's score, and whether rules found something, doubtful things only or certain ones."""

    spoken: Spoken
    score: float
    doubtful: bool
    certain: bool
    everyday: bool


class _Anyone:
    """All contacts are right: which ones are depends on the country, which is no matter of these sentences."""

    def unknown(self, text: str) -> list[tuple[int, int]]:
        return []

    def mended(self, text: str) -> str | None:
        return text


def main() -> None:
    told = _told()
    if not told.calibrate:
        train(
            told.out,
            epochs=told.epochs,
            threads=told.threads,
            onward=told.onward,
            beside=told.beside,
            kept=told.keep if told.onward else 1.0,
        )
    print(json.dumps(calibrate(told.out), indent=1))


def train(out: Path, *, epochs: int, threads: int, onward: str = "", beside: int = BESIDE, kept: float = 1.0) -> None:
    """Writes the model, not yet calibrated, into `out`.

    onward: how the names of the newest files begin; they are learned beside so many sentences of the others. kept: the
    share (0 to 1) of the new weights in what is written, the rest are those it went on from.
    """
    learned, chance = [one for one in read() if not one.held], np.random.default_rng(7)
    learned += plain(learned, chance)
    tokenizer = Tokenizer.from_file(str(TRUNK / "tokenizer.json"))
    made = onward_from(tokenizer, OUT if onward else SHIELD, LAYERS, len(OUTPUTS), fixed=FIXED, head=bool(onward))
    before = copies(made)
    now = _newest(learned, onward, chance, beside) if onward else learned
    rate, head_rate = (6e-5, 3e-4) if onward else (1.5e-4, 1e-3)
    change = varied(kind())
    plan = Plan(WEIGHTS, epochs=epochs, rate=rate, head_rate=head_rate, batch=32, threads=threads, varied=change)
    for number, loss in enumerate(fit(made, tokenizer, [one.example for one in now], plan), 1):
        print(f"{len(now)} sentences, epoch {number} of {epochs}: loss {loss:.4f}", flush=True)
    mix(made, before, kept)
    counted = Counter(one.language for one in learned)
    harmful = sum(one.harmful for one in learned)
    facts = {"sentences": {"all": len(learned), "harmful": harmful, **dict(sorted(counted.items()))}}
    packing.pack(made, tokenizer, out, outputs=OUTPUTS, facts=facts, trunk=TRUNK, lower=FIXED, makes_trunk=False)


def calibrate(folder: Path) -> dict[str, Any]:
    """Writes calibration, limits and figures of the held sentences into model.json; gives what stands there then."""
    held = judged(Encoder.load(folder), [one for one in read() if one.held])
    scores, harmful = np.array([one.score for one in held]), np.array([one.spoken.harmful for one in held])
    model = LogisticRegression(C=1.0).fit(scores[:, None], harmful)
    slope, offset = float(model.coef_[0][0]), float(model.intercept_[0])
    chance: Numbers = 1 / (1 + np.exp(-(slope * scores + offset)))
    flags = (np.array([getattr(one, name) for one in held]) for name in ("doubtful", "certain", "everyday"))
    doubtful, certain, everyday = flags
    clean = ~doubtful & ~certain
    limit = float(np.quantile(chance[clean & ~harmful & ~everyday], 1 - TOUCHED))
    relaxed = max(limit, float(np.quantile(chance[clean & ~harmful & everyday], 1 - TOUCHED_EVERYDAY)))
    doubt = min(limit, float(np.quantile(chance[doubtful & harmful], BELIEVED)))
    stopped = certain | (doubtful & (chance >= doubt)) | (clean & (chance >= np.where(everyday, relaxed, limit)))
    facts: dict[str, Any] = json.loads((folder / "model.json").read_text("utf-8"))
    facts["limits"] = {"limit": round(limit, 4), "everyday": round(relaxed, 4), "doubt": round(doubt, 4)}
    facts["calibration"] = {"slope": round(slope, 4), "offset": round(offset, 4)}
    facts["held"] = {
        "auc": round(float(roc_auc_score(harmful, chance)), 3),
        "rules alone": _figures(doubtful | certain, harmful),
        "stage alone": _figures(chance >= limit, harmful),
        "together": _figures(stopped, harmful),
        "by category": _by_category(held, stopped),
    }
    (folder / "model.json").write_text(json.dumps(facts, indent=2) + "\n", "utf-8")
    return facts


def judged(encoder: Encoder, spoken: Sequence[Spoken]) -> list[Judged]:
    """Each sentence as the encoder and the rules see it."""
    reviewer, detector, anyone = Reviewer.load(), Detector.load(), _Anyone()
    told = []
    for one in spoken:
        crisis = detector.assess((Turn("user", one.user),)).crisis
        found = reviewer.found(
            one.sentence, before=one.seen, user=one.user, language=one.language, allowed=anyone, crisis=crisis
        )
        doubtful = bool(found.all) and not found.certain
        score = considered(encoder, one.sentence, seen=one.seen, user=one.user, doubted=doubtful)[0]
        told.append(Judged(one, score, doubtful, found.certain, found.everyday))
    return told


def _newest(learned: Sequence[Spoken], names: str, chance: np.random.Generator, beside: int) -> list[Spoken]:
    """What stands in the files whose names begin so, and others beside. Raises ValueError where there are none."""
    new = [one for one in learned if one.source.startswith(names)]
    old = [one for one in learned if not one.source.startswith(names)]
    if not new:
        raise ValueError(f"no eval/data/train/{names}*.jsonl")
    picked = chance.choice(len(old), size=min(beside, len(old)), replace=False)
    return new + [old[int(number)] for number in picked]


def _figures(stopped: Flags, harmful: Flags) -> dict[str, Any]:
    return {
        "stopped": Proportion.count(list(map(bool, stopped[harmful]))).to_json(),
        "touched": Proportion.count(list(map(bool, stopped[~harmful]))).to_json(),
    }


def _by_category(held: Sequence[Judged], stopped: Flags) -> dict[str, Any]:
    groups: dict[str, list[bool]] = {}
    for one, was in zip(held, stopped, strict=True):
        if one.spoken.harmful:
            groups.setdefault(one.spoken.category, []).append(bool(was))
    return {name: [sum(group), len(group)] for name, group in sorted(groups.items())}


def _told() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m eval.training.filter", description=__doc__)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--onward", default="", metavar="NAME", help="go on from the shipped weights with NAME*.jsonl")
    parser.add_argument("--beside", type=int, default=BESIDE, metavar="N", help="older sentences, with --onward")
    parser.add_argument("--keep", type=float, default=1.0, metavar="SHARE", help="of the new weights, with --onward")
    parser.add_argument("--calibrate", action="store_true", help="leave the weights as they are")
    parser.add_argument("--out", type=Path, default=OUT)
    return parser.parse_args()


if __name__ == "__main__":
    main()
