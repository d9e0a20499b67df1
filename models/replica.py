"""Writes a GGUF file of exactly a model's shape, with weights that say nothing.

Speed and memory do not depend on what the weights say, so such a file shows both before anybody downloads gigabytes.
The blocks are valid and their values have the spread of real ones, so that nothing overflows on the way through the
layers. A sparse replica has the shape and no weights at all: it takes no room, and serves to ask the engine what it
would allocate. The vocabulary holds single bytes and made-up words, so that any text can be tokenised; real words can
be given, so that a prompt made of them has about as many tokens as a real model would count.
"""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from models.room import require_room
from models.shape import BLOCKS, Recipe, Shape, Tensor, TensorType, tensors

if TYPE_CHECKING:
    import numpy as np
    from gguf import GGUFWriter

_ALIGNMENT = 32
_SLICE_BLOCKS = 1 << 16  # at most 13 MB in memory at once
_CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
_NORMAL, _UNKNOWN, _CONTROL, _BYTE = 1, 2, 3, 6  # llama.cpp's token types


def write(
    path: Path, shape: Shape, recipe: Recipe, *, sparse: bool = False, seed: int = 0, words: Collection[str] = ()
) -> int:
    """Write the file and return its size in bytes. Raises NoRoom before anything is written.

    sparse: only the header is written and the file is made as long as the weights would be. words: each becomes one
    token.
    """
    import numpy as np

    planned = list(tensors(shape, recipe))
    if not sparse:
        require_room(path.parent, sum(tensor.size_bytes for tensor in planned))
    writer = _header(path, shape, planned, words)
    if writer.fout is None:
        raise ValueError("the writer has no file")
    file = writer.fout[0]
    writer.write_padding(file, file.tell())
    if sparse:
        file.truncate(file.tell() + sum(_padded(tensor.size_bytes) for tensor in planned))
    else:
        random = np.random.default_rng(seed)
        for tensor in planned:
            _write_tensor(file, tensor, random)
    writer.close()
    return path.stat().st_size


def _padded(size_bytes: int) -> int:
    return -(-size_bytes // _ALIGNMENT) * _ALIGNMENT


def _header(path: Path, shape: Shape, planned: list[Tensor], words: Collection[str]) -> "GGUFWriter":
    import numpy as np
    from gguf import GGMLQuantizationType, GGUFWriter

    writer = GGUFWriter(path, shape.architecture)
    _describe(writer, shape)
    _vocabulary(writer, shape.vocabulary, words)
    for tensor in planned:
        kind = GGMLQuantizationType[tensor.type]
        rows = tuple(reversed(tensor.values))
        writer.add_tensor_info(tensor.name, rows, np.dtype(np.float32), tensor.size_bytes, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    return writer


def _describe(writer: "GGUFWriter", shape: Shape) -> None:
    writer.add_name("replica: this shape, no knowledge")
    writer.add_block_count(shape.layers)
    writer.add_context_length(shape.context_trained)
    writer.add_embedding_length(shape.width)
    writer.add_feed_forward_length(shape.feed_forward)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads[0] if len(set(shape.kv_heads)) == 1 else list(shape.kv_heads))
    writer.add_key_length(shape.head_size)
    writer.add_value_length(shape.head_size)
    writer.add_rope_dimension_count(shape.head_size)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(10_000.0)
    writer.add_vocab_size(shape.vocabulary)
    if shape.window:
        writer.add_sliding_window(shape.window)
    if shape.architecture == "gemma2":
        writer.add_attn_logit_softcapping(50.0)
        writer.add_final_logit_softcapping(30.0)
    if shape.architecture == "granite":
        writer.add_logit_scale(8.0)


def _vocabulary(writer: "GGUFWriter", size: int, real: Collection[str]) -> None:
    tokens = [b"<unk>", b"<s>", b"</s>", b"<|im_start|>", b"<|im_end|>", *(b"<0x%02X>" % byte for byte in range(256))]
    kinds = [_UNKNOWN, _CONTROL, _CONTROL, _CONTROL, _CONTROL, *[_BYTE] * 256]
    words = [piece.encode() for piece in _pieces(real)]
    words += [b"\xe2\x96\x81w%d" % number for number in range(max(0, size - len(tokens) - len(words)))]
    tokens, kinds = (tokens + words)[:size], (kinds + [_NORMAL] * len(words))[:size]
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0 if kind != _NORMAL else -float(at) for at, kind in enumerate(kinds)])
    writer.add_token_types(kinds)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(4)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(False)
    writer.add_chat_template(_CHATML)


def _pieces(words: Collection[str]) -> list[str]:
    """The words and all their beginnings: llama.cpp puts a word together from the left, piece by piece.

    Those after a blank come first, and so are put together before any other.
    """
    marked = [f"\u2581{word}" for word in sorted(set(words))]
    both = [*marked, *(word.removeprefix("\u2581") for word in marked)]
    return list(dict.fromkeys(word[:length] for word in both for length in range(1, len(word) + 1)))


def _write_tensor(file: IO[bytes], tensor: Tensor, random: "np.random.Generator") -> None:
    per_block, _ = BLOCKS[tensor.type]
    count = 1
    for length in tensor.values:
        count *= length
    spread = tensor.values[0] ** -0.5  # keeps the size of a layer's output that of its input
    for blocks in _slices(count // per_block):
        file.write(_values(tensor, blocks, spread, random))
    file.write(bytes(_padded(tensor.size_bytes) - tensor.size_bytes))


def _slices(count: int) -> Iterator[int]:
    while count > 0:
        yield min(count, _SLICE_BLOCKS)
        count -= _SLICE_BLOCKS


def _values(tensor: Tensor, blocks: int, spread: float, random: "np.random.Generator") -> bytes:
    import numpy as np

    if tensor.type == "F32":
        one = np.ones(blocks, "<f4") if tensor.name.endswith("norm.weight") else np.zeros(blocks, "<f4")
        return one.tobytes()
    if tensor.type == "F16":
        return (random.standard_normal(blocks) * spread).astype("<f2").tobytes()
    _, block_bytes = BLOCKS[tensor.type]
    table = random.integers(0, 256, (blocks, block_bytes), dtype=np.uint8)
    for start, scale in _scales(tensor.type, spread):
        table[:, start : start + 2] = np.frombuffer(np.float16(scale).tobytes(), np.uint8)
    return table.tobytes()


def _scales(kind: TensorType, spread: float) -> Iterator[tuple[int, float]]:
    """Where a block's own scales stand (16 bit floats), and what they are for values of this standard deviation.

    The formulas are ggml's (dequantize_row_…): with every other byte random, the deviations below were measured.
    """
    layout: dict[Any, tuple[tuple[int, float], ...]] = {
        "Q4_0": ((0, 1 / 4.61),),
        "Q4_1": ((0, 1 / 4.61), (2, -7.5 / 4.61)),
        "Q5_0": ((0, 1 / 9.23),),
        "Q8_0": ((0, 1 / 73.9),),
        "Q4_K": ((0, 1 / 258.0), (2, 7.5 / 258.0)),
        "Q5_K": ((0, 1 / 527.0), (2, 15.5 / 527.0)),
        "Q6_K": ((208, 1 / 1365.0),),
    }
    for start, factor in layout[kind]:
        yield start, spread * factor
