"""Models of one ai.onnx.ml node: compiled results, the numpy reference and ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper

import compiler
from compiler.ir.operator import Array

Feeds = Mapping[str, Any]


def one_node(
    op_type: str,
    inputs: Mapping[str, Array],
    outputs: Sequence[str],
    *,
    opset: int = 3,
    strings: Sequence[str] = (),
    **attrs: Any,
) -> onnx.ModelProto:
    """Return a model of one node, whose inputs have an open number of rows.

    Outputs have no shapes, and are floats or i64 if their names end in `f` or `i`.
    """
    node = helper.make_node(op_type, list(inputs), list(outputs), domain="ai.onnx.ml", **attrs)
    given = [
        helper.make_tensor_value_info(
            name,
            helper.np_dtype_to_tensor_dtype(a.dtype),
            ["N" if a.ndim > 1 else f"N_{name}", *a.shape[1:]],
        )
        for name, a in inputs.items()
    ]
    kinds = {"f": onnx.TensorProto.FLOAT, "d": onnx.TensorProto.DOUBLE, "i": onnx.TensorProto.INT64}
    made = [
        helper.make_tensor_value_info(
            o, onnx.TensorProto.STRING if o in strings else kinds[o[-1]], None
        )
        for o in outputs
    ]
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", opset)]
    graph = helper.make_graph([node], "one", given, made)
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


def by_peer(model: onnx.ModelProto, feeds: Feeds) -> dict[str, Any]:
    """Return the results of ONNX Runtime without its optimizer."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    names = [o.name for o in session.get_outputs()]
    return dict(zip(names, session.run(names, dict(feeds)), strict=True))


def check(
    model: onnx.ModelProto,
    feeds: Feeds,
    *,
    fallbacks: int | None = None,
    columns: int | None = None,
) -> None:
    """Compare the numpy reference, and the program if requested, with ONNX Runtime.

    The program is compared if the number of `fallbacks` is given, which must equal the number of
    kernels that the reference executes. Only `columns` columns are compared.
    """
    needed = by_peer(model, feeds)
    found = [compiler.reference(compiler.load(model.SerializeToString()), feeds)]
    if fallbacks is not None:
        program = compiler.compile(model.SerializeToString())
        found.append(program.run(feeds))
        because = [k.because for k in program.kernels if not k.native]
        assert len(because) == fallbacks, because
    for made in found:
        for name, value in needed.items():
            same(made[name], value, columns)


def same(made: Any, needed: Any, columns: int | None = None, tolerance: float = 2e-5) -> None:
    """Check equal types, shapes and elements; floats up to rounding."""
    assert isinstance(made, np.ndarray)
    assert made.dtype == needed.dtype
    assert made.shape == needed.shape
    if needed.dtype.kind != "f":
        assert made.tolist() == needed.tolist()
        return
    made, needed = (a[..., :columns] for a in (made, needed))
    np.testing.assert_allclose(made, needed, rtol=tolerance * 5, atol=tolerance)
