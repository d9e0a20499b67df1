"""llama.cpp itself, inside the worker: one model, one context, tokens in and tokens out.

Two sequences share the KV cache: CHAT is the conversation being answered, KEPT holds the protocol's tokens so that no
request can push them out. Sharing costs nothing: the cells belong to both.
"""

import ctypes
import os
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self

import numpy as np
from llama_cpp import llama_cpp as c

from serving.llama.settings import LlamaSettings, Sampling
from serving.worker import reasons
from serving.worker.cores import Threads
from serving.worker.reasons import LoadFailure
from serving.worker.runtime import Aborted, EngineFault

CHAT, KEPT = 0, 1
_KV_TYPES = {"f32": 0, "f16": 1, "q4_0": 2, "q4_1": 3, "q5_0": 6, "q5_1": 7, "q8_0": 8, "bf16": 30}
_FLASH = {"auto": -1, "off": 0, "on": 1}
_ABORTED = 2


class Runtime:
    """A loaded model. Everything but abort() belongs to one thread; abort() may be called from any."""

    def __init__(self, settings: LlamaSettings, threads: Threads) -> None:
        began = time.perf_counter()
        self._sampling = settings.sampling
        self._causes: list[str] = []
        self._listener = c.llama_log_callback(self._listen)  # kept: C holds only its address
        c.llama_log_set(self._listener, ctypes.c_void_p())
        c.llama_backend_init()
        self._model = self._load_model(settings)
        self._vocab = c.llama_model_get_vocab(self._model)
        self.context_trained: int = c.llama_model_n_ctx_train(self._model)
        self._context = self._create_context(settings, threads)
        self._memory = c.llama_get_memory(self._context)
        self._divisible = not (c.llama_model_is_recurrent(self._model) or c.llama_model_is_hybrid(self._model))
        self.context: int = c.llama_n_ctx(self._context)
        self.bos = self._bos_token()
        self.load_ms = (time.perf_counter() - began) * 1000
        self._stop_flag = ctypes.create_string_buffer(2)
        self._watch_stop_flag()
        self._batch_size = min(settings.batch, self.context)
        self._buffer = (c.llama_token * self._batch_size)()
        self._piece_buffer = ctypes.create_string_buffer(256)
        self._tokens: list[int] = []
        self._kept: list[int] = []

    # what it is

    def metadata(self, key: str) -> str | None:
        """One value of the GGUF header; None when it is not there."""
        size = c.llama_model_meta_val_str(self._model, key.encode(), None, 0)
        if size < 0:
            return None
        buffer = ctypes.create_string_buffer(size + 1)
        c.llama_model_meta_val_str(self._model, key.encode(), buffer, size + 1)
        return buffer.value.decode("utf-8", "replace")

    def description(self) -> str:
        buffer = ctypes.create_string_buffer(256)
        c.llama_model_desc(self._model, buffer, 256)
        return buffer.value.decode("utf-8", "replace")

    def bos_text(self) -> str:
        """How the template writes the token that begins a text; "" where the model has none."""
        return self._token_text(c.llama_vocab_bos(self._vocab))

    def eos_text(self) -> str:
        """The same for the token that ends one."""
        return self._token_text(c.llama_vocab_eos(self._vocab))

    # tokens

    def tokenise(self, text: str, control: bool) -> list[int]:
        """The tokens of a text; names of control tokens in it count as such only when `control` is true."""
        data = text.encode("utf-8", "replace")
        room = len(data) + 8
        for _ in range(2):  # a vocabulary without a blank of its own writes each as three bytes: told as -count
            tokens = (c.llama_token * room)()
            count = c.llama_tokenize(self._vocab, data, len(data), tokens, room, False, control)
            if count >= 0:
                return tokens[:count]
            room = -count
        raise EngineFault(reasons.NOT_EVALUATED, fatal=False)

    def piece(self, token: int) -> bytes:
        """The bytes of a token; nothing for a control token."""
        count = c.llama_token_to_piece(self._vocab, token, self._piece_buffer, 256, 0, False)
        return self._piece_buffer.raw[: max(count, 0)]

    def ends(self, token: int) -> bool:
        """Whether a token ends the reply: an end token, or any control token, which has no place inside one."""
        return bool(c.llama_vocab_is_eog(self._vocab, token) or c.llama_vocab_is_control(self._vocab, token))

    # evaluation

    def begin(self, prompt: Sequence[int], *, room: int) -> int:
        """Make the cache ready for a prompt and `room` tokens after it; returns how many of its tokens it has already.

        At least the last token is left to evaluate, because it gives the first new one.
        """
        chat, kept = _common(self._tokens, prompt), _common(self._kept, prompt)
        if len(prompt) + room + len(self._kept) - kept > self.context:
            self._trim_kept(kept)
        reused = min(max(chat, kept), len(prompt) - 1)
        if kept > chat:
            self._remove(CHAT, 0)
            c.llama_memory_seq_cp(self._memory, KEPT, CHAT, 0, reused)
        elif not self._remove(CHAT, reused):  # a recurrent model cannot go back a part of the way
            self.forget()
            reused = 0
        self._tokens = list(prompt[:reused])
        return reused

    def evaluate(self, tokens: Sequence[int], progress: Callable[[], None] | None = None) -> None:
        """Append tokens to the conversation. Raises Aborted or EngineFault; what was evaluated until then stays."""
        for start in range(0, len(tokens), self._batch_size):
            chunk = tokens[start : start + self._batch_size]
            self._buffer[: len(chunk)] = chunk
            self._decode(len(chunk))
            self._tokens += chunk
            if progress:
                progress()

    def keep(self, count: int) -> None:
        """Let the first `count` tokens of the conversation survive whatever request comes next."""
        wanted = self._tokens[:count] if self._divisible else []
        if wanted and not self.keeps(wanted):
            self._remove(KEPT, 0)
            c.llama_memory_seq_cp(self._memory, CHAT, KEPT, 0, count)
            self._kept = wanted

    def keeps(self, tokens: Sequence[int]) -> bool:
        return self._kept[: len(tokens)] == list(tokens)

    def forget(self) -> None:
        """Empty the cache: after a fault, or for a model whose state cannot be cut back."""
        c.llama_memory_clear(self._memory, True)
        self._tokens, self._kept = [], []

    def evaluated(self) -> int:
        """How many tokens the conversation holds."""
        return len(self._tokens)

    def chances(self, groups: Sequence[Sequence[int]]) -> list[float]:
        """How likely the token after the last one evaluated is one of each group: 0 to 1, before any sampling."""
        size = c.llama_vocab_n_tokens(self._vocab)
        scores = np.ctypeslib.as_array(c.llama_get_logits_ith(self._context, -1), shape=(size,)).astype(np.float64)
        likely = np.exp(scores - scores.max())
        return [float(likely[list(group)].sum() / likely.sum()) for group in groups]

    def abort(self) -> None:
        """Stop the evaluation that is going on, from another thread, at the next node of the graph."""
        self._stop_flag[0] = b"\x01"

    def proceed(self) -> None:
        """Allow evaluation again after abort()."""
        self._stop_flag[0] = b"\x00"

    def sampler(self, said: Sequence[int], sampling: Sampling | None = None) -> "Sampler":
        """Chooses tokens; `said` is the reply so far, which the repetition penalties count."""
        return Sampler(self._context, sampling or self._sampling, said, vocabulary=c.llama_vocab_n_tokens(self._vocab))

    def _token_text(self, token: int) -> str:
        text = c.llama_vocab_get_text(self._vocab, token) if token >= 0 else None
        return text.decode("utf-8", "replace") if text else ""

    def _decode(self, count: int) -> None:
        if self._stop_flag[0] != b"\x00":
            raise Aborted
        code = c.llama_decode(self._context, c.llama_batch_get_one(self._buffer, count))
        if code == 0:
            return
        self._remove(CHAT, len(self._tokens))
        if code == _ABORTED:
            raise Aborted
        raise EngineFault(reasons.NOT_EVALUATED, fatal=code < -1)  # below -1 its context is not to be used again

    def _remove(self, sequence: int, start: int) -> bool:
        return bool(c.llama_memory_seq_rm(self._memory, sequence, start, -1))

    def _trim_kept(self, count: int) -> None:
        """Give back the cells that hold more than the first `count` of the kept tokens."""
        self._remove(KEPT, count)
        self._kept = self._kept[:count]

    # loading

    def _load_model(self, settings: LlamaSettings) -> Any:
        params = c.llama_model_default_params()
        params.n_gpu_layers = 0x7FFFFFFF if settings.gpu_layers < 0 else settings.gpu_layers
        params.load_mode = c.LLAMA_LOAD_MODE_MMAP if settings.mmap else c.LLAMA_LOAD_MODE_NONE
        model = c.llama_model_load_from_file(str(settings.model_path).encode(), params)
        if not model:
            raise LoadFailure(self._cause(reasons.UNKNOWN_LOAD))
        return model

    def _create_context(self, settings: LlamaSettings, threads: Threads) -> Any:
        params = c.llama_context_default_params()
        params.n_ctx = min(settings.context, self.context_trained)
        params.n_batch = params.n_ubatch = settings.batch
        params.n_seq_max = 2
        params.n_outputs_max = 2  # only a prompt's last token is scored: without it room is kept for a batch of scores
        params.kv_unified = True  # one pool of cells for both sequences, so that copying the prefix is free
        params.n_threads, params.n_threads_batch = threads.generate, threads.prompt
        params.flash_attn_type = _FLASH[settings.flash_attention]
        params.type_k, params.type_v = _KV_TYPES[settings.type_k], _KV_TYPES[settings.type_v]
        params.no_perf = True
        context = c.llama_init_from_model(self._model, params)
        if not context:
            raise LoadFailure(self._cause(reasons.NO_CONTEXT))
        return context

    def _bos_token(self) -> int | None:
        token = c.llama_vocab_bos(self._vocab)
        return int(token) if c.llama_vocab_get_add_bos(self._vocab) and token >= 0 else None

    def _watch_stop_flag(self) -> None:
        """Let llama.cpp look at the flag between two nodes of its graph, hundreds of times a token.

        The callback is libc's strlen: with the flag's address as its argument it answers 0 or 1 in a nanosecond, where
        a Python callback would take the interpreter's lock each time and cost more than the model.
        """
        if os.name != "posix":  # elsewhere a cancelled prompt ends at the next batch
            return
        strlen = ctypes.CDLL(None).strlen
        callback = ctypes.cast(strlen, c.ggml_abort_callback)
        c.llama_set_abort_callback(self._context, callback, ctypes.cast(self._stop_flag, ctypes.c_void_p))

    def _listen(self, _level: int, text: bytes, _data: object) -> None:
        reason = reasons.classify(text.decode("utf-8", "replace"))
        if reason:
            self._causes.append(reason)

    def _cause(self, otherwise: str) -> str:
        return min(self._causes, key=reasons.rank, default=otherwise)


def supports_gpu() -> bool:
    """Whether this build of llama.cpp can use a GPU at all."""
    return bool(c.llama_supports_gpu_offload())


class Sampler:
    """A chain of llama.cpp's own samplers. A context manager: the chain is C's memory."""

    def __init__(self, context: Any, sampling: Sampling, said: Sequence[int], *, vocabulary: int) -> None:
        self._context = context
        self._chain = c.llama_sampler_chain_init(c.llama_sampler_chain_default_params())
        for link in _links(sampling, vocabulary):
            c.llama_sampler_chain_add(self._chain, link)
        for token in said:
            c.llama_sampler_accept(self._chain, token)

    def next(self) -> int:
        """The token after the last one evaluated."""
        return int(c.llama_sampler_sample(self._chain, self._context, -1))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        c.llama_sampler_free(self._chain)


def _links(sampling: Sampling, vocabulary: int) -> list[Any]:
    links = []
    if sampling.repeat_penalty != 1.0 or sampling.frequency_penalty:
        penalties = (vocabulary, sampling.repeat_last, sampling.repeat_penalty, sampling.frequency_penalty, 0.0)
        links.append(c.llama_sampler_init_penalties(*penalties))
    if sampling.temperature <= 0:
        return [*links, c.llama_sampler_init_greedy()]
    seed = c.LLAMA_DEFAULT_SEED if sampling.seed is None else sampling.seed
    return [
        *links,
        c.llama_sampler_init_top_k(sampling.top_k),
        c.llama_sampler_init_top_p(sampling.top_p, 1),
        c.llama_sampler_init_min_p(sampling.min_p, 1),
        c.llama_sampler_init_temp(sampling.temperature),
        c.llama_sampler_init_dist(seed),
    ]


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    """The length of the common beginning."""
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
