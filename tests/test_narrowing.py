"""What ships multiplies alike on every processor: no sum of two products of a byte and a weight leaves 16 bits."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from eval.training.narrowing import NARROW, narrowed, widest

ROOT = Path(__file__).parents[1]
SHIPPED = (
    "textrules/trunk/trunk.onnx",
    "shield/learned_model/encoder.onnx",
    "safety_filter/learned_model/encoder.onnx",
)


def product(weights: np.ndarray, scale: np.ndarray) -> onnx.ModelProto:
    """One int8 product as `quantize_dynamic` writes it."""
    nodes = [
        helper.make_node("MatMulInteger", ["given", "w_quantized", "zero"], ["whole"]),
        helper.make_node("Cast", ["whole"], ["real"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["real", "w_scale"], ["scores"]),
    ]
    given = helper.make_tensor_value_info("given", TensorProto.UINT8, ["rows", len(weights)])
    scores = helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["rows", weights.shape[1]])
    held = {"w_quantized": weights, "w_scale": scale, "zero": np.array(128, np.uint8)}
    parts = [numpy_helper.from_array(array, name) for name, array in held.items()]
    graph = helper.make_graph(nodes, "product", [given], [scores], parts)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def scores(model: onnx.ModelProto, given: np.ndarray) -> np.ndarray:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    found: np.ndarray = session.run(None, {"given": given})[0]
    return found


def held(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    return {part.name: numpy_helper.to_array(part) for part in model.graph.initializer}


def test_narrowed_weights_say_the_same_and_fit() -> None:
    chance = np.random.default_rng(1)
    wide = chance.integers(-127, 128, (384, 8)).astype(np.int8)
    scale = chance.uniform(0.001, 0.01, 8).astype(np.float32)
    given = chance.integers(0, 256, (5, 384)).astype(np.uint8)
    exact = (given.astype(np.int64) - 128) @ wide * scale
    narrow = narrowed(product(wide, scale))
    assert widest(held(narrow)["w_quantized"]) == NARROW
    assert np.abs(scores(narrow, given) - exact).max() < 0.02 * np.abs(exact).max()


def test_narrow_weights_stay_as_they_are() -> None:
    narrow = np.array([[64, -3], [-64, 1]], np.int8)
    before = held(product(narrow, np.ones(2, np.float32)))
    after = held(narrowed(product(narrow, np.ones(2, np.float32))))
    assert all((after[name] == array).all() for name, array in before.items())


@pytest.mark.parametrize("file", SHIPPED)
def test_no_sum_of_two_products_of_what_ships_leaves_sixteen_bits(file: str) -> None:
    model = onnx.load(ROOT / file)
    weights = held(model)
    products = [weights[node.input[1]] for node in model.graph.node if node.op_type == "MatMulInteger"]
    assert len(products) >= 24
    assert max(map(widest, products)) * 255 * 2 <= np.iinfo(np.int16).max
