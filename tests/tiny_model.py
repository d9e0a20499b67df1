"""A tiny Qwen2 in the form that transformers loads, made without torch: a tokenizer, a config, random weights.

It speaks gibberish, and the same gibberish each time.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from serving.transformers import packages

if TYPE_CHECKING:
    from tokenizers import Tokenizer

LAYERS, WIDTH, HEADS, KV_HEADS, FEED, CONTEXT = 2, 64, 4, 2, 128, 1024
CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
_SAMPLE = "I hear you. Are you safe right now? It sounds like you are going through a lot. Be calm and kind."

_wrong = packages.problem("nf4")
needs_transformers = pytest.mark.skipif(
    _wrong is not None, reason=f"{_wrong}; `make test-transformers` installs it and runs these tests"
)


def tokenizer() -> "Tokenizer":
    """Byte-level BPE, as Qwen's and Llama 3's are."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=340, initial_alphabet=alphabet, special_tokens=list(SPECIAL), show_progress=False
    )
    made.train_from_iterator([_SAMPLE] * 4, trainer)
    return made


def config(vocabulary: int, **more: Any) -> dict[str, Any]:
    """What config.json holds."""
    return {
        "architectures": ["Qwen2ForCausalLM"],
        "model_type": "qwen2",
        "dtype": "float32",
        "hidden_size": WIDTH,
        "intermediate_size": FEED,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "max_position_embeddings": CONTEXT,
        "vocab_size": vocabulary,
        "rms_norm_eps": 1e-6,
        "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"},
        "tie_word_embeddings": False,
        "use_sliding_window": False,
        **more,
    }


def make(folder: Path, *, template: str = CHATML, seed: int = 1) -> Path:
    """Write the whole folder; returns it."""
    folder.mkdir(parents=True, exist_ok=True)
    words = tokenizer()
    words.save(str(folder / "tokenizer.json"))
    end, count = words.token_to_id("<|im_end|>"), words.get_vocab_size()
    about = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|im_end|>", "chat_template": template}
    for name, table in (
        ("config.json", config(count, eos_token_id=end)),
        ("generation_config.json", {"eos_token_id": [end]}),
        ("tokenizer_config.json", about),
    ):
        (folder / name).write_text(json.dumps(table), encoding="utf-8")
    save(folder / "model.safetensors", _weights(count, seed))
    return folder


def save(path: Path, tensors: Mapping[str, np.ndarray]) -> None:
    """A safetensors file: the length of its head, its head, the numbers."""
    head: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    at = 0
    for name, tensor in tensors.items():
        head[name] = {"dtype": "F32", "shape": tensor.shape, "data_offsets": [at, at + tensor.nbytes]}
        at += tensor.nbytes
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    body = b"".join(tensor.tobytes() for tensor in tensors.values())
    path.write_bytes(len(text).to_bytes(8, "little") + text + body)


def _weights(vocabulary: int, seed: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    kv = WIDTH // HEADS * KV_HEADS

    def matrix(rows: int, columns: int) -> np.ndarray:
        return (random.standard_normal((rows, columns)) * 1.5 * columns**-0.5).astype(np.float32)

    tensors = {
        "model.embed_tokens.weight": matrix(vocabulary, WIDTH) * 8,
        "model.norm.weight": np.ones(WIDTH, np.float32),
        "lm_head.weight": matrix(vocabulary, WIDTH) * 2,
    }
    for layer in range(LAYERS):
        at = f"model.layers.{layer}."
        for name, rows in (("q", WIDTH), ("k", kv), ("v", kv)):
            tensors[f"{at}self_attn.{name}_proj.weight"] = matrix(rows, WIDTH)
            tensors[f"{at}self_attn.{name}_proj.bias"] = np.zeros(rows, np.float32)
        tensors[f"{at}self_attn.o_proj.weight"] = matrix(WIDTH, WIDTH)
        for name, rows, columns in (("gate", FEED, WIDTH), ("up", FEED, WIDTH), ("down", WIDTH, FEED)):
            tensors[f"{at}mlp.{name}_proj.weight"] = matrix(rows, columns)
        for name in ("input_layernorm", "post_attention_layernorm"):
            tensors[f"{at}{name}.weight"] = np.ones(WIDTH, np.float32)
    return tensors
