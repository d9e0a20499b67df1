"""Fits an encoder to examples: the same examples, seed and number of threads give the same weights."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch.nn import functional

from eval.training.examples import Example
from eval.training.network import Network
from textrules.encoder import PAD, Segments, arranged

_HALF = torch.cpu._is_avx512_bf16_supported()
"""Where the processor has no instructions for it, half precision takes a hundred times longer than single."""

Rows = list[list[int]]
Scores = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Plan:
    """How to train. `weights` are each output's share of the loss, `counts` how much an example counts beside others;
    `varied` makes a new wording for every epoch."""

    weights: tuple[float, ...]
    epochs: int = 4
    rate: float = 1e-4
    head_rate: float = 1e-3
    batch: int = 16
    seed: int = 0
    threads: int = 2
    smoothing: float = 0.02
    varied: Callable[[Example, np.random.Generator], Example] = lambda example, _: example
    counts: Callable[[Example], float] = lambda _: 1.0


def fit(network: Network, tokenizer: Tokenizer, examples: Sequence[Example], plan: Plan) -> Iterator[float]:
    """Trains in place; yields the mean loss of each epoch."""
    torch.manual_seed(plan.seed)
    torch.set_num_threads(plan.threads)
    chance = np.random.default_rng(plan.seed)
    optimiser, schedule = _optimiser(network, plan, steps=-(-len(examples) // plan.batch) * plan.epochs)
    weights = torch.tensor(plan.weights)
    counts = torch.tensor([plan.counts(example) for example in examples])
    for _ in range(plan.epochs):
        network.train()
        now = [plan.varied(example, chance) for example in examples]
        rows, targets = encoded(tokenizer, [one.segments for one in now]), torch.tensor([one.targets for one in now])
        losses = []
        for batch in _batches(rows, plan.batch, chance):
            with torch.autocast("cpu", torch.bfloat16, enabled=_HALF):
                given = network(padded([rows[n] for n in batch]))
            loss = _loss(given.float(), targets[batch], weights * counts[batch, None], plan.smoothing)
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimiser.step()
            schedule.step()
            losses.append(float(loss.detach()))
        yield sum(losses) / len(losses)


def scores(network: Network, tokenizer: Tokenizer, segments: Sequence[Segments]) -> Scores:
    """The log-odds of every text, (texts, outputs)."""
    network.eval()
    rows = encoded(tokenizer, segments)
    found = np.zeros((len(rows), network.head.out_features), np.float32)
    with torch.no_grad():
        for batch in _batches(rows, 64, None):
            found[batch] = network(padded([rows[n] for n in batch])).numpy()
    return found


def encoded(tokenizer: Tokenizer, segments: Sequence[Segments]) -> Rows:
    """Token ids of every text, as the run time arranges them."""
    return [
        arranged([one.ids for one in tokenizer.encode_batch(list(each), add_special_tokens=False)]) for each in segments
    ]


def padded(rows: Rows) -> torch.Tensor:
    """(rows, longest) token ids, the shorter rows filled with PAD."""
    longest = max(map(len, rows))
    return torch.tensor([row + [PAD] * (longest - len(row)) for row in rows])


def _loss(given: torch.Tensor, targets: torch.Tensor, weights: torch.Tensor, smoothing: float) -> torch.Tensor:
    known = ~torch.isnan(targets)
    wanted = torch.where(known, targets, 0.0) * (1 - 2 * smoothing) + smoothing
    each = functional.binary_cross_entropy_with_logits(given, wanted, reduction="none")
    return (each * weights * known).sum(1).mean()


def _optimiser(
    network: Network, plan: Plan, steps: int
) -> tuple[torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler]:
    head = list(network.head.parameters())
    ids = {id(parameter) for parameter in head}
    body = [one for one in network.parameters() if one.requires_grad and id(one) not in ids]
    groups = [{"params": body, "lr": plan.rate}, {"params": head, "lr": plan.head_rate}]
    optimiser = torch.optim.AdamW(groups, weight_decay=0.01)
    warm = max(1, round(0.06 * steps))
    return optimiser, torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min(1.0, step / warm) * max(0.02, 1 - step / steps)
    )


def _batches(rows: Rows, size: int, chance: np.random.Generator | None) -> Iterator[list[int]]:
    """Rows of like length together; in random order where `chance` is given."""
    order = np.arange(len(rows)) if chance is None else chance.permutation(len(rows))
    reach = len(rows) if chance is None else size * 40
    for start in range(0, len(order), reach):
        part = sorted(order[start : start + reach], key=lambda n: len(rows[n]))
        groups = [[int(n) for n in part[at : at + size]] for at in range(0, len(part), size)]
        places = range(len(groups)) if chance is None else map(int, chance.permutation(len(groups)))
        yield from (groups[place] for place in places)
