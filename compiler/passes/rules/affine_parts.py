"""What folding a scale or a shift into weights needs: channel vectors, and scaled weights."""

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
"""A weight that is one number may become as many bytes as this, no more."""


class Objection(Exception):
    """Why a scale or shift cannot be folded; the rule hands the text on as its reason to skip."""


def channels(c: ConstTensor, rank: int, axis: int, n: int, x: Tensor | None = None) -> Constant:
    """A constant that varies along one axis of a tensor only, as a vector of its n channels.

    A uniform constant becomes a splat. Raises Objection for one that varies elsewhere, and when
    the tensor x that it meets has not these channels itself.
    """
    if x is not None and (x.type.shape is None or x.rank != rank or x.shape[axis] != n):
        raise Objection(f"{x.name} is {x.type}; the scaled tensor is larger")
    shape = (1,) * (rank - c.rank) + c.stored.type.static_shape
    if len(shape) > rank:
        raise Objection(f"{c.name} has more axes than the result")
    for i, size in enumerate(shape):
        if i != axis and size != 1:
            raise Objection(f"{c.name} varies along axis {i}, not only along the channels")
    if shape[axis] == n:
        return reshaped(c.stored, [n])
    if shape[axis] != 1:
        raise Objection(f"{c.name} has {shape[axis]} channels, the result {n}")
    return Constant.splat(uniform(reshaped(c.stored, [1])), TensorType(c.dtype, (n,)))


def scaled(w: Constant, scale: Constant, shape: Sequence[int], inner: Sequence[int]) -> Constant:
    """Weights times a scale: both seen in the shape `inner` and `shape` that broadcast together.

    The result has the shape of the weights. Raises Objection when numbers would be lost or a splat
    would have to be written out at length.
    """
    if w.is_splat and uniform(scale) is None and w.type.nbytes > SPLAT_GROWTH_BYTES:
        raise Objection(f"the weights are one number now, and would take {w.type.nbytes:,} bytes")
    product = combined(np.multiply, reshaped(w, inner), reshaped(scale, shape))
    check_kept(product, w, scale)
    return reshaped(product, w.type.static_shape)


def check_kept(made: Constant, *parts: Constant) -> None:
    """Raises Objection when a product of constants has lost numbers that its parts have.

    Too large a number becomes infinite; where all are too small, digits are missing, since below
    the smallest normal number a float has ever fewer of them.
    """
    if not all(is_finite(p) for p in parts):
        raise Objection("infinities and NaN among constants stay where they are")
    objection = objection_to(made, *parts)
    if objection:
        raise Objection(objection)
    if not made.type.dtype.is_float or not made.type.n_elements:
        return
    largest = _largest(made)
    if largest < float(ml_dtypes.finfo(made.type.dtype.numpy).smallest_normal):
        if all(_largest(p) for p in parts):
            raise Objection(f"numbers up to {largest:.3g} would lose digits in {made.type.dtype}")


def _largest(c: Constant) -> float:
    """The largest magnitude of elements that are all finite."""
    values = np.asarray(uniform(c)) if c.is_splat else c.array()
    values = values.astype(np.float64) if c.type.dtype.nbytes < 4 else values
    return float(max(values.max(initial=0.0), -values.min(initial=0.0)))


def shifted(bias: Constant | None, shift: Constant, scale: Constant | None = None) -> Constant:
    """A bias (none counts as 0) times a scale, plus a shift. Raises Objection as `scaled`."""
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
    """The shape in which a scale of a product's result broadcasts to an operand of constants.

    The result has `rank` axes, the last two (as many as it has) those of a matrix. `inner` is the
    operand's axis that is summed over, -1 or -2; the result has the other operand's axis at `lost`,
    counted from its end, 0 for none. Raises Objection for a scale that varies along that one, or
    along a batch that the operand is not part of.
    """
    if c.rank > rank:
        raise Objection(f"{c.name} has more axes than the result")
    sizes = list((1,) * (rank - c.rank) + c.stored.type.static_shape)
    if lost:
        other = sizes.pop(lost)
        if other != 1:
            raise Objection(f"{c.name} varies along the lines of the other operand")
    shape = w.stored.type.static_shape
    n_outer = max(len(sizes) - (len(shape) - 1), 0)
    if any(n != 1 for n in sizes[:n_outer]):
        raise Objection(f"{c.name} varies along a batch that {w.name} is not part of")
    at = len(shape) + inner
    made = (*sizes[n_outer:][:at], 1, *sizes[n_outer:][at:])
    for n, size in zip(made, shape, strict=True):
        if n not in (1, size):
            raise Objection(f"{c.name} is {c.type}, {w.name} only {w.type}")
    return made


def sum_over_rows(w: ConstTensor, shift: Constant, axis: int) -> Constant:
    """What a shift of each row (along `axis`) of a matrix of weights adds to each column."""
    rows = np.moveaxis(w.stored.array().astype(np.float64), axis, 0)
    return _rounded_sum(np.tensordot(shift.array().astype(np.float64), rows, 1), w.dtype)


def check_summable(w: ConstTensor) -> None:
    """Raises Objection for weights that are one number and too many to write out."""
    if w.stored.type.nbytes > SPLAT_GROWTH_BYTES and w.stored.is_splat:
        raise Objection(f"the sum over {w.stored.type.n_elements:,} equal weights is left alone")


def outputs_of(w: ConstTensor, groups: int, *, transposed: bool) -> int:
    """Output channels of a convolution's weights; of a transposed one's they are per group."""
    shape = w.stored.type.static_shape
    return shape[1] * groups if transposed else shape[0]


def scale_outputs(w: ConstTensor, scale: Constant, groups: int, *, transposed: bool) -> Constant:
    """Weights of a convolution, each output channel times its scale."""
    shape = w.stored.type.static_shape
    kernel = shape[2:]
    ones = (1,) * len(kernel)
    if not transposed:
        return scaled(w.stored, scale, (shape[0], 1, *ones), shape)
    inner = (groups, shape[0] // groups, shape[1], *kernel)
    return scaled(w.stored, scale, (groups, 1, shape[1], *ones), inner)


def scale_inputs(w: ConstTensor, scale: Constant, groups: int) -> Constant:
    """Weights of a convolution, each input channel times its scale."""
    n_out, per_group, *kernel = w.stored.type.static_shape
    ones = (1,) * len(kernel)
    inner = (groups, n_out // groups, per_group, *kernel)
    return scaled(w.stored, scale, (groups, 1, per_group, *ones), inner)


def sum_over_inputs(w: ConstTensor, shift: Constant, groups: int) -> Constant:
    """What a shift of each input channel adds to each output channel, without padding."""
    n_out, per_group, *_ = w.stored.type.static_shape
    taps = w.stored.array().reshape(groups, n_out // groups, per_group, -1).astype(np.float64)
    amounts = shift.array().astype(np.float64).reshape(groups, 1, per_group)
    total = (taps.sum(axis=-1) * amounts).sum(axis=-1).reshape(n_out)
    return _rounded_sum(total, w.dtype)


def _rounded_sum(total: Array, dtype: DType) -> Constant:
    with np.errstate(over="ignore"):
        made = Constant.of(total.astype(dtype.numpy))
    if not is_finite(made):
        raise Objection(f"a number would be too large for {dtype}")
    return made


def counted(n: int, what: str) -> str:
    """A number of things in words."""
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def traffic(x: Tensor, t: TensorType) -> str:
    """How many bytes a vanished elementwise node over t no longer reads and writes, as words."""
    return f"{2 * t.nbytes:,} bytes of traffic less" if t.is_static else "one trip less"


def or_skip(body: Callable[..., Operand]) -> Callable[..., Operand]:
    """Let an Objection raised on the way be the reason to skip."""

    @wraps(body)
    def guarded(**given: Anything) -> Operand:
        try:
            return body(**given)
        except Objection as e:
            return Skip(str(e))

    return guarded


def attributes(*names: str) -> dict[str, AnyAttr]:
    """A placeholder for each of an operator's attributes, under the attribute's name."""
    return {name: AnyAttr(name) for name in names}
