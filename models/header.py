"""Reads a GGUF file's header: the model's shape and how heavy its parts are, without its weights.

The gguf package would keep an object for every word of the vocabulary (for 150,000 words 12 seconds and half a
gigabyte); the reader here steps over arrays of words and is done in a tenth of a second.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from models.catalogue import ModelError
from models.shape import Shape, Weights, sliding_layers
from models.weights import WeightsDamaged, WeightsMissing

if TYPE_CHECKING:
    from gguf import GGUFReader

_BROKEN = (ValueError, KeyError, IndexError, TypeError, OverflowError, MemoryError, UnicodeDecodeError)


class HeaderUnread(ModelError):
    """The header does not tell what is wanted, though the file may be good: gguf is missing, or it is no such model."""


@dataclass(frozen=True, slots=True)
class Header:
    """What a file says of itself. recipe: how its weights are stored, as its own number says (general.file_type)."""

    shape: Shape
    weights: Weights
    name: str
    file_type: int


def read(path: Path) -> Header:
    """Raises HeaderUnread without the gguf package or for a file of no known kind of language model, WeightsMissing
    for one that cannot be opened, and WeightsDamaged for one that is no whole GGUF file."""
    reader = _whole(path)
    values = {name: field for name, field in reader.fields.items() if not name.startswith("tokenizer.")}
    try:
        return _header({name: field.contents() for name, field in values.items()}, reader)
    except _BROKEN as exc:
        raise HeaderUnread(f"{path} is a GGUF file, but not of a language model whose memory can be told") from exc


def require_whole(path: Path) -> None:
    """The same without a word on what kind of model it is: a cut-off file is one whose tensors go beyond its end."""
    _whole(path)


def _whole(path: Path) -> "GGUFReader":
    try:
        return _open(path)
    except ImportError as exc:
        raise HeaderUnread("reading a model file needs gguf: pip install 'crisis-support[weights]'") from exc
    except OSError as exc:
        raise WeightsMissing(f"{path} cannot be read: {exc.strerror}") from exc
    except _BROKEN as exc:
        raise WeightsDamaged(f"{path} is not a whole GGUF file: it is damaged, cut off or something else") from exc


def _open(path: Path) -> "GGUFReader":
    import numpy as np
    from gguf import GGUFReader, GGUFValueType

    class HeaderReader(GGUFReader):
        """Keeps numbers of an array as one part, and of words only how many there are."""

        def _get_field_parts(self, orig_offs: int, raw_type: int) -> Any:
            if raw_type != GGUFValueType.ARRAY:
                return super()._get_field_parts(orig_offs, raw_type)
            item, count = self._get(orig_offs, np.uint32), self._get(orig_offs + 4, np.uint64)
            kind, start, number = GGUFValueType(int(item[0])), orig_offs + 12, int(count[0])
            if kind == GGUFValueType.STRING:
                return self._after_words(start, number) - orig_offs, [count], [0], [GGUFValueType.UINT64]
            values = self._get(start, self.gguf_scalar_to_np[kind], number)
            if len(values) != number:
                raise ValueError("cut off")
            return 12 + values.nbytes, [values], [0], [GGUFValueType.ARRAY, kind]

        def _after_words(self, start: int, number: int) -> int:
            data, at = self.data.data, start
            for _ in range(number):
                if at + 8 > len(data):
                    raise ValueError("cut off")
                at += 8 + int.from_bytes(data[at : at + 8], "little")
            return at

    return HeaderReader(path)


def _header(fields: Mapping[str, Any], reader: "GGUFReader") -> Header:
    architecture = str(fields["general.architecture"])
    told = {name.removeprefix(f"{architecture}."): value for name, value in fields.items()}
    sizes = {tensor.name: int(tensor.n_bytes) for tensor in reader.tensors}
    rows = {tensor.name: [int(length) for length in tensor.shape] for tensor in reader.tensors}
    layers = int(told["block_count"])
    return Header(
        shape=_shape(architecture, told, layers, rows),
        weights=_weights(sizes, layers),
        name=str(fields.get("general.name", "")),
        file_type=int(fields.get("general.file_type", -1)),
    )


def _shape(architecture: str, told: Mapping[str, Any], layers: int, rows: Mapping[str, list[int]]) -> Shape:
    width, heads = int(told["embedding_length"]), _largest(told["attention.head_count"])
    window = int(told.get("attention.sliding_window", 0))
    pattern = told.get("attention.sliding_window_pattern")
    return Shape(
        architecture=architecture,
        width=width,
        heads=heads,
        head_size=int(told.get("attention.key_length", width // heads)),
        feed_forward=_largest(told["feed_forward_length"]),
        vocabulary=rows["token_embd.weight"][1],
        context_trained=int(told["context_length"]),
        kv_heads=_each(told.get("attention.head_count_kv", heads), layers),
        sliding=tuple(map(bool, pattern))
        if isinstance(pattern, list) and window
        else sliding_layers(architecture, layers, window),
        window=window,
        tied="output.weight" not in rows,
    )


def _weights(sizes: Mapping[str, int], layers: int) -> Weights:
    per_layer, rest = [0] * layers, 0
    for name, size in sizes.items():
        prefix, _, after = name.partition(".")
        if prefix == "blk":
            per_layer[int(after.split(".")[0])] += size
        elif name not in ("token_embd.weight", "output.weight"):
            rest += size
    return Weights(tuple(per_layer), sizes["token_embd.weight"], sizes.get("output.weight", 0), rest)


def _largest(value: int | list[int]) -> int:
    return max(value) if isinstance(value, list) else int(value)


def _each(value: int | list[int], layers: int) -> tuple[int, ...]:
    """A number for every layer; files give one for all or one for each."""
    if isinstance(value, list):
        if len(value) != layers:
            raise ValueError("not one for each layer")
        return tuple(map(int, value))
    return (int(value),) * layers
