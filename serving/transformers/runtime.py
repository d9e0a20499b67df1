"""A transformers model inside the worker: tokens in and tokens out (the protocol of serving/worker/runtime.py).

A loop of our own in place of generate(): it continues a given beginning token by token, keeps the protocol's keys and
values between requests, and stops between two layers when it is told to.
"""

from collections.abc import Callable, Sequence
from threading import Event
from typing import Any

import torch

from serving.llama.settings import Sampling
from serving.transformers import cache, reasons
from serving.transformers.sampling import Sampler
from serving.transformers.vocabulary import Vocabulary
from serving.worker.cores import Threads
from serving.worker.reasons import LoadFailure
from serving.worker.runtime import Aborted, EngineFault


class Runtime:
    """A loaded model. Everything but abort() belongs to one thread; abort() may be called from any.

    context: how many tokens prompt and reply may have together. batch: prompt tokens evaluated at once.
    """

    def __init__(
        self, model: Any, vocabulary: Vocabulary, sampling: Sampling, *, context: int, batch: int, threads: Threads
    ) -> None:
        self._model = model
        self._vocabulary = vocabulary
        self._sampling = sampling
        self.context = context
        self._batch = batch
        self._threads = threads
        self._stop = Event()
        self._tokens: list[int] = []
        self._cache = cache.empty(model.config)
        self._kept: list[int] = []
        self._kept_cache = self._cache
        self._scores: torch.Tensor | None = None
        if not cache.divisible(self._cache):
            raise LoadFailure(reasons.NOT_DIVISIBLE)
        self._watch_layers()

    def begin(self, prompt: Sequence[int], *, room: int) -> int:
        """Make ready for a prompt; returns how many of its tokens are evaluated already. At least one is left."""
        most = len(prompt) - 1
        found = [(min(_common(tokens, prompt), most), held) for tokens, held in self._held()]
        for length, held in sorted(found, key=lambda one: -one[0]):
            part = cache.cut(held, length) if length else None
            if part is not None:
                self._cache, self._tokens = part, list(prompt[:length])
                return length
        self._cache, self._tokens = cache.empty(self._model.config), []
        return 0

    def evaluate(self, tokens: Sequence[int], progress: Callable[[], None] | None = None) -> None:
        """Append tokens to the conversation. Raises Aborted or EngineFault; what was evaluated until then stays."""
        for start in range(0, len(tokens), self._batch):
            chunk = tokens[start : start + self._batch]
            self._forward(chunk)
            self._tokens += chunk
            if progress:
                progress()

    def keep(self, count: int) -> None:
        """Let the first `count` tokens of the conversation survive whatever request comes next."""
        wanted = self._tokens[:count]
        if not wanted or self.keeps(wanted):
            return
        part = cache.cut(self._cache, count, own=True)
        if part is not None:
            self._kept, self._kept_cache = wanted, part

    def keeps(self, tokens: Sequence[int]) -> bool:
        return self._kept[: len(tokens)] == list(tokens)

    def forget(self) -> None:
        """Begin with nothing evaluated: after a fault."""
        self._tokens, self._kept = [], []
        self._cache = self._kept_cache = cache.empty(self._model.config)
        self._scores = None
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def evaluated(self) -> int:
        """How many tokens the conversation holds."""
        return len(self._tokens)

    def sampler(self, said: Sequence[int]) -> Sampler:
        """Chooses tokens; `said` is the reply so far, which the repetition penalties count."""
        return Sampler(self._sampling, said, self._last_scores)

    def chances(self, groups: Sequence[Sequence[int]]) -> list[float]:
        """How likely the token after the last one evaluated is one of each group: 0 to 1, before any sampling."""
        likely = self._last_scores().softmax(0)
        return [float(likely[list(group)].sum()) for group in groups]

    def piece(self, token: int) -> bytes:
        return self._vocabulary.piece(token)

    def ends(self, token: int) -> bool:
        return self._vocabulary.ends(token)

    def abort(self) -> None:
        """Stop the evaluation that is going on, from another thread, before its next layer."""
        self._stop.set()

    def proceed(self) -> None:
        self._stop.clear()

    def _held(self) -> list[tuple[list[int], Any]]:
        return [(self._tokens, self._cache), (self._kept, self._kept_cache)]

    def _last_scores(self) -> torch.Tensor:
        if self._scores is None:
            raise EngineFault(reasons.NOT_EVALUATED, fatal=True)
        return self._scores

    def _forward(self, chunk: Sequence[int]) -> None:
        self._go_on()
        trial = cache.cut(self._cache, len(self._tokens))  # a copy: half an evaluation leaves no trace
        torch.set_num_threads(self._threads.generate if len(chunk) == 1 else self._threads.prompt)
        ids = torch.tensor([list(chunk)], device=self._model.device)
        try:
            with torch.inference_mode():
                out = self._model(input_ids=ids, past_key_values=trial, use_cache=True, logits_to_keep=1)
                scores = out.logits[0, -1].float()
        except torch.OutOfMemoryError as fault:
            raise EngineFault(reasons.of_fault(fault), fatal=False) from None
        except RuntimeError as fault:  # what was on a GPU is lost with it
            raise EngineFault(reasons.of_fault(fault), fatal=True) from None
        if not torch.isfinite(scores).any():
            raise EngineFault(reasons.NOT_EVALUATED, fatal=False)
        self._cache, self._scores = trial, scores

    def _go_on(self, *_: object) -> None:
        if self._stop.is_set():
            raise Aborted

    def _watch_layers(self) -> None:
        """Have every layer look first whether it is still wanted."""
        for module in self._model.modules():
            if isinstance(module, torch.nn.ModuleList):
                for layer in module:
                    layer.register_forward_pre_hook(self._go_on)


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    """The length of the common beginning."""
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
