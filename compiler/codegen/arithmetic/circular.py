"""Sine, cosine, tangent and inverse tangent of f32 as vector code.

Range reduction subtracts the nearest multiple of pi/2 in three parts (Cody and Waite). The rounding
error of the remainder is added at the end. If the argument in any lane exceeds `_FAR`, a branch
passes all lanes to the C library. The fitted polynomials have a relative error of 2**-32.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from compiler.codegen.arithmetic.single import (
    as_float,
    as_integer,
    exact_product,
    exact_sum,
    integer,
    narrowed,
    number,
    polynomial,
    widened,
)
from compiler.codegen.values import Value, constant, mangled, value_type
from compiler.ir.types import DType

if TYPE_CHECKING:
    from compiler.codegen.arithmetic.functions import Arithmetic

_FAR = 65536.0
"""The magnitude up to which subtracting multiples of the first part of pi/2 is exact."""

_PARTS = (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15)
"""pi/2 as a sum of three f32."""

_WIDE_PARTS = (1.5707963267341256, 6.077100506506192e-11)
"""pi/2 as a sum of two f64; the first summand has 31 significant bits."""

_ROUNDER = 12582912.0
"""1.5 * 2**23: the sum of this number and a small float has the nearest integer in its lowest
bits."""

_SINE = (2.7178205196862e-6, -1.9839280707103e-4, 8.3333292068164e-3, -1.6666666639953e-1)
_COSINE = (2.4430175563219e-5, -1.3887290579223e-3, 4.1666645164823e-2)

_ARCTANGENT = (
    *(-1.7936218064e-3, 1.0914606042e-2, -3.1177846715e-2, 5.7957593352e-2, -8.4034502506e-2),
    *(1.0952185839e-1, -1.4264242351e-1, 1.9998548925e-1, -3.3333298564e-1),
)
"""(atan(t) - t) / t**3 as a polynomial in t**2 with minimal relative error for t from 0 to 1."""

_HALF_PI = (1.5707963705062866, -4.371138828673793e-08)


def sin(a: Arithmetic, x: Value) -> Value:
    """Emit the sine, an odd function; the sign of a zero is preserved."""
    quarter, sine, cosine = _quarters(a, a.intrinsic("fabs", x))
    found = _signed(a, a.out.select(_is_odd(a, quarter), cosine, sine), quarter, 30)
    return _unless_far(a, "sinf", x, _signed(a, found, as_integer(a, x), 0))


def cos(a: Arithmetic, x: Value) -> Value:
    """Emit the cosine, as the sine of x + pi/2."""
    quarter, sine, cosine = _quarters(a, a.intrinsic("fabs", x))
    found = a.out.select(_is_odd(a, quarter), sine, cosine)
    following = a.two("add", quarter, integer(x, 1))
    return _unless_far(a, "cosf", x, _signed(a, found, following, 30))


def tan(a: Arithmetic, x: Value) -> Value:
    """Emit the tangent: sine / cosine of the remainder; in odd quadrants, -cosine / sine."""
    quarter, sine, cosine = _quarters(a, a.intrinsic("fabs", x))
    odd = _is_odd(a, quarter)
    top, bottom = a.out.select(odd, cosine, sine), a.out.select(odd, sine, cosine)
    found = _signed(a, a.two("fdiv", top, bottom), quarter, 31)
    return _unless_far(a, "tanf", x, _signed(a, found, as_integer(a, x), 0))


def atan(a: Arithmetic, x: Value) -> Value:
    """Emit the inverse tangent; for x > 1, pi/2 minus the inverse tangent of 1 / x."""
    y, one = a.intrinsic("fabs", x), number(x, 1.0)
    is_above = a.test("fcmp ogt", y, one)
    t = a.out.select(is_above, a.two("fdiv", one, y), y)
    square = a.two("fmul", t, t)
    near = a.fma(a.two("fmul", polynomial(a, square, _ARCTANGENT), square), t, t)
    high, low = (number(x, part) for part in _HALF_PI)
    far = a.two("fadd", a.two("fsub", high, near), low)
    found = a.out.select(is_above, far, near)
    return _signed(a, found, as_integer(a, x), 0)


def _quarters(a: Arithmetic, x: Value) -> tuple[Value, Value, Value]:
    """Reduce x >= 0 by a multiple n pi/2; return n, and the sine and cosine of the remainder."""
    shifted = a.fma(x, number(x, 0.636619772), number(x, _ROUNDER))
    n = a.two("fsub", shifted, number(x, _ROUNDER))
    r, lost = (_rest if a.has_fma else _rest_of_wide)(a, x, n)
    square = a.two("fmul", r, r)
    cube = a.two("fmul", a.two("fmul", square, r), polynomial(a, square, _SINE))
    sine = a.two("fadd", r, a.two("fadd", cube, lost))
    one = number(x, 1.0)
    main = a.fma(square, number(x, -0.5), one)
    rounded = a.fma(square, number(x, -0.5), a.two("fsub", one, main))
    rounded = a.fma(a.negate(r), lost, rounded)
    fourth = a.two("fmul", square, square)
    cosine = a.two("fadd", main, a.fma(fourth, polynomial(a, square, _COSINE), rounded))
    return as_integer(a, shifted), sine, cosine


def _rest(a: Arithmetic, x: Value, n: Value) -> tuple[Value, Value]:
    """Compute x - n pi/2 and its rounding error."""
    first, second, third = (number(x, -part) for part in _PARTS)
    whole = a.fma(n, first, x)
    product, product_lost = exact_product(a, n, second)
    # Either summand may be larger, and the sum may be far smaller than both summands.
    r, lost = exact_sum(a, whole, product)
    return r, a.fma(n, third, a.two("fadd", lost, product_lost))


def _rest_of_wide(a: Arithmetic, x: Value, n: Value) -> tuple[Value, Value]:
    """Compute x - n pi/2 and its rounding error in f64, for targets without fused multiply-add."""
    exact, turns = widened(a, x), widened(a, n)
    for part in _WIDE_PARTS:
        exact = a.two("fsub", exact, a.two("fmul", turns, constant(part, DType.f64, x.lanes)))
    r = narrowed(a, exact)
    return r, narrowed(a, a.two("fsub", exact, widened(a, r)))


def _is_odd(a: Arithmetic, quarter: Value) -> Value:
    bit = a.two("and", quarter, integer(quarter, 1))
    return a.test("icmp ne", bit, integer(quarter, 0))


def _signed(a: Arithmetic, found: Value, bits: Value, shift: int) -> Value:
    """Negate a number in the lanes in which bit `31 - shift` of `bits` is set."""
    moved = a.two("shl", bits, integer(bits, shift)) if shift else bits
    sign = a.two("and", moved, integer(bits, -(1 << 31)))
    return as_float(a, a.two("xor", as_integer(a, found), sign))


def _unless_far(a: Arithmetic, fn: str, x: Value, found: Value) -> Value:
    """Replace the result with the result of the C library if x is too large in any lane."""
    far = a.test("fcmp ogt", a.intrinsic("fabs", x), number(x, _FAR))
    a.out.declare(f"declare float @{fn}(float)")
    if not x.lanes:
        return a.out.call_if(far, fn, found, x)
    some = f"llvm.vector.reduce.or.{mangled(DType.bool, x.lanes)}"
    a.out.declare(_far_text(fn, x.lanes))
    other = a.out.call_if(a.out.call(some, DType.bool, 0, far), f"far.{fn}.{x.lanes}", found, x)
    return a.out.select(far, other, found)


def _far_text(fn: str, lanes: int) -> str:
    """Return the text of a rarely called function that calls the C library for every lane."""
    kind = value_type(DType.f32, lanes)
    lines = [f"define internal {kind} @far.{fn}.{lanes}({kind} %x) noinline cold nounwind {{"]
    total = "poison"
    for i in range(lanes):
        lines += [
            f"  %x{i} = extractelement {kind} %x, i64 {i}",
            f"  %y{i} = call float @{fn}(float %x{i})",
            f"  %t{i} = insertelement {kind} {total}, float %y{i}, i64 {i}",
        ]
        total = f"%t{i}"
    return "\n".join([*lines, f"  ret {kind} {total}", "}"])
