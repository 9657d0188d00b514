"""The numpy semantics of scalar functions, conversions and data-dependent reads."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from compiler.ir.types import DType

Array = np.ndarray[Any, np.dtype[Any]]


LEAST_NORMAL = np.float32(2.0**-126)
"""The smallest normal f32."""


def fetched(source: Array, places: Sequence[Array]) -> Array:
    """Return the elements at computed indices, clamped to the bounds; 0 from an empty tensor."""
    if source.size == 0:
        shape = np.broadcast_shapes(*(np.shape(i) for i in places))
        return np.zeros(shape, source.dtype)
    clipped = [np.clip(i, 0, n - 1) for i, n in zip(places, source.shape, strict=True)]
    return np.asarray(source[tuple(np.broadcast_arrays(*clipped))] if clipped else source)


def neutral(combine: str, dtype: DType) -> Any:
    """Return the identity element of one of `scalar.COMBINERS`."""
    if combine == "add":
        return dtype.numpy.type(0)
    if combine == "mul":
        return dtype.numpy.type(1)
    if dtype is DType.bool:
        return np.bool_(combine == "min")
    if dtype.is_float:
        return dtype.numpy.type(np.inf if combine == "min" else -np.inf)
    limits = np.iinfo(dtype.numpy)
    return dtype.numpy.type(limits.max if combine == "min" else limits.min)


def convert(x: Array, dtype: DType) -> Array:
    """Convert to an element type: floats truncate towards zero, bool is `!= 0`.

    Storage-only types convert via their arithmetic type.
    """
    source = DType.from_numpy(x.dtype)
    if source.is_storage and source is not dtype:
        x = x.astype(source.wide.numpy)
    if dtype is DType.bool:
        return x != 0
    if source is DType.f64 and dtype.wide is DType.f32 is not dtype:
        x = _towards_odd(x)
    return x.astype(dtype.numpy)


def _towards_odd(x: Array) -> Array:
    """Round f64 to f32 by round-to-odd: truncate, and set the last bit if inexact.

    Rounding the result to a narrower type then equals a single rounding of f64. Without this
    function, ml_dtypes would round twice, first to f32.
    """
    nearest = x.astype(np.float32)
    back = nearest.astype(np.float64)
    bits = nearest.view(np.int32) - (np.abs(back) > np.abs(x))
    return (bits | (back != x)).astype(np.int32).view(np.float32)


def erf(x: Array) -> Array:
    """Compute the error function, which numpy lacks."""
    x = np.asarray(x)
    return np.asarray(_erf(x.astype(np.float64)), np.float64).astype(x.dtype)


def normal_cdf(x: Array) -> Array:
    """Compute the normal cumulative distribution function: erfc(-x / sqrt 2) / 2."""
    x = np.asarray(x)
    tail = _erfc(x.astype(np.float64) * -math.sqrt(0.5))
    return np.asarray(tail, np.float64).astype(x.dtype) * x.dtype.type(0.5)


def normal_cdf_tanh(x: Array) -> Array:
    """Approximate normal_cdf by (1 + tanh(sqrt(2/pi) (x + 0.044715 x**3))) / 2."""
    x = np.asarray(x)
    wide = x.astype(np.float64)
    exponent = -2 * math.sqrt(2 / math.pi) * (wide + 0.044715 * wide * wide * wide)
    return np.asarray(1 / (1 + np.exp(exponent))).astype(x.dtype)


_erf = np.frompyfunc(math.erf, 1, 1)
_erfc = np.frompyfunc(math.erfc, 1, 1)


def divide(a: Array, b: Array) -> Array:
    """Divide; integers truncate towards zero, and give 0 for a divisor of 0."""
    if a.dtype.kind not in "iu":
        return np.true_divide(a, b)
    quotient, remainder = np.floor_divide(a, b), np.remainder(a, b)
    short = (remainder != 0) & ((a < 0) != (b < 0))
    return quotient + short.astype(a.dtype)


def power(a: Array, b: Array) -> Array:
    """Compute a to the power b; integers wrap, and negative powers truncate the reciprocal."""
    if a.dtype.kind not in "iu":
        return np.power(a, b)
    # For bases 1 and -1, the parity of the exponent decides the sign; other bases give 0.
    inverse = np.where(np.abs(a) == 1, np.power(a, b & 1), np.zeros_like(a))
    return np.where(b < 0, inverse, np.power(a, np.where(b < 0, np.zeros_like(b), b)))


INDEX_FUNCTIONS: dict[str, Callable[[Array, Array], Array]] = {
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
}

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": divide,
    "max": np.maximum, "min": np.minimum, "larger": lambda a, b: np.where(b > a, b, a),
    "pow": power, "fmod": np.fmod, "mod": np.remainder,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.invert,
    "shl": np.left_shift, "shr": np.right_shift,
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
    "gt": np.greater, "ge": np.greater_equal,
    "neg": np.negative, "abs": np.abs, "sign": np.sign,
    "floor": np.floor, "ceil": np.ceil, "round": np.rint, "trunc": np.trunc,
    "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "exp": np.exp, "log": np.log,
    "decay": np.exp, "expm1": np.expm1, "log1p": np.log1p,
    "normal_cdf": normal_cdf, "normal_cdf_tanh": normal_cdf_tanh,
    "tanh": np.tanh, "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "erf": erf,
    "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "sinh": np.sinh, "cosh": np.cosh, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "isnan": np.isnan, "isinf": np.isinf,
    "within": lambda x, _: x,
    "flush": lambda x: np.where(np.abs(x) < LEAST_NORMAL, np.copysign(np.float32(0), x), x),
    "select": np.where,
}  # fmt: skip
"""The numpy semantics of every function of `compiler.compute.scalar.FUNCTIONS`."""
