"""Tests of ONNX's cases for casts and quantization: correct, in generated code only."""

from __future__ import annotations

import re

import numpy as np
import pytest

import compiler
from compiler.conformance.cases import Case, collect
from compiler.conformance.judge import objection
from compiler.ir.types import DType
from tests.kernel_runs import Array

FAMILIES = (
    *("bitcast", "cast_", "castlike", "quantizelinear", "dequantizelinear"),
    *("dynamicquantize", "qlinear", ".*integer"),
)
"""Patterns of the names of cases."""
LEFT_OUT = re.compile(r"STRING|string")
"""Cases with strings, which only the reference evaluates."""

KEPT = [d for d in DType if d.is_storage]


def cases(family: str) -> list[Case]:
    """Return the cases of a family. Collecting all cases takes seconds, so tests do it."""
    name = re.compile(f"test_{family}")
    return [c for c in collect("node") if name.match(c.name) and not LEFT_OUT.search(c.name)]


@pytest.mark.parametrize("family", FAMILIES)
def test_cases_of_onnx_are_right_and_native(family: str) -> None:
    wrong: list[str] = []
    for case in cases(family):
        program = compiler.compile(compiler.load(case.model.SerializeToString()))
        for given, needed in case.read():
            made = program.run(case.feeds(given)).values()
            for got, expected in zip(made, needed, strict=True):
                if found := objection(got, expected, case.rtol, case.atol):
                    wrong.append(f"{case.name}: {found}")
        wrong += [f"{case.name}: {k.op} is not native" for k in program.kernels if not k.native]
    assert not wrong, "\n".join(wrong)


def test_there_are_as_many_cases_as_expected() -> None:
    found = [case.name for family in FAMILIES for case in cases(family)]
    assert len(found) == len(set(found)) > 200


def moved(x: Array, y: Array, c: Array) -> tuple[Array, ...]:
    """Return the result of the graph below, computed in numpy."""
    return (
        x.transpose(1, 0).reshape(2, 6),
        np.concatenate([x, y], 1)[:, 1:],
        np.take(x, [3, 0], 0),
        np.pad(x, ((1, 0), (0, 2)), constant_values=x.dtype.type(0)),
        np.where(c, x, y),
    )


@pytest.mark.parametrize("dtype", KEPT, ids=str)
def test_kept_numbers_are_moved_natively_bit_for_bit(dtype: DType) -> None:
    n = np.random.default_rng(5).integers(0, 1 << dtype.bits, (2, 4, 3))
    x, y = n.astype(np.uint8).view(dtype.numpy)
    c = np.arange(12).reshape(4, 3) % 3 == 1
    graph = compiler.parse(f"""
    graph g(x: {dtype}[4,3], y: {dtype}[4,3], c: bool[4,3]) {{
      const shape: i64[2] = literal(2,-1)
      const start: i64[1] = literal(1)
      const stop: i64[1] = literal(6)
      const axis: i64[1] = literal(1)
      const step: i64[1] = literal(1)
      const rows: i64[2] = literal(3,0)
      const pads: i64[4] = literal(1,0,0,2)
      t: {dtype}[3,4] = transpose(x, perm=[1,0])
      a: {dtype}[2,6] = reshape(t, shape)
      u: {dtype}[4,6] = concat(x, y, axis=1)
      b: {dtype}[4,5] = slice(u, start, stop, axis, step)
      d: {dtype}[2,3] = gather(x, rows, axis=0)
      e: {dtype}[5,5] = pad(x, pads)
      f: {dtype}[4,3] = where(c, x, y)
      return a, b, d, e, f
    }}""")
    program = compiler.compile(graph)
    assert [k.op for k in program.kernels if not k.native] == []
    made = program.run({"x": x, "y": y, "c": c}).values()
    for got, needed in zip(made, moved(x, y, c), strict=True):
        assert got.dtype == dtype.numpy
        np.testing.assert_array_equal(got.view(np.uint8), needed.view(np.uint8))
