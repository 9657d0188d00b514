"""The vector math library: functions without a processor instruction, as vector code.

The compiler emits vector code for f32, and for half precision, which is computed in f32. The
functions are exponentials, logarithms, the normal distribution, sine, cosine, tangent, inverse
tangent and powers. Their code is in `single.py`, `normal.py`, `circular.py` and `power.py`;
`tabled.py` has the variants for targets with table lookups in registers. All functions without
vector code, and all f64 functions, call the C library lane by lane.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from compiler.codegen.arithmetic import tabled
from compiler.codegen.arithmetic.circular import atan, cos, sin, tan
from compiler.codegen.arithmetic.lookup import in_sixteens
from compiler.codegen.arithmetic.normal import erf, normal_cdf, normal_cdf_tanh
from compiler.codegen.arithmetic.power import power
from compiler.codegen.arithmetic.single import decay, exp, expm1, log, log1p, sigmoid, tanh
from compiler.codegen.values import Value, constant
from compiler.ir.types import DType
from compiler.loops.limits import NotLowerable

if TYPE_CHECKING:
    from compiler.codegen.arithmetic.functions import Arithmetic

LIBRARY = {
    "exp", "expm1", "log", "log1p", "tanh", "erf", "erfc", "sin", "cos", "tan", "asin", "acos",
    "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "pow",
}  # fmt: skip
"""Functions that have the same name in the C mathematics library."""


def function(a: Arithmetic, fn: str, args: list[Value]) -> Value:
    """Emit a function of floats on all lanes. Errors: NotLowerable for an unknown function."""
    x = args[0]
    if fn == "pow":
        found = _power(a, x, args[1])
        if found is not None:
            return found
    if x.dtype is DType.f64:
        return _DOUBLE[fn](a, x) if fn in _DOUBLE else library_call(a, fn, args)
    single = [Value(v.ref, DType.f32, v.lanes, v.level) for v in args]
    if fn == "pow":
        found = power(a, *single)
    elif fn in _TABLED and a.has_tables:
        found = in_sixteens(a, single[0], lambda x: _TABLED[fn](a, x))
    elif fn in _SINGLE:
        found = _SINGLE[fn](a, single[0])
    else:
        found = library_call(a, fn, single)
    return Value(found.ref, x.dtype, found.lanes, found.level)


def library_call(a: Arithmetic, fn: str, args: list[Value]) -> Value:
    """Emit one call of the C library per lane."""
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
    """Emit a power with a small literal exponent; None for other exponents."""
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


# f64


def _sigmoid(a: Arithmetic, x: Value) -> Value:
    """Emit 1 / (1 + exp(-x)), computed from exp(-|x|) so that small results are precise."""
    e = library_call(a, "exp", [a.negate(a.intrinsic("fabs", x))])
    one = constant(1.0, x.dtype, x.lanes)
    top = a.out.select(a.test("fcmp olt", x, constant(0.0, x.dtype, x.lanes)), e, one)
    return a.two("fdiv", top, a.two("fadd", one, e))


def _normal_cdf(a: Arithmetic, x: Value) -> Value:
    """Emit erfc(y) / 2 for y = -x / sqrt 2, plus the slope at y times the rounding error of y."""

    def number(value: float) -> Value:
        return constant(value, x.dtype, x.lanes)

    y = a.two("fmul", x, number(-math.sqrt(0.5)))
    lost = a.fma(x, number(-math.sqrt(0.5)), a.negate(y))
    lost = a.fma(x, number(_ROOT_LOST), lost)
    slope = library_call(a, "exp", [a.negate(a.two("fmul", y, y))])
    change = a.two("fmul", a.two("fmul", slope, number(-1 / math.sqrt(math.pi))), lost)
    tail = a.two("fmul", library_call(a, "erfc", [y]), number(0.5))
    # No correction is needed if the slope is 0 (it is below the smallest denormal, or x is
    # infinite).
    return a.out.select(a.test("fcmp oeq", slope, number(0.0)), tail, a.two("fadd", tail, change))


def _normal_cdf_tanh(a: Arithmetic, x: Value) -> Value:
    """Emit the sigmoid of 2 sqrt(2/pi) (x + 0.044715 x**3)."""
    linear = 2 * math.sqrt(2 / math.pi)
    cubic = constant(linear * 0.044715, x.dtype, x.lanes)
    square = a.two("fmul", x, x)
    factor = a.fma(cubic, square, constant(linear, x.dtype, x.lanes))
    return _sigmoid(a, a.two("fmul", x, factor))


_ROOT_LOST = 4.833646656726457e-17
"""-sqrt(1/2) minus the f64 nearest to it."""

Function = Callable[["Arithmetic", Value], Value]

_DOUBLE: dict[str, Function] = {
    "decay": lambda a, x: library_call(a, "exp", [x]),
    "sigmoid": _sigmoid, "normal_cdf": _normal_cdf, "normal_cdf_tanh": _normal_cdf_tanh,
}  # fmt: skip

_SINGLE: dict[str, Function] = {
    "exp": exp, "decay": decay, "expm1": expm1, "log": log, "log1p": log1p,
    "sigmoid": sigmoid, "tanh": tanh, "erf": erf,
    "normal_cdf": normal_cdf, "normal_cdf_tanh": normal_cdf_tanh,
    "sin": sin, "cos": cos, "tan": tan,
    "atan": atan,
}  # fmt: skip

_TABLED: dict[str, Function] = {
    "exp": tabled.exp, "decay": tabled.decay, "sigmoid": tabled.sigmoid,
    "tanh": tabled.tanh, "erf": tabled.erf,
    "normal_cdf": tabled.normal_cdf, "normal_cdf_tanh": tabled.normal_cdf_tanh,
}  # fmt: skip

WRITTEN_OUT = frozenset({*_SINGLE, "pow"})
"""Functions that expand to long chains of operations, at least for f32."""
