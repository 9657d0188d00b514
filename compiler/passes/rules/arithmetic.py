"""Constant arithmetic for rules, computed in f64 and rounded once; splats stay splats."""

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
"""Operators whose f64 result, rounded to f32, equals the f32 result: f64 has enough digits."""


def scalar(value: float, dtype: DType) -> Constant:
    """Return a constant of rank 0."""
    return Constant.of(np.asarray(value).astype(dtype.numpy))


def combined(fn: Callable[..., Any], *constants: Constant) -> Constant:
    """Apply an elementwise function to constants of one element type, with broadcasting.

    Floating point values are computed in f64 and rounded once. If all operands are
    splats, the result is a splat of any size.
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
    """Convert floats to f64, the type of constant arithmetic; return integers unchanged."""
    return x.astype(np.float64) if x.dtype.kind not in "biu" else x


def _narrow(x: Any, dtype: DType) -> Array:
    return np.asarray(x).astype(dtype.numpy)


def reshaped(c: Constant, shape: Sequence[int]) -> Constant:
    """Reshape a constant, without a copy if its storage permits that."""
    t = TensorType(c.type.dtype, tuple(shape))
    if c.is_splat:
        return Constant(t, c.storage, c.origins)
    return Constant.of(c.array().reshape(tuple(shape)), c.type.dtype, c.origins)


def filled(value: int, t: TensorType) -> Constant | Skip:
    """Return a constant of type `t` whose elements all equal `value`; Skip if the shape is open."""
    if not t.is_static:
        return Skip(f"the shape of {t} is open, so no constant can have it")
    return Constant.splat(value, t)


def unless_long(x: Tensor) -> Skip | None:
    """Return Skip for float types in which intermediate values may overflow, else None."""
    if not x.dtype.is_float or x.dtype in (DType.f32, DType.f64, DType.bf16):
        return None
    return Skip(f"an intermediate value may overflow {x.dtype}")


def is_finite(c: Constant) -> bool:
    """Whether every element is finite."""
    if c.is_splat:
        return bool(np.isfinite(np.asarray(uniform(c))))
    values = c.array()
    if c.type.dtype not in (DType.f32, DType.f64):
        return bool(np.isfinite(values).all())
    # The minimum and maximum of an array with NaN are NaN.
    return bool(np.isfinite(values.min(initial=0.0)) and np.isfinite(values.max(initial=0.0)))


def objection_to(made: Constant, *parts: Constant) -> str:
    """Return the reason against a combined constant (growth, overflow), or "" if it is usable."""
    largest = max(p.type.n_elements for p in parts)
    if not made.is_splat and made.type.n_elements > largest:
        return (
            f"the combined constant would have {made.type.n_elements:,} elements, but the larger "
            f"original has {largest:,}"
        )
    if all(is_finite(p) for p in parts) and not is_finite(made):
        return f"a value would overflow {made.type.dtype}"
    return ""
