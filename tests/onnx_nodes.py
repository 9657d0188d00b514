"""Single ONNX nodes in tests: imported by the `onnx` facets, or evaluated by onnx.reference."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from onnx import TensorProto, helper

import compiler.ops
from compiler.ir.operator import ONNX, Array, OnnxCall, Tensor
from compiler.ir.types import DType, TensorType, tensor
from compiler.ops.evaluation.corrections import corrected_evaluator
from tests.operator_samples import value_of

assert compiler.ops.__doc__


def operand(name: str, given: str | Array | None, *, known: bool) -> Tensor | None:
    """Return an operand from the text of a type, or from an array of known or unknown elements."""
    if given is None:
        return None
    if isinstance(given, str):
        return Tensor(name, tensor(given))
    t = TensorType(DType.from_numpy(given.dtype), given.shape)
    return Tensor(name, t, given if known else None)


def imported(
    op_type: str,
    *operands: str | Array | None,
    opset: int,
    known: bool = True,
    n_outputs: int = 1,
    **attrs: Any,
) -> Any:
    """Return the result of the `onnx` facet: a call, a tensor, or None for a foreign node."""
    tensors = tuple(operand(f"x{i}", o, known=known) for i, o in enumerate(operands))
    return ONNX[op_type](OnnxCall(op_type, "", opset, tensors, attrs, n_outputs))


def computed(
    op_type: str, *operands: Array | None, opset: int, by: str = "reference", **attrs: Any
) -> Array:
    """Return the value of an imported node."""
    given = {f"x{i}": o for i, o in enumerate(operands) if o is not None}
    made = imported(op_type, *operands, opset=opset, **attrs)
    assert made is not None, f"{op_type} was left to the reference"
    value = value_of(made, given, by=by)
    assert value is not None
    return np.asarray(value)


def model_of(
    op_type: str, *operands: Array | None, opset: int, **attrs: Any
) -> tuple[Any, dict[str, Array]]:
    """Return a model of one node, and its inputs by name."""
    names = ["" if o is None else f"x{i}" for i, o in enumerate(operands)]
    inputs = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(o.dtype), o.shape)
        for n, o in zip(names, operands, strict=True)
        if o is not None
    ]
    node = helper.make_node(op_type, names, ["y"], **attrs)
    output = helper.make_tensor_value_info("y", TensorProto.UNDEFINED, None)
    graph = helper.make_graph([node], "one", inputs, [output])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    return model, {n: o for n, o in zip(names, operands, strict=True) if n and o is not None}


def expected(op_type: str, *operands: Array | None, opset: int, **attrs: Any) -> Array:
    """Return the results of onnx.reference for the same node, with its known defects corrected."""
    model, feeds = model_of(op_type, *operands, opset=opset, **attrs)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return np.asarray(corrected_evaluator(model).run(None, feeds)[0])


def normal(*shape: int, seed: int = 0, dtype: Any = np.float32) -> Array:
    """Return normally distributed numbers, the same in every run."""
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def seven_bits(weights: Array) -> Array:
    """Return 7-bit signed weights, whose products with u8 ONNX Runtime sums exactly everywhere.

    On processors without dot instructions, ONNX Runtime adds two products in 16 bits, with
    saturation.
    """
    return weights // 2 if weights.dtype == np.int8 else weights


def by_onnxruntime(
    op_type: str,
    *operands: Array | None,
    opset: int,
    domain: str = "",
    result: DType | None = None,
    **attrs: Any,
) -> Array:
    """Return the results of ONNX Runtime for a node; skip the test if it is not installed.

    `result` is the element type of the output, by default that of the first operand.
    """
    import onnxruntime as runtime

    given = {f"x{i}": o for i, o in enumerate(operands) if o is not None}
    names = ["" if o is None else f"x{i}" for i, o in enumerate(operands)]
    types = {n: helper.np_dtype_to_tensor_dtype(o.dtype) for n, o in given.items()}
    graph = helper.make_graph(
        [helper.make_node(op_type, names, ["y"], domain=domain, **attrs)],
        "one",
        [helper.make_tensor_value_info(n, types[n], o.shape) for n, o in given.items()],
        [helper.make_tensor_value_info("y", result.onnx if result else types["x0"], None)],
    )
    opsets = [helper.make_opsetid("", opset), *([helper.make_opsetid(domain, 1)] if domain else [])]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    session = runtime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return np.asarray(session.run(None, given)[0])
