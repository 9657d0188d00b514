"""Tests that all single-operator cases of the onnx package import, print, parse and run.

The cases include foreign operators, sequences, strings, control flow and functions.
"""

from __future__ import annotations

from functools import cache

import pytest

import compiler
from compiler.conformance.cases import Case, collect
from compiler.conformance.judge import objection
from compiler.frontend import load
from compiler.ir.types import DType, TensorType
from compiler.ir.verify import verify
from compiler.reference import reference

NOT_COMPUTED = {
    "test_bernoulli": "random numbers",
    "test_image_decoder": "onnx.reference needs Pillow for it",
    "test_gradient": "onnx.reference does not compute it",
}
"""Prefixes of the names of cases that are imported but not run."""

ROUNDING = {"bf16": 2e-2, "f16": 2e-3}
"""Relative error of 8- and 16-bit floats, whose steps may be rounded at other positions."""


@cache
def cases() -> dict[str, list[Case]]:
    """Return the cases in groups by first letters, so that no single test takes long."""
    groups: dict[str, list[Case]] = {}
    for case in collect("node"):
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


def objection_to(case: Case) -> str:
    """Return the error in the import or the results of a case."""
    g = load(case.model.SerializeToString())
    verify(g)
    if compiler.parse(str(g)) != g:
        return "its text parses to another graph"
    if case.name.startswith(tuple(NOT_COMPUTED)):
        return ""
    inputs, outputs = case.read()[0]
    got = reference(g, case.feeds(inputs))
    for v, (name, a), needed in zip(g.outputs, got.items(), outputs, strict=True):
        tolerance = case.rtol
        if isinstance(v.type, TensorType):
            if DType.from_numpy(a.dtype) is not v.type.dtype:
                return f"{name} is {a.dtype}, inferred {v.type}"
            if v.type.is_static and v.type.static_shape != a.shape:
                return f"{name} has the shape {a.shape}, inferred {v.type}"
            tolerance = max(tolerance, ROUNDING.get(v.type.dtype.label, 0.0))
        if found := objection(a, needed, tolerance, tolerance / 100):
            return f"{name}: {found}"
    return ""
