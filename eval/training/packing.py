"""Writes a trained encoder as the run time reads it: int8 ONNX in two halves, the tokenizer, and what ties them."""

import json
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx
import onnx.utils
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from tokenizers import Tokenizer

from eval.training.narrowing import narrowed
from eval.training.network import Network
from textrules.encoder import digest


def pack(
    network: Network,
    tokenizer: Tokenizer,
    folder: Path,
    *,
    outputs: Sequence[str],
    facts: Mapping[str, Any],
    trunk: Path,
    lower: int,
    makes_trunk: bool,
) -> None:
    """Writes encoder.onnx, the layers from number `lower` on, and model.json into `folder`.

    The layers below it, with the words, are the trunk that all encoders share: written into the folder `trunk`, or,
    without `makes_trunk`, compared with what stands there. Raises ValueError where it differs.
    """
    with tempfile.TemporaryDirectory() as spare:
        halves = _halves(network, Path(spare), lower)
    words = tokenizer.to_str(pretty=False).encode("utf-8")
    if makes_trunk:
        trunk.mkdir(parents=True, exist_ok=True)
        (trunk / "trunk.onnx").write_bytes(halves[0].SerializeToString())
        (trunk / "tokenizer.json").write_bytes(words)
    stands = (trunk / "trunk.onnx").read_bytes()
    if not _same(onnx.load_model_from_string(stands), halves[0]):
        raise ValueError(f"the trunk in {trunk} has other weights than this network's lower layers")
    folder.mkdir(parents=True, exist_ok=True)
    upper = halves[1].SerializeToString()
    (folder / "encoder.onnx").write_bytes(upper)
    tied = {"encoder": digest(upper), "trunk": digest(stands + (trunk / "tokenizer.json").read_bytes())}
    said = {"outputs": list(outputs), **tied, **facts}
    (folder / "model.json").write_text(json.dumps(said, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _halves(network: Network, spare: Path, lower: int) -> tuple[onnx.ModelProto, onnx.ModelProto]:
    """The network in int8, cut in two below layer `lower`: ids to state, and ids and state to scores."""
    _export(network, spare / "plain.onnx")
    quantize_dynamic(
        spare / "plain.onnx",
        spare / "int8.onnx",
        weight_type=QuantType.QInt8,
        per_channel=True,
        op_types_to_quantize=["MatMul", "Gemm", "Gather"],
    )
    border = f"/layers.{lower - 1}/second/LayerNormalization_output_0"
    whole = narrowed(onnx.load(spare / "int8.onnx"))
    for node in whole.graph.node:
        node.input[:] = ["state" if name == border else name for name in node.input]
        node.output[:] = ["state" if name == border else name for name in node.output]
    onnx.save(whole, spare / "int8.onnx")
    for name, given, wanted in (("lower", ["ids"], ["state"]), ("upper", ["ids", "state"], ["scores"])):
        onnx.utils.extract_model(spare / "int8.onnx", spare / f"{name}.onnx", given, wanted, check_model=False)
    return onnx.load(spare / "lower.onnx"), onnx.load(spare / "upper.onnx")


def _same(one: onnx.ModelProto, other: onnx.ModelProto) -> bool:
    """Whether both hold the same weights under the same names."""
    mine, theirs = ({part.name: part.raw_data for part in model.graph.initializer} for model in (one, other))
    return mine == theirs


def _export(network: Network, path: Path) -> None:
    network.eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the tracing exporter warns that it is old; its graph is what int8 wants
        torch.onnx.export(
            network,
            (torch.tensor([[0, 5, 6, 7, 2], [0, 5, 6, 2, 1]]),),
            str(path),
            input_names=["ids"],
            output_names=["scores"],
            dynamic_axes={"ids": {0: "batch", 1: "tokens"}, "scores": {0: "batch"}},
            opset_version=17,
            dynamo=False,
        )
