"""Slices of a tensor: elements from start to end, in steps, along some axes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.errors import require
from compiler.ir import affine
from compiler.ir.affine import Affine, Expr
from compiler.ir.operator import Array, Call, Cost, OnnxCall, Tensor, op
from compiler.ir.types import Dim, TensorType
from compiler.ops.type_rules.dims import (
    LARGEST_SIZE,
    axes_in_order,
    copied,
    known_value,
    length,
    open_dim,
    open_dims,
    parameter,
    settle,
    sizes_of,
)


@op(
    traits=("copying", "single_source", "injective", "dropping"),
    kind="movement",
    shape_math=True,
    name="slice",
)
def slice_(
    x: Tensor,
    starts: Tensor,
    ends: Tensor,
    axes: Tensor | None = None,
    steps: Tensor | None = None,
) -> TensorType:
    """Slice a tensor: every step-th element from start up to, but excluding, end.

    Shapes: one start and end for each of `axes` (default: all axes). Negative indices count from
    the end of the axis; a negative step selects elements in reverse order.
    Errors: E-OP-SHAPE for lists of different lengths, E-OP-AXIS, E-OP-ATTRIBUTE for a step of 0.
    Source: ONNX Slice-13.
    """
    lists = [parameter(t, "the parameters of a slice") for t in (starts, ends, axes, steps) if t]
    lengths = {n for t in lists if isinstance(n := length(t), int)}
    message = f"starts, ends, axes and steps differ in length: {sorted(lengths)}"
    require(len(lengths) <= 1, "E-OP-SHAPE", message)
    if axes is not None and (axes.value is None or axes.value.dtype == np.object_):
        return TensorType(x.dtype, open_dims(x.rank, *_all(x, lists)))
    n = max(lengths, default=None)
    if axes is None and n is None:
        return TensorType(x.dtype, open_dims(x.rank, *_all(x, lists)))
    listed = sizes_of(axes.value) if axes and axes.value is not None else list(range(n or 0))
    at = axes_in_order([int(a) for a in listed], x.rank)
    shape = list(x.shape)
    for position, axis in enumerate(at):
        start, end, step = (_element(t, position) for t in (starts, ends, steps))
        if steps is None:
            step = 1
        size = None
        if start is not None and end is not None and isinstance(step, int):
            size = n_taken(shape[axis], start, end, step)
        shape[axis] = open_dim(axis, *_all(x, lists)) if size is None else size
    return TensorType(x.dtype, tuple(shape))


def _all(x: Tensor, lists: Sequence[Tensor]) -> list[Tensor]:
    return [x, *lists]


def _element(t: Tensor | None, position: int) -> Dim | None:
    return None if t is None or t.value is None else sizes_of(t.value)[position]


def n_taken(size: Dim, start: Dim, end: Dim, step: int) -> Dim | None:
    """Return the number of elements of a slice; None if no closed form exists.

    Errors: E-OP-ATTRIBUTE for a step of 0.
    """
    require(step != 0, "E-OP-ATTRIBUTE", "the step of a slice cannot be 0")
    if isinstance(size, int) and isinstance(start, int) and isinstance(end, int):
        return len(span(size, slice(start, end, step)))
    if step < 0:
        whole = start == -1 and isinstance(end, int) and end <= -LARGEST_SIZE
        return settle(affine.floordiv(size + (-step - 1), -step)) if whole else None
    # A start beyond the end of the axis needs no clamp: the slice is empty.
    stop = _from_front(end, size)
    if not (isinstance(end, int) and end < 0):
        stop = settle(affine.minimum(stop, size))
    taken = stop - _from_front(start, size)
    return settle(affine.floordiv(affine.maximum(settle(taken), 0) + (step - 1), step))


def span(size: int, cut: slice) -> range:
    """Return the indices of a slice on an axis of known size.

    A start before the axis is clamped to 0. For a negative step, Python's slice would be empty
    instead.
    """
    start = 0 if cut.start < -size else cut.start
    return range(size)[start : cut.stop : cut.step]


def _from_front(position: Dim, size: Dim) -> Dim:
    """Convert a start or end to an index from the front of the axis.

    A symbolic position is a size or a negated size. A negated size counts from the end, so it is
    assumed to be nonzero at run time.
    """
    if isinstance(position, int) and position >= LARGEST_SIZE:
        return size
    if isinstance(position, int) and position < 0:
        return settle(affine.maximum(size + position, 0))
    if isinstance(position, Affine) and affine.bounds(position, {})[1] <= 0:
        return settle(affine.maximum(size + position, 0))
    if isinstance(position, Affine) and position.constant < 0:
        return settle(affine.maximum(position, 0))
    return position


@slice_.reference
def _(
    x: Array, starts: Array, ends: Array, axes: Array | None = None, steps: Array | None = None
) -> Array:
    cuts = [slice(None)] * x.ndim
    for axis, cut in cuts_along(x.ndim, starts, ends, axes, steps):
        cuts[axis] = cut if cut.start >= -x.shape[axis] else slice(0, cut.stop, cut.step)
    return x[tuple(cuts)]


def _first(cut: slice, size: Expr) -> Expr:
    """Return the first index of a slice on an axis, whose size may be open."""
    if isinstance(size, int):
        return span(size, cut).start
    if cut.start >= 0:
        # The result is empty unless the start is in bounds.
        return cut.start if cut.step > 0 else affine.minimum(cut.start, size - 1)
    return affine.maximum(size + cut.start, 0)


def cuts_along(
    rank: int, starts: Array, ends: Array, axes: Array | None, steps: Array | None
) -> Iterator[tuple[int, slice]]:
    """Yield each sliced axis, as a nonnegative number, with its slice."""
    n = len(starts)
    at = range(n) if axes is None else axes_in_order(axes.tolist(), rank)
    each = np.ones(n, np.int64) if steps is None else steps
    for axis, start, end, step in zip(at, starts, ends, each, strict=True):
        yield axis, slice(int(start), int(end), int(step))


@slice_.cost
def _(x: TensorType, *parameters: TensorType | None, out: TensorType) -> Cost:
    return copied(out)


@slice_.lower
def _(k: Lowering, x: Handle, *rest: Handle | None) -> None:
    *parameters, out = rest
    assert out is not None
    start, end, *others = [*parameters, None, None][:4]
    assert start is not None, "starts are required"
    starts = known_value(start, "the start of a slice")
    axes, steps = (
        None if p is None else known_value(p, "an axis or a step of a slice") for p in others
    )
    forward = steps is None or bool((steps > 0).all())
    # In a forward slice, the size of the result already determines the end.
    ends = np.zeros_like(starts) if forward else known_value(end, "the end of a slice")
    index = k.axes(out.shape)
    source: list[Expr] = list(index)
    for axis, cut in cuts_along(x.rank, starts, ends, axes, steps):
        source[axis] = index[axis] * cut.step + _first(cut, x.shape[axis])
    k.assign(out[index], x[source])


@slice_.onnx("Slice")
def _(call: OnnxCall) -> Call:
    if call.opset >= 10:
        return slice_(*call.operands)
    axes = call.attr("axes")
    return slice_(
        call.operand(0),
        np.array(call.attr("starts"), np.int64),
        np.array(call.attr("ends"), np.int64),
        None if axes is None else np.array(axes, np.int64),
    )


slice_.exports_as("Slice")


@slice_.samples
def _() -> Iterator[tuple[Any, ...]]:
    def numbers(*values: int) -> Array:
        return np.array(values, np.int64)

    far = np.iinfo(np.int64)
    yield ["f32[5,7]", numbers(1, 2), numbers(4, 6)], {}
    yield ["f32[5,7,2]", numbers(-3), numbers(far.max), numbers(1)], {}
    yield ["f32[9]", numbers(-1), numbers(far.min), numbers(0), numbers(-2)], {}
    yield ["i64[3,8]", numbers(1), numbers(7), numbers(-1), numbers(3)], {}
    yield ["f32[4,3]", numbers(3), numbers(1), numbers(0)], {}
    yield ["f32[5,2]", numbers(-6), numbers(far.min), numbers(0), numbers(-1)], {}
