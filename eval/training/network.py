"""The encoder as it is trained: a BERT of some of the source's layers, its mean as the text, a linear head."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from eval.training.source import Source
from textrules.encoder import ALL, PAD

DROPPED = 0.1


class Layer(nn.Module):
    """One transformer layer, normalised after each half."""

    def __init__(self, source: Source) -> None:
        super().__init__()
        width, self.heads = source.width, source.heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, source.inner), nn.Linear(source.inner, width)
        self.first, self.second = nn.LayerNorm(width, 1e-12), nn.LayerNorm(width, 1e-12)
        self.drop = nn.Dropout(DROPPED)

    def forward(self, given: Tensor, mask: Tensor) -> Tensor:
        rows, tokens, width = given.shape
        parts = self.qkv(given).view(rows, tokens, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(parts[0], parts[1], parts[2], attn_mask=mask)
        given = self.first(given + self.drop(self.out(seen.transpose(1, 2).reshape(rows, tokens, width))))
        return self.second(given + self.drop(self.down(functional.gelu(self.up(given)))))


class Network(nn.Module):
    """Token ids, (rows, tokens) padded with PAD, in; log-odds, (rows, outputs), out."""

    def __init__(self, source: Source, words: int, layers: int, outputs: int) -> None:
        super().__init__()
        self.word, self.position = nn.Embedding(words, source.width), nn.Embedding(ALL + 2, source.width)
        self.norm = nn.LayerNorm(source.width, 1e-12)
        self.layers = nn.ModuleList(Layer(source) for _ in range(layers))
        self.drop = nn.Dropout(DROPPED)
        self.head = nn.Linear(source.width, outputs)

    def forward(self, ids: Tensor) -> Tensor:
        real = ids != PAD
        mask = torch.zeros(real.shape).masked_fill(~real, -1e9)[:, None, None, :]
        state = self.drop(self.norm(self.word(ids) + self.position.weight[: ids.shape[1]]))
        for layer in self.layers:
            state = layer(state, mask)
        weight = real.unsqueeze(-1).to(state.dtype)
        mean: Tensor = self.head(self.drop((state * weight).sum(1) / weight.sum(1)))
        return mean


def started(source: Source, ids: Sequence[int], layers: Sequence[int], outputs: int, *, fixed: int = 0) -> Network:
    """A network with the source's weights: the words `ids`, the layers numbered `layers`, a fresh head.

    The words are not trained: 16 million weights that have met more text than ours. Nor are the first `fixed` layers,
    which saves a third of the time of twelve.
    """
    made = Network(source, len(ids), len(layers), outputs)
    with torch.no_grad():
        _fill(made.word.weight, source.tensor("emb.word", source.words, source.width)[list(ids)])
        kind = source.tensor("emb.type", source.types, source.width)[0]
        places = source.tensor("emb.pos", source.positions, source.width)[: ALL + 2]
        _fill(made.position.weight, places + kind)
        _copy(source, made.norm, "emb.ln")
        for layer, number in zip(made.layers, layers, strict=True):
            _copy_layer(source, layer, f"l{number}")
    made.word.weight.requires_grad_(False)
    if fixed:
        for part in (made.position, made.norm, *made.layers[:fixed]):
            part.requires_grad_(False)
    return made


def _copy_layer(source: Source, layer: nn.Module, name: str) -> None:
    if not isinstance(layer, Layer):  # ModuleList has no element type
        raise TypeError(type(layer))
    width, inner = source.width, source.inner
    parts = [(source.tensor(f"{name}.{one}.w", width, width), source.tensor(f"{name}.{one}.b", width)) for one in "qkv"]
    _fill(layer.qkv.weight, np.concatenate([weight for weight, _ in parts]))
    _fill(layer.qkv.bias, np.concatenate([bias for _, bias in parts]))
    for module, one, shape in (
        (layer.out, "ao", (width, width)),
        (layer.up, "fi", (inner, width)),
        (layer.down, "fo", (width, inner)),
    ):
        _fill(module.weight, source.tensor(f"{name}.{one}.w", *shape))
        _fill(module.bias, source.tensor(f"{name}.{one}.b", shape[0]))
    _copy(source, layer.first, f"{name}.aln")
    _copy(source, layer.second, f"{name}.oln")


def _copy(source: Source, norm: nn.LayerNorm, name: str) -> None:
    _fill(norm.weight, source.tensor(f"{name}.w", source.width))
    _fill(norm.bias, source.tensor(f"{name}.b", source.width))


def _fill(parameter: Tensor, values: np.ndarray) -> None:
    parameter.copy_(torch.from_numpy(np.ascontiguousarray(values)))


def identity(width: int) -> nn.Linear:
    """A head that gives the text's vector itself."""
    head = nn.Linear(width, width)
    with torch.no_grad():
        head.weight.copy_(torch.eye(width))
        head.bias.zero_()
    return head
