"""The numpy meaning of scalar functions, conversions and data-dependent reads."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from compiler.ir.types import DType

Array = np.ndarray[Any, np.dtype[Any]]


LEAST_NORMAL = np.float32(2.0**-126)
"""The smallest f32 with all its digits."""


def fetched(source: Array, places: Sequence[Array]) -> Array:
    """The elements at computed indices, each brought into its axis; 0 from an empty tensor."""
    if source.size == 0:
        shape = np.broadcast_shapes(*(np.shape(i) for i in places))
        return np.zeros(shape, source.dtype)
    clipped = [np.clip(i, 0, n - 1) for i, n in zip(places, source.shape, strict=True)]
    return np.asarray(source[tuple(np.broadcast_arrays(*clipped))] if clipped else source)


def neutral(combine: str, dtype: DType) -> Any:
    """The element that changes nothing when combined by one of `scalar.COMBINERS`."""
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
    """Another element type: floats are cut off towards zero, bool is `!= 0`.

    Types that numbers are only kept in are left by way of the one that is computed with.
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
    """f64 as f32 cut off towards zero, with the last bit set when something was cut off.

    Rounding that again is as good as rounding once; ml_dtypes rounds to f32 first.
    """
    nearest = x.astype(np.float32)
    back = nearest.astype(np.float64)
    bits = nearest.view(np.int32) - (np.abs(back) > np.abs(x))
    return (bits | (back != x)).astype(np.int32).view(np.float32)


def erf(x: Array) -> Array:
    """The error function, which numpy does not have."""
    x = np.asarray(x)
    return np.asarray(_erf(x.astype(np.float64)), np.float64).astype(x.dtype)


def normal_cdf(x: Array) -> Array:
    """The probability that a normal variable is smaller: erfc(-x / sqrt 2) / 2."""
    x = np.asarray(x)
    tail = _erfc(x.astype(np.float64) * -math.sqrt(0.5))
    return np.asarray(tail, np.float64).astype(x.dtype) * x.dtype.type(0.5)


def normal_cdf_tanh(x: Array) -> Array:
    """Its approximation: (1 + tanh(sqrt(2/pi) (x + 0.044715 x**3))) / 2."""
    x = np.asarray(x)
    wide = x.astype(np.float64)
    exponent = -2 * math.sqrt(2 / math.pi) * (wide + 0.044715 * wide * wide * wide)
    return np.asarray(1 / (1 + np.exp(exponent))).astype(x.dtype)


_erf = np.frompyfunc(math.erf, 1, 1)
_erfc = np.frompyfunc(math.erfc, 1, 1)


def divide(a: Array, b: Array) -> Array:
    """Division; of integers rounded towards zero, and 0 where the divisor is 0."""
    if a.dtype.kind not in "iu":
        return np.true_divide(a, b)
    quotient, remainder = np.floor_divide(a, b), np.remainder(a, b)
    short = (remainder != 0) & ((a < 0) != (b < 0))
    return quotient + short.astype(a.dtype)


def power(a: Array, b: Array) -> Array:
    """a to the power b; of integers it wraps, and a negative power is 1/a rounded towards zero."""
    if a.dtype.kind not in "iu":
        return np.power(a, b)
    # An even and an odd exponent keep the signs of 1 and -1; all else becomes 0.
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
"""The numpy meaning of every function of `compiler.compute.scalar.FUNCTIONS`."""
