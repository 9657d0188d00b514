"""The gradient facets of operators (vector-Jacobian products).

The arguments of a gradient facet are the gradient of the result, the result, and the operands. The
facet returns one gradient per operand (None for no gradient). If an operand was broadcast, its
gradient is summed over the broadcast axes afterwards.
Source: ONNX Gradient-1 (ai.onnx.preview.training); Griewank and Walther, Evaluating Derivatives.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from compiler.errors import CompileError
from compiler.ir.operator import Array, Call, Operand, Tensor
from compiler.ops.data_movement.expand import expand
from compiler.ops.data_movement.reshape import flatten, identity, reshape, squeeze, unsqueeze
from compiler.ops.data_movement.transpose import transpose
from compiler.ops.elementwise.activations import relu, sigmoid, softplus
from compiler.ops.elementwise.arithmetic import (
    abs_,
    add,
    cos,
    div,
    erf_,
    exp,
    log,
    mul,
    neg,
    pow_,
    reciprocal,
    sign,
    sin,
    sqrt,
    sub,
    tanh,
)
from compiler.ops.elementwise.compare import greater, where
from compiler.ops.linear_algebra.matmul import matmul
from compiler.ops.reductions.reduce import reduce_mean, reduce_sum
from compiler.ops.reductions.softmax import softmax

Gradients = tuple[Operand, ...]


def _number(value: float, like: Tensor) -> Array:
    return np.array(value, like.dtype.numpy)


def _sizes(x: Tensor) -> Array:
    """Return the shape of x as a constant operand. Errors: E-SHAPE-OPEN."""
    return np.array(x.type.static_shape, np.int64)


@identity.gradient
def _(g: Tensor, out: Tensor, x: Tensor) -> Gradients:
    return (g,)


@add.gradient
def _(g: Tensor, out: Tensor, a: Tensor, b: Tensor) -> Gradients:
    return g, g


@sub.gradient
def _(g: Tensor, out: Tensor, a: Tensor, b: Tensor) -> Gradients:
    return g, neg(g)


@mul.gradient
def _(g: Tensor, out: Tensor, a: Tensor, b: Tensor) -> Gradients:
    return mul(g, b), mul(g, a)


@div.gradient
def _(g: Tensor, out: Tensor, a: Tensor, b: Tensor) -> Gradients:
    return div(g, b), neg(div(mul(g, out), b))


@pow_.gradient
def _(g: Tensor, out: Tensor, a: Tensor, b: Tensor) -> Gradients:
    if a.dtype is not b.dtype:
        return mul(g, mul(_like(b, a), pow_(a, sub(_like(b, a), _number(1, a))))), None
    return mul(g, mul(b, pow_(a, sub(b, _number(1, a))))), mul(g, mul(out, log(a)))


def _like(x: Tensor, like: Tensor) -> Operand:
    from compiler.ops.elementwise.cast import cast

    return cast(x, to=like.dtype)


@neg.gradient
def _(g: Tensor, out: Tensor, x: Tensor) -> Gradients:
    return (neg(g),)


@abs_.gradient
def _(g: Tensor, out: Tensor, x: Tensor) -> Gradients:
    return (mul(g, sign(x)),)


@reciprocal.gradient
def _(g: Tensor, out: Tensor, x: Tensor) -> Gradients:
    return (neg(mul(g, mul(out, out))),)


@sqrt.gradient
def _(g: Tensor, out: Tensor, x: Tensor) -> Gradients:
    return (div(g, mul(_number(2, x), out)),)


@exp.gradient
def _(g: Tensor, out: Tensor, x: Tensor) -> Gradients:
    return (mul(g, out),)


@log.gradient
def _(g: Tensor, out: Tensor, x: Tensor) -> Gradients:
    return (div(g, x),)


@sin.gradient
def _(g: Tensor, out: Tensor, x: Tensor) -> Gradients:
    return (mul(g, cos(x)),)


@cos.gradient
def _(g: Tensor, out: Tensor, x: Tensor) -> Gradients:
    return (neg(mul(g, sin(x))),)


@erf_.gradient
def _(g: Tensor, out: Tensor, x: Tensor) -> Gradients:
    bell = mul(_number(2 / math.sqrt(math.pi), x), exp(neg(mul(x, x))))
    return (mul(g, bell),)


@tanh.gradient
def _(g: Tensor, out: Tensor, x: Tensor) -> Gradients:
    return (mul(g, sub(_number(1, x), mul(out, out))),)


@sigmoid.gradient
def _(g: Tensor, out: Tensor, x: Tensor) -> Gradients:
    return (mul(g, mul(out, sub(_number(1, x), out))),)


@softplus.gradient
def _(g: Tensor, out: Tensor, x: Tensor) -> Gradients:
    return (mul(g, sigmoid(x)),)


@relu.gradient
def _(g: Tensor, out: Tensor, x: Tensor) -> Gradients:
    return (where(greater(x, _number(0, x)), g, _number(0, x)),)


@softmax.gradient
def _(g: Tensor, out: Tensor, x: Tensor, *, axis: int) -> Gradients:
    total = reduce_sum(mul(g, out), axes=(axis % x.rank,), keepdims=True)
    return (mul(out, sub(g, total)),)


@matmul.gradient
def _(
    g: Tensor, out: Tensor, a: Tensor, b: Tensor, *, transpose_a: bool, transpose_b: bool
) -> Gradients:
    if min(a.rank, b.rank) < 2:
        raise CompileError("E-OP-GRADIENT", "products of vectors have no gradient rule yet")
    to_a = (
        matmul(b, g, transpose_a=transpose_b, transpose_b=True)
        if transpose_a
        else matmul(g, b, transpose_b=not transpose_b)
    )
    to_b = (
        matmul(g, a, transpose_a=True, transpose_b=transpose_a)
        if transpose_b
        else matmul(a, g, transpose_a=not transpose_a)
    )
    return to_a, to_b


def _spread(g: Tensor, x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Operand:
    """Broadcast the gradient of a reduction to the reduced elements."""
    kept = g if keepdims or not axes else unsqueeze(g, axes=axes)
    return expand(kept, _sizes(x))


@reduce_sum.gradient
def _(g: Tensor, out: Tensor, x: Tensor, *, axes: tuple[int, ...], keepdims: bool) -> Gradients:
    return (_spread(g, x, axes, keepdims),)


@reduce_mean.gradient
def _(g: Tensor, out: Tensor, x: Tensor, *, axes: tuple[int, ...], keepdims: bool) -> Gradients:
    n = math.prod(x.type.static_shape[a] for a in axes)
    return (div(_spread(g, x, axes, keepdims), _number(n, x)),)


@transpose.gradient
def _(g: Tensor, out: Tensor, x: Tensor, *, perm: tuple[int, ...]) -> Gradients:
    return (transpose(g, perm=tuple(int(i) for i in np.argsort(perm))),)


def _back_in_shape(g: Tensor, out: Tensor, x: Tensor, *rest: Tensor, **_attrs: Any) -> Gradients:
    return (reshape(g, _sizes(x)), *[None] * len(rest))


for _view in (reshape, flatten, squeeze, unsqueeze):
    _view.gradient(_back_in_shape)


def unbroadcast(g: Tensor, x: Tensor) -> Operand:
    """Sum a gradient over the axes along which x was broadcast."""
    extra = g.rank - x.rank
    wide = [i for i, d in enumerate(x.shape) if d == 1 and g.shape[extra + i] != 1]
    axes = (*range(extra), *(extra + i for i in wide))
    if not axes:
        return g
    total: Call = reduce_sum(g, axes=axes, keepdims=True)
    return squeeze(total, axes=tuple(range(extra))) if extra else total
