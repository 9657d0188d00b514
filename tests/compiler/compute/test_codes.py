"""Tests that rounding to quantized integers in fewer operations gives the same integers."""

import numpy as np
import pytest

from compiler.codegen.jit import assembly
from compiler.codegen.module import module_ir
from compiler.compute.codes import with_fewer_steps
from compiler.compute.ranges import number_range
from compiler.compute.scalar import Convert, Number, Read, Scalar, apply
from compiler.ir.types import DType
from compiler.loops.text import parse_kernel
from compiler.targets.target import by_name
from tests.kernel_runs import compare, random_arrays

LARGEST = {"SCALES": 0.25, "UNKNOWN": np.inf}


def _code(y: Scalar, zero: int, dtype: DType = DType.u8) -> Scalar:
    low, high = (0.0, 255.0) if dtype is DType.u8 else (-128.0, 127.0)
    moved = apply("add", apply("round", y), Convert(Number(zero, dtype), DType.f32))
    return Convert(apply("min", apply("larger", Number(low, DType.f32), moved), high), dtype)


def _scaled(by: Scalar) -> Scalar:
    return apply("mul", Convert(Read("SUMS", (0,), DType.i32), DType.f32), by)


def _read(code: Scalar, zero: int) -> Scalar:
    whole = apply("sub", Convert(code, DType.i32), Convert(Number(zero, DType.u8), DType.i32))
    return Convert(whole, DType.f32)


def _known(tensor: str) -> float:
    return LARGEST[tensor]


SMALL = Number(0.004, DType.f32)

CASES = {
    "a number for all": (
        _code(_scaled(SMALL), 7),
        "to_u8(max(min(add(to_i32(round(mul(to_f32(SUMS[0]), f32(0.004)))), i32(7)), i32(255)),"
        " i32(0)))",
    ),
    "without a zero point nothing is added": (
        _code(_scaled(SMALL), 0, DType.i8),
        "to_i8(max(min(to_i32(round(mul(to_f32(SUMS[0]), f32(0.004)))), i32(127)), i32(-128)))",
    ),
    "what only constants show is said": (
        _code(_scaled(Read("SCALES", (0,), DType.f32)), 0),
        "to_u8(max(min(to_i32(round(within(mul(to_f32(SUMS[0]), SCALES[0]), f32(536870912.0)))),"
        " i32(255)), i32(0)))",
    ),
    "divided by a number": (
        _code(apply("div", _scaled(SMALL), Number(0.5, DType.f32)), 7),
        "to_u8(max(min(add(to_i32(round(div(mul(to_f32(SUMS[0]), f32(0.004)), f32(0.5)))),"
        " i32(7)), i32(255)), i32(0)))",
    ),
    "read where it is made": (
        _read(_code(_scaled(SMALL), 7), 7),
        "max(min(round(mul(to_f32(SUMS[0]), f32(0.004))), f32(248.0)), f32(-7.0))",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_numbers_that_stay_in_range_take_fewer_steps(case):
    before, after = CASES[case]
    assert str(with_fewer_steps(before, _known)) == after


KEPT = {
    "scales that are not known": _code(_scaled(Read("UNKNOWN", (0,), DType.f32)), 7),
    "scales too large": _code(_scaled(Number(0.6, DType.f32)), 7),
    "divided by next to nothing": _code(apply("div", _scaled(SMALL), Number(1e-30, DType.f32)), 7),
    "divided by 0": _code(apply("div", _scaled(SMALL), Number(0.0, DType.f32)), 7),
    "what a run gives": _code(Read("UNKNOWN", (0,), DType.f32), 7),
    "what may be 0 times infinity": _read(
        _code(apply("mul", Read("UNKNOWN", (0,), DType.f32), SMALL), 7), 7
    ),
}


@pytest.mark.parametrize("case", KEPT)
def test_what_may_be_no_number_keeps_its_tests(case):
    assert with_fewer_steps(KEPT[case], _known) == KEPT[case]


def test_another_zero_point_is_subtracted():
    made = with_fewer_steps(_read(_code(_scaled(SMALL), 7), 9), _known)
    assert "to_i32(u8(9))" in str(made)
    assert "to_i32(round(" in str(made)


def test_ranges_follow_how_numbers_are_written():
    byte = Convert(Read("BYTES", (0,), DType.u8), DType.i32)
    moved = Convert(apply("sub", byte, 128), DType.f32)
    found = number_range(apply("mul", moved, -2.0))
    assert (found.low, found.high) == (-256.0, 256.0)
    far = number_range(apply("mul", Number(1e30, DType.f32), 1e30))
    assert not far.is_number
    wrapping = apply("sub", Read("SUMS", (0,), DType.i32), 1)
    assert number_range(Convert(wrapping, DType.f32)).low == -(2.0**31)


KERNEL = """
kernel k(x: i32[3,37] input, y: {kind}[3,37] output, z: f32[3,37] output) {{
  for m in 0..3 {{
    vector n in 0..37 {{
      y[m, n] = to_{kind}(max(min(add(to_i32(round(within(mul(to_f32(x[m, n]), f32(0.125)),
        f32(268435456.0)))), i32({zero})), i32({high})), i32({low})))
    }}
    vector n in 0..37 {{
      z[m, n] = max(min(round(mul(to_f32(x[m, n]), f32(0.125))), f32(100.0)), f32(-9.0))
    }}
  }}
}}"""


@pytest.mark.parametrize("target", ["host", "x86-64-v3", "x86-64"])
@pytest.mark.parametrize(("kind", "zero", "low", "high"), [("u8", 9, 0, 255), ("i8", 0, -128, 127)])
def test_machine_code_saturates_as_the_interpreter_does(kind, zero, low, high, target):
    text = KERNEL.format(kind=kind, zero=zero, low=low, high=high)
    ends = np.array([2**31 - 1, -(2**31), 4, 12, -4, -12, 0, 1020, 2044, -1028], np.int32)
    x = np.resize(np.concatenate([ends, np.arange(-1100, 2200, 31, dtype=np.int32)]), (3, 37))
    arrays = {**random_arrays(parse_kernel(text)), "x": x}
    compare(text, arrays, target=by_name(target))


def test_one_instruction_rounds_and_one_saturates():
    text = KERNEL.format(kind="u8", zero=9, low=0, high=255)
    target = by_name("x86-64-v4")
    code = assembly(module_ir({"k": parse_kernel(text)}, [], target), target)
    assert "vpmovusdb" in code
    assert "vcvtps2dq" in code
