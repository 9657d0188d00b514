"""Channel shuffle, which mixes the channels of groups between two grouped convolutions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.errors import CompileError, require
from compiler.ir.operator import Array, Cost, Operand, Tensor, op
from compiler.ir.types import TensorType
from compiler.ops.data_movement.reshape import reshape
from compiler.ops.data_movement.shape import shape
from compiler.ops.data_movement.transpose import transpose
from compiler.ops.type_rules.dims import copied


@op(traits=("copying", "single_source"), kind="movement")
def channel_shuffle(x: Tensor, *, groups: int) -> TensorType:
    """Interleave the channels of groups: the first channels of all groups, then the second ones.

    Shapes: [N, C, ...], where C is a multiple of `groups`; the result has the same shape.
    Errors: E-OP-SHAPE if the number of channels is not a multiple of `groups`, E-OP-ATTRIBUTE for
    fewer than one group.
    Source: Zhang et al. 2017 (ShuffleNet), arXiv:1707.01083.
    """
    require(groups > 0, "E-OP-ATTRIBUTE", f"groups must be positive, got {groups}")
    require(x.rank >= 2, "E-OP-SHAPE", f"channel_shuffle needs [N, C, ...], got {x.type}")
    channels = x.shape[1]
    whole = not isinstance(channels, int) or channels % groups == 0
    require(whole, "E-OP-SHAPE", f"{channels} channels do not divide into {groups} groups")
    return x.type


@channel_shuffle.reference
def _(x: Array, *, groups: int) -> Array:
    n, channels, *rest = x.shape
    return x.reshape(n, groups, channels // groups, *rest).swapaxes(1, 2).reshape(x.shape)


@channel_shuffle.cost
def _(x: TensorType, *, out: TensorType, groups: int) -> Cost:
    return copied(out)


@channel_shuffle.lower
def _(k: Lowering, x: Handle, out: Handle, *, groups: int) -> None:
    """Use separate indices for the group and for the channel in the group, to avoid divisions."""
    n, *rest = k.axes([out.shape[0], *out.shape[2:]])
    each = out.shape[1] // groups
    place, group = k.axes([each, groups])
    k.assign(out[n, place * groups + group, *rest], x[n, group * each + place, *rest])


@channel_shuffle.export
def _(x: Tensor, *, groups: int) -> Operand:
    channels, rest = x.shape[1], x.shape[2:]
    if not isinstance(channels, int):
        raise CompileError("E-SHAPE-OPEN", f"the channels of {x.type} are open")
    inner = [groups, channels // groups]
    perm = (0, 2, 1, *range(3, x.rank + 1))
    if x.type.is_static:
        n, sizes = x.type.static_shape[0], x.type.static_shape[2:]
        parts = reshape(x, np.array([n, *inner, *sizes], np.int64), allowzero=True)
        whole = np.array(x.type.static_shape, np.int64)
        return reshape(transpose(parts, perm=perm), whole, allowzero=True)
    if all(isinstance(d, int) and d > 0 for d in rest):
        parts = reshape(x, np.array([0, *inner, *rest], np.int64))
        return reshape(transpose(parts, perm=perm), np.array([0, channels, *rest], np.int64))
    parts = reshape(x, np.array([0, *inner, -1], np.int64))
    return reshape(transpose(parts, perm=(0, 2, 1, 3)), shape(x))


@channel_shuffle.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[2,6,3,5]"], {"groups": 2}
    yield ["f32[2,12,1,7]"], {"groups": 3}
    yield ["i16[3,10]"], {"groups": 5}
    yield ["f32[1,6,19]"], {"groups": 6}
    yield ["f32[2,6,0]"], {"groups": 3}
