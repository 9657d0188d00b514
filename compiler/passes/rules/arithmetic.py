"""Arithmetic on constants inside rules: in f64, rounded once, and splats stay splats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from compiler.ir.constant import Constant
from compiler.ir.operator import Tensor
from compiler.ir.types import DType, TensorType
from compiler.passes.engine.pattern import uniform
from compiler.passes.engine.rule import Skip

Array = np.ndarray[Any, np.dtype[Any]]

EXACT_BY_ROUNDING = (np.add, np.subtract, np.multiply)
"""What f32 gives to the bit as f64 rounded once: that holds all digits of what is rounded."""


def scalar(value: float, dtype: DType) -> Constant:
    """A constant of rank 0."""
    return Constant.of(np.asarray(value).astype(dtype.numpy))


def combined(fn: Callable[..., Any], *constants: Constant) -> Constant:
    """An elementwise function of constants of one element type, under broadcasting.

    Floating point numbers are computed in f64 and rounded once. When every operand is one number,
    so is the result, whatever its size.
    """
    dtype = constants[0].type.dtype
    numbers = [uniform(c) for c in constants]
    with np.errstate(all="ignore"):
        if any(c.is_splat for c in constants) and all(n is not None for n in numbers):
            shape = np.broadcast_shapes(*(c.type.static_shape for c in constants))
            value = fn(*(widened(np.asarray(n, dtype.numpy)) for n in numbers))
            return Constant.splat(_narrow(value, dtype), TensorType(dtype, shape))
        arrays = [c.array() for c in constants]
        if dtype is DType.f32 and fn in EXACT_BY_ROUNDING:
            return Constant.of(fn(*arrays))
        return Constant.of(_narrow(fn(*map(widened, arrays)), dtype))


def widened(x: Array) -> Array:
    """Floats as f64, in which constants are computed; whole numbers as they are."""
    return x.astype(np.float64) if x.dtype.kind not in "biu" else x


def _narrow(x: Any, dtype: DType) -> Array:
    return np.asarray(x).astype(dtype.numpy)


def reshaped(c: Constant, shape: Sequence[int]) -> Constant:
    """The same elements in another shape, without a copy where the storage allows it."""
    t = TensorType(c.type.dtype, tuple(shape))
    if c.is_splat:
        return Constant(t, c.storage, c.origins)
    return Constant.of(c.array().reshape(tuple(shape)), c.type.dtype, c.origins)


def filled(value: int, t: TensorType) -> Constant | Skip:
    """A number as a constant of a type; not where that is open."""
    if not t.is_static:
        return Skip(f"the shape of {t} is open, so there is no constant of that shape")
    return Constant.splat(value, t)


def unless_long(x: Tensor) -> Skip | None:
    """An objection to floats in whose type ordinary numbers may overflow on the way."""
    if not x.dtype.is_float or x.dtype in (DType.f32, DType.f64, DType.bf16):
        return None
    return Skip(f"on the way a number may be too large for {x.dtype}")


def is_finite(c: Constant) -> bool:
    """Whether no element is infinite or NaN."""
    if c.is_splat:
        return bool(np.isfinite(np.asarray(uniform(c))))
    values = c.array()
    if c.type.dtype not in (DType.f32, DType.f64):
        return bool(np.isfinite(values).all())
    # A NaN is the least and the largest of all.
    return bool(np.isfinite(values.min(initial=0.0)) and np.isfinite(values.max(initial=0.0)))


def objection_to(made: Constant, *parts: Constant) -> str:
    """Why a constant made of others is no good: too large, or numbers lost; empty when it is."""
    largest = max(p.type.n_elements for p in parts)
    if not made.is_splat and made.type.n_elements > largest:
        return (
            f"together they would have {made.type.n_elements:,} elements, "
            f"the larger one has {largest:,}"
        )
    if all(is_finite(p) for p in parts) and not is_finite(made):
        return f"a number would be too large for {made.type.dtype}"
    return ""
