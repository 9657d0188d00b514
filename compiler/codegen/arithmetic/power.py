"""Powers of f32 as vector code: 2 to the power y log2 |x|, computed in f64.

f64 has 29 more mantissa bits than the result, so only the final rounding is visible. The relative
error of the fitted polynomials is 2**-45 (logarithm) and 2**-34 (exponential).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from compiler.codegen.arithmetic.single import narrowed, number, widened
from compiler.codegen.values import Value, constant
from compiler.ir.types import DType

if TYPE_CHECKING:
    from compiler.codegen.arithmetic.functions import Arithmetic

_LOG = (0.28290198805306616, 0.31990560057044276, 0.4122092538699934, 0.5770779423598462,
        0.9617966941133167, 2.8853900817778515)  # fmt: skip
"""log2((1 + s) / (1 - s)) / s as a polynomial in s*s."""

_EXP = (1.531008115456696e-05, 1.546973200317073e-4, 1.3333450560450353e-3, 9.618025602863522e-3,
        5.550410941215323e-2, 0.24022651213596063, 0.6931471805459304,
        0.9999999999595487)  # fmt: skip
"""2**r as a polynomial in r."""

_ROUNDER = 1.5 * 2.0**52
"""The sum of this number and a small f64 has the nearest integer in its lowest bits."""

_ROOT_BITS = 0x3FE6A09E667F3BCD
"""sqrt(1/2) as an f64."""

_EXPONENT_BITS = 0x4330000000000000
"""The bits of 2**52 as an f64; the sum of 2**52 and an integer has the integer in its low bits."""


def power(a: Arithmetic, x: Value, y: Value) -> Value:
    """Emit x to the power y, with the special cases of C99: 1**y and x**0 are 1 even for NaN."""
    size = a.intrinsic("fabs", x)
    found = narrowed(a, _exp2(a, a.two("fmul", widened(a, y), _log2(a, widened(a, size)))))
    zero, one = number(x, 0.0), number(x, 1.0)
    whole = a.test("fcmp oeq", a.intrinsic("trunc", y), y)
    half = a.two("fmul", y, number(y, 0.5))
    odd = a.out.all_of([whole, a.test("fcmp une", a.intrinsic("trunc", half), half)])
    found = a.out.select(odd, a.intrinsic("copysign", found, x), found)
    # A negative number raised to a power that is neither integral nor infinite is NaN.
    below = a.out.all_of(
        [a.test("fcmp olt", x, zero), a.test("fcmp one", x, number(x, float("-inf")))]
    )
    undefined = a.out.all_of([below, a.out.negated(whole)])
    found = a.out.select(undefined, number(x, float("nan")), found)
    found = a.out.select(a.test("fcmp uno", x, y), number(x, float("nan")), found)
    endless = a.test("fcmp oeq", a.intrinsic("fabs", y), number(y, float("inf")))
    turning = a.out.all_of([endless, a.test("fcmp oeq", size, one)])
    for is_one in (turning, a.test("fcmp oeq", x, one), a.test("fcmp oeq", y, zero)):
        found = a.out.select(is_one, one, found)
    return found


def _double(like: Value, value: float) -> Value:
    return constant(value, DType.f64, like.lanes)


def _bits(like: Value, value: int) -> Value:
    return constant(value, DType.i64, like.lanes)


def _polynomial(a: Arithmetic, x: Value, coefficients: tuple[float, ...]) -> Value:
    total = _double(x, coefficients[0])
    for c in coefficients[1:]:
        total = a.fma(total, x, _double(x, c))
    return total


def _log2(a: Arithmetic, x: Value) -> Value:
    """Emit the base-2 logarithm of a nonnegative f64 converted from f32; -inf for 0."""
    # Denormals of f32 are normal in f64, so the biased exponent is positive.
    bits = a.out.reinterpret(x, DType.i64)
    above = a.two("sub", bits, _bits(x, _ROOT_BITS - (1023 << 52)))
    biased = a.two("lshr", above, _bits(x, 52))
    n = a.out.reinterpret(a.two("or", biased, _bits(x, _EXPONENT_BITS)), DType.f64)
    n = a.two("fsub", n, _double(x, 2.0**52 + 1023))
    scale = a.two("sub", a.two("shl", biased, _bits(x, 52)), _bits(x, 1023 << 52))
    m = a.out.reinterpret(a.two("sub", bits, scale), DType.f64)
    one = _double(x, 1.0)
    s = a.two("fdiv", a.two("fsub", m, one), a.two("fadd", m, one))
    found = a.fma(_polynomial(a, a.two("fmul", s, s), _LOG), s, n)
    infinity = _double(x, float("inf"))
    found = a.out.select(a.test("fcmp oeq", x, infinity), infinity, found)
    least = _double(x, float("-inf"))
    return a.out.select(a.test("fcmp oeq", x, _double(x, 0.0)), least, found)


def _exp2(a: Arithmetic, t: Value) -> Value:
    """Emit 2**t; outside the range of f32, emit a number that rounds to 0 or infinity."""
    low, high = _double(t, -160.0), _double(t, 130.0)
    t = a.out.select(a.test("fcmp ogt", low, t), low, t)
    t = a.out.select(a.test("fcmp olt", high, t), high, t)
    shifted = a.two("fadd", t, _double(t, _ROUNDER))
    r = a.two("fsub", t, a.two("fsub", shifted, _double(t, _ROUNDER)))
    # The low bits of `shifted` are the integer that is added to the exponent.
    n = a.two("shl", a.out.reinterpret(shifted, DType.i64), _bits(t, 52))
    p = a.out.reinterpret(_polynomial(a, r, _EXP), DType.i64)
    return a.out.reinterpret(a.two("add", p, n), DType.f64)
