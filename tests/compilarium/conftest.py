"""Fixture: a small model for the tests of commands."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with x[N,3] -> relu(x @ w + b): one open dimension, three nodes."""
    value = helper.make_tensor_value_info
    chance = np.random.default_rng(0)
    weights = {"w": (3, 5), "b": (5,)}
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["h"], name="dense"),
            helper.make_node("Add", ["h", "b"], ["s"], name="shift"),
            helper.make_node("Relu", ["s"], ["y:0"], name="act"),
        ],
        "tiny",
        [value("x", TensorProto.FLOAT, ["N", 3])],
        [value("y:0", TensorProto.FLOAT, ["N", 5])],
        [
            numpy_helper.from_array(chance.standard_normal(s).astype(np.float32), n)
            for n, s in weights.items()
        ],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    path = tmp_path_factory.mktemp("models") / "tiny.onnx"
    onnx.save(proto, path)
    return path
