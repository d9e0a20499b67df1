"""The shape of a model: what its size and its memory follow from, whatever its weights say.

A shape comes from a file's header (header.py) or from the catalogue. From it follow the tensors that llama.cpp's own
quantiser would write (llama-quant.cpp of the llama-cpp-python version that is pinned), and so the weight of each layer.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

TensorType = Literal["F32", "F16", "Q4_0", "Q4_1", "Q5_0", "Q8_0", "Q4_K", "Q5_K", "Q6_K"]
Recipe = Literal["Q4_K_M", "Q4_1", "Q8_0"]

# Values in a block, bytes of a block: ggml-common.h.
BLOCKS: Mapping[TensorType, tuple[int, int]] = {
    "F32": (1, 4),
    "F16": (1, 2),
    "Q4_0": (32, 18),
    "Q4_1": (32, 20),
    "Q5_0": (32, 22),
    "Q8_0": (32, 34),
    "Q4_K": (256, 144),
    "Q5_K": (256, 176),
    "Q6_K": (256, 210),
}
# How llama.cpp reads the sliding window of these architectures: of every so many layers the last one sees everything.
SLIDING_EVERY: Mapping[str, int] = {"gemma2": 2, "gemma3": 6}
_COUNTS = ("layers", "width", "heads", "kv_heads", "head_size", "feed_forward", "vocabulary")
_BASE: Mapping[Recipe, TensorType] = {"Q4_K_M": "Q4_K", "Q4_1": "Q4_1", "Q8_0": "Q8_0"}
_NARROWER: Mapping[TensorType, TensorType] = {"Q4_K": "Q5_0", "Q6_K": "Q8_0"}  # rows that are no multiple of 256


@dataclass(frozen=True, slots=True)
class Shape:
    """One model's dimensions, counted in values. kv_heads and sliding have an entry for each layer.

    head_size holds for keys and values; window is in tokens, 0 for none; tied: the output is the token embedding.
    """

    architecture: str
    width: int
    heads: int
    head_size: int
    feed_forward: int
    vocabulary: int
    context_trained: int
    kv_heads: tuple[int, ...]
    sliding: tuple[bool, ...]
    window: int = 0
    tied: bool = False

    @classmethod
    def from_table(cls, table: Mapping[str, Any], *, context_trained: int) -> Self:
        """From a catalogue's `shape`. Raises KeyError for what is missing, ValueError for what is wrong or unknown."""
        if unknown := sorted(table.keys() - {"architecture", "tied", "window", *_COUNTS}):
            raise ValueError(f"unknown {', '.join(unknown)}")
        count = {name: table[name] for name in _COUNTS} | {"window": table.get("window", 0)}
        if wrong := [name for name, value in count.items() if type(value) is not int or value < (name != "window")]:
            raise ValueError(f"{', '.join(wrong)}: a positive whole number is wanted")
        layers, kv_heads, architecture = count.pop("layers"), count.pop("kv_heads"), str(table["architecture"])
        return cls(
            architecture=architecture,
            context_trained=context_trained,
            kv_heads=(kv_heads,) * layers,
            sliding=sliding_layers(architecture, layers, count["window"]),
            tied=bool(table.get("tied", False)),
            **count,
        )

    @property
    def layers(self) -> int:
        return len(self.kv_heads)


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor of a file. `values`: as llama.cpp counts them, the length of a row first. layer -1: none."""

    name: str
    values: tuple[int, ...]
    type: TensorType
    layer: int = -1

    @property
    def size_bytes(self) -> int:
        return tensor_bytes(self.values, self.type)


@dataclass(frozen=True, slots=True)
class Weights:
    """How heavy a model's parts are, in bytes. `output` is 0 where it is the token embedding itself (tied)."""

    layers: tuple[int, ...]
    embedding: int
    output: int
    rest: int = 0

    @property
    def total(self) -> int:
        return sum(self.layers) + self.embedding + self.output + self.rest


def sliding_layers(architecture: str, layers: int, window: int) -> tuple[bool, ...]:
    """Which layers see only the window. None where this project has not compared the architecture with the engine:
    the plan then counts too much memory, never too little."""
    every = SLIDING_EVERY.get(architecture, 0) if window else 0
    return tuple(bool(every) and layer % every < every - 1 for layer in range(layers))


def tensor_bytes(values: tuple[int, ...], kind: TensorType) -> int:
    """Bytes of a tensor, without padding."""
    per_block, block_bytes = BLOCKS[kind]
    count = 1
    for length in values:
        count *= length
    return count // per_block * block_bytes


def weights(shape: Shape, recipe: Recipe) -> Weights:
    """What the quantised file of this shape weighs. Published files agree within 0.3 % (tests/test_shape.py)."""
    per_layer = [0] * shape.layers
    named: dict[str, int] = {}
    for tensor in tensors(shape, recipe):
        if tensor.layer < 0:
            named[tensor.name] = tensor.size_bytes
        else:
            per_layer[tensor.layer] += tensor.size_bytes
    embedding, output = named.pop("token_embd.weight"), named.pop("output.weight", 0)
    return Weights(tuple(per_layer), embedding, output, rest=sum(named.values()))


def tensors(shape: Shape, recipe: Recipe) -> Iterator[Tensor]:
    """Every tensor of a dense model (llama, qwen2, gemma2, gemma3, granite) of this shape, typed as llama.cpp does."""
    base = _BASE[recipe]
    outer: TensorType = "Q6_K" if recipe != "Q8_0" else "Q8_0"
    width, vocabulary = shape.width, shape.vocabulary
    yield _matrix("token_embd.weight", (width, vocabulary), outer if shape.tied else base)
    yield Tensor("output_norm.weight", (width,), "F32")
    if not shape.tied:
        yield _matrix("output.weight", (width, vocabulary), outer)
    for layer in range(shape.layers):
        yield from _layer(shape, layer, recipe)


def _layer(shape: Shape, layer: int, recipe: Recipe) -> Iterator[Tensor]:
    base = _BASE[recipe]
    better: TensorType = "Q6_K" if recipe == "Q4_K_M" and _more_bits(layer, shape.layers) else base
    width, inner = shape.width, shape.heads * shape.head_size
    kv, feed = shape.kv_heads[layer] * shape.head_size, shape.feed_forward
    name = f"blk.{layer}."
    yield _matrix(f"{name}attn_q.weight", (width, inner), base, layer)
    yield _matrix(f"{name}attn_k.weight", (width, kv), base, layer)
    yield _matrix(f"{name}attn_v.weight", (width, kv), better, layer)
    yield _matrix(f"{name}attn_output.weight", (inner, width), base, layer)
    yield _matrix(f"{name}ffn_gate.weight", (width, feed), base, layer)
    yield _matrix(f"{name}ffn_up.weight", (width, feed), base, layer)
    yield _matrix(f"{name}ffn_down.weight", (feed, width), better, layer)
    for norm, length in _vectors(shape, inner, kv):
        yield Tensor(f"{name}{norm}", (length,), "F32", layer)


def _vectors(shape: Shape, inner: int, kv: int) -> Iterator[tuple[str, int]]:
    yield "attn_norm.weight", shape.width
    yield "ffn_norm.weight", shape.width
    if shape.architecture == "qwen2":
        yield from (("attn_q.bias", inner), ("attn_k.bias", kv), ("attn_v.bias", kv))
    if shape.architecture in ("gemma2", "gemma3"):
        yield from (("post_attention_norm.weight", shape.width), ("post_ffw_norm.weight", shape.width))
    if shape.architecture == "gemma3":
        yield from (("attn_q_norm.weight", shape.head_size), ("attn_k_norm.weight", shape.head_size))


def _matrix(name: str, values: tuple[int, int], wanted: TensorType, layer: int = -1) -> Tensor:
    kind = wanted
    if values[0] % BLOCKS[kind][0]:
        kind = _NARROWER.get(kind, "F16")
    if values[0] % BLOCKS[kind][0]:
        kind = "F16"
    return Tensor(name, values, kind, layer)


def _more_bits(layer: int, layers: int) -> bool:
    """Which layers' values and down projections Q4_K_M keeps finer (llama-quant.cpp, use_more_bits)."""
    return layer < layers // 8 or layer >= 7 * layers // 8 or (layer - layers // 8) % 3 == 2
