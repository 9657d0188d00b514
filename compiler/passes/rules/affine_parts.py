"""Shared functions for folding scales and shifts into weights: channel vectors, scaled weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any as Anything

import ml_dtypes
import numpy as np

from compiler.ir.constant import Constant
from compiler.ir.operator import Array, Operand, Tensor
from compiler.ir.types import DType, TensorType
from compiler.passes.engine.pattern import AnyAttr, ConstTensor, uniform
from compiler.passes.engine.rule import Skip
from compiler.passes.rules.arithmetic import combined, is_finite, objection_to, reshaped

SPLAT_GROWTH_BYTES = 1 << 24
"""Largest size in bytes of a splat weight that may be materialised."""


class Objection(Exception):
    """Raised with the reason against a fold; `or_skip` returns this reason as a `Skip`."""


def channels(c: ConstTensor, rank: int, axis: int, n: int, x: Tensor | None = None) -> Constant:
    """Convert a constant that varies only along one axis of a tensor to a vector of n channels.

    A uniform constant becomes a splat. Raises Objection if the constant varies along other axes, or
    if the tensor x does not have n channels.
    """
    if x is not None:
        sizes = x.type.shape or ()
        if len(sizes) != rank or not rank or sizes[axis] != n:
            raise Objection(f"{x.name} is {x.type}, smaller than the scaled tensor")
    shape = (1,) * (rank - c.rank) + c.stored.type.static_shape
    if len(shape) > rank:
        raise Objection(f"{c.name} has more axes than the result")
    for i, size in enumerate(shape):
        if i != axis and size != 1:
            raise Objection(f"{c.name} varies along axis {i}, not only along the channel axis")
    if shape[axis] == n:
        return reshaped(c.stored, [n])
    if shape[axis] != 1:
        raise Objection(f"{c.name} has {shape[axis]} channels, but the result has {n}")
    return Constant.splat(uniform(reshaped(c.stored, [1])), TensorType(c.dtype, (n,)))


def scaled(w: Constant, scale: Constant, shape: Sequence[int], inner: Sequence[int]) -> Constant:
    """Multiply weights in the shape `inner` by a scale in the shape `shape`, with broadcasting.

    The result has the shape of the weights. Raises Objection if values would overflow or lose
    digits, or if a splat above the limit would have to be materialised.
    """
    if w.is_splat and uniform(scale) is None and w.type.nbytes > SPLAT_GROWTH_BYTES:
        raise Objection(
            f"the weights are a splat, and would take {w.type.nbytes:,} bytes when scaled"
        )
    product = combined(np.multiply, reshaped(w, inner), reshaped(scale, shape))
    check_kept(product, w, scale)
    return reshaped(product, w.type.static_shape)


def check_kept(made: Constant, *parts: Constant) -> None:
    """Raise Objection if a product of constants overflows to infinity or loses digits to underflow.

    A float below the smallest normal number has fewer digits.
    """
    if not all(is_finite(p) for p in parts):
        raise Objection("constants with infinities or NaN are not folded")
    objection = objection_to(made, *parts)
    if objection:
        raise Objection(objection)
    if not made.type.dtype.is_float or not made.type.n_elements:
        return
    largest = _largest(made)
    if largest < float(ml_dtypes.finfo(made.type.dtype.numpy).smallest_normal):
        if all(_largest(p) for p in parts):
            raise Objection(f"values up to {largest:.3g} would lose digits in {made.type.dtype}")


def _largest(c: Constant) -> float:
    """Return the largest magnitude of the elements of a finite constant."""
    values = np.asarray(uniform(c)) if c.is_splat else c.array()
    values = values.astype(np.float64) if c.type.dtype.nbytes < 4 else values
    return float(max(values.max(initial=0.0), -values.min(initial=0.0)))


def shifted(bias: Constant | None, shift: Constant, scale: Constant | None = None) -> Constant:
    """Return a bias (0 if None) times a scale, plus a shift. Raises Objection like `scaled`."""
    if bias is None:
        return shift
    if scale is None:
        made = combined(np.add, bias, shift)
        parts = (bias, shift)
    else:
        made = combined(lambda b, s, t: b * s + t, bias, scale, shift)
        parts = (bias, scale, shift)
    objection = objection_to(made, *parts)
    if objection:
        raise Objection(objection)
    return made


def beside(c: ConstTensor, rank: int, w: ConstTensor, *, inner: int, lost: int) -> tuple[int, ...]:
    """Return the shape in which a scale of a product's result broadcasts to a constant operand.

    The product's result has `rank` axes, of which the last two are those of a matrix. `inner` is
    the contracted axis of the operand, -1 or -2. `lost` is the result axis that the other operand
    contributes, counted from the end; 0 if there is none. Raises Objection for a scale that varies
    along axis `lost`, or along a batch axis that the operand lacks.
    """
    if c.rank > rank:
        raise Objection(f"{c.name} has more axes than the result")
    sizes = list((1,) * (rank - c.rank) + c.stored.type.static_shape)
    if lost:
        other = sizes.pop(lost)
        if other != 1:
            raise Objection(f"{c.name} varies along the axis of the product's other operand")
    shape = w.stored.type.static_shape
    n_outer = max(len(sizes) - (len(shape) - 1), 0)
    if any(n != 1 for n in sizes[:n_outer]):
        raise Objection(f"{c.name} varies along a batch axis that {w.name} lacks")
    at = len(shape) + inner
    made = (*sizes[n_outer:][:at], 1, *sizes[n_outer:][at:])
    for n, size in zip(made, shape, strict=True):
        if n not in (1, size):
            raise Objection(
                f"{c.name} is {c.type}, which does not broadcast to {w.name}, a {w.type}"
            )
    return made


def sum_over_rows(w: ConstTensor, shift: Constant, axis: int) -> Constant:
    """Return the product of a shift and the weights: the sum over the rows along `axis`."""
    rows = np.moveaxis(w.stored.array().astype(np.float64), axis, 0)
    return _rounded_sum(np.tensordot(shift.array().astype(np.float64), rows, 1), w.dtype)


def check_summable(w: ConstTensor) -> None:
    """Raise Objection for splat weights too large to materialise."""
    if w.stored.type.nbytes > SPLAT_GROWTH_BYTES and w.stored.is_splat:
        raise Objection(
            f"{w.stored.type.n_elements:,} equal weights would have to be materialised to sum them"
        )


def outputs_of(w: ConstTensor, groups: int, *, transposed: bool) -> int:
    """Return the number of output channels of a convolution, transposed or not."""
    shape = w.stored.type.static_shape
    return shape[1] * groups if transposed else shape[0]


def scale_outputs(w: ConstTensor, scale: Constant, groups: int, *, transposed: bool) -> Constant:
    """Scale each output channel of a convolution's weights."""
    shape = w.stored.type.static_shape
    kernel = shape[2:]
    ones = (1,) * len(kernel)
    if not transposed:
        return scaled(w.stored, scale, (shape[0], 1, *ones), shape)
    inner = (groups, shape[0] // groups, shape[1], *kernel)
    return scaled(w.stored, scale, (groups, 1, shape[1], *ones), inner)


def scale_inputs(w: ConstTensor, scale: Constant, groups: int) -> Constant:
    """Scale each input channel of a convolution's weights."""
    n_out, per_group, *kernel = w.stored.type.static_shape
    ones = (1,) * len(kernel)
    inner = (groups, n_out // groups, per_group, *kernel)
    return scaled(w.stored, scale, (groups, 1, per_group, *ones), inner)


def sum_over_inputs(w: ConstTensor, shift: Constant, groups: int) -> Constant:
    """Return the amount by which a per-input-channel shift changes each output, without padding."""
    n_out, per_group, *_ = w.stored.type.static_shape
    taps = w.stored.array().reshape(groups, n_out // groups, per_group, -1).astype(np.float64)
    amounts = shift.array().astype(np.float64).reshape(groups, 1, per_group)
    total = (taps.sum(axis=-1) * amounts).sum(axis=-1).reshape(n_out)
    return _rounded_sum(total, w.dtype)


def _rounded_sum(total: Array, dtype: DType) -> Constant:
    with np.errstate(over="ignore"):
        made = Constant.of(total.astype(dtype.numpy))
    if not is_finite(made):
        raise Objection(f"a value would overflow {dtype}")
    return made


def or_skip(body: Callable[..., Operand]) -> Callable[..., Operand]:
    """Decorate a rule to return `Skip` with the reason of a raised Objection."""

    @wraps(body)
    def guarded(**given: Anything) -> Operand:
        try:
            return body(**given)
        except Objection as e:
            return Skip(str(e))

    return guarded


def attributes(*names: str) -> dict[str, AnyAttr]:
    """Return a placeholder for each attribute of an operator, under the attribute's name."""
    return {name: AnyAttr(name) for name in names}
