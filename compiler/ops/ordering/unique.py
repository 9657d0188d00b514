"""The distinct rows of a tensor."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering, RoutineBuilder
from compiler.compute.scalar import Read, Scalar
from compiler.ir.affine import Expr
from compiler.ir.operator import OPERATORS, Array, Cost, OnnxCall, Operand, Tensor, op, standard
from compiler.ir.types import DType, TensorType
from compiler.ops.ordering.routines import Sorter, order
from compiler.ops.ordering.selections import filled_up, leading
from compiler.ops.type_rules.requirements import (
    is_one_of,
    normal_axis,
    require_elements,
    traffic,
    widened,
)

Types = tuple[TensorType, TensorType, TensorType, TensorType, TensorType]


@op(kind="opaque")
def unique_rows(x: Tensor, *, axis: int = 0, rising: bool = True) -> Types:
    """The distinct rows (slices along an axis) of x, sorted or in order of first occurrence.

    Shapes: the distinct rows, padded to the number of rows of x; for each distinct row, the index
    in x of its first occurrence; for each row of x, the index of the equal distinct row; the count
    of each distinct row; the number of distinct rows, as one i64. Unused elements are zeros.
    Errors: E-OP-DTYPE, E-OP-AXIS.
    Source: ONNX Unique-11; rows are compared by their first elements, then by their second elements
    and so on.
    """
    require_elements("unique_rows", "number", x)
    at = normal_axis(axis, x.rank)
    listed = TensorType(DType.i64, (x.shape[at],))
    return x.type, listed, listed, listed, TensorType(DType.i64, ())


@unique_rows.reference
def _(x: Array, *, axis: int, rising: bool) -> tuple[Array, ...]:
    return different_rows(x, axis, rising)


def different_rows(x: Array, axis: int, rising: bool) -> tuple[Array, ...]:
    """Compute the results of unique_rows."""
    rows = np.moveaxis(x, axis, 0)
    flat = widened(rows).reshape(len(rows), math.prod(rows.shape[1:]))
    seen: list[int] = []
    inverse = np.zeros(len(rows), np.int64)
    for number in np.lexsort(flat.T[::-1]) if flat.shape[1] else range(len(rows)):
        if not seen or not np.array_equal(flat[number], flat[seen[-1]], equal_nan=True):
            seen.append(int(number))
        inverse[number] = len(seen) - 1
    n = len(seen)
    to = np.arange(n) if rising else np.argsort(np.argsort(seen))
    made, first, counts = np.zeros_like(rows), np.zeros_like(inverse), np.zeros_like(inverse)
    for group, number in enumerate(seen):
        made[to[group]], first[to[group]] = rows[number], number
        counts[to[group]] = np.sum(inverse == group)
    inverse = to[inverse] if n else inverse
    return np.moveaxis(made, 0, axis), first, inverse, counts, np.array(n, np.int64)


@unique_rows.cost
def _(x: TensorType, *, out: tuple[TensorType, ...], axis: int, rising: bool) -> Cost:
    return traffic([x], out, x.n_elements)


@unique_rows.lower
def _(
    k: Lowering,
    x: Handle,
    made: Handle,
    first: Handle,
    inverse: Handle,
    counts: Handle,
    count: Handle,
    *,
    axis: int,
    rising: bool,
) -> None:
    at, n = axis % x.rank, count[()]
    for handle in (made, first, inverse, counts):
        index = k.axes(handle.shape)
        k.assign(handle[index], k.number(0, handle.dtype))
    others = [m for d, m in enumerate(x.shape) if d != at]
    size = x.shape[at]
    with k.routine() as r:
        rows = Sorter.of(k, r, size, x.dtype, order(k, x.dtype, descending=False))
        _sort_rows(k, r, rows, x, at, others)
        # The start of each group of equal rows, in sorted order.
        begin = k.temporary((size,), DType.i64, "begin")
        differs, place = r.cell(DType.i64, "differs"), r.cell(DType.i64, "place")
        r.store(n, 0)
        with r.loop(size, "t") as t:
            r.store(differs, k.convert(k.eq(k.index(t), 0), DType.i64))
            with r.loops(others) as index:
                here, before = (
                    x.at(*index[:at], rows.number(k.index(t - back)), *index[at:])
                    for back in (0, 1)
                )
                with r.when(_differ(k, here, before)):
                    r.store(differs, 1)
            with r.when(k.gt(differs, 0)):
                r.store(begin.at(n), rows.number(t))
                r.store(n, n + 1)
            r.store(inverse.at(rows.number(t)), n - 1)
        number = _numbering(k, r, begin, inverse, n, size, rising)
        with r.loop(size, "t") as t:
            with r.when(k.lt(k.index(t), n)):
                r.store(place, number[t])
                r.store(first.at(place), begin[t])
                with r.loops(others) as index:
                    source = x.at(*index[:at], begin[t], *index[at:])
                    r.store(made.at(*index[:at], place, *index[at:]), source)
        with r.loop(size, "t") as t:
            r.store(place, number.at(inverse[t]))
            r.store(inverse[t], place)
            r.store(counts.at(place), counts.at(place) + 1)


def _differ(k: Lowering, a: Scalar, b: Scalar) -> Scalar:
    if not is_one_of(a.dtype, "float"):
        return k.ne(a, b)
    same = k.apply("or", k.eq(a, b), k.apply("and", k.isnan(a), k.isnan(b)))
    return k.apply("not", same)


def _sort_rows(
    k: Lowering, r: RoutineBuilder, rows: Sorter, x: Handle, at: int, others: Sequence[Expr]
) -> None:
    """Sort rows by stable sorts on each element position, from the last position to the first."""
    rows.clear()
    number = r.cell(DType.i64, "number")
    with r.loop(x.shape[at], "t") as t:
        rows.put(t, k.number(0, x.dtype), k.index(t))
    with r.loops(others) as index:
        last = [m - 1 - i for m, i in zip(others, index, strict=True)]
        with r.loop(x.shape[at], "t") as t:
            r.store(number, rows.number(t))
            rows.put(t, x.at(*last[:at], number, *last[at:]), number)
        rows.sort(k.index(x.shape[at]))


def _numbering(
    k: Lowering,
    r: RoutineBuilder,
    begin: Handle,
    inverse: Handle,
    n: Read,
    size: Expr,
    rising: bool,
) -> Handle:
    """Return the position of each group in the result: sorted, or in order of occurrence."""
    number = k.temporary((size,), DType.i64, "order")
    if rising:
        with r.loop(size, "t") as t:
            r.store(number[t], k.index(t))
        return number
    taken = r.cell(DType.i64, "taken")
    r.store(taken, 0)
    with r.loop(size, "t") as t:
        with r.when(k.eq(begin.at(inverse[t]), k.index(t))):
            r.store(number.at(inverse[t]), taken)
            r.store(taken, taken + 1)
    return number


@unique_rows.onnx("Unique")
def _(n: OnnxCall) -> tuple[Operand, ...] | None:
    """Import Unique; without an axis, each element is a row."""
    x, axis = n.operand(0), n.attr("axis")
    if x is None or x.type.shape is None or not is_one_of(x.dtype, "number"):
        return None
    if axis is None:
        rows = OPERATORS["reshape"](x, np.array([-1]))
        found = unique_rows(rows, rising=bool(n.attr("sorted", 1)))
    else:
        found = unique_rows(x, axis=axis, rising=bool(n.attr("sorted", 1)))
    count = found.out(4)
    made = (
        leading(found.out(0), count, axis=axis or 0),
        leading(found.out(1), count),
        found.out(2),
        leading(found.out(3), count),
    )
    return made[: n.n_outputs]


@unique_rows.export
def _(x: Tensor, *, axis: int, rising: bool) -> tuple[Operand, ...]:
    """Export as Unique; the distinct rows are padded with zeros to the number of rows of x."""
    at = normal_axis(axis, x.rank)
    found = standard("Unique", x, axis=axis, sorted=rising, n_outputs=4)
    count = standard("Shape", found.out(3))
    room = standard("Shape", x, start=at, end=at + 1)
    return (
        filled_up(found.out(0), count, room, x.rank, at),
        filled_up(found.out(1), count, room, 1, 0),
        found.out(2),
        filled_up(found.out(3), count, room, 1, 0),
        standard("Squeeze", count),
    )


@unique_rows.samples
def _() -> Iterator[tuple[Any, ...]]:
    few = np.array([[2, 1, 2, 3], [2, 1, 1, 3], [2, 1, 2, 3], [0, 9, 2, 3]])
    for rising in (True, False):
        yield [few], {"rising": rising}
        yield [few[:3, :3].astype(np.float32)], {"axis": 1, "rising": rising}
        yield [np.array([2.5, np.nan, -1, 2.5, np.nan, 0], np.float32)], {"rising": rising}
    yield [np.array([[[1, 2], [1, 2]], [[1, 2], [3, 2]]], np.uint8)], {"axis": -1}
    yield ["f32[0]"], {}
