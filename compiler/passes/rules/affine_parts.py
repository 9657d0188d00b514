"""What folding a scale or a shift into weights needs: channel vectors, and scaled weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any as Anything

import numpy as np

from compiler.ir.constant import Constant
from compiler.ir.operator import Operand, Tensor
from compiler.ir.types import TensorType
from compiler.passes.engine.pattern import AnyAttr, ConstTensor, uniform
from compiler.passes.engine.rule import Skip
from compiler.passes.rules.arithmetic import combined, objection_to, reshaped

SPLAT_GROWTH_BYTES = 1 << 24
"""A weight that is one number may become as many bytes as this, no more."""


class Objection(Exception):
    """Why a scale or shift cannot be folded; the rule hands the text on as its reason to skip."""


def channels(c: ConstTensor, rank: int, axis: int, n: int) -> Constant:
    """A constant that varies along one axis of a tensor only, as a vector of its n channels.

    A uniform constant becomes a splat. Raises Objection for one that varies elsewhere.
    """
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
    objection = objection_to(product, w, scale)
    if objection:
        raise Objection(objection)
    return reshaped(product, w.type.static_shape)


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
    return Constant.of(total.astype(w.dtype.numpy))


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
