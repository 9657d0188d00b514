"""One matrix product or convolution as an ONNX model: the cases of `contractions`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Case:
    """One product: its model, its input arrays, and its number of operations."""

    group: str
    name: str
    model: bytes
    inputs: Mapping[str, Array]
    flops: float
    torch: tuple[Array, Array] | None = None
    """The operands of a matrix product, for a peer that is called directly."""


def product_model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, Array],
    constants: Mapping[str, Array],
    result: tuple[int, ...],
) -> bytes:
    """Return the bytes of a model whose nodes compute `y` from these inputs and constants."""

    def value(name: str, shape: tuple[int, ...]) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    graph = helper.make_graph(
        nodes,
        "product",
        [value(n, x.shape) for n, x in inputs.items()],
        [value("y", result)],
        [numpy_helper.from_array(x, n) for n, x in constants.items()],
    )
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()
