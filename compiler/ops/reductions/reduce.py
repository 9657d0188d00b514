"""Reductions along axes, each declared by a numpy expression and a scalar expression."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.compute.numbers import neutral
from compiler.compute.scalar import Scalar
from compiler.errors import require
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.ir.operator import (
    Array,
    Cost,
    OnnxCall,
    Operand,
    Operator,
    Tensor,
    Trait,
    op,
    standard,
)
from compiler.ir.types import DType, TensorType
from compiler.ops.elementwise.cast import cast
from compiler.ops.elementwise.table import describe_row
from compiler.ops.type_rules.requirements import (
    Elements,
    is_one_of,
    normal_axes,
    require_elements,
    rounded,
    traffic,
    wide,
    widened,
)

Axes = tuple[int, ...]
Points = Callable[[], Scalar]
"""A function that returns the element of x at the current index; each call emits a read."""


def reduced(x: Tensor, axes: Axes, keepdims: bool) -> TensorType:
    """Return the type of x with the reduced axes removed, or retained with size 1.

    Errors: E-OP-AXIS.
    """
    if x.type.shape is None:
        return x.type
    require(
        all(0 <= a < x.rank for a in axes) and list(axes) == sorted(set(axes)),
        "E-OP-AXIS",
        f"reductions take ascending axes from 0 to {x.rank - 1}, got {list(axes)}",
    )
    kept = (1 if d in axes else n for d, n in enumerate(x.shape))
    dropped = (n for d, n in enumerate(x.shape) if d not in axes)
    return TensorType(x.dtype, tuple(kept if keepdims else dropped))


def reduction(
    name: str,
    words: str,
    *,
    numpy: Callable[[Array, Axes, bool], Any],
    scalar: Callable[[Any, Scalar, list[Expr], list[Any]], Scalar],
    onnx: str,
    elements: Elements = "number",
    flops: int = 1,
    exact: bool = False,
    shape_math: bool = False,
    traits: Collection[Trait] = (),
    value_range: tuple[float, float] | None = None,
    of_images: str = "",
) -> Operator:
    """Declare a reduction by `numpy(x, axes, keepdims)` and `scalar(k, element, over, n)`.

    `n` lists the sizes of the reduced axes. `of_images` is the ONNX operator for all spatial axes;
    runtimes support it in their image layouts.
    Units: flops per element of x.
    """

    def rule(x: Tensor, *, axes: tuple[int, ...], keepdims: bool = True) -> TensorType:
        require_elements(name, elements, x)
        return reduced(x, axes, keepdims)

    describe_row(rule, name, words)
    operator = op(
        kind="reduction",
        exact=exact,
        shape_math=shape_math,
        traits=("axis_reduction", *traits),
        value_range=value_range,
    )(rule)

    @operator.reference
    def _(x: Array, *, axes: Axes, keepdims: bool) -> Array:
        with np.errstate(all="ignore"):
            return rounded(numpy(widened(x), axes, keepdims), x)

    @operator.lower
    def _(k: Lowering, x: Handle, out: Handle, *, axes: Axes, keepdims: bool) -> None:
        target, source, inner = reduction_axes(k, x.shape, axes, keepdims)
        element = k.convert(x[source], wide(x.dtype))
        n = [x.shape[a] for a in axes]
        # Without axes, every element is a reduction of one term.
        over = inner or [k.axis(1, "r")]
        k.assign(out[target], k.convert(scalar(k, element, over, n), out.dtype))

    _finish(operator, elements, onnx, flops, of_images)
    return operator


def _finish(
    operator: Operator, elements: Elements, onnx: str, flops: int, of_images: str = ""
) -> None:
    @operator.cost
    def _(x: TensorType, *, out: TensorType, axes: Axes, keepdims: bool) -> Cost:
        return traffic([x], out, flops * x.n_elements)

    @operator.samples
    def _() -> Iterator[tuple[Any, ...]]:
        for keepdims in (True, False):
            yield ["f32[2,3,5]"], {"axes": (1,), "keepdims": keepdims}
            yield ["f32[2,3,5]"], {"axes": (0, 2), "keepdims": keepdims}
            yield ["f32[4,3]"], {"axes": (0, 1), "keepdims": keepdims}
        yield ["f32[2,3,5]"], {"axes": ()}
        yield ["f32[2,0,3]"], {"axes": (1,)}
        yield ["f32[0,3]"], {"axes": (1,)}
        yield ["f16[2,3,4]"], {"axes": (2,)}
        if is_one_of(DType.i32, elements):
            # Positive elements: the logarithm of a negative sum is NaN, which is not an integer.
            yield [np.arange(1, 25, dtype=np.int32).reshape(2, 3, 4)], {"axes": (0, 1)}
            yield [np.array([7, 40, 3])], {"axes": (0,), "keepdims": False}

    @operator.onnx(onnx)
    def _(n: OnnxCall) -> Operand | None:
        return import_reduction(n, operator)

    @operator.export
    def _(x: Tensor, *, axes: Axes, keepdims: bool) -> Operand:
        """Export a reduction over no axes with a new axis: no axes may mean all axes in ONNX."""
        if of_images and _is_of_images(x, axes, keepdims):
            return standard(of_images, x)
        if axes:
            return standard(onnx, x, np.array(axes, np.int64), keepdims=keepdims)
        row = standard("Unsqueeze", x, np.array([-1]))
        return standard(onnx, row, np.array([-1]), keepdims=False)


def _is_of_images(x: Tensor, axes: Axes, keepdims: bool) -> bool:
    """Return whether the reduced axes are exactly the spatial axes."""
    behind = tuple(range(2, x.rank))
    return keepdims and axes == behind != () and x.dtype is DType.f32 and 0 not in x.shape


def reduction_axes(
    k: Lowering, shape: tuple[int, ...], axes: Axes, keepdims: bool
) -> tuple[list[Expr], list[Expr], list[Expr]]:
    """Return the indices of the result, the indices of the operand, and the reduction indices."""
    target: list[Expr] = []
    source: list[Expr] = []
    for d, n in enumerate(shape):
        if d not in axes:
            i = k.axis(n)
            target.append(i)
            source.append(i)
        else:
            if keepdims:
                target.append(k.axis(1, "u"))
            source.append(0)
    inner: list[Expr] = []
    for d in axes:
        r = k.axis(shape[d], "r")
        source[d] = r
        inner.append(r)
    return target, source, inner


# Rows


def _extreme(ufunc: Any, symbolic: Any, combine: str) -> Callable[[Array, Axes, bool], Any]:
    each = np.frompyfunc(symbolic, 2, 1)

    def numpy(x: Array, axes: Axes, keepdims: bool) -> Any:
        if x.dtype == np.object_:
            made = x
            for a in reversed(axes):
                made = each.reduce(made, axis=a, keepdims=keepdims)
            return made
        start = neutral(combine, DType.from_numpy(x.dtype))
        return ufunc.reduce(x, axis=axes, keepdims=keepdims, initial=start)

    return numpy


def _sum(x: Array, axes: Axes, keepdims: bool) -> Any:
    dtype = None if x.dtype == np.object_ else x.dtype
    return np.sum(x, axis=axes, keepdims=keepdims, dtype=dtype)


def _product(x: Array, axes: Axes, keepdims: bool) -> Any:
    dtype = None if x.dtype == np.object_ else x.dtype
    return np.prod(x, axis=axes, keepdims=keepdims, dtype=dtype)


def _mean(x: Array, axes: Axes, keepdims: bool) -> Any:
    n = np.asarray(np.prod([x.shape[a] for a in axes], dtype=np.int64))
    total = _sum(_as_real(x), axes, keepdims)
    return total / n.astype(total.dtype)


def _mean_scalar(k: Any, x: Scalar, over: list[Expr], n: list[Any]) -> Scalar:
    if not x.dtype.is_float:
        return k.sum(k.convert(x, DType.f64), over=over) / k.count(n, DType.f64)
    total = k.sum(x, over=over)
    # A multiplication instead of a division: it merges with other factors of an epilogue.
    return total * k.share(n, x.dtype)


def _real(dtype: DType) -> DType:
    """Return the element type of arithmetic for functions of real numbers."""
    return wide(dtype) if dtype.is_float else DType.f64


def _as_real(x: Array) -> Array:
    return x.astype(_real(DType.from_numpy(x.dtype)).numpy)


def _l2_scalar(k: Any, x: Scalar, over: list[Expr], n: list[Any]) -> Scalar:
    real = k.convert(x, _real(x.dtype))
    return k.sqrt(k.sum(real * real, over=over))


reduce_sum = reduction(
    "reduce_sum", "The sum along axes.",
    numpy=_sum, scalar=lambda k, x, over, n: k.sum(x, over=over),
    onnx="ReduceSum", shape_math=True,
)  # fmt: skip
reduce_mean = reduction(
    "reduce_mean", "The mean along axes; truncated for integers.",
    numpy=_mean, scalar=_mean_scalar, onnx="ReduceMean", of_images="GlobalAveragePool",
)  # fmt: skip
reduce_max = reduction(
    "reduce_max",
    "The largest element along axes, or the lowest number if an axis is empty; propagates NaN.",
    numpy=_extreme(np.maximum, affine.maximum, "max"),
    scalar=lambda k, x, over, n: k.reduce("max", x, over=over),
    onnx="ReduceMax", exact=True, shape_math=True, traits=("maximum",),
)  # fmt: skip
reduce_min = reduction(
    "reduce_min",
    "The smallest element along axes, or the largest number if an axis is empty; propagates NaN.",
    numpy=_extreme(np.minimum, affine.minimum, "min"),
    scalar=lambda k, x, over, n: k.reduce("min", x, over=over),
    onnx="ReduceMin", exact=True, shape_math=True,
)  # fmt: skip
reduce_prod = reduction(
    "reduce_prod", "The product along axes.",
    numpy=_product, scalar=lambda k, x, over, n: k.reduce("mul", x, over=over),
    onnx="ReduceProd", shape_math=True,
)  # fmt: skip
reduce_l1 = reduction(
    "reduce_l1", "The sum of absolute values along axes.",
    value_range=(0.0, math.inf),
    numpy=lambda x, axes, keepdims: _sum(np.abs(x), axes, keepdims),
    scalar=lambda k, x, over, n: k.sum(k.abs(x), over=over),
    onnx="ReduceL1", flops=2,
)  # fmt: skip
reduce_l2 = reduction(
    "reduce_l2", "The square root of the sum of squares along axes; truncated for integers.",
    value_range=(0.0, math.inf),
    numpy=lambda x, axes, keepdims: np.sqrt(_sum(_as_real(x) ** 2, axes, keepdims)),
    scalar=_l2_scalar,
    onnx="ReduceL2", flops=2,
)  # fmt: skip
reduce_sum_square = reduction(
    "reduce_sum_square", "The sum of squares along axes.",
    value_range=(0.0, math.inf),
    numpy=lambda x, axes, keepdims: _sum(x * x, axes, keepdims),
    scalar=lambda k, x, over, n: k.sum(x * x, over=over),
    onnx="ReduceSumSquare", flops=2,
)  # fmt: skip
reduce_log_sum = reduction(
    "reduce_log_sum", "The logarithm of the sum along axes; truncated for integers.",
    numpy=lambda x, axes, keepdims: np.log(_sum(_as_real(x), axes, keepdims)),
    scalar=lambda k, x, over, n: k.log(k.sum(k.convert(x, _real(x.dtype)), over=over)),
    onnx="ReduceLogSum",
)  # fmt: skip


# The reduction with two stages


@op(traits=("axis_reduction", "staged"), kind="reduction", exact=False)
def reduce_log_sum_exp(x: Tensor, *, axes: tuple[int, ...], keepdims: bool = True) -> TensorType:
    """The logarithm of the sum of exponentials along axes.

    The largest element is subtracted first, so that no exponential overflows. For integers, the
    result is computed in f64 and truncated.
    """
    require_elements("reduce_log_sum_exp", "number", x)
    return reduced(x, axes, keepdims)


@reduce_log_sum_exp.reference
def _(x: Array, *, axes: Axes, keepdims: bool) -> Array:
    given = _as_real(x)
    with np.errstate(all="ignore"):
        top = np.max(given, axis=axes, keepdims=True, initial=-np.inf)
        top = np.where(np.isinf(top), np.zeros_like(top), top)
        total = np.log(np.sum(np.exp(given - top), axis=axes, keepdims=True)) + top
    return rounded(total if keepdims else np.squeeze(total, axis=axes), x)


@reduce_log_sum_exp.lower
def _(k: Lowering, x: Handle, out: Handle, *, axes: Axes, keepdims: bool) -> None:
    dtype = _real(x.dtype)
    top = k.temporary(out.shape, dtype, "top")
    target, source, inner = reduction_axes(k, x.shape, axes, keepdims)
    over = inner or [k.axis(1, "r")]
    k.assign(top[target], k.reduce("max", k.convert(x[source], dtype), over=over))
    target, source, inner = reduction_axes(k, x.shape, axes, keepdims)
    over = inner or [k.axis(1, "r")]
    shift = k.where(k.isinf(top[target]), 0.0, top[target])
    total = k.sum(k.exp(k.convert(x[source], dtype) - shift), over=over)
    k.assign(out[target], k.convert(k.log(total) + shift, out.dtype))


_finish(reduce_log_sum_exp, "number", "ReduceLogSumExp", 3)


# ONNX


def import_reduction(n: OnnxCall, operator: Operator) -> Operand | None:
    """Import the axes from a known operand or an attribute; an empty list means all axes."""
    x, given = n.operand(0), n.operand(1)
    assert x is not None
    truth = x.dtype is DType.bool
    if x.type.shape is None or not (x.dtype.is_float or x.dtype.is_integer or truth):
        return None
    if given is not None:
        if given.value is None:
            return None
        axes = [int(a) for a in given.known.reshape(-1)]
    else:
        axes = list(n.attr("axes") or ())
    if not axes:
        if n.attr("noop_with_empty_axes", 0):
            return operator(x, axes=()) if operator.name in _MEAN_SOMETHING_ALONE else x
        axes = list(range(x.rank))
    attrs = {"axes": normal_axes(axes, x.rank), "keepdims": bool(n.attr("keepdims", 1))}
    if truth:
        # The maximum of bools is "any", the minimum is "all".
        return cast(operator(cast(x, to=DType.u8), **attrs), to=DType.bool)
    return operator(x, **attrs)


_MEAN_SOMETHING_ALONE = {
    "reduce_l1", "reduce_l2", "reduce_sum_square", "reduce_log_sum", "reduce_log_sum_exp",
}  # fmt: skip
"""Reductions that change the elements even for an empty list of axes."""


def _over_image(n: OnnxCall, operator: Operator) -> Operand | None:
    x = n.operand(0)
    assert x is not None
    if x.type.shape is None or x.rank < 3:
        return None
    return operator(x, axes=tuple(range(2, x.rank)), keepdims=True)


@reduce_mean.onnx("GlobalAveragePool")
def _(n: OnnxCall) -> Operand | None:
    return _over_image(n, reduce_mean)


@reduce_max.onnx("GlobalMaxPool")
def _(n: OnnxCall) -> Operand | None:
    return _over_image(n, reduce_max)


@reduce_l2.onnx("GlobalLpPool")
def _(n: OnnxCall) -> Operand | None:
    norms = {1: reduce_l1, 2: reduce_l2}
    p = n.attr("p", 2)
    return _over_image(n, norms[p]) if p in norms else None
