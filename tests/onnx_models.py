"""Small ONNX models for tests of the importer, built from parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

F32, I64, BOOL, STRING = (
    TensorProto.FLOAT,
    TensorProto.INT64,
    TensorProto.BOOL,
    TensorProto.STRING,
)

node = helper.make_node


def value(name: str, shape: Sequence[int | str | None] | None = (2, 3), dtype: int = F32) -> Any:
    return helper.make_tensor_value_info(name, dtype, shape)


def stored(name: str, array: Any, dtype: Any = None) -> onnx.TensorProto:
    return numpy_helper.from_array(np.asarray(array, dtype), name)


def graph(
    nodes: Sequence[Any],
    inputs: Sequence[Any] = (),
    outputs: Sequence[Any] = (),
    initialisers: Sequence[Any] = (),
    name: str = "g",
    **rest: Any,
) -> onnx.GraphProto:
    return helper.make_graph(nodes, name, inputs, outputs, initialisers, **rest)


def model(
    nodes: Sequence[Any],
    inputs: Sequence[Any] | None = None,
    outputs: Sequence[Any] | None = None,
    initialisers: Sequence[Any] = (),
    opset: int = 17,
    functions: Sequence[Any] = (),
    domains: Sequence[str] = (),
    **rest: Any,
) -> onnx.ModelProto:
    """Return a model, by default from `x: f32[2,3]` to `y` of the same type."""
    inputs = [value("x")] if inputs is None else inputs
    outputs = [value("y")] if outputs is None else outputs
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, 1) for d in domains)]
    made = helper.make_model(
        graph(nodes, inputs, outputs, initialisers, **rest), opset_imports=imports
    )
    made.ir_version = 10
    made.functions.extend(functions)
    return made


def function(
    name: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    nodes: Sequence[Any],
    attributes: Sequence[str] = (),
    opset: int = 17,
    domain: str = "local",
) -> onnx.FunctionProto:
    imports = [helper.make_opsetid("", opset), helper.make_opsetid(domain, 1)]
    return helper.make_function(domain, name, inputs, outputs, nodes, imports, attributes)
