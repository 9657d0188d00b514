"""Pooling: the maximum, mean or norm of each window."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.compute.numbers import neutral
from compiler.compute.scalar import Scalar
from compiler.errors import require
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.ir.operator import Array, Cost, OnnxCall, Operand, Operator, Tensor, op, standard
from compiler.ir.types import DType, TensorType
from compiler.ops.convolution.window import (
    Window,
    exported_window,
    onnx_window,
    tap,
    window_axes,
)
from compiler.ops.pooling.clipped import clipped
from compiler.ops.pooling.geometry import Pooling, pooling_of
from compiler.ops.pooling.max_places import import_with_places
from compiler.ops.type_rules.requirements import (
    n_elements,
    require_elements,
    require_rank,
    rounded,
    traffic,
    wide,
    widened,
)

Ints = tuple[int, ...]


def _pooled(op_name: str, x: Tensor, pooling: Pooling) -> TensorType:
    if x.type.shape is None:
        return x.type
    require_rank(op_name, x, (3, 4, 5))
    pooling.check(op_name, x.rank - 2)
    return TensorType(x.dtype, (*x.shape[:2], *pooling.places(x.shape[2:])))


def _n_seen(x: TensorType, out: TensorType, attrs: Mapping[str, Any]) -> int:
    """Return the number of window taps inside the image, over all windows. Shapes: known sizes."""
    sizes, places = x.static_shape[2:], out.static_shape[2:]
    return pooling_of(attrs).clipped(sizes, places).n_taps


def _pool_cost(x: TensorType, *, out: TensorType, **attrs: Any) -> Cost:
    return traffic([x], out, _n_seen(x, out, attrs) * n_elements(out))


@op(traits=("pooling", "channelwise", "maximum"), kind="reduction")
def max_pool(
    x: Tensor,
    *,
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    pads: tuple[int, ...],
    dilations: tuple[int, ...],
    ceil_mode: bool = False,
    auto_pad: str = "notset",
) -> TensorType:
    """The largest element of each window; padding does not count.

    Shapes: x [N, C, spatial...] with one to three spatial axes; `pads` lists all begins, then all
    ends. With `ceil_mode`, the last window may extend beyond the padded image, but may not start
    beyond it.
    Errors: E-OP-ATTRIBUTE for invalid windows.
    Source: ONNX MaxPool-22.
    """
    require_elements("max_pool", "number", x)
    pooling = Pooling(kernel, strides, pads, dilations, ceil_mode, auto_pad)
    return _pooled("max_pool", x, pooling)


@max_pool.reference
def _(x: Array, **attrs: Any) -> Array:
    pooling = Pooling(**attrs)
    taken = pooling.taken(x, neutral("max", DType.from_numpy(x.dtype)))
    return taken.max(axis=pooling.tap_axes)


max_pool.cost(_pool_cost)


@max_pool.lower
def _(k: Lowering, x: Handle, out: Handle, **attrs: Any) -> None:
    window = Pooling(**attrs).clipped(x.shape[2:], out.shape[2:])
    outer, places, taps = window_axes(k, out.shape, window)
    lowest = neutral("max", x.dtype).item()
    element = tap(k, x, outer, places, taps, window, out.shape[2:], lowest)
    k.assign(out[*outer, *places], k.reduce("max", element, over=taps))


@op(traits=("pooling", "channelwise"), kind="reduction", exact=False)
def average_pool(
    x: Tensor,
    *,
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    pads: tuple[int, ...],
    dilations: tuple[int, ...],
    ceil_mode: bool = False,
    auto_pad: str = "notset",
    count_include_pad: bool = False,
) -> TensorType:
    """The mean of the elements of each window.

    With `count_include_pad`, padding counts as zeros; otherwise, padding does not count. Positions
    that `ceil_mode` adds beyond the padding never count. The mean of a window without elements is
    0.
    Shapes: as for max_pool.
    Errors: E-OP-ATTRIBUTE for invalid windows.
    Source: ONNX AveragePool-22; for empty windows, ONNX Runtime.
    """
    require_elements("average_pool", "float", x)
    pooling = Pooling(kernel, strides, pads, dilations, ceil_mode, auto_pad)
    return _pooled("average_pool", x, pooling)


def _counted_range(size: int, d: int, w: Window, count_include_pad: bool) -> tuple[int, int]:
    """Return the half-open range of positions along an axis that contribute to the mean."""
    if count_include_pad:
        return -w.pads_begin[d], size + w.pads_end[d]
    return 0, size


@average_pool.reference
def _(x: Array, *, count_include_pad: bool, **attrs: Any) -> Array:
    pooling = Pooling(**attrs)
    window, places = pooling.window(x.shape[2:]), pooling.places(x.shape[2:])
    counts = np.ones((), np.float64)
    for d, size in enumerate(x.shape[2:]):
        at = np.arange(int(places[d])) * window.strides[d] - window.pads_begin[d]
        low, high = _counted_range(size, d, window, count_include_pad)
        first = np.maximum(-((at - low) // window.dilations[d]), 0)
        end = np.minimum((high - 1 - at) // window.dilations[d] + 1, window.kernel[d])
        counts = np.multiply.outer(counts, np.maximum(end - first, 0))
    total = pooling.taken(widened(x), 0).sum(axis=pooling.tap_axes)
    with np.errstate(all="ignore"):
        return rounded(total / np.maximum(counts, 1).astype(total.dtype), x)


average_pool.cost(_pool_cost)


@average_pool.lower
def _(k: Lowering, x: Handle, out: Handle, *, count_include_pad: bool, **attrs: Any) -> None:
    window = Pooling(**attrs).window(x.shape[2:])
    seen = clipped(x.shape[2:], out.shape[2:], window)
    outer, places, taps = window_axes(k, out.shape, seen)
    element = tap(k, x, outer, places, taps, seen, out.shape[2:], 0)
    dtype = wide(x.dtype)
    total: Scalar = k.sum(k.convert(element, dtype), over=taps)
    fixed, varying = 1, []
    for d, size in enumerate(x.shape[2:]):
        count = _count(places[d], out.shape[2 + d], d, size, window, count_include_pad)
        if isinstance(count, int):
            fixed *= count
        else:
            varying.append(k.index(count, dtype))
    for count in varying:
        total = total / count
    if fixed != 1:
        total = total * (1 / fixed)
    k.assign(out[*outer, *places], k.convert(total, out.dtype))


def _count(
    place: Expr, n_places: int, d: int, size: int, w: Window, count_include_pad: bool
) -> Expr:
    """Return the number of window taps along one axis that contribute to the mean."""
    low, high = _counted_range(size, d, w, count_include_pad)
    start, step = place * w.strides[d] - w.pads_begin[d], w.dilations[d]
    first = affine.maximum(-affine.floordiv(start - low, step), 0)
    end = affine.minimum(affine.floordiv(high - 1 - start, step) + 1, w.kernel[d])
    # The sum of a window inside the padding is 0, so the divisor 1 is correct.
    return affine.simplify(
        affine.maximum(end - first, 1), {str(place): (0, max(affine.last_of(n_places), 0))}
    )


@op(traits=("pooling", "channelwise"), kind="reduction", exact=False)
def lp_pool(
    x: Tensor,
    *,
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    pads: tuple[int, ...],
    dilations: tuple[int, ...],
    p: int = 2,
    ceil_mode: bool = False,
    auto_pad: str = "notset",
) -> TensorType:
    """The p-norm of the elements of each window: (sum of |x|**p)**(1/p).

    Shapes: as for max_pool.
    Errors: E-OP-ATTRIBUTE for invalid windows, or for p below 1.
    Source: ONNX LpPool-22.
    """
    require_elements("lp_pool", "float", x)
    require(p >= 1, "E-OP-ATTRIBUTE", f"lp_pool needs p of at least 1, got {p}")
    pooling = Pooling(kernel, strides, pads, dilations, ceil_mode, auto_pad)
    return _pooled("lp_pool", x, pooling)


@lp_pool.reference
def _(x: Array, *, p: int, **attrs: Any) -> Array:
    pooling = Pooling(**attrs)
    taken = pooling.taken(np.abs(widened(x)) ** p, 0)
    return rounded(taken.sum(axis=pooling.tap_axes) ** (1 / p), x)


lp_pool.cost(_pool_cost)


@lp_pool.lower
def _(k: Lowering, x: Handle, out: Handle, *, p: int, **attrs: Any) -> None:
    window = Pooling(**attrs).clipped(x.shape[2:], out.shape[2:])
    outer, places, taps = window_axes(k, out.shape, window)
    dtype = wide(x.dtype)
    element = k.abs(k.convert(tap(k, x, outer, places, taps, window, out.shape[2:], 0), dtype))
    total: Scalar = k.sum(_to_the(k, element, p), over=taps)
    if p == 2:
        total = k.sqrt(total)
    elif p > 2:
        total = k.pow(total, 1 / p)
    k.assign(out[*outer, *places], k.convert(total, out.dtype))


def _to_the(k: Lowering, x: Scalar, p: int) -> Scalar:
    if p == 1:
        return x
    return x * x if p == 2 else k.pow(x, float(p))


# Samples and ONNX


def _window_samples(**extra: Any) -> Iterator[tuple[list[Any], dict[str, Any]]]:
    def attrs(*kernel: int, **given: Any) -> dict[str, Any]:
        n = len(kernel)
        plain = {"strides": (1,) * n, "pads": (0,) * (2 * n), "dilations": (1,) * n}
        return {"kernel": kernel, **plain, **extra, **given}

    yield ["f32[2,3,5,7]"], attrs(3, 2)
    yield ["f32[1,2,7,6]"], attrs(3, 2, strides=(2, 3), pads=(1, 0, 1, 1))
    yield ["f32[1,2,8,6]"], attrs(3, 3, strides=(2, 2), ceil_mode=True)
    yield ["f32[1,2,7,6]"], attrs(3, 2, strides=(3, 3), pads=(1, 1, 1, 1), ceil_mode=True)
    yield ["f32[1,2,8,7]"], attrs(2, 3, dilations=(3, 2), pads=(1, 2, 0, 1))
    yield ["f32[1,2,7,6]"], attrs(3, 2, strides=(2, 2), auto_pad="same_upper")
    yield ["f32[1,2,6,6]"], attrs(3, 2, strides=(2, 1), auto_pad="same_lower")
    yield ["f32[1,2,7,6]"], attrs(3, 2, auto_pad="valid")
    yield ["f32[2,3,7]"], attrs(3, strides=(2,), pads=(1, 1))
    yield ["f32[1,2,4,5,3]"], attrs(2, 3, 2, pads=(1, 1, 0, 0, 1, 1))
    yield ["f32[0,3,5,7]"], attrs(3, 2)
    yield ["f16[1,2,5,5]"], attrs(2, 2)


@max_pool.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield from _window_samples()
    holed = np.arange(30, dtype=np.float32).reshape(1, 1, 5, 6)
    holed[0, 0, 2, 3], holed[0, 0, 0, 0] = np.nan, -np.inf
    yield [holed], {"kernel": (2, 2), "strides": (1, 2), "pads": (0,) * 4, "dilations": (1, 1)}
    yield (
        ["u8[1,2,5,5]"],
        {"kernel": (2, 2), "strides": (2, 2), "pads": (1,) * 4, "dilations": (1, 1)},
    )
    yield (
        ["i8[1,2,5,5]"],
        {"kernel": (2, 2), "strides": (2, 2), "pads": (1,) * 4, "dilations": (1, 1)},
    )


@average_pool.samples
def _() -> Iterator[tuple[Any, ...]]:
    for count_include_pad in (False, True):
        yield from _window_samples(count_include_pad=count_include_pad)


@lp_pool.samples
def _() -> Iterator[tuple[Any, ...]]:
    for p in (1, 2, 3):
        yield from _window_samples(p=p)


def _import(n: OnnxCall, operator: Operator, **extra: Any) -> Operand | None:
    x = n.operand(0)
    assert x is not None
    kernel = tuple(n.attr("kernel_shape"))
    if n.n_outputs > 1 or x.type.shape is None or not 3 <= x.rank <= 5:
        return None
    ceil_mode = bool(n.attr("ceil_mode", 0))
    return operator(x, kernel=kernel, ceil_mode=ceil_mode, **extra, **onnx_window(n, kernel))


@max_pool.onnx("MaxPool")
def _(n: OnnxCall) -> Operand | None:
    x = n.operand(0)
    assert x is not None
    if n.n_outputs > 1 and x.type.shape is not None and 3 <= x.rank <= 5:
        return import_with_places(n)
    return _import(n, max_pool)


@max_pool.export
def _(x: Tensor, *, auto_pad: str, **rest: Any) -> Operand:
    return standard("MaxPool", x, **exported_window(auto_pad, **rest))


@average_pool.onnx("AveragePool")
def _(n: OnnxCall) -> Operand | None:
    return _import(n, average_pool, count_include_pad=bool(n.attr("count_include_pad", 0)))


@average_pool.export
def _(x: Tensor, *, auto_pad: str, **rest: Any) -> Operand:
    return standard("AveragePool", x, **exported_window(auto_pad, **rest))


@lp_pool.onnx("LpPool")
def _(n: OnnxCall) -> Operand | None:
    p = n.attr("p", 2)
    return _import(n, lp_pool, p=int(p)) if p == int(p) else None


@lp_pool.export
def _(x: Tensor, *, auto_pad: str, **rest: Any) -> Operand:
    return standard("LpPool", x, **exported_window(auto_pad, **rest))
