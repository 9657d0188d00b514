"""Exponentials and related functions of f32 by table lookups in registers (AVX-512).

A table of the powers 2**(k/16) reduces the range so much that the polynomial of the exponential has
only degree 3. Functions that approach a constant are piecewise polynomials. The functions are as
accurate as those in `single.py` and `normal.py`, which other targets use.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from compiler.codegen.arithmetic.lookup import Pieces, fitted, picked
from compiler.codegen.arithmetic.single import (
    as_float,
    as_integer,
    at_least,
    at_most,
    between,
    in_two,
    integer,
    number,
)
from compiler.codegen.values import Value, nearest_f32

if TYPE_CHECKING:
    from compiler.codegen.arithmetic.functions import Arithmetic

_ROUNDER = 786432.0
"""1.5 * 2**19: the sum of this number and x has, in its lowest bits, the number of sixteenths in
x."""

_ROOTS = tuple(2 ** (i / 16) for i in range(16))
_ROOTS_LOST = tuple(math.log(root / nearest_f32(root)) for root in _ROOTS)

_LN2 = (0.693359375, -2.12194440e-4)
"""ln 2 as a sum of two parts; the first part has few bits, so that its multiples are exact."""

_CUBIC = (0.166671395, 0.500032340)
"""(exp(r) - 1 - r) / r**2 as a polynomial in r, for r up to ln 2 / 32."""


def exp(a: Arithmetic, x: Value) -> Value:
    """Emit exp(x), for x = n ln 2 + r with n in sixteenths: lookup, polynomial and scaling."""
    x = between(a, x, -105.0, 90.0)
    n, root, _ = _sixteenths(a, x)
    return _scaled(a, _grown(a, root, _rest(a, n, x)), n)


def decay(a: Arithmetic, x: Value) -> Value:
    """Emit exp(x) for a rounded difference x <= 0; ln 2 is one f32, and x is not clamped above."""
    x = at_least(a, x, -105.0)
    n, root, _ = _sixteenths(a, x)
    return _scaled(a, _grown(a, root, a.fma(n, number(x, -math.log(2)), x)), n)


def sigmoid(a: Arithmetic, x: Value) -> Value:
    """Emit 1 / (1 + exp(-x)) as s / (exp(-r) + s), for exp(x) = s exp(r) and s from the table."""
    x = between(a, x, -105.0, 18.0)
    n, root, lost = _sixteenths(a, x)
    return _logistic(a, _scaled(a, root, n), a.two("fadd", _rest(a, n, x), lost))


def tanh(a: Arithmetic, x: Value) -> Value:
    """Emit the hyperbolic tangent, as an odd piecewise polynomial."""
    t = at_most(a, a.intrinsic("fabs", x), 9.2)
    return _with_sign(a, _by_bits(a, t, _tanh_pieces(), _TANH_STRETCH, 2), x)


def erf(a: Arithmetic, x: Value) -> Value:
    """Emit the error function, as an odd piecewise polynomial."""
    t = at_most(a, a.intrinsic("fabs", x), 4.1)
    # The slope at 0 has the largest possible rounding error in f32, but the slope minus 1 does not.
    first = a.test("fcmp olt", t, number(x, 0.25 / _ERF_STRETCH))
    return _with_sign(a, _by_bits(a, t, _erf_pieces(), _ERF_STRETCH, 2, first), x)


def normal_cdf(a: Arithmetic, x: Value) -> Value:
    """Emit (1 + erf(x / sqrt 2)) / 2; the tail is exp(-x*x/2) times a piecewise polynomial.

    Small results are precise; the sum 1 + erf would lose precision by cancellation.
    """
    t = at_most(a, a.intrinsic("fabs", x), 14.5)
    half = a.two("fmul", t, number(x, -0.5))
    n, root, _ = _sixteenths(a, a.two("fmul", half, t))
    factor = a.two("fmul", _by_bits(a, t, _tail_pieces(), _TAIL_STRETCH, 3), root)
    tail = _scaled(a, _grown(a, factor, _rest(a, n, half, t)), n)
    negative = a.test("fcmp olt", x, number(x, 0.0))
    return a.out.select(negative, tail, a.two("fsub", number(x, 1.0), tail))


_LINEAR = 2 * math.sqrt(2 / math.pi)
_CUBIC_TERM = _LINEAR * 0.044715
_FEW_BITS = 2.0**-18


def normal_cdf_tanh(a: Arithmetic, x: Value) -> Value:
    """Emit (1 + tanh(sqrt(2/pi) (x + 0.044715 x**3))) / 2: the sigmoid of twice tanh's argument.

    The argument of the exponential is a sum of two f32, because the exponential would magnify the
    rounding error of a single f32.
    """
    x = between(a, x, -12.0, 6.0)
    square = a.two("fmul", x, x)
    square_lost = a.fma(x, x, a.negate(square))
    # The first term has few bits, so its subtraction from the sum is exact.
    high = math.floor(_LINEAR / _FEW_BITS) * _FEW_BITS
    linear, linear_lost = number(x, high), number(x, _LINEAR - high)
    cubic, cubic_lost = in_two(x, _CUBIC_TERM)
    factor = a.fma(cubic, square, linear)
    lost = a.fma(cubic, square, a.two("fsub", linear, factor))
    lost = a.fma(cubic, square_lost, lost)
    lost = a.two("fadd", lost, a.fma(cubic_lost, square, linear_lost))
    n, root, _ = _sixteenths(a, a.two("fmul", x, factor))
    rest = a.fma(x, lost, _rest(a, n, x, factor))
    return _logistic(a, _scaled(a, root, n), rest)


def _sixteenths(a: Arithmetic, x: Value) -> tuple[Value, Value, Value]:
    """Return n = x / ln 2, rounded to sixteenths, and 2 to the power of the fraction of n.

    The third result is the logarithm of the relative rounding error of the power of two.
    """
    shifted = a.fma(x, number(x, 1 / math.log(2)), number(x, _ROUNDER))
    n = a.two("fsub", shifted, number(x, _ROUNDER))
    index = as_integer(a, shifted)
    return n, picked(a, _ROOTS, index), picked(a, _ROOTS_LOST, index)


def _rest(a: Arithmetic, n: Value, x: Value, factor: Value | None = None) -> Value:
    """Emit x - n ln 2 or, if there is a factor, x * factor - n ln 2 from an exact product."""
    high, low = (number(x, -part) for part in _LN2)
    if factor is None:
        return a.fma(n, low, a.fma(n, high, x))
    return a.fma(n, low, a.fma(x, factor, a.two("fmul", n, high)))


def _grown(a: Arithmetic, factor: Value, r: Value) -> Value:
    """Emit factor * exp(r)."""
    cubic, square = (number(r, c) for c in _CUBIC)
    slope = a.fma(a.fma(cubic, r, square), r, number(r, 1.0))
    return a.fma(a.two("fmul", factor, r), slope, factor)


def _logistic(a: Arithmetic, power: Value, r: Value) -> Value:
    """Emit s / (exp(-r) + s), where s is `power`."""
    cubic, square = _CUBIC
    p = a.fma(number(r, -cubic), r, number(r, square))
    less = a.fma(p, a.two("fmul", r, r), a.negate(r))
    # 1 is added last: if 1 dominates the sum, the other terms are not rounded before.
    bottom = a.two("fadd", a.two("fadd", less, power), number(r, 1.0))
    return a.two("fdiv", power, bottom)


def _scaled(a: Arithmetic, v: Value, n: Value) -> Value:
    """Emit v times 2**floor(n)."""
    found = a.scaled(v, n)
    assert found is not None, "AVX-512 has an instruction for scaling"
    return found


def _with_sign(a: Arithmetic, magnitude: Value, x: Value) -> Value:
    """Copy the sign of x to a nonnegative number."""
    sign = a.two("and", as_integer(a, x), integer(x, -(1 << 31)))
    return as_float(a, a.two("or", as_integer(a, magnitude), sign))


# Pieces

_ERF_STRETCH = 29 / 8
_TANH_STRETCH = 13 / 8
_TAIL_STRETCH = 33 / 32


def _by_bits(
    a: Arithmetic, t: Value, pieces: Pieces, stretch: float, bits: int, first: Value | None = None
) -> Value:
    """Evaluate a piecewise polynomial whose pieces `_lengthening` has returned."""
    u = a.fma(t, number(t, stretch), number(t, 1.0))
    index = a.two("lshr", as_integer(a, u), integer(t, 23 - bits))
    distance = a.two("fsub", t, picked(a, pieces.centers, index))
    return pieces.at(a, distance, index, first)


def _lengthening(
    function: Callable[[float], float],
    stretch: float,
    bits: int,
    degree: int,
    slope: float = 0.0,
) -> Pieces:
    """Return a table of polynomials for intervals of t, the argument of `function`.

    The exponent and the leading bits of 1 + t s are the table index; s is `stretch`. So intervals
    become longer with t. 1 + t s ranges from 1 to 16, and has four exponents.
    """
    each = 1 << bits
    ends = [2.0**e * (1 + i / each) for e in range(4) for i in range(each)]
    edges = [(u - 1) / stretch for u in (*ends, 16.0)]
    centers = [_rounded_well(function, (low + high) / 2) for low, high in pairwise(edges)]
    if function(0.0) == 0:
        centers[0] = 0.0
    # The biased exponent of 1 is 127.
    return fitted(function, edges, centers, degree, (127 << bits) % (4 * each), slope)


def _rounded_well(function: Callable[[float], float], center: float) -> float:
    """Find an f32 near `center` whose function value is almost exactly an f32.

    Source: accurate tables, Gal 1986.
    """
    near = (nearest_f32(center * (1 + i * 2.0**-15)) for i in range(-24, 25))
    return min(near, key=lambda c: abs(nearest_f32(function(c)) / function(c) - 1))


@cache
def _tanh_pieces() -> Pieces:
    return _lengthening(math.tanh, _TANH_STRETCH, 2, 5)


@cache
def _tail_pieces() -> Pieces:
    return _lengthening(_tail, _TAIL_STRETCH, 3, 5)


def _tail(t: float) -> float:
    """Return the tail of the normal distribution, divided by exp(-t*t/2)."""
    return math.erfc(t * math.sqrt(0.5)) / 2 * math.exp(t * t / 2)


@cache
def _erf_pieces() -> Pieces:
    return _lengthening(math.erf, _ERF_STRETCH, 2, 5, slope=1.0)
