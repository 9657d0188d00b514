"""Exponentials and logarithms of f32 as vector code.

Each function is a range reduction and a polynomial. Errors are at most 2 units in the last place
for all arguments. Infinities, NaN, denormals and zeros of both signs give correct results.
docs/accuracy.md describes the measurement.
Sources: range reductions and the polynomials of exp, log and tanh from Cephes (Moshier, single
precision); exact sums and products from Knuth and Dekker.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from compiler.codegen.values import Value, constant, nearest_f32, value_type
from compiler.ir.types import DType

if TYPE_CHECKING:
    from compiler.codegen.arithmetic.functions import Arithmetic


def number(like: Value, value: float) -> Value:
    """Return an f32 literal with the lanes of another value."""
    return constant(value, DType.f32, like.lanes)


def in_two(like: Value, value: float) -> tuple[Value, Value]:
    """Split a number into the sum of two f32 literals."""
    high = nearest_f32(value)
    return number(like, high), number(like, value - high)


def integer(like: Value, value: int) -> Value:
    """Return an i32 literal with the lanes of another value."""
    return constant(value, DType.i32, like.lanes)


def polynomial(a: Arithmetic, x: Value, coefficients: Sequence[float]) -> Value:
    """Evaluate a polynomial by Horner's scheme, highest power first."""
    total = number(x, coefficients[0])
    for c in coefficients[1:]:
        total = a.fma(total, x, number(x, c))
    return total


def as_integer(a: Arithmetic, x: Value) -> Value:
    """Reinterpret an f32 as an i32."""
    kind = value_type(DType.i32, x.lanes)
    return a.out.op(f"bitcast {x.typed} to {kind}", DType.i32, x.lanes, x)


def as_float(a: Arithmetic, x: Value) -> Value:
    """Reinterpret an i32 as an f32."""
    kind = value_type(DType.f32, x.lanes)
    return a.out.op(f"bitcast {x.typed} to {kind}", DType.f32, x.lanes, x)


def widened(a: Arithmetic, x: Value) -> Value:
    """Convert an f32 to f64."""
    kind = value_type(DType.f64, x.lanes)
    return a.out.op(f"fpext {x.typed} to {kind}", DType.f64, x.lanes, x)


def narrowed(a: Arithmetic, x: Value) -> Value:
    """Round an f64 to f32."""
    kind = value_type(DType.f32, x.lanes)
    return a.out.op(f"fptrunc {x.typed} to {kind}", DType.f32, x.lanes, x)


def at_least(a: Arithmetic, x: Value, limit: float) -> Value:
    """Return the maximum of x and a limit; NaN stays NaN."""
    low = number(x, limit)
    return a.out.select(a.test("fcmp ogt", low, x), low, x)


def at_most(a: Arithmetic, x: Value, limit: float) -> Value:
    """Return the minimum of x and a limit; NaN stays NaN."""
    high = number(x, limit)
    return a.out.select(a.test("fcmp olt", high, x), high, x)


def between(a: Arithmetic, x: Value, low: float, high: float) -> Value:
    """Clamp to a range; NaN stays NaN."""
    return at_most(a, at_least(a, x, low), high)


def exact_sum(a: Arithmetic, x: Value, y: Value) -> tuple[Value, Value]:
    """Add two numbers; return the rounded sum and its rounding error."""
    total = a.two("fadd", x, y)
    second = a.two("fsub", total, x)
    first = a.two("fsub", total, second)
    return total, a.two("fadd", a.two("fsub", x, first), a.two("fsub", y, second))


def exact_product(a: Arithmetic, x: Value, y: Value) -> tuple[Value, Value]:
    """Multiply two numbers of moderate size; return the rounded product and its rounding error."""
    product = a.two("fmul", x, y)
    if a.has_fma:
        return product, a.fma(x, y, a.negate(product))
    (x1, x2), (y1, y2) = _halves(a, x), _halves(a, y)
    low = a.two("fsub", a.two("fmul", x1, y1), product)
    low = a.two("fadd", low, a.two("fmul", x1, y2))
    low = a.two("fadd", low, a.two("fmul", x2, y1))
    return product, a.two("fadd", low, a.two("fmul", x2, y2))


def _halves(a: Arithmetic, x: Value) -> tuple[Value, Value]:
    """Split a number into two parts of 12 bits each; products of such parts are exact."""
    masked = a.two("and", as_integer(a, x), integer(x, -4096))
    high = as_float(a, masked)
    return high, a.two("fsub", x, high)


_ROUNDER = 12582912.0
"""1.5 * 2**23: the sum of this number and a small float has the nearest integer in its lowest
bits."""

_LOG2_E = 1.44269504

_EXP = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1,
        5.0000001201e-1)  # fmt: skip
"""(exp(r) - 1 - r) / r**2 as a polynomial in r."""

_DECAY = (1.3814583873e-3, 8.3687240728e-3, 4.1668388742e-2, 1.6666520572e-1, 4.9999993444e-1)
"""(exp(r) - 1 - r) / r**2 as a polynomial of degree 4: the error is at most 2**-28 of exp(r) for r
up to ln 2 / 2 (Remez exchange)."""


def _times_ln2(a: Arithmetic, x: Value, bias: int = 0) -> tuple[Value, Value]:
    """Return n = round(x / ln 2), and n with the bias and the rounding constant added."""
    rounder = number(x, _ROUNDER + bias)
    shifted = a.fma(x, number(x, _LOG2_E), rounder)
    return a.two("fsub", shifted, rounder), shifted


def _split(a: Arithmetic, x: Value, bias: int = 0) -> tuple[Value, Value, Value]:
    """Split x into n ln 2 + r; return n, then the sum of n, bias and rounding constant, then r."""
    n, shifted = _times_ln2(a, x, bias)
    r = a.fma(n, number(x, -0.693359375), x)
    return n, shifted, a.fma(n, number(x, 2.12194440e-4), r)


def _reduced(a: Arithmetic, x: Value) -> tuple[Value, Value, Value]:
    """Split x into n ln 2 + r; return n, then n plus the rounding constant, then expm1(r)."""
    n, shifted, r = _split(a, x)
    p = polynomial(a, r, _EXP)
    return n, shifted, a.fma(p, a.two("fmul", r, r), r)


def _power_of_two(a: Arithmetic, exponent: Value) -> Value:
    """Emit 2**exponent for an i32 exponent, if the result is a normal number."""
    biased = a.two("shl", a.two("add", exponent, integer(exponent, 127)), integer(exponent, 23))
    return as_float(a, biased)


def _biased_power(a: Arithmetic, shifted: Value) -> Value:
    """Emit the power of two whose biased exponent is the lowest nine bits of `shifted`."""
    return as_float(a, a.two("shl", as_integer(a, shifted), integer(shifted, 23)))


def exp(a: Arithmetic, x: Value) -> Value:
    """Emit e to the power x: with x = n ln 2 + r, a polynomial in r times 2**n."""
    x = between(a, x, -105.0, 90.0)  # outside this range, the result is 0 or infinite
    n, shifted, p = _reduced(a, x)
    y = a.two("fadd", p, number(x, 1.0))
    return _times_power_of_two(a, y, n, shifted)


_UP = 100
"""The exponent by which the power of two is scaled for x <= 0, so that 2**(n + 100) is normal."""


def decay(a: Arithmetic, x: Value) -> Value:
    """Emit exp(x) for a rounded difference x <= 0; ln 2 is one f32, and x is not clamped above."""
    if not a.has_fma:
        return exp(a, x)  # n ln 2 would be rounded
    x = at_least(a, x, -105.0)
    n, shifted = _times_ln2(a, x, 127 + _UP)
    return _fallen(a, a.fma(n, number(x, -math.log(2)), x), n, shifted)


def exp_at_most_1(a: Arithmetic, x: Value, rest: Value, factor: Value) -> Value:
    """Emit exp(x + rest) times a factor of at most 1, for x <= 0 and a small `rest`."""
    n, shifted, r = _split(a, at_least(a, x, -105.0), 127 + _UP)
    return _fallen(a, a.two("fadd", r, rest), n, shifted, factor)


def _fallen(
    a: Arithmetic, r: Value, n: Value, shifted: Value, factor: Value | None = None
) -> Value:
    """Emit 2**n exp(r) times a factor; the lowest nine bits of `shifted` are n + 100 + 127."""
    p = a.fma(polynomial(a, r, _DECAY), a.two("fmul", r, r), r)
    y = a.two("fadd", p, number(r, 1.0)) if factor is None else a.fma(p, factor, factor)
    scaled = a.scaled(y, n)
    if scaled is not None:
        return scaled
    power = _biased_power(a, shifted)
    if factor is not None:
        power = a.two("fmul", power, factor)
    return a.two("fmul", a.fma(p, power, power), number(r, 2.0**-_UP))


def _times_power_of_two(a: Arithmetic, y: Value, n: Value, shifted: Value) -> Value:
    """Emit y times 2**n; `shifted` is n plus the rounding constant."""
    scaled = a.scaled(y, n)
    if scaled is not None:
        return scaled
    # 2**n is divided into two factors, for correct results near infinity and in the denormal range.
    bits = a.two("sub", as_integer(a, shifted), integer(y, 0x4B400000))
    half = a.two("ashr", bits, integer(y, 1))
    for part in (half, a.two("sub", bits, half)):
        y = a.two("fmul", y, _power_of_two(a, part))
    return y


def expm1(a: Arithmetic, x: Value) -> Value:
    """Emit exp(x) - 1, accurate near 0: 2**n (exp(r) - 1) + (2**n - 1); exp(x) for large x."""
    high = number(x, 20.0)
    _, shifted, p = _reduced(a, between(a, x, -20.0, 20.0))
    bits = a.two("sub", as_integer(a, shifted), integer(x, 0x4B400000))
    power = _power_of_two(a, bits)
    found = a.fma(power, p, a.two("fsub", power, number(x, 1.0)))
    found = a.out.select(a.test("fcmp olt", high, x), exp(a, x), found)
    return a.intrinsic("copysign", found, x)


def log(a: Arithmetic, x: Value) -> Value:
    """Emit log(x): for x = 2**e * m with m around 1, a polynomial in m - 1 plus e ln 2."""
    tiny = a.test("fcmp olt", x, number(x, 2.0**-126))
    grown = a.out.select(tiny, a.two("fmul", x, number(x, 2.0**25)), x)
    e, m = _mantissa(a, grown)
    exponent = _to_float(a, e)
    less = a.two("fsub", exponent, number(x, 25.0))
    exponent = a.out.select(tiny, less, exponent)
    found = _log_near_1(a, a.two("fsub", m, number(x, 1.0)), exponent)
    return _log_at_the_edges(a, x, found)


def log1p(a: Arithmetic, x: Value) -> Value:
    """Emit log(1 + x), accurate near 0: the rounding error of 1 + x is added to m - 1."""
    u, lost = exact_sum(a, number(x, 1.0), x)
    e, m = _mantissa(a, u)
    # 2**-e is normal only up to e = 126; for larger e, the rounding error is negligible.
    down = a.intrinsic("smax", a.two("sub", integer(x, 0), e), integer(x, -126))
    lost = a.two("fmul", lost, _power_of_two(a, down))
    f = a.two("fadd", a.two("fsub", m, number(x, 1.0)), lost)
    found = _log_at_the_edges(a, u, _log_near_1(a, f, _to_float(a, e)))
    return a.intrinsic("copysign", found, x)


def _mantissa(a: Arithmetic, x: Value) -> tuple[Value, Value]:
    """Split x into 2**e * m, with m between sqrt(1/2) and sqrt(2)."""
    bits = as_integer(a, x)
    e = a.two("ashr", a.two("sub", bits, integer(x, 0x3F3504F3)), integer(x, 23))
    return e, as_float(a, a.two("sub", bits, a.two("shl", e, integer(x, 23))))


def _to_float(a: Arithmetic, e: Value) -> Value:
    kind = value_type(DType.f32, e.lanes)
    return a.out.op(f"sitofp {e.typed} to {kind}", DType.f32, e.lanes, e)


def _log_near_1(a: Arithmetic, f: Value, exponent: Value) -> Value:
    """Emit log(1 + f) + exponent ln 2."""
    square = a.two("fmul", f, f)
    p = polynomial(a, f, (7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1,
                          1.4249322787e-1, -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1,
                          3.3333331174e-1))  # fmt: skip
    p = a.two("fmul", a.two("fmul", p, f), square)
    p = a.fma(exponent, number(f, -2.12194440e-4), p)
    p = a.fma(square, number(f, -0.5), p)
    return a.fma(exponent, number(f, 0.693359375), a.two("fadd", f, p))


def _log_at_the_edges(a: Arithmetic, x: Value, found: Value) -> Value:
    """Select the computed logarithm if x is positive and finite, else the special value."""
    zero, infinity = number(x, 0.0), number(x, float("inf"))
    special = a.out.select(a.test("fcmp ogt", x, zero), x, number(x, float("nan")))
    special = a.out.select(a.test("fcmp oeq", x, zero), number(x, float("-inf")), special)
    regular = a.out.all_of([a.test("fcmp ogt", x, zero), a.test("fcmp olt", x, infinity)])
    return a.out.select(regular, found, special)


_LIFT = 25
"""The exponent by which `sigmoid` scales the power of two, so that 2**(n + 25) is normal."""


def sigmoid(a: Arithmetic, x: Value, rest: Value | None = None) -> Value:
    """Emit the sigmoid of x plus a small rest: 2**n / (exp(-r) + 2**n) with x = n ln 2 + r.

    This form of 1 / (1 + exp(-x)) cannot overflow, and small results are precise.
    """
    # The lowest nine bits of `shifted` are the biased exponent of 2**(n + 25).
    n, shifted, r = _split(a, between(a, x, -105.0, 18.0), 127 + _LIFT)
    if rest is not None:
        r = a.two("fadd", r, rest)
    lifted = None
    power = a.scaled(number(x, 1.0), n)
    if power is None:
        lifted = _biased_power(a, shifted)
        power = a.two("fmul", lifted, number(x, 2.0**-_LIFT))
    # Highest power (even) first: odd powers change their sign with r.
    p = polynomial(a, r, [-c if i % 2 else c for i, c in enumerate(_DECAY)])
    less = a.fma(p, a.two("fmul", r, r), a.negate(r))
    # 1 is added last: if 1 dominates the sum, the other terms are not rounded before.
    bottom = a.two("fadd", a.two("fadd", less, power), number(x, 1.0))
    if lifted is None:
        return a.two("fdiv", power, bottom)
    return a.two("fmul", a.two("fdiv", lifted, bottom), number(x, 2.0**-_LIFT))


def tanh(a: Arithmetic, x: Value) -> Value:
    """Emit the hyperbolic tangent: an odd polynomial near 0, else 1 - 2 / (exp(2|x|) + 1).

    The result of 1 - 2 / (exp(2|x|) + 1) gets the sign of x.
    """
    magnitude, one = a.intrinsic("fabs", x), number(x, 1.0)
    double = a.two("fadd", magnitude, magnitude)
    n, shifted, p = _reduced(a, at_most(a, double, 20.0))
    y = a.two("fadd", p, one)
    e = a.scaled(y, n)
    if e is None:
        bits = a.two("sub", as_integer(a, shifted), integer(x, 0x4B400000))
        e = a.two("fmul", y, _power_of_two(a, bits))
    quotient = a.two("fdiv", number(x, -2.0), a.two("fadd", e, one))
    far = a.two("fadd", quotient, one)
    square = a.two("fmul", x, x)
    p = polynomial(a, square, (-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2,
                               1.33314422036e-1, -3.33332819422e-1))  # fmt: skip
    near = a.fma(a.two("fmul", p, square), magnitude, magnitude)
    found = a.out.select(a.test("fcmp olt", magnitude, number(x, 0.625)), near, far)
    return a.intrinsic("copysign", found, x)
