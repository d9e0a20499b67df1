"""Weights that every processor multiplies alike.

Without VNNI instructions x86 adds two products of a byte and a weight in 16 bits, and onnxruntime's int8 kernels cut
off what does not fit: 255 * 127 * 2 does not, 255 * 64 * 2 does. With weights to 127 about one result in a hundred was
wrong there, and the figures of one commit depended on the machine (docs/adr/0007).
"""

import numpy as np
import onnx
from onnx import numpy_helper

WIDE, NARROW = 127, 64  # the largest weight of int8, and the largest with which no sum of two products is cut off


def narrowed(model: onnx.ModelProto) -> onnx.ModelProto:
    """The dynamically quantised model, changed: the weights of its int8 products in -64…64, their scales to match.

    Weights that are as narrow already stay as they are. Rounded twice, to ±127 and then to ±64, a narrow weight that is
    packed again is the same whole number.
    """
    held = {part.name: part for part in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type != "MatMulInteger":
            continue
        weights, scales = held[node.input[1]], held[node.input[1].replace("_quantized", "_scale")]
        wide, scale = numpy_helper.to_array(weights), numpy_helper.to_array(scales)
        if widest(wide) <= NARROW:
            continue
        narrow = np.rint(wide.astype(np.float32) * (NARROW / WIDE)).astype(np.int8)
        weights.CopyFrom(numpy_helper.from_array(narrow, weights.name))
        scales.CopyFrom(numpy_helper.from_array((scale * (WIDE / NARROW)).astype(np.float32), scales.name))
    return model


def widest(weights: np.ndarray) -> int:
    """The largest of the weights without its sign."""
    return int(np.abs(weights.astype(np.int16)).max())
