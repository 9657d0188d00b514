"""Tests that every imported ONNX operator gives the results of ONNX's own test cases.

The onnx package generates these cases: models of one node, with inputs and outputs. Their numbers
do not depend on Compilarium's code.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import compiler.ops
from compiler.ir.constant import Constant
from compiler.ir.operator import ONNX, Call, OnnxCall, Tensor
from compiler.ir.types import DType, TensorType
from compiler.ops.evaluation.corrections import corrected_evaluator, is_corrected_case
from tests.operator_samples import value_of

assert compiler.ops.__doc__

FOREIGN = {
    # Nodes left to onnx.reference on purpose: their facet returns None.
    "Cast": "8-bit and smaller floats, 4-bit and 2-bit integers, strings",
    "CastLike": "as Cast",
    "DFT": "the inverse of a whole spectrum",
    "Dropout": "training",
    "Equal": "strings",
    "GroupNormalization": "opset 18 with one scale per group",
    "LayerNormalization": "mean and deviation as further outputs",
    "SpaceToDepth": "the other order of channels",
}


@cache
def cases() -> dict[str, list[Any]]:
    """Return ONNX's single-node cases of the standard domain, by operator."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        found: dict[str, list[Any]] = {}
        for case in collect_testcases(None):
            model = case.model
            if model is None or len(model.graph.node) != 1 or model.functions:
                continue
            node = model.graph.node[0]
            if node.domain in ("", "ai.onnx"):
                found.setdefault(node.op_type, []).append(case)
    return found


def attribute(a: onnx.AttributeProto) -> Any:
    value = onnx.helper.get_attribute_value(a)
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, onnx.TensorProto):
        return Constant.of(numpy_helper.to_array(value))
    if isinstance(value, list | tuple) and value and isinstance(value[0], bytes):
        return [v.decode() for v in value]
    return list(value) if hasattr(value, "__len__") and not isinstance(value, str) else value


def arrays_of(case: Any) -> Iterator[tuple[dict[str, np.ndarray], list[np.ndarray]]]:
    names = [i.name for i in case.model.graph.input]
    for inputs, outputs in case.data_sets:
        if all(isinstance(a, np.ndarray | np.generic) for a in (*inputs, *outputs)):
            given = {n: np.asarray(a) for n, a in zip(names, inputs, strict=True)}
            if is_corrected_case(case.name):
                outputs = corrected_evaluator(case.model).run(None, given)
            yield given, [np.asarray(o) for o in outputs]


def call_of(model: onnx.ModelProto, given: dict[str, np.ndarray]) -> Any:
    node = model.graph.node[0]
    opset = next(o.version for o in model.opset_import if o.domain in ("", "ai.onnx"))
    operands = [
        Tensor(i, TensorType(DType.from_numpy(given[i].dtype), given[i].shape), given[i])
        if i
        else None
        for i in node.input
    ]
    attrs = {a.name: attribute(a) for a in node.attribute}
    call = OnnxCall(node.op_type, "", opset, tuple(operands), attrs, len(node.output))
    return ONNX[node.op_type](call)


NAMES = sorted(n for n in ONNX if ":" not in n)


@pytest.mark.parametrize("op_type", NAMES)
def test_an_imported_operator_agrees_with_the_cases_of_onnx(op_type: str) -> None:
    n_foreign = sum(not compared(c, g, o, "reference") for c, g, o in applications(op_type))
    if op_type not in FOREIGN:
        assert n_foreign == 0, f"{n_foreign} cases were left to the reference"


@pytest.mark.parametrize("op_type", NAMES)
def test_the_lowering_of_an_imported_operator_agrees_with_them_too(op_type: str) -> None:
    for case, given, outputs in applications(op_type):
        if sum(a.size for a in (*given.values(), *outputs)) < 5000:
            compared(case, given, outputs, "lowering")


def applications(op_type: str) -> Iterator[tuple[Any, dict[str, np.ndarray], list[np.ndarray]]]:
    for case in cases().get(op_type, []):
        for given, outputs in arrays_of(case):
            yield case, given, outputs


def compared(case: Any, given: dict[str, np.ndarray], outputs: list[np.ndarray], by: str) -> bool:
    """Compare the outputs if the node became calls of declared operators; return whether it did."""
    made = call_of(case.model, given)
    if made is None:
        return False
    (node,) = case.model.graph.node
    if isinstance(made, Call):
        made = tuple(made.out(i) for i in range(min(len(node.output), len(made.types()))))
    whole = made if isinstance(made, tuple) else (made,)
    parts = [p for p, output in zip(whole, node.output, strict=False) if output]
    with np.errstate(all="ignore"):
        got = [value_of(p, given, by=by) for p in parts]
    for g, needed in zip(got, outputs, strict=False):
        assert g is not None
        assert g.dtype == needed.dtype, case.name
        assert g.shape == needed.shape, case.name
        compare(g, needed, case)
    return True


def compare(got: np.ndarray, needed: np.ndarray, case: Any) -> None:
    if DType.from_numpy(needed.dtype).is_float:
        got, needed = got.astype(np.float64), needed.astype(np.float64)
        np.testing.assert_allclose(got, needed, rtol=case.rtol, atol=1e-5, err_msg=case.name)
    else:
        np.testing.assert_array_equal(got, needed, err_msg=case.name)
