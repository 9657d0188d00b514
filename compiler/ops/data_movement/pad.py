"""Padding and cropping."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.errors import require
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.ir.operator import Array, Call, Cost, OnnxCall, Tensor, op
from compiler.ir.types import Dim, DType, TensorType
from compiler.ops.type_rules.dims import (
    axes_in_order,
    known_value,
    length,
    open_dim,
    open_dims,
    parameter,
    sizes_of,
)

MODES = ("constant", "reflect", "edge", "wrap")


@op(kind="movement", shape_math=True)
def pad(
    x: Tensor,
    pads: Tensor,
    value: Tensor | None = None,
    axes: Tensor | None = None,
    *,
    mode: str = "constant",
) -> TensorType:
    """Pad each axis before and after its elements; negative pads crop elements.

    Mode `constant` adds `value` (default 0), and `edge` repeats the outermost element. Mode
    `reflect` mirrors the elements without repeating the outermost element, and `wrap` continues
    with the elements at the other end.
    Shapes: `pads` lists all begins, then all ends, for `axes` (default: all axes).
    Errors: E-OP-SHAPE, also for the repetition of an empty axis, E-OP-ATTRIBUTE for an unknown
    mode, E-OP-DTYPE, E-OP-AXIS.
    Source: ONNX Pad-19.
    """
    require(
        mode in MODES, "E-OP-ATTRIBUTE", f"mode must be one of {', '.join(MODES)}, got {mode!r}"
    )
    parameter(pads, "pads")
    if value is not None:
        require(
            value.dtype is x.dtype, "E-OP-DTYPE", f"pad cannot pad {x.type} with a {value.dtype}"
        )
        is_one = not value.type.is_static or value.type.n_elements == 1
        require(is_one, "E-OP-SHAPE", f"the pad value must be one number, got {value.type}")
    deciders = [x, pads, *([axes] if axes else [])]
    if axes is not None and (axes.value is None or axes.value.dtype == np.object_):
        return TensorType(x.dtype, open_dims(x.rank, *deciders))
    at = _padded_axes(x.rank, None if axes is None else axes.value)
    n = length(pads)
    require(
        not isinstance(n, int) or n == 2 * len(at),
        "E-OP-SHAPE",
        f"{len(at)} axes need {2 * len(at)} pads, got {n}",
    )
    shape = list(x.shape)
    sizes = None if pads.value is None else sizes_of(pads.value)
    for i, axis in enumerate(at):
        if sizes is None:
            shape[axis] = open_dim(axis, *deciders)
            continue
        shape[axis] = shape[axis] + sizes[i] + sizes[i + len(at)]
        size = shape[axis]
        fits = not isinstance(size, int) or size >= 0
        require(
            fits, "E-OP-SHAPE", f"pads {list(map(str, sizes))} crop more elements than {x.type} has"
        )
        _require_source(x.shape[axis], size, axis, mode)
    return TensorType(x.dtype, tuple(shape))


def _require_source(n: Dim, size: Dim, axis: int, mode: str) -> None:
    """Check that an axis of size `n` has elements to repeat if it is padded to a nonzero `size`."""
    is_there = mode == "constant" or n != 0 or not isinstance(size, int) or size == 0
    require(is_there, "E-OP-SHAPE", f"axis {axis} is empty: {mode} has no element to repeat")


def _padded_axes(rank: int, axes: Array | None) -> tuple[int, ...]:
    return tuple(range(rank)) if axes is None else axes_in_order(axes.reshape(-1).tolist(), rank)


def _borders(rank: int, pads: Array, axes: Array | None) -> list[tuple[int, int]]:
    """Return the numbers of elements added before and after each axis."""
    at = _padded_axes(rank, axes)
    borders = [(0, 0)] * rank
    for i, axis in enumerate(at):
        borders[axis] = (int(pads[i]), int(pads[i + len(at)]))
    return borders


def _source_places(n: int, begin: int, end: int, mode: str) -> Array:
    """Map each index of the padded axis to an index of the original axis; -1 for the pad value."""
    places = np.arange(-begin, n + end)
    if mode == "edge":
        return np.clip(places, 0, n - 1)
    if mode == "wrap":
        return places % n if n else places
    if mode == "reflect":
        period = 2 * (n - 1)
        folded = places % period if period > 0 else places * 0
        return np.minimum(folded, period - folded)
    return np.where((places >= 0) & (places < n), places, -1)


@pad.reference
def _(
    x: Array,
    pads: Array,
    value: Array | None = None,
    axes: Array | None = None,
    *,
    mode: str,
) -> Array:
    out = x
    filler = np.zeros((), x.dtype) if value is None else np.asarray(value).reshape(())
    for axis, (begin, end) in enumerate(_borders(x.ndim, pads, axes)):
        if begin == end == 0:
            continue
        places = _source_places(x.shape[axis], begin, end, mode)
        _require_source(x.shape[axis], len(places), axis, mode)
        if x.shape[axis] == 0:
            shape = (*out.shape[:axis], len(places), *out.shape[axis + 1 :])
            out = np.full(shape, filler, x.dtype)
            continue
        out = np.take(out, np.maximum(places, 0), axis)
        if (places < 0).any():
            keep = (places >= 0).reshape([-1 if a == axis else 1 for a in range(x.ndim)])
            out = np.where(keep, out, filler).astype(x.dtype)
    return out


@pad.cost
def _(x: TensorType, *parameters: TensorType | None, out: TensorType, mode: str) -> Cost:
    return Cost(bytes_read=min(x.nbytes, out.nbytes), bytes_written=out.nbytes)


@pad.lower
def _(k: Lowering, x: Handle, pads: Handle, *rest: Handle | None, mode: str) -> None:
    *optional, out = rest
    assert out is not None
    value, axes = [*optional, None, None][:2]
    at = None if axes is None else known_value(axes, "the list of padded axes")
    borders = _borders(x.rank, known_value(pads, "the number of padding elements"), at)
    index = k.axes(out.shape)
    places = [
        _place(e, n, begin, mode) if (begin, end) != (0, 0) else e
        for e, n, (begin, end) in zip(index, x.shape, borders, strict=True)
    ]
    tests = [
        (e, n)
        for e, n, (begin, end) in zip(places, x.shape, borders, strict=True)
        if mode == "constant" and (begin > 0 or end > 0)
    ]
    if not tests:
        k.assign(out[index], x[places])
        return
    other = k.number(0, x.dtype) if value is None else value[()] if value.rank == 0 else value[0]
    k.assign(out[index], k.inside(tests, x[places], other))


def _place(e: Expr, n: int, begin: int, mode: str) -> Expr:
    """Return the index in x for an index of the padded axis."""
    place = e - begin
    if mode == "edge":
        return affine.minimum(affine.maximum(place, 0), n - 1)
    if mode == "wrap":
        return affine.mod(place, n)
    if mode == "reflect":
        period = 2 * (n - 1)
        folded = affine.mod(place, period) if period else 0
        return affine.minimum(folded, period - folded)
    return place


@pad.onnx("Pad")
def _(call: OnnxCall) -> Call | None:
    x, mode = call.operand(0), call.attr("mode", "constant")
    assert x is not None
    if x.dtype is DType.string:
        return None
    if call.opset >= 11:
        return pad(*call.operands, mode=mode)
    given: Sequence[int] = call.attr("pads" if call.opset >= 2 else "paddings")
    value = np.array(call.attr("value", 0.0)).astype(x.dtype.numpy)
    return pad(x, np.array(given, np.int64), value, mode=mode)


pad.exports_as("Pad")


@pad.samples
def _() -> Iterator[tuple[Any, ...]]:
    def numbers(*values: int) -> Array:
        return np.array(values, np.int64)

    yield ["f32[2,3]", numbers(1, 0, 0, 2)], {}
    yield ["f32[2,3]", numbers(0, 2, 1, -1), np.array(1.5, np.float32)], {}
    yield ["f32[2,5]", numbers(3, 2), None, numbers(-1)], {"mode": "reflect"}
    yield ["f32[3,4]", numbers(1, 2, 3, 0)], {"mode": "edge"}
    yield ["i32[3,2]", numbers(4, 1, 0, 3)], {"mode": "wrap"}
    yield ["f32[1,3]", numbers(2, 0, 2, 0)], {"mode": "reflect"}
    yield ["f32[6]", numbers(-2, -1)], {"mode": "edge"}
