"""The error function and the normal distribution of f32 as vector code.

Source of erf: N. Juffa's fitted polynomials. The tail of the normal distribution is exp(-x*x/2)
times a quotient of polynomials in |x|. The relative error of the fit is 2**-25 for |x| from 0.5 to
15.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from compiler.codegen.arithmetic.single import (
    at_most,
    between,
    decay,
    exact_product,
    exact_sum,
    exp_at_most_1,
    in_two,
    number,
    polynomial,
    sigmoid,
)
from compiler.codegen.values import Value

if TYPE_CHECKING:
    from compiler.codegen.arithmetic.functions import Arithmetic


def erf(a: Arithmetic, x: Value) -> Value:
    """Emit the error function: an odd polynomial near 0, and 1 - exp(polynomial) elsewhere."""
    t = a.intrinsic("fabs", x)
    s = a.two("fmul", x, x)
    r = a.fma(number(x, -1.72853470e-5), t, number(x, 3.83197126e-4))
    u = a.fma(number(x, -3.88396438e-3), t, number(x, 2.42546219e-2))
    r = a.fma(r, s, u)
    for c in (-1.06777877e-1, -6.34846687e-1, -1.28717512e-1):
        r = a.fma(r, t, number(x, c))
    r = a.fma(r, t, a.negate(t))
    # The result is 1 for t > 4; the clamp also prevents an overflow of the polynomial.
    r = a.out.select(a.test("fcmp ogt", t, number(x, 4.0)), number(x, -105.0), r)
    far = a.intrinsic("copysign", a.two("fsub", number(x, 1.0), decay(a, r)), x)
    p = polynomial(a, s, (-5.96761703e-4, 4.99119423e-3, -2.67681349e-2, 1.12819925e-1,
                          -3.76125336e-1, 1.28379166e-1))  # fmt: skip
    near = a.fma(p, x, x)
    return a.out.select(a.test("fcmp ogt", t, number(x, 0.927734375)), far, near)


_NEAR = (-1.1285149e-3, 9.9640071e-3, -6.64898817e-2, 3.98942276e-1)
_OVER = (7.16557027772069e-3, 5.802468582987785e-2, 2.310296595096588e-1, 4.9693238735198975e-1,
         5.000086426734924e-1)  # fmt: skip
_REST = (1.7955008894205093e-2, 1.4571282267570496e-1, 5.385444164276123e-1, 1.0)


def normal_cdf(a: Arithmetic, x: Value) -> Value:
    """Emit (1 + erf(x / sqrt 2)) / 2: an odd polynomial near 0, else the tail beyond |x|.

    Small results are precise; the sum 1 + erf would lose precision by cancellation.
    """
    half = number(x, 0.5)
    t = at_most(a, a.intrinsic("fabs", x), 15.0)
    square, lost = exact_product(a, t, t)
    near = a.fma(polynomial(a, square, _NEAR), x, half)
    # For large t the quotient is 1 / (sqrt(2 pi) t), and the rounding error of `over` cancels.
    over, rest_under = (polynomial(a, t, c) for c in (_OVER, _REST))
    under = a.fma(a.two("fmul", t, number(x, math.sqrt(2 * math.pi))), over, rest_under)
    # The exponential would magnify the rounding error of the square.
    exponent, rest = (a.two("fmul", v, number(x, -0.5)) for v in (square, lost))
    tail = exp_at_most_1(a, exponent, rest, a.two("fdiv", over, under))
    negative = a.test("fcmp olt", x, number(x, 0.0))
    far = a.out.select(negative, tail, a.two("fsub", number(x, 1.0), tail))
    return a.out.select(a.test("fcmp olt", t, half), near, far)


_LINEAR = 2 * math.sqrt(2 / math.pi)
_CUBIC = _LINEAR * 0.044715


def normal_cdf_tanh(a: Arithmetic, x: Value) -> Value:
    """Emit (1 + tanh(sqrt(2/pi) (x + 0.044715 x**3))) / 2: the sigmoid of twice tanh's argument.

    The argument of the exponential is a sum of two f32, because the exponential would magnify the
    rounding error of a single f32.
    """
    t = between(a, x, -12.0, 12.0)
    square, square_lost = exact_product(a, t, t)
    (linear, linear_lost), (cubic, cubic_lost) = in_two(x, _LINEAR), in_two(x, _CUBIC)
    product, lost = exact_product(a, cubic, square)
    lost = a.fma(cubic, square_lost, a.fma(cubic_lost, square, lost))
    factor, sum_lost = exact_sum(a, product, linear)
    lost = a.two("fadd", a.two("fadd", sum_lost, linear_lost), lost)
    argument, argument_lost = exact_product(a, t, factor)
    lost = a.fma(t, lost, argument_lost)
    return sigmoid(a, argument, lost)
