"""Every case that the onnx package has for single operators is imported, printed, parsed and run.

Carried operators, sequences, strings, control flow and functions are among them.
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import compiler
from compiler.frontend import load
from compiler.ir.types import DType, TensorType
from compiler.ir.verify import verify
from compiler.reference import reference

NOT_COMPUTED = {
    "test_bernoulli": "random numbers",
    "test_image_decoder": "onnx.reference needs Pillow for it",
    "test_gradient": "onnx.reference does not compute it",
}
"""Beginnings of names of cases that are imported but not run."""

ROUNDING = {"bf16": 2e-2, "f16": 2e-3}
"""Relative error of the short floats: their steps may be rounded at other places."""


@cache
def cases() -> dict[str, list[Any]]:
    """The cases in groups by the first letters of their names, so that one test is no long one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.loader import load_node_model_tests

        groups: dict[str, list[Any]] = {}
        for case in load_node_model_tests():
            groups.setdefault(case.name.removeprefix("test_")[0], []).append(case)
        return groups


@pytest.mark.parametrize("letter", "abcdefghilmnopqrstuvwx")
def test_the_cases_of_onnx_are_imported_and_run(letter: str) -> None:
    wrong = [
        f"{case.name}: {objection}"
        for case in cases().get(letter, [])
        if (objection := objection_to(case))
    ]
    assert not wrong, "\n".join(wrong)


def test_there_are_hundreds_of_cases_under_these_letters() -> None:
    assert set(cases()) <= set("abcdefghilmnopqrstuvwx")
    assert sum(map(len, cases().values())) > 1000


def objection_to(case: Any) -> str:
    """What is wrong with the import or the results of a case."""
    g = load(case.model.SerializeToString())
    verify(g)
    if compiler.parse(str(g)) != g:
        return "its text parses to another graph"
    if case.name.startswith(tuple(NOT_COMPUTED)):
        return ""
    inputs, outputs = case.data_sets[0]
    names = [v.name for v in g.inputs]
    got = reference(g, {n: plain(a) for n, a in zip(names, inputs, strict=False)})
    for v, (name, a), needed in zip(g.outputs, got.items(), outputs, strict=True):
        if isinstance(v.type, TensorType) and DType.from_numpy(a.dtype) is not v.type.dtype:
            return f"{name} is {a.dtype}, inferred {v.type}"
        if isinstance(v.type, TensorType) and v.type.is_static and v.type.static_shape != a.shape:
            return f"{name} has the shape {a.shape}, inferred {v.type}"
        if not is_same(a, plain(needed), case):
            return f"{name} differs"
    return ""


def plain(a: Any) -> Any:
    if isinstance(a, onnx.TensorProto):
        return plain(numpy_helper.to_array(a))
    if isinstance(a, list | tuple):
        return [plain(v) for v in a]
    return a.astype(np.object_) if isinstance(a, np.ndarray) and a.dtype.kind in "US" else a


def is_same(a: Any, b: Any, case: Any) -> bool:
    if isinstance(b, list):
        return len(a) == len(b) and all(is_same(x, y, case) for x, y in zip(a, b, strict=True))
    if b is None or a is None:
        return a is b
    b = np.asarray(b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if b.dtype == np.object_:
        return [text(v) for v in a.flat] == [text(v) for v in b.flat]
    dtype = DType.from_numpy(b.dtype)
    if not dtype.is_float and b.dtype.kind != "c":
        return bool((a == b).all())
    wide = np.complex128 if b.dtype.kind == "c" else np.float64
    tolerance = max(case.rtol, ROUNDING.get(dtype.label, 1e-3))
    return np.allclose(a.astype(wide), b.astype(wide), tolerance, tolerance / 100, equal_nan=True)


def text(v: Any) -> str:
    return v.decode() if isinstance(v, bytes) else str(v)
