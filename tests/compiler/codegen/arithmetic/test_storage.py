"""Tests of storage types: all bit patterns, bit for bit against ml_dtypes."""

import numpy as np
import pytest

from compiler.compute.numbers import convert
from compiler.ir.types import DType
from compiler.loops.text import parse_kernel
from tests.kernel_runs import Array, compare, run_native

pytestmark = pytest.mark.filterwarnings("ignore:(invalid value|overflow) encountered in cast")

KEPT = [d for d in DType if d.is_storage]
FLOATS = [d for d in KEPT if d.is_float]
BYTES = np.arange(256, dtype=np.uint8)
HALVES = np.arange(65536, dtype=np.uint16)


def converted(x: Array, to: DType) -> Array:
    """Return every element as converted by generated code, in vectors."""
    n, source = len(x), DType.from_numpy(x.dtype)
    text = f"kernel k(x: {source}[{n}] input, y: {to}[{n}] output)"
    arrays = {"x": x, "y": np.zeros(n, to.numpy)}
    run_native(parse_kernel(f"{text} {{ vector i in 0..{n} {{ y[i] = to_{to}(x[i]) }} }}"), arrays)
    return arrays["y"]


def assert_same_bits(got: Array, needed: Array) -> None:
    """Check that bits are equal, except for the payload of NaN."""
    assert got.dtype == needed.dtype
    is_number = ~np.isnan(needed.astype(np.float64))
    np.testing.assert_array_equal(~np.isnan(got.astype(np.float64)), is_number)
    bits = np.dtype(f"u{got.dtype.itemsize}")
    np.testing.assert_array_equal(got[is_number].view(bits), needed[is_number].view(bits))


@pytest.mark.parametrize("dtype", KEPT, ids=str)
def test_every_code_is_the_number_of_ml_dtypes(dtype: DType):
    n_codes = 1 << dtype.bits if dtype.is_float else len(BYTES)  # the high bits are ignored
    codes = BYTES[:n_codes].view(dtype.numpy)
    for to in (DType.f32, DType.f64, DType.f16, DType.bf16):
        assert_same_bits(converted(codes, to), codes.astype(np.float32).astype(to.numpy))
    np.testing.assert_array_equal(converted(codes, DType.bool), codes.astype(np.float32) != 0)
    if dtype.is_integer:
        np.testing.assert_array_equal(converted(codes, DType.i64), codes.astype(np.int64))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("source", [DType.f16, DType.bf16], ids=str)
def test_every_half_is_rounded_as_in_ml_dtypes(source: DType, dtype: DType):
    x = HALVES.view(source.numpy)
    assert_same_bits(converted(x, dtype), x.astype(np.float32).astype(dtype.numpy))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_f32_of_every_exponent_are_rounded_as_in_ml_dtypes(dtype: DType):
    chance = np.random.default_rng(3)
    middles = [(1 << k) + d for k in range(18, 23) for d in (-1, 0, 1)]
    fractions = np.array([0, 1, 0x7FFFFF, *middles, *chance.integers(0, 1 << 23, 40)], np.uint32)
    x = (np.arange(512, dtype=np.uint32)[:, None] << 23 | fractions).reshape(-1).view(np.float32)
    assert_same_bits(converted(x, dtype), x.astype(dtype.numpy))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_f64_beside_the_middles_are_rounded_once(dtype: DType):
    numbers = BYTES[: 1 << dtype.bits].view(dtype.numpy).astype(np.float64)
    numbers = np.unique(numbers[np.isfinite(numbers)])
    low, high = numbers[:-1], numbers[1:]
    middles = (low + high) / 2
    away = np.abs(middles) * 2.0**-45
    for x, nearest in ((middles + away, high), (middles - away, low)):
        if dtype is DType.f8e8m0:
            nearest = np.where(low == 2.0**-127, high, nearest)
        np.testing.assert_array_equal(converted(x, dtype).astype(np.float64), nearest)
        assert_same_bits(convert(x, dtype), converted(x, dtype))


@pytest.mark.parametrize("dtype", ["i4", "u2", "f8e4m3fn", "f8e5m2fnuz", "f4e2m1", "f6e3m2"])
def test_arithmetic_is_that_of_the_wide_type_rounded(dtype: str):
    compare(f"""
    kernel k(x: {dtype}[37] input, y: {dtype}[37] input, c: bool[37] input,
             a: {dtype}[37] output, b: {dtype}[37] output, d: bool[37] output) {{
      vector i in 0..37 {{
        a[i] = mul(x[i], y[i])
        b[i] = select(c[i], max(x[i], y[i]), x[36-i])
        d[i] = lt(x[i], y[i])
      }}
    }}""")
