"""Tests of all functions and conversions for all element types, at the limits of the types."""

import itertools

import ml_dtypes
import numpy as np
import pytest

from compiler.compute.scalar import COMPARISONS, FUNCTIONS
from compiler.ir.types import DType
from compiler.loops.limits import LOWERABLE, NotLowerable
from compiler.loops.text import parse_kernel
from tests.kernel_runs import Array, compare, run_native

FLOATS = [DType.f32, DType.f64, DType.f16, DType.bf16]
INTEGERS = sorted((d for d in LOWERABLE if d.is_integer and not d.is_storage), key=str)
EXACT = {"add", "sub", "mul", "div", "max", "min", "neg", "abs", "floor", "ceil", "round", "trunc",
         "sqrt", "sign", "isnan", "isinf", "select", "fmod", *COMPARISONS}  # fmt: skip
FLOAT_FUNCTIONS = [f for f in FUNCTIONS if f not in ("and", "or", "xor", "not", "shl", "shr")]
INTEGER_FUNCTIONS = ["add", "sub", "mul", "div", "max", "min", "pow", "fmod", "mod", "and", "or",
                     "xor", "not", "shl", "shr", "neg", "abs", "sign", "floor", "select",
                     "eq", "ne", "lt", "le", "gt", "ge"]  # fmt: skip
BOOL_FUNCTIONS = ["and", "or", "xor", "not", "eq", "ne", "lt", "ge", "max", "min", "select"]
N = 37


def edges(dtype: DType, rng: np.random.Generator) -> Array:
    """Return numbers at the limits of an element type."""
    if dtype is DType.bool:
        return rng.integers(0, 2, N).astype(np.bool_)
    if dtype.is_integer:
        limits = ml_dtypes.iinfo(dtype.numpy)
        pool = [limits.min, limits.min + 1, limits.max // 2, limits.max, 0, 1, 2, 3, 7]
        pool += [-1, -2, -7] if limits.min < 0 else []
        return rng.choice(np.array(pool, dtype.wide.numpy), N).astype(dtype.numpy)
    pool = [0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 100, -100, np.inf, -np.inf, np.nan, 1e-3]
    return rng.choice(np.array(pool), N).astype(dtype.numpy)


def check(functions: list[str], dtype: DType) -> None:
    """Run a kernel with a store per function, for scalars in one loop and vectors in another."""
    rng = np.random.default_rng(5)
    arrays = {"a": edges(dtype, rng), "b": edges(dtype, rng), "c": edges(DType.bool, rng)}
    arrays["small"] = rng.integers(0, 6, N).astype(dtype.numpy)
    params = [f"{n}: {dtype if n != 'c' else 'bool'}[{N}] input" for n in arrays]
    body: list[str] = []
    for kind, fn in itertools.product(("vector", "for"), functions):
        args = {1: "a[i]", 2: "a[i], b[i]", 3: "c[i], a[i], b[i]"}[FUNCTIONS[fn]]
        if fn == "pow" and dtype.is_integer:
            args = "a[i], small[i]"
        if fn == "decay":
            args = "neg(abs(a[i]))"  # no other numbers are promised to it
        result = "bool" if fn in COMPARISONS else dtype
        name = f"{kind}_{fn}"
        params.append(f"{name}: {result}[{N}] output")
        arrays[name] = np.zeros(N, DType.parse(str(result)).numpy)
        body.append(f"{kind} i in 0..{N} {{ {name}[i] = {fn}({args}) }}")
    exact = all(fn in EXACT for fn in functions) or not dtype.is_float
    rtol = 0 if exact else {16: 1e-2, 32: 4e-7, 64: 1e-14}[dtype.bits]
    compare(f"kernel k({', '.join(params)}) {{ {' '.join(body)} }}", arrays, rtol=rtol)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_exact_functions_of_floats_are_those_of_numpy_bit_for_bit(dtype: DType):
    check([f for f in FLOAT_FUNCTIONS if f in EXACT], dtype)


@pytest.mark.parametrize("dtype", [DType.f32, DType.f64, DType.f16], ids=str)
def test_other_functions_of_floats_are_close(dtype: DType):
    check([f for f in FLOAT_FUNCTIONS if f not in EXACT], dtype)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integers_wrap_and_nothing_traps(dtype: DType):
    check(INTEGER_FUNCTIONS, dtype)


def test_bools_have_their_functions():
    check(BOOL_FUNCTIONS, DType.bool)


@pytest.mark.parametrize("source", sorted(LOWERABLE, key=str), ids=str)
def test_every_type_converts_to_every_other(source: DType):
    rng = np.random.default_rng(5)
    values = edges(source, rng)
    if source.is_float:
        # numpy and processors disagree on numbers out of an integer's range, which are undefined.
        pool = [0, -0.0, 1, 1.5, 2.5, 99.75, 0.25][2 if source is DType.f8e8m0 else 0 :]
        values = rng.choice(np.array(pool), N).astype(source.numpy)
    arrays: dict[str, Array] = {"a": values}
    params, body = [f"a: {source}[{N}] input"], list[str]()
    for kind, target in itertools.product(("vector", "for"), sorted(LOWERABLE, key=str)):
        name = f"{kind}_{target}"
        params.append(f"{name}: {target}[{N}] output")
        arrays[name] = np.zeros(N, target.numpy)
        value = "a[i]" if source is target else f"to_{target}(a[i])"
        body.append(f"{kind} i in 0..{N} {{ {name}[i] = {value} }}")
    compare(f"kernel k({', '.join(params)}) {{ {' '.join(body)} }}", arrays)


def test_floats_beyond_an_integer_saturate_and_nan_is_zero():
    kernel = parse_kernel(
        "kernel k(x: f32[4] input, y: i32[4] output) { vector i in 0..4 { y[i] = to_i32(x[i]) } }"
    )
    arrays = {
        "x": np.array([np.inf, -np.inf, np.nan, 3e9], np.float32),
        "y": np.zeros(4, np.int32),
    }
    run_native(kernel, arrays)
    top = 2**31 - 1
    assert arrays["y"].tolist() == [top, -top - 1, 0, top]


@pytest.mark.parametrize("exponent", [0.5, 1.0, 2.0, 3.0, -1.0, 2.5])
def test_powers_with_literal_exponents_are_those_of_c(exponent: float):
    x = np.array([0.0, -0.0, 2, 3, 0.1, np.inf, -np.inf, np.nan, 1e20, 1e-20], np.float32)
    kernel = parse_kernel(f"""kernel k(x: f32[10] input, y: f32[10] output) {{
      vector i in 0..10 {{ y[i] = pow(x[i], f32({exponent})) }} }}""")
    arrays = {"x": x, "y": np.zeros(10, np.float32)}
    run_native(kernel, arrays)
    with np.errstate(all="ignore"):
        # numpy computes a square root where C's pow makes -inf and -0 positive.
        expected = np.power(x.astype(np.float64), np.full(10, exponent)).astype(np.float32)
    np.testing.assert_allclose(arrays["y"], expected, rtol=3e-7)
    assert (np.signbit(arrays["y"]) == np.signbit(expected))[~np.isnan(x)].all()


def test_f64_becomes_a_half_in_one_rounding():
    just_above_the_middle = np.array([1 + 2.0**-11 + 2.0**-40] * 10 + [-1e300, np.nan, 6e-8])
    kernel = parse_kernel("""kernel k(x: f64[13] input, y: f16[13] output) {
      vector i in 0..13 { y[i] = to_f16(x[i]) } }""")
    arrays = {"x": just_above_the_middle, "y": np.zeros(13, np.float16)}
    run_native(kernel, arrays)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(arrays["y"], just_above_the_middle.astype(np.float16))


def test_indices_become_numbers():
    text = """
    kernel k(y: i64[10,16] output, z: f32[160] output, b: bool[160] output, u: u8[160] output) {
      for i in 0..10 { vector j in 0..16 {
        y[i, j] = index_i64(16*i-j)
        z[16*i+j] = index_f32((i+j)//3)
        b[16*i+j] = lt(index_i32(i), index_i32(j))
        u[16*i+j] = index_u8(i*j)
      } }
    }"""
    compare(text)


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("c64", "x[i]"),
        ("i32", "exp(x[i])"),
        ("bool", "div(x[i], x[i])"),
    ],
)
def test_what_has_no_code_says_so(dtype: str, value: str):
    kernel = parse_kernel(
        f"kernel k(x: {dtype}[4] input, y: {dtype}[4] output) {{"
        f" for i in 0..4 {{ y[i] = {value} }} }}"
    )
    arrays = {"x": np.zeros(4, np.int32), "y": np.zeros(4, np.int32)}
    with pytest.raises(NotLowerable, match="no generated code"):
        run_native(kernel, arrays)
