"""Normalisation by stored statistics (batch normalisation), and across neighbouring channels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.compute.scalar import Scalar
from compiler.errors import require
from compiler.ir import affine
from compiler.ir.operator import OPERATORS, Array, Call, Cost, OnnxCall, Operand, Tensor, op
from compiler.ir.types import TensorType
from compiler.ops.elementwise.arithmetic import add, div, mul, sqrt, sub
from compiler.ops.type_rules.requirements import (
    require_elements,
    require_rank,
    require_size,
    rounded,
    traffic,
    wide,
    widened,
)


def require_per_channel(op_name: str, x: Tensor, **operands: Tensor) -> None:
    """Check that each operand has one element per channel of x. Errors: E-OP-SHAPE."""
    for what, o in operands.items():
        require_rank(op_name, o, (1,), what)
        require_size(op_name, what, o.shape[0], x.shape[1])


def column(x: Array, rank: int) -> Array:
    """Reshape a vector so that it broadcasts along axis 1 of a tensor of this rank."""
    return x.reshape(-1, *[1] * (rank - 2))


# Batch


@op(traits=("positional", "affine"), kind="elementwise", exact=False, inplace=(0,))
def batch_norm(
    x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, var: Tensor, *, epsilon: float = 1e-5
) -> TensorType:
    """Normalise each channel: (x - mean) / sqrt(var + epsilon) * scale + bias.

    The operator is batch normalisation for inference: mean and variance are operands, not
    statistics of x.
    Shapes: x [N, C, ...]; all other operands [C].
    Source: Ioffe and Szegedy 2015, arXiv:1502.03167; ONNX BatchNormalization-15.
    """
    require_elements("batch_norm", "float", x, scale, bias, mean, var)
    if x.type.shape is not None:
        require(x.rank >= 2, "E-OP-SHAPE", f"batch_norm needs a channel axis, got {x.type}")
        require_per_channel("batch_norm", x, scale=scale, bias=bias, mean=mean, var=var)
    return x.type.logical


@batch_norm.reference
def _(x: Array, scale: Array, bias: Array, mean: Array, var: Array, *, epsilon: float) -> Array:
    s, b, m, v = (column(widened(a), x.ndim) for a in (scale, bias, mean, var))
    with np.errstate(all="ignore"):
        return rounded((widened(x) - m) / np.sqrt(v + v.dtype.type(epsilon)) * s + b, x)


@batch_norm.cost
def _(x: TensorType, *statistics: TensorType, out: TensorType, epsilon: float) -> Cost:
    return traffic([x, *statistics], out, 2 * x.n_elements + 4 * statistics[0].n_elements)


@batch_norm.lower
def _(
    k: Lowering,
    x: Handle,
    scale: Handle,
    bias: Handle,
    mean: Handle,
    var: Handle,
    out: Handle,
    *,
    epsilon: float,
) -> None:
    n, c, *rest = k.axes(x.shape)
    s, b, m, v = (k.convert(t[c], wide(t.dtype)) for t in (scale, bias, mean, var))
    element = k.convert(x[n, c, *rest], wide(x.dtype))
    k.assign(out[n, c, *rest], k.convert((element - m) / k.sqrt(v + epsilon) * s + b, out.dtype))


@batch_norm.decompose
def _(x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, var: Tensor, *, epsilon: float) -> Call:
    """Decompose into x * factor + shift; factor and shift have one element per channel."""

    def per_channel(t: Operand) -> Call:
        return OPERATORS["reshape"](t, np.array([-1] + [1] * (x.rank - 2), np.int64))

    factor = div(scale, sqrt(add(var, np.asarray(epsilon, x.dtype.numpy))))
    shift = sub(bias, mul(mean, factor))
    return add(mul(x, per_channel(factor)), per_channel(shift))


@batch_norm.samples
def _() -> Iterator[tuple[Any, ...]]:
    var = np.array([0.5, 2.0, 0.0], np.float32)
    yield ["f32[2,3,5,4]", *["f32[3]"] * 3, var], {}
    yield ["f32[2,3]", *["f32[3]"] * 3, var], {"epsilon": 0.1}
    yield ["f32[1,3,2,3,2]", *["f32[3]"] * 3, var], {}
    yield ["f32[0,3,5]", *["f32[3]"] * 3, var], {}
    yield ["f64[1,3,5]", *["f64[3]"] * 3, var.astype(np.float64)], {"epsilon": 0.01}


@batch_norm.onnx("BatchNormalization")
def _(n: OnnxCall) -> Operand | tuple[Operand, ...] | None:
    """Import BatchNormalization; training before opset 14, with five outputs, stays foreign."""
    x = n.operand(0)
    assert x is not None
    training = bool(n.attr("training_mode", 0)) if n.opset >= 14 else n.n_outputs > 1
    if n.opset < 7:
        training = not n.attr("is_test", 0)
    per_element = n.opset < 9 and not n.attr("spatial", 1)
    if per_element or x.type.shape is None or x.rank < 2:
        return None
    if len({o.dtype for o in n.operands if o is not None}) > 1:
        return None
    if training and n.opset >= 14:
        return _in_training(n, x)
    if training or n.n_outputs > 1:
        return None
    return batch_norm(*n.operands[:5], epsilon=float(n.attr("epsilon", 1e-5)))


batch_norm.exports_as("BatchNormalization")


def _in_training(n: OnnxCall, x: Tensor) -> tuple[Operand, ...]:
    """Normalise by the mean and variance of the batch, and update the running statistics."""
    _, scale, bias, mean, var = n.operands[:5]
    kept = float(n.attr("momentum", 0.9))
    axes = (0, *range(2, x.rank))
    reduce_mean, reshape = OPERATORS["reduce_mean"], OPERATORS["reshape"]
    own_mean = reduce_mean(x, axes=axes, keepdims=True).out(0)
    centred = sub(x, own_mean).out(0)
    own_var = reduce_mean(mul(centred, centred), axes=axes, keepdims=False).out(0)
    flat_mean = reshape(own_mean, np.array([-1], np.int64)).out(0)
    epsilon = float(n.attr("epsilon", 1e-5))

    def moved(old: Operand, new: Operand) -> Operand:
        old_part = mul(old, np.asarray(kept, x.dtype.numpy))
        return add(old_part, mul(new, np.asarray(1 - kept, x.dtype.numpy)))

    made = batch_norm(x, scale, bias, flat_mean, own_var, epsilon=epsilon)
    return made, moved(mean, flat_mean), moved(var, own_var)


# Across channels


@op(kind="reduction", exact=False)
def lrn(
    x: Tensor, *, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0
) -> TensorType:
    """Divide each element by a power of a sum of squares over `size` adjacent channels.

    out = x / (bias + alpha/size * sum of squares) ** beta, where channels outside count as 0.
    Shapes: x [N, C, ...].
    Source: Krizhevsky et al. 2012, section 3.3; ONNX LRN-13.
    """
    require_elements("lrn", "float", x)
    require(size >= 1, "E-OP-ATTRIBUTE", f"lrn needs a size of at least 1, got {size}")
    if x.type.shape is not None:
        require(x.rank >= 2, "E-OP-SHAPE", f"lrn needs a channel axis, got {x.type}")
    return x.type.logical


def _reach(size: int, n_channels: int) -> tuple[int, int]:
    """Return the numbers of channels summed before and after each channel, at most all channels."""
    before = (size - 1) // 2
    furthest = max(affine.last_of(n_channels), 0)
    return min(before, furthest), min(size - 1 - before, furthest)


@lrn.reference
def _(x: Array, *, size: int, alpha: float, beta: float, bias: float) -> Array:
    given = widened(x)
    before, behind = _reach(size, x.shape[1])
    padded = np.pad(given * given, [(0, 0), (before, behind), *[(0, 0)] * (x.ndim - 2)])
    total = np.zeros_like(given)
    for j in range(before + 1 + behind):
        total += padded[:, j : j + x.shape[1]]
    return rounded(given / (bias + alpha / size * total) ** beta, x)


@lrn.cost
def _(x: TensorType, *, out: TensorType, size: int, **_: Any) -> Cost:
    return traffic([x], out, (2 * size + 4) * x.n_elements)


@lrn.lower
def _(
    k: Lowering, x: Handle, out: Handle, *, size: int, alpha: float, beta: float, bias: float
) -> None:
    n, c, *rest = k.axes(x.shape)
    before, behind = _reach(size, x.shape[1])
    j = k.axis(before + 1 + behind, "r")
    neighbour = c + j - before
    dtype = wide(x.dtype)
    other = k.convert(x[n, neighbour, *rest], dtype)
    squares = k.sum(k.inside([(neighbour, x.shape[1])], other * other, 0), over=j)
    element = k.convert(x[n, c, *rest], dtype)
    divisor = _power(k, squares * (alpha / size) + bias, beta)
    k.assign(out[n, c, *rest], k.convert(element / divisor, out.dtype))


def _power(k: Lowering, base: Scalar, exponent: float) -> Scalar:
    """Compute a power of positive numbers; common exponents become products of square roots."""
    match exponent:
        case 1.0:
            return base
        case 0.5:
            return k.sqrt(base)
        case 0.75:
            return k.sqrt(base) * k.sqrt(k.sqrt(base))
        case _:
            return k.pow(base, exponent)


@lrn.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[2,7,3,4]"], {"size": 5}
    yield ["f32[1,5,3]"], {"size": 4, "alpha": 0.5, "beta": 0.5, "bias": 2.0}
    yield ["f32[2,3]"], {"size": 1, "alpha": 1.0}
    yield ["f32[2,3,2]"], {"size": 2**40 + 1, "alpha": 1e6}
    yield ["f32[0,3,2,2]"], {"size": 3}


@lrn.onnx("LRN")
def _(n: OnnxCall) -> Operand | None:
    x = n.operand(0)
    assert x is not None
    if x.type.shape is None or x.rank < 2:
        return None
    return lrn(
        x,
        size=int(n.required("size")),
        alpha=float(n.attr("alpha", 1e-4)),
        beta=float(n.attr("beta", 0.75)),
        bias=float(n.attr("bias", 1.0)),
    )


lrn.exports_as("LRN")
