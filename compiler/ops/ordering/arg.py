"""Operators for the index of the largest or smallest element along an axis, by two reductions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.compute.scalar import Scalar
from compiler.errors import require
from compiler.ir.affine import Expr
from compiler.ir.operator import Array, Cost, OnnxCall, Operand, Operator, Tensor, op, standard
from compiler.ir.types import DType, TensorType
from compiler.ops.elementwise.table import SPECIAL, describe_row
from compiler.ops.reductions.reduce import reduced, reduction_axes
from compiler.ops.reductions.softmax import along_axis
from compiler.ops.type_rules.requirements import normal_axis, require_elements, traffic


def arg(name: str, words: str, *, numpy: Any, combine: str, onnx: str) -> Operator:
    """Declare an operator: `numpy` computes the index, `combine` reduces elements."""

    def rule(x: Tensor, *, axis: int, keepdims: bool = True, last: bool = False) -> TensorType:
        require_elements(name, "number", x)
        made = reduced(x, (axis,), keepdims)
        if x.type.shape is not None:
            require(x.shape[axis] != 0, "E-OP-SHAPE", f"{name} needs a nonempty axis, got {x.type}")
        return TensorType(DType.i64, made.shape)

    describe_row(rule, name, words)
    operator = op(kind="reduction")(rule)

    @operator.reference
    def _(x: Array, *, axis: int, keepdims: bool, last: bool) -> Array:
        found = numpy(np.flip(x, axis) if last else x, axis)
        found = x.shape[axis] - 1 - found if last else found
        return np.asarray(np.expand_dims(found, axis) if keepdims else found, np.int64)

    @operator.cost
    def _(x: TensorType, *, out: TensorType, **_: Any) -> Cost:
        return traffic([x], out, 3 * x.n_elements)

    @operator.lower
    def _(k: Lowering, x: Handle, out: Handle, *, axis: int, keepdims: bool, last: bool) -> None:
        best = k.temporary(out.shape, x.dtype, "best")
        target, source, inner = reduction_axes(k, x.shape, (axis,), keepdims)
        k.assign(best[target], k.reduce(combine, x[source], over=inner))
        target, source, inner = reduction_axes(k, x.shape, (axis,), keepdims)
        hit = is_same(k, x[source], best[target])
        place = k.where(hit, k.index(inner[0]), k.number(-1 if last else x.shape[axis], DType.i64))
        k.assign(out[target], k.reduce("max" if last else "min", place, over=inner))

    @operator.samples
    def _() -> Iterator[tuple[Any, ...]]:
        repeated = np.array([[3, 1, 3, 1], [2, 2, 2, 2], [0, 5, -5, 5]])
        for last in (False, True):
            yield ["f32[2,3,5]"], {"axis": 1, "last": last}
            yield ["f16[4,3]"], {"axis": 0, "keepdims": False, "last": last}
            yield [repeated], {"axis": 1, "last": last}
            yield [repeated.astype(np.uint8)], {"axis": 0, "last": last}
            yield [np.stack([SPECIAL, SPECIAL[::-1]])], {"axis": 1, "last": last}
            yield [np.stack([SPECIAL, SPECIAL[::-1]])], {"axis": 0, "last": last}
        yield ["f64[0,3]"], {"axis": 1}

    @operator.onnx(onnx)
    def _(n: OnnxCall) -> Operand | None:
        x = n.operand(0)
        assert x is not None
        if x.type.shape is None:
            return None
        return operator(
            x,
            axis=normal_axis(int(n.attr("axis", 0)), x.rank),
            keepdims=bool(n.attr("keepdims", 1)),
            last=bool(n.attr("select_last_index", 0)),
        )

    @operator.export
    def _(x: Tensor, *, axis: int, keepdims: bool, last: bool) -> Operand:
        return standard(onnx, x, axis=axis, keepdims=keepdims, select_last_index=last)

    return operator


def is_same(k: Lowering, x: Scalar, best: Scalar) -> Scalar:
    """Return whether an element equals a reduction's result; NaN counts as equal."""
    hit = k.eq(x, best)
    return k.apply("or", hit, k.isnan(x)) if x.dtype.is_float else hit


argmax = arg(
    "argmax",
    """The index of the largest element along an axis; of equal elements, the first is selected.

    With `last`, the last of equal elements is selected. NaN is larger than every number.
    Source: ONNX ArgMax-13, numpy.argmax.
    """,
    numpy=np.argmax, combine="max", onnx="ArgMax",
)  # fmt: skip
argmin = arg(
    "argmin",
    """The index of the smallest element along an axis; of equal elements, the first is selected.

    With `last`, the last of equal elements is selected. NaN is smaller than every number.
    Source: ONNX ArgMin-13, numpy.argmin.
    """,
    numpy=np.argmin, combine="min", onnx="ArgMin",
)  # fmt: skip


@op(traits=("integral",), value_range=(0.0, 1.0), kind="reduction")
def hardmax(x: Tensor, *, axis: int = -1) -> TensorType:
    """Set the first of the largest elements along an axis to 1, and all other elements to 0.

    Errors: E-OP-AXIS if the axis is outside [-rank, rank).
    Source: ONNX Hardmax-13.
    """
    require_elements("hardmax", "float", x)
    if x.type.shape is not None:
        normal_axis(axis, x.rank)
    return x.type.logical


@hardmax.reference
def _(x: Array, *, axis: int) -> Array:
    if not x.size:
        return x
    first = np.expand_dims(np.argmax(x, axis), axis)
    made = np.zeros_like(x)
    np.put_along_axis(made, first, np.ones((), x.dtype), axis)
    return made


@hardmax.cost
def _(x: TensorType, *, out: TensorType, axis: int) -> Cost:
    return traffic([x], out, 4 * x.n_elements)


@hardmax.lower
def _(k: Lowering, x: Handle, out: Handle, *, axis: int) -> None:
    axis = normal_axis(axis, x.rank)
    shape = [1 if d == axis else n for d, n in enumerate(x.shape)]
    best = k.temporary(shape, x.dtype, "best")
    place = k.temporary(shape, DType.i64, "place")
    target, source, inner = reduction_axes(k, x.shape, (axis,), True)
    k.assign(best[target], k.reduce("max", x[source], over=inner))
    target, source, inner = reduction_axes(k, x.shape, (axis,), True)
    hit = is_same(k, x[source], best[target])
    none = k.number(x.shape[axis], DType.i64)
    k.assign(place[target], k.reduce("min", k.where(hit, k.index(inner[0]), none), over=inner))
    index = k.axes(x.shape)
    at: list[Expr] = [*index[:axis], 0, *index[axis + 1 :]]
    hit = k.eq(k.index(index[axis]), place[at])
    k.assign(out[index], k.where(hit, k.number(1.0, x.dtype), 0.0))


@hardmax.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[2,3,5]"], {"axis": 1}
    yield ["f16[4,3]"], {"axis": 0}
    yield ["f64[3]"], {}
    yield [np.array([[1, 3, 3], [2, 2, 2]], np.float32)], {}
    yield [np.stack([SPECIAL, SPECIAL[::-1]])], {"axis": -1}
    yield ["f32[0,3]"], {}


@hardmax.onnx("Hardmax")
def _(n: OnnxCall) -> Operand | None:
    return along_axis(n, hardmax)


hardmax.exports_as("Hardmax")
