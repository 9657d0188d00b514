"""Max pooling with indices; a second reduction computes the indices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from operator import floordiv, truediv
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.compute.numbers import neutral
from compiler.ir.affine import Expr
from compiler.ir.operator import OPERATORS, Array, Cost, OnnxCall, Operand, Tensor, op, standard
from compiler.ir.types import DType, TensorType
from compiler.ops.convolution.window import (
    Window,
    exported_window,
    onnx_window,
    tap,
    window_axes,
)
from compiler.ops.ordering.arg import is_same
from compiler.ops.pooling.geometry import Pooling, pooling_of
from compiler.ops.type_rules.requirements import n_elements, traffic

Ints = tuple[int, ...]

NOWHERE = 1 << 62
"""A number larger than every index of an element."""


@op(kind="reduction")
def max_pool_places(
    x: Tensor,
    *,
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    pads: tuple[int, ...],
    dilations: tuple[int, ...],
    ceil_mode: bool = False,
    auto_pad: str = "notset",
    column_major: bool = False,
) -> tuple[TensorType, TensorType]:
    """The largest element of each window, and its row-major index in x.

    If elements are equal, the first in row-major order is selected. With `column_major`, indices
    count elements in column-major order.
    Shapes: both results have the shape of the result of max_pool.
    Errors: E-OP-ATTRIBUTE for invalid windows.
    Source: ONNX MaxPool-22 with its second output.
    """
    pooling = Pooling(kernel, strides, pads, dilations, ceil_mode, auto_pad)
    made = OPERATORS["max_pool"](x, **asdict(pooling)).type
    return made, TensorType(DType.i64, made.shape)


def _steps(shape: tuple[int, ...], column_major: bool) -> list[int]:
    """Return the strides of indices: the number of elements between neighbours along each axis."""
    spatial = shape[2:]
    order = range(len(spatial)) if column_major else reversed(range(len(spatial)))
    steps, size = [0] * len(spatial), 1
    for d in order:
        steps[d] = size
        size *= spatial[d]
    return [shape[1] * size, size, *steps]


@max_pool_places.reference
def _(
    x: Array,
    *,
    column_major: bool,
    **attrs: Any,
) -> tuple[Array, Array]:
    pooling = Pooling(**attrs)
    every = np.arange(x.size, dtype=np.int64).reshape(x.shape)
    axes = pooling.tap_axes
    taken = pooling.taken(x, neutral("max", DType.from_numpy(x.dtype)))
    best = taken.max(axis=axes, keepdims=True)
    same = (taken == best) | ((taken != taken) & (best != best))
    places = np.where(same, pooling.taken(every, NOWHERE), NOWHERE)
    first = places.min(axis=axes)
    if column_major:
        first = _recounted(first, x.shape, floordiv)
    return best.reshape(best.shape[: -len(axes)]), first


def _recounted(place: Any, shape: tuple[int, ...], divide: Callable[[Any, int], Any]) -> Any:
    """Convert a row-major index to a column-major index; `divide` is the division of integers."""
    made: Any = 0
    for row_step, step in zip(_steps(shape, False), _steps(shape, True), strict=True):
        along = divide(place, row_step)
        place = place - along * row_step
        made = made + along * step
    return made


@max_pool_places.cost
def _(x: TensorType, *, out: tuple[TensorType, ...], **attrs: Any) -> Cost:
    sizes, places = x.static_shape[2:], out[0].static_shape[2:]
    taps = pooling_of(attrs).clipped(sizes, places).n_taps
    return traffic([x], out, 3 * taps * n_elements(out))


@max_pool_places.lower
def _(
    k: Lowering,
    x: Handle,
    values: Handle,
    places: Handle,
    *,
    column_major: bool,
    **attrs: Any,
) -> None:
    window = Pooling(**attrs).clipped(x.shape[2:], values.shape[2:])
    lowest = neutral("max", x.dtype).item()
    outer, at, taps = window_axes(k, values.shape, window)
    element = tap(k, x, outer, at, taps, window, values.shape[2:], lowest)
    k.assign(values[*outer, *at], k.reduce("max", element, over=taps))
    outer, at, taps = window_axes(k, values.shape, window)
    element = tap(k, x, outer, at, taps, window, values.shape[2:], lowest)
    inside = [_position(window, at, taps, d) for d in range(len(at))]
    steps = _steps(x.shape, column_major=False)
    number = sum(e * step for e, step in zip((*outer, *inside), steps, strict=True))
    nowhere = k.number(NOWHERE, DType.i64)
    place = k.inside(list(zip(inside, x.shape[2:], strict=True)), k.index(number), nowhere)
    hit = is_same(k, element, values[*outer, *at])
    first = k.temporary(places.shape, DType.i64, "first") if column_major else places
    k.assign(first[*outer, *at], k.reduce("min", k.where(hit, place, nowhere), over=taps))
    if column_major:
        index = k.axes(places.shape)
        k.assign(places[index], _recounted(first[index], x.shape, truediv))


def _position(w: Window, at: list[Expr], taps: list[Expr], d: int) -> Expr:
    return at[d] * w.strides[d] + taps[d] * w.dilations[d] - w.pads_begin[d]


@max_pool_places.samples
def _() -> Iterator[tuple[Any, ...]]:
    plain = {"kernel": (2, 3), "strides": (1, 2), "pads": (0,) * 4, "dilations": (1, 1)}
    yield ["f32[2,3,5,7]"], plain
    yield ["f32[2,3,5,7]"], {**plain, "column_major": True}
    ties = np.array([[1, 4, 4], [4, 4, 2], [0, 4, 4]], np.int8).reshape(1, 1, 3, 3)
    yield [ties], {**plain, "pads": (0, 1, 1, 0), "column_major": True}
    yield ["f32[1,2,4,5]"], {**plain, "pads": (1, 0, 1, 1), "dilations": (2, 1)}
    yield ["u8[1,2,5,4]"], {**plain, "pads": (1, 1, 0, 0), "ceil_mode": True}
    line = {"kernel": (3,), "strides": (2,), "pads": (1, 1), "dilations": (1,)}
    yield ["f32[1,2,7]"], line
    holed = np.arange(30, dtype=np.float32).reshape(1, 1, 5, 6)
    holed[0, 0, 2, 3], holed[0, 0, 0, 0] = np.nan, -np.inf
    yield [holed], plain


@max_pool_places.export
def _(x: Tensor, *, auto_pad: str, ceil_mode: bool, column_major: bool, **window: Ints) -> Operand:
    return standard(
        "MaxPool",
        x,
        ceil_mode=ceil_mode,
        storage_order=column_major,
        n_outputs=2,
        **exported_window(auto_pad, **window),
    )


def import_with_places(n: OnnxCall) -> Operand:
    """Import a MaxPool with two outputs."""
    kernel = tuple(n.attr("kernel_shape"))
    return max_pool_places(
        n.operand(0),
        kernel=kernel,
        ceil_mode=bool(n.attr("ceil_mode", 0)),
        column_major=bool(n.attr("storage_order", 0)),
        **onnx_window(n, kernel),
    )
