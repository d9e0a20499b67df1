"""Trains SHIELD's learned stage: `make train` writes shield/learned_model and the figures of its model card.

First it learns from eval/data/train, then once more from a part of it with the develop parts of shield_*.jsonl; all of
it was written for this project. Calibration and limits come from the tune part, which no weight ever learned from, and
are taken with the very files that the service loads (`--calibrate` does this alone). With `--onward` it goes on from
the weights that ship, with the newest files and some of the older lines. Needs the extra `train`.
"""

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from tokenizers import Tokenizer

from eval.cases import ShieldCase, shield_cases
from eval.intervals import Proportion
from eval.training import network, packing, source, vocabulary
from eval.training.examples import Example
from eval.training.fitting import Plan, Scores, fit
from eval.training.onward import copies, mix, onward_from
from eval.training.shield_lines import WEIGHTS, Line, dull, in_parts, poured, read, talked, varied
from shield.assessment import LEVELS, Level
from shield.learned import OUTPUTS, Limits, segments, windows
from textrules.encoder import Encoder, Segments, Trunk

OUT = Path(__file__).parents[2] / "shield" / "learned_model"
TRUNK = Path(__file__).parents[2] / "textrules" / "trunk"
LAYERS = tuple(range(12))
FIXED = 6  # layers that keep the source's weights
AGAIN = 3_200  # lines of the first training that are learned again with the develop parts, so that none is forgotten
BESIDE = 3_000  # older lines that are learned again beside the newest ones, where the command does not say
NEW_COUNT = 2  # how many times each of the newest lines is learned in an epoch
TALKS = 1_500  # talks put together from single messages, learned with the develop parts
POURED = 1_500  # long messages put together from short ones, learned with them
FALSE_ALARMS = 0.018
"""The share of the tune part's ordinary messages that may be raised from none to low."""
MISSED = 0.009
"""The share of crisis messages that may be thought surely ordinary, so that an unsure rule is not believed."""
PLAINLY = 0.25
"""Below this part of that probability a message is so plainly ordinary that only danger in plain words is believed."""
GRAVE_COUNTS = 2.0
"""What a message of high or imminent danger counts beside another: one that is missed costs most."""
OVER = {"moderate": 0.35, "high": 0.08, "imminent": 0.004}
"""The share of the milder crisis messages that may be raised to each level: too grave is kinder than too mild."""

Flags = NDArray[np.bool_]


def main() -> None:
    told = _told()
    if not told.calibrate:
        if told.onward:
            learn_on(
                told.out,
                told.trunk,
                told.onward,
                epochs=told.epochs,
                threads=told.threads,
                beside=told.beside,
                kept=told.keep,
            )
        else:
            train(told.out, told.trunk, epochs=told.epochs, threads=told.threads, new_words=told.new_words)
    facts = calibrate(told.out, told.trunk)
    print(json.dumps({name: facts[name] for name in ("limits", "calibration", "lines")}))
    print(json.dumps(facts["tune"]["all"]), f"\n{_megabytes(told.out, told.trunk):.1f} MB")


def train(out: Path, trunk: Path, *, epochs: int, threads: int, new_words: bool = False) -> None:
    """Both trainings; writes the model, not yet calibrated, into `out`.

    It stands on the trunk that is there, which the filter's stage stands on, too. With `new_words`, or where there is
    none, the vocabulary is chosen anew and the trunk written with it: then the filter's stage must be trained as well.
    """
    lines, start = read(), source.installed()
    words = trunk / "tokenizer.json"
    if makes_trunk := new_words or not words.exists():
        ids = vocabulary.kept(start, (text for line in lines for text in line.example.segments), vocabulary.EVERY)
        tokenizer = vocabulary.tokenizer(start, ids)
    else:
        tokenizer = Tokenizer.from_file(str(words))
        ids = vocabulary.standing(start, tokenizer)
    made = network.started(start, ids, LAYERS, len(OUTPUTS), fixed=FIXED)
    plan = Plan(WEIGHTS, epochs=epochs, threads=threads, varied=varied(dull()), counts=_counts)
    second = replace(plan, epochs=1, rate=5e-5, head_rate=2e-4, seed=3)
    develop = [as_line(case) for case in shield_cases() if case.split == "develop"]
    some = [lines[number] for number in np.random.default_rng(3).permutation(len(lines))[:AGAIN]]
    talks = talked(lines, np.random.default_rng(11), TALKS)
    long = poured(lines, np.random.default_rng(17), POURED)
    for part, how in ((lines, plan), ([*develop, *talks, *long, *some], second)):
        for number, loss in enumerate(fit(made, tokenizer, _examples(part, trunk), how), 1):
            print(f"{len(part)} lines, epoch {number} of {how.epochs}: loss {loss:.4f}", flush=True)
    _pack(made, tokenizer, out, trunk, [*lines, *develop], makes_trunk=makes_trunk)


def learn_on(
    out: Path, trunk: Path, names: str, *, epochs: int, threads: int, beside: int = BESIDE, kept: float | None = None
) -> None:
    """Goes on from the weights that ship: files whose names begin with `names`, NEW_COUNT times each line, the develop
    parts, older lines.

    beside: how many of the older ones; with all of them the rate is higher. kept: the share (0 to 1) of the new weights
    in what is written, the rest are those before. Where it is not said: half with fewer than all older lines, since the
    mean forgot less of the tune part than the new ones did, and all of it where nothing can be forgotten. Raises
    ValueError where there is no such file.
    """
    lines, chance = read(), np.random.default_rng(5)
    new = [line for line in lines if line.source.startswith(names)]
    old = [line for line in lines if not line.source.startswith(names)]
    if not new:
        raise ValueError(f"no eval/data/train/{names}*.jsonl")
    develop = [as_line(case) for case in shield_cases() if case.split == "develop"]
    again = [old[int(number)] for number in chance.permutation(len(old))[:beside]]
    talks, long = talked(lines, np.random.default_rng(13), TALKS), poured(lines, np.random.default_rng(17), POURED)
    part = [*new * NEW_COUNT, *develop, *again, *talks, *long]
    tokenizer = Tokenizer.from_file(str(trunk / "tokenizer.json"))
    made = onward_from(tokenizer, OUT, LAYERS, len(OUTPUTS), fixed=FIXED, head=True)
    before = copies(made)
    change = varied(dull())
    everything = len(again) == len(old)
    rate = 8e-5 if everything else 5e-5
    plan = Plan(WEIGHTS, epochs, rate, 2e-4, threads=threads, varied=change, counts=_counts)
    for number, loss in enumerate(fit(made, tokenizer, _examples(part, trunk), plan), 1):
        print(f"{len(part)} lines, epoch {number} of {epochs}: loss {loss:.4f}", flush=True)
    mix(made, before, kept if kept is not None else 1.0 if everything else 0.5)
    _pack(made, tokenizer, out, trunk, [*lines, *develop], makes_trunk=False)


def _examples(lines: Sequence[Line], trunk: Path) -> list[Example]:
    """What is learned of the lines. The weights that ship, where they stand on this trunk, say which part of a long
    crisis message carries the sign; without them its end is taken."""
    try:
        encoder = Encoder.load(OUT, Trunk.load(trunk))
    except (OSError, ValueError):
        encoder = None

    def gravest(parts: Sequence[Segments]) -> int:
        numbers = range(len(parts))
        return max(numbers, key=lambda number: encoder.scores(parts[number])[0]) if encoder else numbers[-1]

    return [example for line in lines for example in in_parts(line, gravest)]


def _pack(
    made: network.Network, tokenizer: Tokenizer, out: Path, trunk: Path, learned: Sequence[Line], *, makes_trunk: bool
) -> None:
    counted = Counter(line.language for line in learned)
    facts = {"lines": {"all": len(learned), **dict(sorted(counted.items()))}, "layers": list(LAYERS)}
    packing.pack(made, tokenizer, out, outputs=OUTPUTS, facts=facts, trunk=trunk, lower=FIXED, makes_trunk=makes_trunk)


def calibrate(folder: Path, trunk: Path) -> dict[str, Any]:
    """Writes calibration, limits and figures of the tune part into model.json; gives what stands there then."""
    tune = [case for case in shield_cases() if case.split == "tune"]
    encoder = Encoder.load(folder, Trunk.load(trunk))
    judged = np.array([_gravest(encoder, case) for case in tune], np.float32)
    calibration, limits = calibrated(judged, tune)
    facts: dict[str, Any] = json.loads((folder / "model.json").read_text("utf-8"))
    facts["limits"] = {name: round(value, 4) for name, value in asdict(limits).items()}
    facts |= {"calibration": calibration, "tune": figures(judged, tune, calibration, limits)}
    (folder / "model.json").write_text(json.dumps(facts, indent=2) + "\n", "utf-8")
    return facts


def as_line(case: ShieldCase) -> Line:
    """A case of the corpora as something to learn from."""
    return Line(case.id, case.source, case.turns[: last(case) + 1], case.level, case.categories, case.language)


def _gravest(encoder: Encoder, case: ShieldCase) -> tuple[float, ...]:
    read_as = windows(segments(case.turns, last(case)))
    return max((encoder.scores(part) for part in read_as), key=lambda scores: scores[0])


def last(case: ShieldCase) -> int:
    """The number of the last message of the person."""
    return max(number for number, turn in enumerate(case.turns) if turn.role == "user")


def calibrated(judged: Scores, cases: Sequence[ShieldCase]) -> tuple[dict[str, float], Limits]:
    """Platt's slope and offset for the probability of a crisis, and the limits that keep the shares named above."""
    crisis = np.array([case.crisis for case in cases])
    ranks = np.array([LEVELS.index(case.level) for case in cases])
    model = LogisticRegression(C=1.0).fit(judged[:, :1], crisis)
    calibration = {"slope": round(float(model.coef_[0][0]), 4), "offset": round(float(model.intercept_[0]), 4)}
    chance = model.predict_proba(judged[:, :1])[:, 1]
    level = {name: _sigmoid(judged[:, LEVELS.index(name) - 1]) for name in OVER}
    limits = {
        name: float(np.quantile(level[name][crisis & (ranks < _rank(name))], 1 - share)) for name, share in OVER.items()
    }
    low = float(np.quantile(chance[~crisis], 1 - FALSE_ALARMS))
    ordinary = float(np.quantile(chance[crisis], MISSED))
    return calibration, Limits(plainly=PLAINLY * ordinary, ordinary=ordinary, low=low, **limits)


def figures(
    judged: Scores, cases: Sequence[ShieldCase], calibration: dict[str, float], limits: Limits
) -> dict[str, Any]:
    """Area under the curve, recall and false alarms of the stage alone, in all and for every file and language."""
    chance = _sigmoid(judged[:, 0] * calibration["slope"] + calibration["offset"])
    groups = {"all": np.ones(len(cases), bool)}
    for name in sorted({case.source for case in cases} | {case.language for case in cases}):
        groups[name] = np.array([name in (case.source, case.language) for case in cases])
    crisis = np.array([case.crisis for case in cases])
    return {name: _figures(chance[part], crisis[part], limits.low) for name, part in groups.items()}


def _figures(chance: Scores, crisis: Flags, limit: float) -> dict[str, Any]:
    both = bool(crisis.any() and not crisis.all())
    return {
        "auc": round(float(roc_auc_score(crisis, chance)), 3) if both else None,
        "recall": Proportion.count(list(map(bool, chance[crisis] >= limit))).to_json(),
        "false_alarms": Proportion.count(list(map(bool, chance[~crisis] >= limit))).to_json(),
    }


def _counts(example: Example) -> float:
    return GRAVE_COUNTS if example.targets[LEVELS.index("high") - 1] == 1 else 1.0


def _rank(level: str) -> int:
    found: Level = next(one for one in LEVELS if one == level)
    return LEVELS.index(found)


def _sigmoid(score: Scores) -> Scores:
    chance: Scores = (1 / (1 + np.exp(-score))).astype(np.float32)
    return chance


def _megabytes(*folders: Path) -> float:
    return sum(file.stat().st_size for folder in folders for file in folder.iterdir()) / 1e6


def _told() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m eval.training.shield", description=__doc__)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--onward", default="", metavar="NAME", help="go on from the shipped weights with NAME*.jsonl")
    parser.add_argument(
        "--beside", type=int, default=BESIDE, metavar="N", help="older lines, with --onward (all: a higher rate)"
    )
    parser.add_argument("--keep", type=float, metavar="SHARE", help="of the new weights, the rest the old ones'")
    parser.add_argument(
        "--new-words", action="store_true", help="choose the vocabulary anew; then train the filter, too"
    )
    parser.add_argument("--calibrate", action="store_true", help="leave the weights as they are")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--trunk", type=Path, default=TRUNK)
    return parser.parse_args()


if __name__ == "__main__":
    main()
