"""Tests of operator schemas: agreement with ONNX Runtime, and errors of calls that violate them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import product
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper
from onnxruntime.capi import onnxruntime_pybind11_state as ort

import compiler
from compiler.errors import CompileError
from compiler.ir.operator import ONNX, OnnxCall
from compiler.ops.onnx_import.schemas import MOST_OPERANDS, Schema, schema_of

DOMAIN = "com.microsoft"
CONTRIB = sorted(key.removeprefix(f"{DOMAIN}:") for key in ONNX if key.startswith(DOMAIN))
WITHOUT_DOMAIN = {"SimplifiedLayerNormalization"}
"""Operators that ONNX Runtime declares in the standard domain."""

EXAMPLES: Mapping[str, Any] = {"INT": 3, "INTS": [1, 2], "FLOAT": 0.5, "STRING": "x"}
SHAPES = ((), (3,), (2, 4), (2, 3, 4), (2, 3, 4, 5), (1, 0, 2), ("N", "M"), None)
DTYPES = (TensorProto.FLOAT, TensorProto.INT64, TensorProto.UINT8, TensorProto.STRING)


def found(op_type: str) -> Schema:
    schema = schema_of(op_type, DOMAIN, 1)
    assert schema is not None, f"add {op_type} to compiler/ops/onnx_import/contrib.py"
    return schema


@pytest.mark.parametrize("op_type", CONTRIB)
def test_schemas_of_contrib_operators_are_those_of_onnx_runtime(op_type: str) -> None:
    domain = "" if op_type in WITHOUT_DOMAIN else DOMAIN
    (theirs,) = (
        s for s in ort.get_all_operator_schema() if (s.domain, s.name) == (domain, op_type)
    )
    ours = found(op_type)
    most = min(theirs.max_input, MOST_OPERANDS)
    assert (ours.min_inputs, min(ours.max_inputs, (1 << 31) - 1)) == (theirs.min_input, most)
    assert (ours.min_outputs, ours.max_outputs) == (theirs.min_output, theirs.max_output)
    single = tuple(i for i, formal in enumerate(theirs.inputs) if "Single" in str(formal.option))
    assert ours.required == single
    assert ours.attributes == {
        k: (str(a.type).rpartition(".")[2], a.required) for k, a in theirs.attributes.items()
    }


@pytest.mark.parametrize("op_type", CONTRIB)
def test_a_contrib_operator_is_imported_or_refused_with_a_code(op_type: str) -> None:
    for model in calls(op_type):
        # Any other exception fails the test.
        with suppress(CompileError):
            compiler.load(model.SerializeToString())


def calls(op_type: str) -> Iterator[ModelProto]:
    """Yield calls with too few, all and too many operands, of several types and ranks."""
    schema = found(op_type)
    required = {k: EXAMPLES[kind] for k, (kind, needed) in schema.attributes.items() if needed}
    counts = {1, 2, schema.min_inputs, min(schema.max_inputs, 12)}
    for n, attributes, shape, dtype in product(counts, ({}, required), SHAPES, DTYPES):
        for n_outputs in {1, schema.max_outputs}:
            yield call(op_type, n, attributes, shape, dtype, n_outputs)


def call(
    op_type: str,
    n: int,
    attributes: Mapping[str, Any],
    shape: Any,
    dtype: int = TensorProto.FLOAT,
    n_outputs: int = 1,
) -> ModelProto:
    inputs, outputs = [f"i{k}" for k in range(n)], [f"o{k}" for k in range(n_outputs)]
    node = helper.make_node(op_type, inputs, outputs, domain=DOMAIN, **attributes)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info(i, dtype, shape) for i in inputs],
        [helper.make_empty_tensor_value_info(o) for o in outputs],
    )
    versions = [helper.make_opsetid("", 21), helper.make_opsetid(DOMAIN, 1)]
    return helper.make_model(graph, opset_imports=versions)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (call("GroupNorm", 3, {}, (2, 3, 4, 6)), "GroupNorm needs the attribute 'activation'"),
        (call("RotaryEmbedding", 1, {}, (2, 3, 4)), "RotaryEmbedding needs 4 operands, got 1"),
        (call("QuickGelu", 1, {"alpha": 1}, (3,)), "QuickGelu needs 'alpha' as FLOAT, got INT"),
        (call("Gelu", 1, {"beta": 1.5}, (3,)), "Gelu has no attribute 'beta'"),
        (call("QLinearConcat", 2, {"axis": 0}, (3,)), "QLinearConcat needs 3 to"),
    ],
)
def test_a_call_against_the_schema_is_refused(model: ModelProto, message: str) -> None:
    with pytest.raises(CompileError) as caught:
        compiler.load(model.SerializeToString())
    assert caught.value.message.startswith(message)
    assert caught.value.where.node


@pytest.mark.parametrize(
    "node",
    [
        "onnx.Conv(x, x, opset=21, pads=3)",
        "onnx.Gather(x, opset=13)",
        "onnx.com.microsoft.GroupNorm(x, x, x, opset=1)",
        "onnx.com.microsoft.RotaryEmbedding(x, opset=1)",
    ],
)
def test_a_foreign_node_of_a_written_graph_fails_when_it_runs(node: str) -> None:
    text = f"graph g(x: f32[2,3,4,5]) {{\n  y: f32[...] = {node}\n  return y\n}}\n"
    program = compiler.compile(compiler.parse(text))
    with pytest.raises(CompileError) as caught:
        program.run({"x": np.zeros((2, 3, 4, 5), np.float32)})
    assert caught.value.code == "E-RUN-OPERATOR"
    assert caught.value.where.node == "y"


def test_a_mandatory_attribute_of_another_domain_is_read_or_refused() -> None:
    node = OnnxCall("Distances", "my.domain", 1, (), {"metric": "cosine"}, 1)
    assert node.required("metric") == "cosine"
    with pytest.raises(CompileError) as caught:
        node.required("power")
    assert (caught.value.code, caught.value.message) == (
        "E-MODEL-ATTRIBUTE",
        "Distances needs the attribute 'power'",
    )
