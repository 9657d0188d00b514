"""Functions of real numbers that processors have no instruction for, as code over whole vectors.

f32 (and half-precision numbers, which are f32 inside): exp, log, tanh, sigmoid and erf are range
reductions and polynomials with an error of at most 2 units in the last place, right at infinities,
NaN and denormal numbers. Everything else, and all of f64, calls the C library lane by lane.
Sources: range reductions and the polynomials of exp, log and tanh as in Cephes (Moshier, single
precision); erf after N. Juffa's fitted polynomials.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from compiler.codegen.values import Value, constant, value_type
from compiler.ir.types import DType
from compiler.loops.limits import NotLowerable

if TYPE_CHECKING:
    from compiler.codegen.arithmetic import Arithmetic

LIBRARY = {
    "exp", "log", "tanh", "erf", "sin", "cos", "tan", "asin", "acos", "atan",
    "sinh", "cosh", "asinh", "acosh", "atanh", "pow",
}  # fmt: skip
"""Functions that the C mathematics library has under the same name."""


def function(a: Arithmetic, fn: str, args: list[Value]) -> Value:
    """A function of floats, lane by lane. Errors: NotLowerable for one that nothing here knows."""
    x = args[0]
    if fn == "pow":
        found = _power(a, x, args[1])
        if found is not None:
            return found
    if x.dtype is DType.f64:
        if fn == "sigmoid":
            e = library_call(a, "exp", [a.negate(x)])
            one = constant(1.0, x.dtype, x.lanes)
            return a.two("fdiv", one, a.two("fadd", one, e))
        return library_call(a, fn, args)
    single = [Value(v.ref, DType.f32, v.lanes, v.level) for v in args]
    if fn in _SINGLE:
        found = _SINGLE[fn](a, single[0])
    else:
        found = library_call(a, fn, single)
    return Value(found.ref, x.dtype, found.lanes, found.level)


def library_call(a: Arithmetic, fn: str, args: list[Value]) -> Value:
    """One call of the C library per lane."""
    if fn not in LIBRARY:
        raise NotLowerable(f"{fn} has no generated code")
    x = args[0]
    name = fn if x.dtype is DType.f64 else fn + "f"
    if not x.lanes:
        return a.out.call(name, x.dtype, 0, *args)
    total = Value("poison", x.dtype, x.lanes)
    for i in range(x.lanes):
        found = a.out.call(name, x.dtype, 0, *(a.out.extract(v, i) for v in args))
        total = a.out.insert(total, found, i)
    return total


def _power(a: Arithmetic, x: Value, exponent: Value) -> Value | None:
    """Powers with a small literal exponent; None for others."""
    matching = {n: constant(n, x.dtype, x.lanes).ref for n in (0.5, 1.0, 2.0, 3.0)}
    if exponent.ref == matching[1.0]:
        return x
    if exponent.ref == matching[0.5]:
        root = a.intrinsic("fabs", a.intrinsic("sqrt", x))
        least = constant(float("-inf"), x.dtype, x.lanes)
        return a.out.select(
            a.test("fcmp oeq", x, least), constant(float("inf"), x.dtype, x.lanes), root
        )
    if exponent.ref in (matching[2.0], matching[3.0]):
        square = a.two("fmul", x, x)
        return square if exponent.ref == matching[2.0] else a.two("fmul", square, x)
    return None


def _number(like: Value, number: float) -> Value:
    return constant(number, DType.f32, like.lanes)


def _integer(like: Value, number: int) -> Value:
    return constant(number, DType.i32, like.lanes)


def _polynomial(a: Arithmetic, x: Value, coefficients: Sequence[float]) -> Value:
    """Horner's scheme, highest power first."""
    total = _number(x, coefficients[0])
    for c in coefficients[1:]:
        total = a.fma(total, x, _number(x, c))
    return total


def _as_integer(a: Arithmetic, x: Value) -> Value:
    kind = value_type(DType.i32, x.lanes)
    return a.out.op(f"bitcast {x.typed} to {kind}", DType.i32, x.lanes, x)


def _as_float(a: Arithmetic, x: Value) -> Value:
    kind = value_type(DType.f32, x.lanes)
    return a.out.op(f"bitcast {x.typed} to {kind}", DType.f32, x.lanes, x)


_ROUNDER = 12582912.0
"""1.5 * 2**23: adding it to a small float leaves the nearest integer in the lowest bits."""


def exp(a: Arithmetic, x: Value) -> Value:
    """e to the power x: x = n ln 2 + r, a polynomial in r, times 2**n."""
    # NaN passes both comparisons unchanged. Beyond these limits the result is 0 or infinite.
    low, high = _number(x, -105.0), _number(x, 90.0)
    x = a.out.select(a.test("fcmp ogt", low, x), low, x)
    x = a.out.select(a.test("fcmp olt", high, x), high, x)
    shifted = a.fma(x, _number(x, 1.44269504), _number(x, _ROUNDER))
    n = a.two("fsub", shifted, _number(x, _ROUNDER))
    r = a.fma(n, _number(x, -0.693359375), x)
    r = a.fma(n, _number(x, 2.12194440e-4), r)
    p = _polynomial(a, r, (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2,
                           1.6666665459e-1, 5.0000001201e-1))  # fmt: skip
    y = a.two("fadd", a.fma(p, a.two("fmul", r, r), r), _number(x, 1.0))
    scaled = a.scaled(y, n)
    if scaled is not None:
        return scaled
    # 2**n in two factors, so that results that are denormal or close to infinity come out right.
    bits = a.two("sub", _as_integer(a, shifted), _integer(x, 0x4B400000))
    half = a.two("ashr", bits, _integer(x, 1))
    for part in (half, a.two("sub", bits, half)):
        biased = a.two("shl", a.two("add", part, _integer(x, 127)), _integer(x, 23))
        y = a.two("fmul", y, _as_float(a, biased))
    return y


def log(a: Arithmetic, x: Value) -> Value:
    """The natural logarithm: x = 2**e * m with m around 1, a polynomial in m - 1, plus e ln 2."""
    tiny = a.test("fcmp olt", x, _number(x, 2.0**-126))
    grown = a.out.select(tiny, a.two("fmul", x, _number(x, 2.0**25)), x)
    bits = _as_integer(a, grown)
    e = a.two("ashr", a.two("sub", bits, _integer(x, 0x3F3504F3)), _integer(x, 23))
    m = _as_float(a, a.two("sub", bits, a.two("shl", e, _integer(x, 23))))
    kind = value_type(DType.f32, x.lanes)
    exponent = a.out.op(f"sitofp {e.typed} to {kind}", DType.f32, x.lanes, e)
    less = a.two("fsub", exponent, _number(x, 25.0))
    exponent = a.out.select(tiny, less, exponent)
    f = a.two("fsub", m, _number(x, 1.0))
    square = a.two("fmul", f, f)
    p = _polynomial(a, f, (7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1,
                           1.4249322787e-1, -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1,
                           3.3333331174e-1))  # fmt: skip
    p = a.two("fmul", a.two("fmul", p, f), square)
    p = a.fma(exponent, _number(x, -2.12194440e-4), p)
    p = a.fma(square, _number(x, -0.5), p)
    found = a.fma(exponent, _number(x, 0.693359375), a.two("fadd", f, p))
    zero, infinity = _number(x, 0.0), _number(x, float("inf"))
    special = a.out.select(a.test("fcmp ogt", x, zero), x, _number(x, float("nan")))
    special = a.out.select(a.test("fcmp oeq", x, zero), _number(x, float("-inf")), special)
    regular = a.out.all_of([a.test("fcmp ogt", x, zero), a.test("fcmp olt", x, infinity)])
    return a.out.select(regular, found, special)


def sigmoid(a: Arithmetic, x: Value) -> Value:
    """1 / (1 + exp(-x)), from exp(-|x|) so that nothing overflows and small results keep digits."""
    e = exp(a, a.negate(a.intrinsic("fabs", x)))
    one = _number(x, 1.0)
    top = a.out.select(a.test("fcmp olt", x, _number(x, 0.0)), e, one)
    return a.two("fdiv", top, a.two("fadd", one, e))


def tanh(a: Arithmetic, x: Value) -> Value:
    """An odd polynomial near 0; 1 - 2 / (exp(2|x|) + 1) with the sign of x elsewhere."""
    magnitude = a.intrinsic("fabs", x)
    e = exp(a, a.two("fadd", magnitude, magnitude))
    one = _number(x, 1.0)
    quotient = a.two("fdiv", _number(x, -2.0), a.two("fadd", e, one))
    far = a.intrinsic("copysign", a.two("fadd", quotient, one), x)
    square = a.two("fmul", x, x)
    p = _polynomial(a, square, (-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2,
                                1.33314422036e-1, -3.33332819422e-1))  # fmt: skip
    near = a.fma(a.two("fmul", p, square), x, x)
    return a.out.select(a.test("fcmp olt", magnitude, _number(x, 0.625)), near, far)


def erf(a: Arithmetic, x: Value) -> Value:
    """The error function: an odd polynomial near 0, 1 - exp(polynomial) elsewhere."""
    t = a.intrinsic("fabs", x)
    s = a.two("fmul", x, x)
    r = a.fma(_number(x, -1.72853470e-5), t, _number(x, 3.83197126e-4))
    u = a.fma(_number(x, -3.88396438e-3), t, _number(x, 2.42546219e-2))
    r = a.fma(r, s, u)
    for c in (-1.06777877e-1, -6.34846687e-1, -1.28717512e-1):
        r = a.fma(r, t, _number(x, c))
    r = a.fma(r, t, a.negate(t))
    # Past 4 the result is 1; this also keeps a positive polynomial from exploding there.
    r = a.out.select(a.test("fcmp ogt", t, _number(x, 4.0)), _number(x, -105.0), r)
    far = a.intrinsic("copysign", a.two("fsub", _number(x, 1.0), exp(a, r)), x)
    p = _polynomial(a, s, (-5.96761703e-4, 4.99119423e-3, -2.67681349e-2, 1.12819925e-1,
                           -3.76125336e-1, 1.28379166e-1))  # fmt: skip
    near = a.fma(p, x, x)
    return a.out.select(a.test("fcmp ogt", t, _number(x, 0.927734375)), far, near)


_SINGLE = {"exp": exp, "log": log, "sigmoid": sigmoid, "tanh": tanh, "erf": erf}
