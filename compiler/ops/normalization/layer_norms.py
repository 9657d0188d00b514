"""Normalisation by statistics of the tensor itself: layer, root mean square, instance, group."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.compute.scalar import Scalar
from compiler.errors import require
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.ir.operator import Array, Cost, OnnxCall, Operand, Tensor, op, standard
from compiler.ir.types import TensorType
from compiler.ops.normalization.normalise import column, require_per_channel
from compiler.ops.type_rules.requirements import (
    broadcast_dims,
    normal_axis,
    require_elements,
    rounded,
    traffic,
    wide,
    widened,
)


def _mean(x: Array, axes: tuple[int, ...]) -> Array:
    """Return the mean over some axes; NaN for an empty axis, without NumPy's warning."""
    n = math.prod(x.shape[a] for a in axes)
    return x.sum(axis=axes, keepdims=True, dtype=x.dtype) / x.dtype.type(n)


def _standardised(x: Array, axes: tuple[int, ...], epsilon: float) -> Array:
    centred = x - _mean(x, axes)
    var = _mean(centred * centred, axes)
    return centred / np.sqrt(var + x.dtype.type(epsilon))


@op(traits=("staged",), kind="reduction", exact=False)
def layer_norm(
    x: Tensor, scale: Tensor, bias: Tensor | None = None, *, axis: int = -1, epsilon: float = 1e-5
) -> TensorType:
    """Normalise the axes from `axis` to the last to mean 0 and variance 1, then scale and shift.

    Shapes: scale and bias broadcast to x.
    Errors: E-OP-AXIS, E-OP-SHAPE.
    Source: Ba et al. 2016, arXiv:1607.06450; ONNX LayerNormalization-17.
    """
    require_elements("layer_norm", "float", x, scale, bias)
    if x.type.shape is not None:
        normal_axis(axis, x.rank)
        _require_broadcast_to("layer_norm", x, scale, bias)
    return x.type.logical


def _require_broadcast_to(op_name: str, x: Tensor, *operands: Tensor | None) -> None:
    for o in operands:
        if o is not None and o.type.shape is not None:
            made = broadcast_dims(op_name, x.shape, o.shape)
            require(
                len(made) == x.rank,
                "E-OP-SHAPE",
                f"{op_name} cannot broadcast {o.type} to {x.type}",
            )


@layer_norm.reference
def _(x: Array, scale: Array, bias: Array | None = None, *, axis: int, epsilon: float) -> Array:
    axes = tuple(range(normal_axis(axis, x.ndim), x.ndim))
    with np.errstate(all="ignore"):
        made = _standardised(widened(x), axes, epsilon) * widened(scale)
    return rounded(made if bias is None else made + widened(bias), x)


@layer_norm.cost
def _(
    x: TensorType, scale: TensorType, bias: TensorType | None = None, *, out: TensorType, **_: Any
) -> Cost:
    return traffic([x, scale, bias], out, 8 * x.n_elements)


class _Groups:
    """The stages for mean and variance over inner axes; the outer axes index the groups."""

    def __init__(self, k: Lowering, x: Handle, n_outer: int) -> None:
        self.k, self.x, self.n_outer = k, x, n_outer
        self.dtype = wide(x.dtype)

    def element(self, index: Sequence[Expr]) -> Scalar:
        """Return an element of x in the type of arithmetic."""
        return self.k.convert(self.x[tuple(index)], self.dtype)

    def mean_of(self, hint: str, power: int, centre: Handle | None = None) -> Handle:
        """Emit the mean of each group of x, or the mean of the squared deviations from `centre`."""
        k, shape = self.k, self.x.shape
        made = k.temporary(shape[: self.n_outer], self.dtype, hint)
        outer, inner = (
            k.axes(shape[: self.n_outer]),
            [k.axis(n, "r") for n in shape[self.n_outer :]],
        )
        value = self.element([*outer, *inner])
        if centre is not None:
            value = value - centre[outer]
        if power == 2:
            value = value * value
        share = k.share(shape[self.n_outer :], self.dtype)
        k.assign(made[outer], k.sum(value, over=inner) * share)
        return made

    def standardised(
        self, index: Sequence[Expr], mean: Handle, var: Handle, epsilon: float
    ) -> Scalar:
        """Return an element minus its group's mean, divided by the group's standard deviation."""
        group = tuple(index[: self.n_outer])
        return (self.element(index) - mean[group]) * (1.0 / self.k.sqrt(var[group] + epsilon))


@layer_norm.lower
def _(
    k: Lowering,
    x: Handle,
    scale: Handle,
    bias: Handle | None,
    out: Handle,
    *,
    axis: int,
    epsilon: float,
) -> None:
    groups = _Groups(k, x, normal_axis(axis, x.rank))
    mean = groups.mean_of("mean", 1)
    var = groups.mean_of("var", 2, mean)
    index = k.axes(x.shape)
    value = groups.standardised(index, mean, var, epsilon)
    value = value * k.convert(scale.broadcast(index), groups.dtype)
    if bias is not None:
        value = value + k.convert(bias.broadcast(index), groups.dtype)
    k.assign(out[index], k.convert(value, out.dtype))


@layer_norm.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[2,3,5]", "f32[5]", "f32[5]"], {}
    yield ["f32[2,3,5]", "f32[3,5]"], {"axis": 1, "epsilon": 0.1}
    yield ["f32[4,3]", "f32[4,3]", "f32[3]"], {"axis": 0}
    yield ["f32[2,3,5]", "f32[1]", "f32[]"], {"axis": -2}
    yield ["f32[0,3]", "f32[3]"], {}
    yield ["f16[2,6]", "f16[6]", "f16[6]"], {}


layer_norm.exports_as("LayerNormalization")


@op(traits=("staged",), kind="reduction", exact=False)
def rms_norm(x: Tensor, scale: Tensor, *, axis: int = -1, epsilon: float = 1e-5) -> TensorType:
    """Divide by the root mean square over the axes from `axis` to the last, then scale.

    Shapes: scale broadcasts to x.
    Source: Zhang and Sennrich 2019, arXiv:1910.07467; ONNX RMSNormalization-23.
    """
    require_elements("rms_norm", "float", x, scale)
    if x.type.shape is not None:
        normal_axis(axis, x.rank)
        _require_broadcast_to("rms_norm", x, scale)
    return x.type.logical


@rms_norm.reference
def _(x: Array, scale: Array, *, axis: int, epsilon: float) -> Array:
    given = widened(x)
    axes = tuple(range(normal_axis(axis, x.ndim), x.ndim))
    with np.errstate(all="ignore"):
        mean = _mean(given * given, axes)
        return rounded(given / np.sqrt(mean + given.dtype.type(epsilon)) * widened(scale), x)


@rms_norm.cost
def _(x: TensorType, scale: TensorType, *, out: TensorType, **_: Any) -> Cost:
    return traffic([x, scale], out, 5 * x.n_elements)


@rms_norm.lower
def _(k: Lowering, x: Handle, scale: Handle, out: Handle, *, axis: int, epsilon: float) -> None:
    groups = _Groups(k, x, normal_axis(axis, x.rank))
    square = groups.mean_of("square", 2)
    index = k.axes(x.shape)
    inverse = 1.0 / k.sqrt(square[index[: groups.n_outer]] + epsilon)
    value = groups.element(index) * inverse * k.convert(scale.broadcast(index), groups.dtype)
    k.assign(out[index], k.convert(value, out.dtype))


@rms_norm.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[2,3,5]", "f32[5]"], {}
    yield ["f32[2,3,5]", "f32[3,5]"], {"axis": 1, "epsilon": 0.1}
    yield ["f32[0,3]", "f32[3]"], {"axis": -1}
    yield ["f16[2,6]", "f16[6]"], {}


@rms_norm.onnx("RMSNormalization")
def _(n: OnnxCall) -> Operand | None:
    x, scale = n.operand(0), n.operand(1)
    assert x is not None
    assert scale is not None
    if x.type.shape is None or x.dtype is not scale.dtype or n.attr("stash_type", 1) != 1:
        return None
    axis = normal_axis(int(n.attr("axis", -1)), x.rank)
    return rms_norm(x, scale, axis=axis, epsilon=float(n.attr("epsilon", 1e-5)))


rms_norm.exports_as("RMSNormalization")


@op(traits=("staged",), kind="reduction", exact=False)
def instance_norm(x: Tensor, scale: Tensor, bias: Tensor, *, epsilon: float = 1e-5) -> TensorType:
    """Normalise each channel of each image to mean 0 and variance 1, then scale and shift.

    Shapes: x [N, C, spatial...], scale and bias [C].
    Source: Ulyanov et al. 2016, arXiv:1607.08022; ONNX InstanceNormalization-22.
    """
    require_elements("instance_norm", "float", x, scale, bias)
    if x.type.shape is not None:
        require(x.rank >= 3, "E-OP-SHAPE", f"instance_norm needs spatial axes, got {x.type}")
        require_per_channel("instance_norm", x, scale=scale, bias=bias)
    return x.type.logical


@instance_norm.reference
def _(x: Array, scale: Array, bias: Array, *, epsilon: float) -> Array:
    axes = tuple(range(2, x.ndim))
    s, b = column(widened(scale), x.ndim), column(widened(bias), x.ndim)
    with np.errstate(all="ignore"):
        return rounded(_standardised(widened(x), axes, epsilon) * s + b, x)


@instance_norm.cost
def _(x: TensorType, *rest: TensorType, out: TensorType, epsilon: float) -> Cost:
    return traffic([x, *rest], out, 8 * x.n_elements)


@instance_norm.lower
def _(k: Lowering, x: Handle, scale: Handle, bias: Handle, out: Handle, *, epsilon: float) -> None:
    groups = _Groups(k, x, 2)
    mean = groups.mean_of("mean", 1)
    var = groups.mean_of("var", 2, mean)
    index = k.axes(x.shape)
    s, b = (k.convert(t[index[1]], groups.dtype) for t in (scale, bias))
    value = groups.standardised(index, mean, var, epsilon) * s + b
    k.assign(out[index], k.convert(value, out.dtype))


@instance_norm.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[2,3,5,4]", "f32[3]", "f32[3]"], {}
    yield ["f32[2,3,7]", "f32[3]", "f32[3]"], {"epsilon": 0.1}
    yield ["f32[0,3,5]", "f32[3]", "f32[3]"], {}


@instance_norm.onnx("InstanceNormalization")
def _(n: OnnxCall) -> Operand | None:
    x = n.operand(0)
    assert x is not None
    if x.type.shape is None or x.rank < 3:
        return None
    return instance_norm(*n.operands, epsilon=float(n.attr("epsilon", 1e-5)))


instance_norm.exports_as("InstanceNormalization")


@op(traits=("staged",), kind="reduction", exact=False)
def group_norm(
    x: Tensor, scale: Tensor, bias: Tensor, *, groups: int, epsilon: float = 1e-5
) -> TensorType:
    """Normalise each group of channels of each image to mean 0, variance 1; then scale and shift.

    Shapes: x [N, C, ...], scale and bias [C]; C is a multiple of `groups`.
    Source: Wu and He 2018, arXiv:1803.08494; ONNX GroupNormalization-21.
    """
    require_elements("group_norm", "float", x, scale, bias)
    if x.type.shape is not None:
        require(x.rank >= 2, "E-OP-SHAPE", f"group_norm needs a channel axis, got {x.type}")
        channels = x.shape[1]
        require(
            groups >= 1 and (not isinstance(channels, int) or channels % groups == 0),
            "E-OP-SHAPE",
            f"group_norm cannot split {channels} channels into {groups} groups",
        )
        require_per_channel("group_norm", x, scale=scale, bias=bias)
    return x.type.logical


@group_norm.reference
def _(x: Array, scale: Array, bias: Array, *, groups: int, epsilon: float) -> Array:
    split = widened(x).reshape(x.shape[0], groups, x.shape[1] // groups, *x.shape[2:])
    with np.errstate(all="ignore"):
        made = _standardised(split, tuple(range(2, split.ndim)), epsilon).reshape(x.shape)
    s, b = column(widened(scale), x.ndim), column(widened(bias), x.ndim)
    return rounded(made * s + b, x)


@group_norm.cost
def _(x: TensorType, *rest: TensorType, out: TensorType, groups: int, epsilon: float) -> Cost:
    return traffic([x, *rest], out, 8 * x.n_elements)


@group_norm.lower
def _(
    k: Lowering,
    x: Handle,
    scale: Handle,
    bias: Handle,
    out: Handle,
    *,
    groups: int,
    epsilon: float,
) -> None:
    size = x.shape[1] // groups
    dtype = wide(x.dtype)
    factor = k.share((size, *x.shape[2:]), dtype)

    def mean_of(hint: str, centre: Handle | None) -> Handle:
        made = k.temporary((x.shape[0], groups), dtype, hint)
        n, g = k.axis(x.shape[0], "n"), k.axis(groups, "g")
        inner = [k.axis(m, "r") for m in (size, *x.shape[2:])]
        value = k.convert(x[n, g * size + inner[0], *inner[1:]], dtype)
        if centre is not None:
            value = value - centre[n, g]
            value = value * value
        k.assign(made[n, g], k.sum(value, over=inner) * factor)
        return made

    mean = mean_of("mean", None)
    var = mean_of("var", mean)
    n, c, *rest = k.axes(x.shape)
    group = affine.floordiv(c, size)
    value = k.convert(x[n, c, *rest], dtype) - mean[n, group]
    value = value / k.sqrt(var[n, group] + epsilon)
    value = value * k.convert(scale[c], dtype) + k.convert(bias[c], dtype)
    k.assign(out[n, c, *rest], k.convert(value, out.dtype))


@group_norm.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[2,6,5,4]", "f32[6]", "f32[6]"], {"groups": 2}
    yield ["f32[2,6,3]", "f32[6]", "f32[6]"], {"groups": 3, "epsilon": 0.1}
    yield ["f32[2,4]", "f32[4]", "f32[4]"], {"groups": 2}
    yield ["f32[0,4,3]", "f32[4]", "f32[4]"], {"groups": 1}


@group_norm.export
def _(x: Tensor, scale: Tensor, bias: Tensor, *, groups: int, epsilon: float) -> Operand:
    return standard("GroupNormalization", x, scale, bias, num_groups=groups, epsilon=epsilon)
