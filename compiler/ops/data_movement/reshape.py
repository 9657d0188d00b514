"""Operators whose results are views: the same elements in the same order under another shape."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.compute.computation import axis_of
from compiler.errors import require
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.ir.operator import (
    OPERATORS,
    Array,
    Call,
    Cost,
    OnnxCall,
    Operand,
    Tensor,
    op,
    standard,
)
from compiler.ir.types import Dim, DType, TensorType
from compiler.ops.type_rules.dims import (
    axes_in_order,
    length,
    open_dims,
    parameter,
    settle,
    sizes_of,
)
from compiler.ops.type_rules.requirements import normal_axes


@op(traits=("aliasing",), kind="view", shape_math=True)
def identity(x: Tensor) -> Tensor:
    """Return a tensor unchanged.

    Shapes: any; the result has the type of x.
    Source: ONNX Identity, and Dropout outside training.
    """
    return x


@op(traits=("aliasing",), kind="view", shape_math=True)
def reshape(x: Tensor, shape: Tensor, *, allowzero: bool = False) -> TensorType:
    """Change the shape of x, with the elements in the same row-major order.

    Shapes: `shape` is a list of sizes. One size may be -1: it is inferred. Unless `allowzero` is
    true, 0 means the size of x on the same axis.
    Errors: E-OP-SHAPE for a different number of elements.
    Source: ONNX Reshape-14.
    """
    parameter(shape, "the shape of a reshape")
    if shape.value is None:
        return TensorType(
            x.dtype, open_dims(length(shape) or 0, x, shape) if length(shape) is not None else None
        )
    sizes = sizes_of(shape.value)
    if x.type.shape is None:
        return TensorType(x.dtype, _shape_of_unranked(sizes, allowzero, open_dims(len(sizes), x)))
    return TensorType(x.dtype, new_shape(x.type.shape, sizes, allowzero))


def _shape_of_unranked(
    sizes: Sequence[Dim], allowzero: bool, unknown: tuple[Dim, ...] | None
) -> tuple[Dim, ...]:
    """Replace -1 and 0, whose meaning depends on the shape of x, by open sizes."""
    assert unknown is not None, "the number of sizes is known"
    kept = [size == 0 and not allowzero for size in sizes]
    shape = new_shape(None, [1 if k else size for k, size in zip(kept, sizes, strict=True)], True)
    return tuple(
        u if k or size == -1 else size for k, size, u in zip(kept, shape, unknown, strict=True)
    )


@op(traits=("aliasing",), kind="view", shape_math=True)
def flatten(x: Tensor, *, axis: int = 1) -> TensorType:
    """Reshape to a matrix: axes before `axis` become rows, the other axes columns.

    Shapes: any; the result has rank 2. For `axis` equal to the rank, the matrix has one column.
    Source: ONNX Flatten-13.
    """
    at = _cut(axis, x.rank)
    return TensorType(x.dtype, (affine.product(x.shape[:at]), affine.product(x.shape[at:])))


@op(traits=("aliasing",), kind="view", shape_math=True)
def squeeze(x: Tensor, *, axes: tuple[int, ...]) -> TensorType:
    """Remove axes of size 1.

    Errors: E-OP-SHAPE for an axis of a size other than 1, E-OP-AXIS.
    Source: ONNX Squeeze-13.
    """
    gone = axes_in_order(axes, x.rank)
    for a in gone:
        size = x.shape[a]
        require(
            not isinstance(size, int) or size == 1,
            "E-OP-SHAPE",
            f"axis {a} of {x.type} has size {size}; only axes of size 1 can be removed",
        )
    return TensorType(x.dtype, tuple(d for i, d in enumerate(x.shape) if i not in gone))


@op(traits=("aliasing",), kind="view", shape_math=True)
def unsqueeze(x: Tensor, *, axes: tuple[int, ...]) -> TensorType:
    """Insert axes of size 1 at positions `axes` of the result.

    Errors: E-OP-AXIS.
    Source: ONNX Unsqueeze-13.
    """
    rank = x.rank + len(axes)
    new = axes_in_order(axes, rank)
    old = iter(x.shape)
    return TensorType(x.dtype, tuple(1 if i in new else next(old) for i in range(rank)))


def new_shape(
    old: tuple[Dim, ...] | None, sizes: Sequence[Dim], allowzero: bool
) -> tuple[Dim, ...]:
    """Replace -1 and 0 in the sizes of a reshape by the sizes that they mean.

    If the shape of x is unknown, a -1 stays, and `allowzero` must be true. Errors: E-OP-SHAPE.
    """
    shape: list[Dim] = []
    kept: list[int] = []
    for i, size in enumerate(sizes):
        if size == 0 and not allowzero:
            size = _kept(old, i)
            kept.append(i)
        require(not isinstance(size, int) or size >= -1, "E-OP-SHAPE", f"a size cannot be {size}")
        shape.append(size)
    holes = [i for i, size in enumerate(shape) if size == -1]
    require(len(holes) <= 1, "E-OP-SHAPE", f"{list(map(str, sizes))} has more than one -1")
    if holes and old is not None:
        others = [s for i, s in enumerate(shape) if s != -1 and i not in kept]
        # A size copied from x, even 0, is not part of the inferred size.
        rest = tuple(d for i, d in enumerate(old) if i not in kept)
        shape[holes[0]] = _left_over(rest, others)
    if old is not None:
        _check_count(old, shape)
    return tuple(shape)


def _kept(old: tuple[Dim, ...] | None, i: int) -> Dim:
    assert old is not None, "the caller replaces zeros for an unknown shape"
    require(i < len(old), "E-OP-SHAPE", f"the shape has a 0 at index {i}, but x has no such axis")
    return old[i]


def _left_over(old: tuple[Dim, ...], others: list[Dim]) -> Dim:
    """Return the size for -1: the elements of x divided by the product of the other sizes."""
    above, below = list(old), list(others)
    for size in others:
        if size in above and size != 0:
            above.remove(size)
            below.remove(size)
    total, known = affine.product(above), affine.product(below)
    require(known != 0, "E-OP-SHAPE", "a -1 is ambiguous if another size is 0")
    if isinstance(total, int) and isinstance(known, int):
        require(
            total % known == 0,
            "E-OP-SHAPE",
            f"{total} elements do not divide into {known} equal parts",
        )
    return settle(affine.floordiv(total, known))


def _check_count(old: Sequence[Dim], new: Sequence[Dim]) -> None:
    before, after = affine.product(old), affine.product(new)
    if isinstance(before, int) and isinstance(after, int):
        require(
            before == after,
            "E-OP-SHAPE",
            f"{list(old)} has {before} elements, {list(new)} has {after}",
        )


def _cut(axis: int, rank: int) -> int:
    require(-rank <= axis <= rank, "E-OP-AXIS", f"axis {axis} is outside a tensor of rank {rank}")
    return axis if axis >= 0 else axis + rank


# References


@identity.reference
def _(x: Array) -> Array:
    return x


@reshape.reference
def _(x: Array, shape: Array, *, allowzero: bool) -> Array:
    return x.reshape(new_shape(x.shape, sizes_of(shape), allowzero))  # type: ignore[arg-type]


@flatten.reference
def _(x: Array, *, axis: int) -> Array:
    at = _cut(axis, x.ndim)
    return x.reshape(int(np.prod(x.shape[:at])), int(np.prod(x.shape[at:])))


@squeeze.reference
def _(x: Array, *, axes: tuple[int, ...]) -> Array:
    return np.squeeze(x, axes)


@unsqueeze.reference
def _(x: Array, *, axes: tuple[int, ...]) -> Array:
    return np.expand_dims(x, axes)


# Costs, lowerings


def _free(*_operands: TensorType | None, **_rest: Any) -> Cost:
    """Return a cost of 0: views move no data."""
    return Cost()


def _same_elements(k: Lowering, x: Handle, *rest: Handle, **_attrs: Any) -> None:
    out = rest[-1]
    index = k.axes(out.shape)
    k.assign(out[index], x[same_position(out.shape, index, x.shape)])


for _view in (identity, reshape, flatten, squeeze, unsqueeze):
    _view.cost(_free)
    _view.lower(_same_elements)


def same_position(
    shape: Sequence[int], index: Sequence[Expr], other: Sequence[int]
) -> tuple[Expr, ...]:
    """Map an index in `shape` to the index in `other` at the same row-major position.

    Shapes: `shape` and `other` have the same number of elements. Axes are matched in the smallest
    groups of equal size, so that the indices of unchanged axes stay simple.
    """
    if 0 in shape:
        return (0,) * len(other)
    ranges = {name: (0, n - 1) for e, n in zip(index, shape, strict=True) if (name := axis_of(e))}
    result: list[Expr] = []
    for left, right in _groups(shape, other):
        place: Expr = 0
        for axis in left:
            place = place * shape[axis] + (index[axis] if shape[axis] != 1 else 0)
        below = [other[axis] for axis in right]
        while below:
            size = below.pop(0)
            step = int(np.prod(below, dtype=object)) if below else 1
            e = affine.floordiv(place, step)
            result.append(affine.simplify(affine.mod(e, size), ranges))
    return tuple(result)


def _groups(a: Sequence[int], b: Sequence[int]) -> Iterator[tuple[list[int], list[int]]]:
    """Split two shapes of equal product into the shortest groups of axes of equal product."""
    i = j = 0
    while i < len(a) or j < len(b):
        left, right, p, q = [], [], 1, 1
        if i < len(a):
            left, p, i = [i], a[i], i + 1
        if j < len(b):
            right, q, j = [j], b[j], j + 1
        while p != q:
            if p < q:
                left.append(i)
                p, i = p * a[i], i + 1
            else:
                right.append(j)
                q, j = q * b[j], j + 1
        yield left, right


# ONNX


@identity.onnx("Identity")
def _(call: OnnxCall) -> Call:
    return identity(call.operand(0))


@identity.onnx("Dropout")
def _(call: OnnxCall) -> Operand | tuple[Operand, ...] | None:
    """Import Dropout for inference as the identity and a mask that is true everywhere."""
    x, ratio, training = call.operand(0), call.operand(1), call.operand(2)
    assert x is not None
    if call.opset < 7 and not call.attr("is_test", 0):
        return None
    drops = ratio is None or ratio.value is None or bool(ratio.known.any())
    if training is not None and drops:
        if training.value is None or bool(training.known.any()):
            return None
    if call.n_outputs == 1:
        return identity(x)
    dtype = DType.bool if call.opset >= 10 else x.dtype
    kept = OPERATORS["fill"](OPERATORS["shape"](x), value=_one(dtype), dtype=dtype)
    return identity(x), kept


identity.exports_as("Identity")


def _one(dtype: DType) -> bool | float:
    return True if dtype is DType.bool else 1.0


@reshape.onnx("Reshape")
def _(call: OnnxCall) -> Call:
    shape = call.operand(1) if call.opset >= 5 else np.array(call.attr("shape", ()), np.int64)
    return reshape(call.operand(0), shape, allowzero=bool(call.attr("allowzero", 0)))


reshape.exports_as("Reshape")


@flatten.onnx("Flatten")
def _(call: OnnxCall) -> Call:
    return flatten(call.operand(0), axis=call.attr("axis", 1))


flatten.exports_as("Flatten")


def axes_of(call: OnnxCall) -> tuple[int, ...] | None:
    """Return the axes of Squeeze or Unsqueeze; before opset 13, they are an attribute.

    Errors: E-SHAPE-OPEN.
    """
    if call.opset < 13:
        return call.attr("axes")
    axes = call.operand(1)
    return None if axes is None else tuple(int(a) for a in axes.known.reshape(-1))


@squeeze.onnx("Squeeze")
def _(call: OnnxCall) -> Call | None:
    x, axes = call.operand(0), axes_of(call)
    if x is None:
        return None
    if axes is None:
        # Without axes, every axis of size 1 is removed, so all sizes must be known.
        axes = tuple(i for i, d in enumerate(x.type.static_shape) if d == 1)
    return squeeze(x, axes=normal_axes(axes, x.rank))


@squeeze.export
def _(x: Tensor, *, axes: tuple[int, ...]) -> Operand:
    return standard("Squeeze", x, np.array(axes, np.int64)) if axes else standard("Identity", x)


@unsqueeze.onnx("Unsqueeze")
def _(call: OnnxCall) -> Call | None:
    axes = axes_of(call)
    return None if axes is None else unsqueeze(call.operand(0), axes=axes)


@unsqueeze.export
def _(x: Tensor, *, axes: tuple[int, ...]) -> Operand:
    return standard("Unsqueeze", x, np.array(axes, np.int64)) if axes else standard("Identity", x)


# Samples


@identity.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[2,3]"], {}
    yield ["i64[]"], {}
    yield ["f32[0,3]"], {}


@reshape.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[2,3,4]", np.array([6, 4])], {}
    yield ["f32[2,3,4]", np.array([0, -1])], {}
    yield ["i32[6,5]", np.array([2, 15, 1])], {}
    yield ["f32[1]", np.array([], np.int64)], {}
    yield ["f32[0,4]", np.array([2, 0])], {"allowzero": True}
    yield ["f32[4,6,5]", np.array([8, 3, 5])], {}


@flatten.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[2,3,4]"], {}
    yield ["f32[2,3,4]"], {"axis": 0}
    yield ["f32[2,3,4]"], {"axis": 3}
    yield ["f32[2,3,4]"], {"axis": -1}


@squeeze.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[1,3,1]"], {"axes": (0, 2)}
    yield ["f32[2,1]"], {"axes": (-1,)}
    yield ["f32[2,3]"], {"axes": ()}


@unsqueeze.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[3]"], {"axes": (0, 2)}
    yield ["f32[]"], {"axes": (0,)}
    yield ["f32[2,3]"], {"axes": (-1, 1)}
