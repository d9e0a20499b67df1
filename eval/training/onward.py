"""Training that goes on from weights that ship: the packed int8 layers read back as what is trained."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from tokenizers import Tokenizer

from eval.training import network, source, vocabulary

_PARTS = ("qkv", "out", "up", "down")


def onward_from(
    tokenizer: Tokenizer, folder: Path, layers: Sequence[int], outputs: int, *, fixed: int, head: bool
) -> network.Network:
    """The source's words and first `fixed` layers; the others as folder/encoder.onnx holds them.

    head: the packed one too; else a fresh one, for `outputs` of another task.
    """
    start = source.installed()
    made = network.started(start, vocabulary.standing(start, tokenizer), layers, outputs, fixed=fixed)
    names = [f"layers.{number}.{part}.weight" for number in layers[fixed:] for part in _PARTS]
    _taken(made, onnx.load(folder / "encoder.onnx"), [*names, *(["head.weight"] if head else [])])
    return made


def copies(made: network.Network) -> dict[str, torch.Tensor]:
    """What is trained of it, as it is now."""
    return {name: part.detach().clone() for name, part in made.named_parameters() if part.requires_grad}


def mix(made: network.Network, before: Mapping[str, torch.Tensor], kept: float) -> None:
    """Takes `kept` (0 to 1) of the weights and the rest of those that were."""
    with torch.no_grad():
        for name, part in made.named_parameters():
            if name in before:
                part.lerp_(before[name], 1 - kept)


def _taken(made: network.Network, packed: onnx.ModelProto, products: Sequence[str]) -> None:
    """Fills in the weights of `products`, in the order of the packed graph, and whatever it holds as floats."""
    held = {part.name: numpy_helper.to_array(part) for part in packed.graph.initializer}
    given = [node.input[1] for node in packed.graph.node if node.op_type == "MatMulInteger"]
    weights = dict(made.named_parameters())
    with torch.no_grad():
        for name, product in zip(products, given, strict=False):
            shift, scale = (held[product.replace("_quantized", f"_{one}")] for one in ("zero_point", "scale"))
            whole = (held[product].astype(np.float32) - shift.astype(np.float32)) * scale
            weights[name].copy_(torch.from_numpy(np.ascontiguousarray(whole.T)))
        for name, weight in weights.items():
            if name in held and ("head.weight" in products or not name.startswith("head.")):
                weight.copy_(torch.from_numpy(held[name].copy()))
