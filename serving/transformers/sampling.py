"""Chooses the next token as llama.cpp's samplers do in the llama_cpp engine, and in the same order.

Penalties, top k, top p, min p, temperature: a model that is moved from one engine to the other goes on speaking as it
was tuned to.
"""

from collections import Counter, deque
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

import torch

from serving.llama.settings import Sampling


class Sampler:
    """One reply's. scores: the model's for the token after the last one evaluated, one for each of the vocabulary."""

    def __init__(self, sampling: Sampling, said: Sequence[int], scores: Callable[[], torch.Tensor]) -> None:
        self._sampling = sampling
        self._scores = scores
        self._said = deque(said, maxlen=max(1, sampling.repeat_last))
        self._random = torch.Generator()
        if sampling.seed is None:
            self._random.seed()
        else:
            self._random.manual_seed(sampling.seed)

    def next(self) -> int:
        """The token after the last one evaluated."""
        token = self._chosen(self._penalised(self._scores().clone()))
        self._said.append(token)
        return token

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        """Nothing to give back."""

    def _penalised(self, scores: torch.Tensor) -> torch.Tensor:
        sampling = self._sampling
        if not self._said or (sampling.repeat_penalty == 1.0 and not sampling.frequency_penalty):
            return scores
        counts = Counter(self._said)
        tokens = torch.tensor(list(counts), device=scores.device)
        often = torch.tensor(list(counts.values()), device=scores.device, dtype=scores.dtype)
        found = scores[tokens]
        found = torch.where(found > 0, found / sampling.repeat_penalty, found * sampling.repeat_penalty)
        scores[tokens] = found - often * sampling.frequency_penalty
        return scores

    def _chosen(self, scores: torch.Tensor) -> int:
        sampling = self._sampling
        if sampling.temperature <= 0:
            return int(scores.argmax())
        count = min(sampling.top_k, len(scores)) if sampling.top_k > 0 else len(scores)
        best, tokens = (kept.cpu() for kept in scores.topk(count))
        shares = best.softmax(0)
        enough = shares.cumsum(0) - shares < sampling.top_p  # the fewest whose shares reach top_p
        likely = shares >= sampling.min_p * shares[0]
        kept = enough & likely
        kept[0] = True
        final = (best[kept] / sampling.temperature).softmax(0)
        return int(tokens[kept][torch.multinomial(final, 1, generator=self._random)])
