"""Top-k selection: the largest or smallest elements of an axis, in order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering, RoutineBuilder
from compiler.compute.scalar import Scalar
from compiler.errors import require
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.ir.operator import Array, Cost, OnnxCall, Operand, Out, Tensor, op, standard
from compiler.ir.types import Dim, DType, TensorType
from compiler.ops.ordering.routines import Before, Heap, Sorter, order
from compiler.ops.type_rules.dims import known_value, open_dim
from compiler.ops.type_rules.requirements import normal_axis, require_elements, traffic, widened

INSERTIONS = 8
"""The maximum number of elements to select by insertion sort, per bit of the axis size.

The worst case of an insertion sort is quadratic, so larger selections use other algorithms.
"""

HEAPED = 4
"""The minimum ratio for a heap: the size of the axis, divided by the number of selected elements.
Below this ratio, the axis is sorted."""


@op(kind="opaque")
def top_k(
    x: Tensor, n: Tensor, *, axis: int = -1, largest: bool = True
) -> tuple[TensorType, TensorType]:
    """The n largest (or smallest) elements along an axis, in order, and their indices.

    Equal elements retain the order of x; NaN is larger than all numbers.
    Shapes: n is a scalar, which is the size of both results on `axis`; indices are i64.
    Errors: E-OP-DTYPE, E-OP-AXIS, E-OP-SHAPE for n above the size of the axis.
    Source: ONNX TopK-24.
    """
    require_elements("top_k", "number", x)
    require(n.dtype.is_integer, "E-OP-DTYPE", f"top_k needs an integer n, got {n.type}")
    at = normal_axis(axis, x.rank)
    size: Dim = open_dim(at, n)
    if n.value is not None and n.value.size == 1:
        (found,) = n.value.reshape(-1)
        size = found if n.value.dtype == np.object_ else int(found)
    if isinstance(size, int) and isinstance(x.shape[at], int):
        fits = 0 <= size <= x.shape[at]
        message = f"top_k cannot select {size} of {x.shape[at]} elements along axis {at}"
        require(fits, "E-OP-SHAPE", message)
    shape = (*x.shape[:at], size, *x.shape[at + 1 :])
    return TensorType(x.dtype, shape), TensorType(DType.i64, shape)


@top_k.reference
def _(x: Array, n: Array, *, axis: int, largest: bool) -> tuple[Array, Array]:
    count, at = int(n.reshape(-1)[0]), axis % x.ndim
    message = f"top_k cannot select {count} of {x.shape[at]} elements"
    require(0 <= count <= x.shape[at], "E-RUN-OPERATOR", message)
    if largest:
        # Sort the reversed axis, so that the first of equal elements is last, and first in the
        # result.
        order = x.shape[at] - 1 - np.argsort(np.flip(widened(x), at), at, kind="stable")
        order = np.flip(order, at)
    else:
        order = np.argsort(widened(x), at, kind="stable")
    places = np.take(order, np.arange(count), at)
    return np.take_along_axis(x, places, at), places.astype(np.int64)


@top_k.cost
def _(
    x: TensorType, n: TensorType, *, out: tuple[TensorType, ...], axis: int, largest: bool
) -> Cost:
    return traffic([x, n], out, x.n_elements)


@top_k.lower
def _(
    k: Lowering, x: Handle, n: Handle, values: Handle, places: Handle, *, axis: int, largest: bool
) -> None:
    known_value(n, "the number of elements of top_k")
    at = axis % x.rank
    before = order(k, x.dtype, descending=largest)
    others = [m for d, m in enumerate(x.shape) if d != at]
    size = x.shape[at]
    if 0 in values.shape:
        return
    with k.routine() as r:
        if values.shape[at] <= INSERTIONS * affine.assumed(size).bit_length():
            with r.loops(others) as index:
                _insert_each(k, r, _Row(index, at), x, values, places, before)
            return
        if affine.assumed(values.shape[at]) * HEAPED <= affine.assumed(size):
            heap = Heap.of(k, r, values.shape[at], x.dtype, before, is_reversed=True)
            with r.loops(others) as index:
                _through_heap(k, r, _Row(index, at), x, values, places, heap)
            return
        sorter = Sorter.of(k, r, size, x.dtype, before)
        with r.loops(others) as index:
            row = _Row(index, at)
            sorter.clear()
            with r.loop(size, "t") as t:
                sorter.put(t, x[row.index(t)], k.index(t))
            sorter.sort(k.index(size))
            with r.loop(values.shape[at], "t") as t:
                r.store(values[row.index(t)], sorter.key(t))
                r.store(places[row.index(t)], sorter.number(t))


class _Row:
    """The full indices of elements along one axis; the indices on other axes are fixed."""

    def __init__(self, others: list[Expr], at: int) -> None:
        self.head, self.tail = others[:at], others[at:]

    def index(self, t: Expr) -> list[Expr]:
        """Return the full index of an element, given a loop index along the axis."""
        return [*self.head, t, *self.tail]

    def at(self, t: Scalar) -> list[Scalar | Expr]:
        """Return the full index of an element, given a computed index along the axis."""
        return [*self.head, t, *self.tail]


def _insert_each(
    k: Lowering,
    r: RoutineBuilder,
    row: _Row,
    x: Handle,
    values: Handle,
    places: Handle,
    before: Before,
) -> None:
    """Select by an insertion sort of the best elements so far."""
    n = values.shape[len(row.head)]
    hole = r.cell(DType.i64, "hole")
    with r.loop(x.shape[len(row.head)], "t") as t:
        element = x[row.index(t)]
        last = values[row.index(n - 1)]
        # Every element is inserted until the list is full, then only elements better than the last.
        has_room = k.lt(k.index(t), k.number(n, DType.i64))
        with r.when(k.apply("or", has_room, before(element, last))):
            r.store(hole, k.min(k.index(t), k.number(n - 1, DType.i64)))
            ahead = values.at(*row.at(hole - 1))
            with r.repeat(k.apply("and", k.gt(hole, 0), before(element, ahead))):
                r.store(values.at(*row.at(hole)), ahead)
                r.store(places.at(*row.at(hole)), places.at(*row.at(hole - 1)))
                r.store(hole, hole - 1)
            r.store(values.at(*row.at(hole)), element)
            r.store(places.at(*row.at(hole)), k.index(t))


def _through_heap(
    k: Lowering,
    r: RoutineBuilder,
    row: _Row,
    x: Handle,
    values: Handle,
    places: Handle,
    heap: Heap,
) -> None:
    """Select by a heap of the best elements so far; the top of the heap is the worst of these."""
    n = values.shape[len(row.head)]
    heap.clear()
    with r.loop(n, "t") as t:
        heap.push(x[row.index(t)], k.index(t))
    with r.loop(x.shape[len(row.head)], "t", start=n) as t:
        element = x[row.index(t)]
        with r.when(heap.before(element, heap.key)):
            heap.replace(element, k.index(t))
    with r.loop(n, "t") as t:
        last = row.index(n - 1 - t)
        r.store(values[last], heap.key)
        r.store(places[last], heap.number)
        heap.pop()


@top_k.onnx("TopK")
def _(n: OnnxCall) -> Operand | tuple[Operand, ...] | None:
    """Import TopK; n is an attribute before opset 10; the results are always sorted."""
    given = n.operand(1)
    count: Operand = np.array(n.attr("k"), np.int64) if given is None else given
    made = top_k(n.operand(0), count, axis=n.attr("axis", -1), largest=bool(n.attr("largest", 1)))
    return tuple(Out(made, i) for i in range(n.n_outputs))


@top_k.export
def _(x: Tensor, n: Tensor, *, axis: int, largest: bool) -> Operand:
    count: Operand = n if n.type.shape == (1,) else standard("Reshape", n, np.array([1]))
    return standard("TopK", x, count, axis=axis, largest=largest, n_outputs=2)


@top_k.samples
def _() -> Iterator[tuple[Any, ...]]:
    ties = np.array([[3, 1, 3, 2, 1, 3], [0, -1, -1, 5, 0, 5]], np.float32)
    odd = np.array([1, np.nan, -np.inf, np.inf, np.nan, 2], np.float32)
    for largest in (True, False):
        yield [ties, np.array([4])], {"largest": largest}
        yield [odd, np.array([6])], {"largest": largest}
        yield ["f32[2,70,2]", np.array([61])], {"axis": 1, "largest": largest}
        yield [np.tile(ties[0], 49), np.array([73])], {"largest": largest}
        yield ["u8[3,41]", np.array([40])], {"largest": largest}
    yield ["i64[5,3]", np.array([2])], {"axis": 0}
    yield ["f16[2,33]", np.array([33], np.int64)], {"axis": -1}
    yield ["f32[2,3]", np.array([0])], {}
    yield ["f64[1]", np.array(1)], {"largest": False}
