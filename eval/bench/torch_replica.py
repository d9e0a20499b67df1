"""Writes a folder that transformers loads, of exactly a model's shape, with weights that say nothing.

The counterpart of models/replica.py for engine = "transformers": the same shape, the same words, the same number of
tokens for a prompt. Written a tensor at a time, in 16 bits.
"""

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from models.room import require_room
from models.shape import Shape

CLASSES = {"llama": "LlamaForCausalLM", "qwen2": "Qwen2ForCausalLM", "gemma2": "Gemma2ForCausalLM"}
_CONTROL = ("<unk>", "<s>", "</s>", "<|im_start|>", "<|im_end|>")
_CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
_SPACE = "\u0120"  # how byte-level vocabularies write a blank
_ROWS = 4096  # of a matrix at a time in memory


def write(folder: Path, shape: Shape, *, words: Collection[str] = (), seed: int = 0) -> int:
    """Write the folder and return the size of its weights in bytes. Raises NoRoom before anything is written."""
    if shape.architecture not in CLASSES:
        raise ValueError(f"no replica of {shape.architecture} for transformers")
    folder.mkdir(parents=True, exist_ok=True)
    planned = list(_tensors(shape))
    require_room(folder, sum(2 * rows * columns for _, rows, columns in planned))
    for name, table in (
        ("config.json", _config(shape)),
        ("generation_config.json", {"eos_token_id": [_CONTROL.index("<|im_end|>")]}),
        ("tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|im_end|>"}),
        ("tokenizer.json", _tokeniser(shape.vocabulary, words)),
    ):
        (folder / name).write_text(json.dumps(table), encoding="utf-8")
    (folder / "chat_template.jinja").write_text(_CHATML, encoding="utf-8")
    with (folder / "model.safetensors").open("wb") as file:
        _write(file, planned, np.random.default_rng(seed))
    return (folder / "model.safetensors").stat().st_size


def _config(shape: Shape) -> dict[str, Any]:
    config: dict[str, Any] = {
        "architectures": [CLASSES[shape.architecture]],
        "model_type": shape.architecture,
        "dtype": "bfloat16",
        "hidden_size": shape.width,
        "intermediate_size": shape.feed_forward,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.kv_heads[0],
        "head_dim": shape.head_size,
        "max_position_embeddings": shape.context_trained,
        "vocab_size": shape.vocabulary,
        "tie_word_embeddings": shape.tied,
        "rms_norm_eps": 1e-6,
        "eos_token_id": _CONTROL.index("<|im_end|>"),
    }
    if shape.architecture == "gemma2":
        config |= {"sliding_window": shape.window, "query_pre_attn_scalar": shape.head_size}
    return config


def _tokeniser(size: int, words: Collection[str]) -> dict[str, Any]:
    """Byte-level, with whole words: `ignore_merges` takes a word that the vocabulary has as it is."""
    known = [*(_SPACE + word for word in sorted(set(words))), *(word for word in sorted(set(words)) if len(word) > 1)]
    pieces = [*_CONTROL, *_alphabet(), *known]
    pieces += [f"{_SPACE}w{number}" for number in range(size - len(pieces))]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    special = [
        {"id": at, "content": text, "special": True}
        | dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
        for at, text in enumerate(_CONTROL)
    ]
    return {
        "version": "1.0",
        "added_tokens": special,
        "pre_tokenizer": byte_level,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "vocab": {piece: at for at, piece in enumerate(pieces[:size])},
            "merges": [],
            "ignore_merges": True,
        },
    }


def _alphabet() -> list[str]:
    """The 256 characters by which byte-level vocabularies write bytes."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = 256 - len(printable)
    return [*map(chr, printable), *(chr(256 + place) for place in range(others))]


def _tensors(shape: Shape) -> Iterator[tuple[str, int, int]]:
    """(name, rows, columns); one row for a vector."""
    width, inner = shape.width, shape.heads * shape.head_size
    yield "model.embed_tokens.weight", shape.vocabulary, width
    yield "model.norm.weight", 1, width
    if not shape.tied:
        yield "lm_head.weight", shape.vocabulary, width
    for layer in range(shape.layers):
        at, kv = f"model.layers.{layer}.", shape.kv_heads[layer] * shape.head_size
        for name, rows in (("q", inner), ("k", kv), ("v", kv)):
            yield f"{at}self_attn.{name}_proj.weight", rows, width
            if shape.architecture == "qwen2":
                yield f"{at}self_attn.{name}_proj.bias", 1, rows
        yield f"{at}self_attn.o_proj.weight", width, inner
        yield f"{at}mlp.gate_proj.weight", shape.feed_forward, width
        yield f"{at}mlp.up_proj.weight", shape.feed_forward, width
        yield f"{at}mlp.down_proj.weight", width, shape.feed_forward
        for norm in _norms(shape):
            yield f"{at}{norm}.weight", 1, width


def _norms(shape: Shape) -> tuple[str, ...]:
    more = ("pre_feedforward_layernorm", "post_feedforward_layernorm") if shape.architecture == "gemma2" else ()
    return ("input_layernorm", "post_attention_layernorm", *more)


def _write(file: IO[bytes], planned: list[tuple[str, int, int]], random: np.random.Generator) -> None:
    """safetensors: the length of the head, the head, the numbers."""
    head: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    at = 0
    for name, rows, columns in planned:
        size = 2 * rows * columns
        lengths = [columns] if rows == 1 else [rows, columns]
        head[name] = {"dtype": "BF16", "shape": lengths, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    file.write(len(text).to_bytes(8, "little") + text)
    for name, rows, columns in planned:
        for start in range(0, rows, _ROWS):
            file.write(_values(name, min(_ROWS, rows - start), columns, random))


def _values(name: str, rows: int, columns: int, random: np.random.Generator) -> bytes:
    if rows == 1:
        values = np.zeros(columns, np.float32) if name.endswith("bias") else np.ones(columns, np.float32)
    else:
        values = random.standard_normal((rows, columns), np.float32) * np.float32(columns**-0.5)
    return (values.view(np.uint32) >> np.uint32(16)).astype("<u2").tobytes()  # the upper half of a float is a bfloat16
