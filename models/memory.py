"""How much memory llama.cpp takes for a model: weights, KV cache by kind of layer, compute buffers.

The rules are llama.cpp's own, read in the sources that the pinned llama-cpp-python carries (llama-context.cpp,
llama-kv-cache.cpp, llama-kv-cache-iswa.cpp, llama-graph.cpp), and compared with what that engine reports for several
hundred shapes and settings (tests/test_memory.py, `python -m models.compare`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Self

from models.shape import Shape, Weights

KvType = Literal["f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0"]

# Bytes of one value: ggml-common.h.
KV_BYTES: Mapping[KvType, float] = {
    "f32": 4,
    "f16": 2,
    "bf16": 2,
    "q8_0": 34 / 32,
    "q5_1": 24 / 32,
    "q5_0": 22 / 32,
    "q4_1": 20 / 32,
    "q4_0": 18 / 32,
}
# Architectures whose numbers were compared with the engine's.
COMPARED = frozenset({"llama", "qwen2", "gemma2", "gemma3", "granite"})
_PAD = 256  # llama.cpp rounds contexts and sliding caches up to it
_F32 = 4


@dataclass(frozen=True, slots=True)
class Run:
    """How an engine holds a model: `context` cells for each of `streams` caches, each shared by `sequences`.

    batch: prompt tokens evaluated at once (n_ubatch). outputs: rows of word scores that room is kept for.
    full_window: sliding layers get as many cells as the others.
    """

    context: int
    streams: int = 1
    sequences: int = 1
    kv: KvType = "f16"
    batch: int = 512
    outputs: int = 0
    flash: bool = True
    full_window: bool = False

    @classmethod
    def in_process(cls, context: int, *, kv: KvType = "f16", batch: int = 256, flash: bool = True) -> Self:
        """Our own worker (serving/llama/runtime.py): one conversation and the kept protocol share the cells."""
        return cls(context, sequences=2, kv=kv, batch=batch, outputs=2, flash=flash, full_window=True)

    @classmethod
    def server(cls, context: int, parallel: int, *, kv: KvType = "f16", batch: int = 512, flash: bool = True) -> Self:
        """llama-server with a cache of its own for each slot: it scores one word a slot."""
        return cls(context, streams=parallel, kv=kv, batch=batch, outputs=parallel, flash=flash)

    @property
    def cells(self) -> int:
        """Cells of one stream for a layer that sees everything."""
        return padded(self.context)

    @property
    def rows(self) -> int:
        """Tokens that are really evaluated at once: never more than all contexts together hold."""
        return min(self.batch, self.context * self.streams)

    def sliding_cells(self, window: int) -> int:
        """Cells of one stream for a layer that sees only the window."""
        return self.cells if self.full_window else padded(min(self.cells, window * self.sequences + self.rows))


@dataclass(frozen=True, slots=True)
class Memory:
    """What a model takes, in bytes."""

    weights: int
    kv_full: int
    kv_sliding: int
    compute: int

    @property
    def kv(self) -> int:
        return self.kv_full + self.kv_sliding

    @property
    def total(self) -> int:
        return self.weights + self.kv + self.compute


def padded(tokens: int) -> int:
    return -(-tokens // _PAD) * _PAD


def memory(shape: Shape, weights: Weights, run: Run) -> Memory:
    """The whole model in one place, all of it on the GPU or all of it on the CPU."""
    layers = range(shape.layers)
    return Memory(
        weights=weights.total,
        kv_full=sum(layer_kv(shape, run, layer) for layer in layers if not shape.sliding[layer]),
        kv_sliding=sum(layer_kv(shape, run, layer) for layer in layers if shape.sliding[layer]),
        compute=compute(shape, run),
    )


def layer_kv(shape: Shape, run: Run, layer: int) -> int:
    """Bytes of one layer's keys and values, over all streams."""
    cells = run.sliding_cells(shape.window) if shape.sliding[layer] else run.cells
    values = 2 * shape.kv_heads[layer] * shape.head_size
    return round(run.streams * cells * values * KV_BYTES[run.kv])


def compute(shape: Shape, run: Run) -> int:
    """Bytes that one evaluation needs beside weights and cache: the fullest moment of a prompt's graph.

    Three moments can be the fullest: the feed-forward of a layer, its attention (without flash attention every head
    scores every cell), and the scoring of words at the end. The row of scores that is handed over counts too.
    """
    inner = shape.heads * shape.head_size
    outputs = min(run.outputs or run.rows, run.rows)
    feed_forward = 3 * shape.feed_forward + 3 * shape.width + max(shape.width, inner)
    moments = (
        outputs * (shape.vocabulary + 2 * shape.width) * _F32,
        run.rows * feed_forward * _F32 + _masks(shape, run),
        _attention(shape, run, inner),
    )
    handed_over = run.streams * run.sequences * shape.vocabulary * _F32
    return max(moments) + handed_over


def _masks(shape: Shape, run: Run) -> int:
    """Who may see whom: a number for each token of the batch and each cell, once for each kind of layer."""
    full = run.cells if not all(shape.sliding) else 0
    sliding = run.sliding_cells(shape.window) if any(shape.sliding) else 0
    return run.rows * (full + sliding) * (2 if run.flash else _F32)


def _attention(shape: Shape, run: Run, inner: int) -> int:
    kv = max(shape.kv_heads) * shape.head_size
    most_cells = run.sliding_cells(shape.window) if all(shape.sliding) else run.cells
    scores = 0 if run.flash else shape.heads * most_cells
    return run.rows * (scores + 3 * inner + 2 * shape.width + 2 * kv) * _F32 + _masks(shape, run)
