"""Rotary position embedding: pairs of elements, rotated by angles that depend on the position."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.errors import CompileError, require
from compiler.ir.affine import Expr
from compiler.ir.operator import Array, Cost, Operand, Tensor, op
from compiler.ir.types import TensorType
from compiler.ops.attention.attention import once, part
from compiler.ops.data_movement.concat import concat
from compiler.ops.data_movement.reshape import reshape, unsqueeze
from compiler.ops.elementwise.arithmetic import add, mul, neg
from compiler.ops.type_rules.requirements import (
    broadcast_dims,
    n_elements,
    require_elements,
    rounded,
    traffic,
    wide,
    widened,
)


@op(kind="movement", exact=False)
def rotary(x: Tensor, cos: Tensor, sin: Tensor, *, interleaved: bool = False) -> TensorType:
    """Rotate pairs of elements: x * cos + turned(x) * sin, with turned((a, b)) = (-b, a).

    A pair is an element of the first half of the last axis and its counterpart in the second half.
    With `interleaved`, each pair consists of two adjacent elements.
    Shapes: the last axis of x is even; x, cos and sin broadcast to each other.
    Errors: E-OP-SHAPE for an odd last axis.
    Source: Su et al. 2021, arXiv:2104.09864.
    """
    dtype = require_elements("rotary", "float", x, cos, sin)
    require(x.rank >= 1, "E-OP-SHAPE", f"rotary needs at least one axis, got {x.type}")
    dims = broadcast_dims("rotary", x.shape, cos.shape, sin.shape)
    size = x.shape[-1]
    if isinstance(size, int) and isinstance(dims[-1], int):
        fits = size % 2 == 0 and dims[-1] == size
        require(fits, "E-OP-SHAPE", f"rotary needs an even last axis, got {x.type}")
    return TensorType(dtype, dims)


@rotary.reference
def _(x: Array, cos: Array, sin: Array, *, interleaved: bool) -> Array:
    given = widened(x)
    if interleaved:
        pairs = given.reshape(*given.shape[:-1], -1, 2)
        turned = np.stack([-pairs[..., 1], pairs[..., 0]], -1).reshape(given.shape)
    else:
        first, second = np.split(given, 2, axis=-1)
        turned = np.concatenate([-second, first], -1)
    with np.errstate(all="ignore"):
        return rounded(given * widened(cos) + turned * widened(sin), x)


@rotary.cost
def _(x: TensorType, cos: TensorType, sin: TensorType, *, out: TensorType, **_: Any) -> Cost:
    return traffic([x, cos, sin], out, 4 * n_elements(out))


@rotary.lower
def _(k: Lowering, x: Handle, cos: Handle, sin: Handle, out: Handle, *, interleaved: bool) -> None:
    if 0 in out.shape:
        return
    half = out.shape[-1] // 2
    for is_second in (False, True):
        index = k.axes(out.shape[:-1])
        j = k.axis(half)
        first, second = (j * 2, j * 2 + 1) if interleaved else (j, j + half)
        here, other = (second, first) if is_second else (first, second)

        def at(t: Handle, place: Expr, index: Sequence[Expr] = index) -> Any:
            return k.convert(t.broadcast([*index, place]), wide(t.dtype))

        straight, across = at(x, here) * at(cos, here), at(x, other) * at(sin, here)
        value = straight + across if is_second else straight - across
        k.assign(out[*index, here], k.convert(value, out.dtype))


@rotary.export
def _(x: Tensor, cos: Tensor, sin: Tensor, *, interleaved: bool) -> Operand:
    axis, size = x.rank - 1, x.type.dims[-1]
    if not isinstance(size, int):
        raise CompileError("E-SHAPE-OPEN", f"the last axis of {x.type} is open")
    if interleaved:
        first, second = (unsqueeze(part(x, axis, i, size, 2), axes=(x.rank,)) for i in (0, 1))
        shape = np.array([0] * axis + [size])
        turned: Operand = reshape(concat(neg(second), first, axis=x.rank), shape)
    else:
        first, second = part(x, axis, 0, size // 2), part(x, axis, size // 2, size)
        turned = concat(neg(second), first, axis=axis)
    return add(mul(x, cos), mul(once(turned), sin))


@rotary.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[2,3,5,8]", "f32[5,8]", "f32[5,8]"], {}
    yield ["f32[2,3,5,8]", "f32[5,8]", "f32[1,5,8]"], {"interleaved": True}
    yield ["f32[3,2]", "f32[1]", "f32[3,2]"], {}
    yield ["f32[1,6]", "f32[5,6]", "f32[5,1]"], {"interleaved": True}
    yield ["f32[0,4]", "f32[4]", "f32[4]"], {}
    yield ["f16[2,3,6]", "f16[3,6]", "f16[3,6]"], {}
