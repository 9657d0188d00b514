"""Shared functions of rules for views: constant shapes as operands of reshapes and expands."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.ir.affine import Affine
from compiler.ir.operator import Array, Operand, Tensor
from compiler.ir.types import Dim, TensorType
from compiler.passes.engine.rule import Skip
from compiler.passes.rules.calls import o


def reshaped(x: Tensor, t: TensorType) -> Operand:
    """Reshape a tensor to another type's shape; return the tensor itself if it has that shape."""
    if t.shape is not None and x.type.logical == t:
        return x
    if t.shape is None:
        return Skip("the rank of the result is open, so its shape cannot be a constant")
    if t.is_static:
        # With an axis of size 0, the reshape must not read 0 as "keep the operand's size".
        return o.reshape(x, np.array(t.static_shape, np.int64), allowzero=0 in t.static_shape)
    shape = open_shape(x.type.shape, t.shape)
    return shape if isinstance(shape, Skip) else o.reshape(x, shape)


def open_shape(old: Sequence[Dim] | None, new: Sequence[Dim]) -> Array | Skip:
    """Encode a shape with open sizes for a reshape: 0 keeps a size, one -1 is an inferred size."""
    kept = list(old or ())
    sizes: list[int] = []
    for i, d in enumerate(new):
        if isinstance(d, int):
            if d == 0:
                return Skip(f"axis {i} has size 0, which a reshape with open sizes cannot express")
            sizes.append(d)
        else:
            sizes.append(0 if i < len(kept) and kept[i] == d else -1)
    if sizes.count(-1) > 1:
        unsaid = ", ".join(str(d) for d, n in zip(new, sizes, strict=True) if n == -1)
        return Skip(
            f"the sizes {unsaid} are open and not kept in place; a reshape can infer only one"
        )
    return np.array(sizes, np.int64)


def expanded_shape(old: Sequence[Dim], new: Sequence[Dim]) -> Array | Skip:
    """Encode a shape for an expand: a 1 keeps an open size."""
    before: list[Dim] = [1] * (len(new) - len(old)) + list(old)
    sizes: list[int] = []
    for i, (a, b) in enumerate(zip(before, new, strict=True)):
        if isinstance(b, Affine) and a != b:
            return Skip(f"axis {i} is broadcast from {a} to the open size {b}")
        sizes.append(1 if isinstance(b, Affine) else b)
    return np.array(sizes, np.int64)


def numbers(t: Tensor | None) -> list[int] | None:
    """Return the elements of a list operand, or None if they are unknown."""
    if t is None or t.value is None or t.value.dtype == np.object_:
        return None
    return [int(v) for v in t.value.reshape(-1)]
