"""Ordering elements: the largest or least of an axis, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering, RoutineBuilder
from compiler.compute.scalar import Read, Scalar
from compiler.errors import CompileError, require
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.ir.operator import Array, Cost, OnnxCall, Operand, Out, Tensor, op
from compiler.ir.types import Dim, DType, TensorType
from compiler.ops.dims import known_value, open_dim
from compiler.ops.requirements import normal_axis, require_elements, traffic, widened

INSERTIONS = 8
"""Up to this many elements for each bit of an axis's size are kept in order as they are found.

In the worst case each element is moved behind all others; for more, all are sorted.
"""

Before = Callable[[Scalar, Scalar], Scalar]
"""Whether a value comes before another one."""


@op(kind="opaque")
def top_k(
    x: Tensor, n: Tensor, *, axis: int = -1, largest: bool = True
) -> tuple[TensorType, TensorType]:
    """The n largest (or least) elements along an axis, in order, and where they lie.

    Of equal elements the one that comes first in x comes first; NaN is larger than all numbers.
    Shapes: n is one number, the size of both results on `axis`; places are i64.
    Errors: E-OP-DTYPE, E-OP-AXIS, E-OP-SHAPE for more elements than there are.
    Source: ONNX TopK-24.
    """
    require_elements("top_k", "number", x)
    require(n.dtype.is_integer, "E-OP-DTYPE", f"top_k needs a whole number, got {n.type}")
    at = normal_axis(axis, x.rank)
    size: Dim = open_dim(at, n)
    if n.value is not None and n.value.size == 1:
        (found,) = n.value.reshape(-1)
        size = found if n.value.dtype == np.object_ else int(found)
    if isinstance(size, int) and isinstance(x.shape[at], int):
        fits = 0 <= size <= x.shape[at]
        require(fits, "E-OP-SHAPE", f"the top {size} of the {x.shape[at]} along axis {at}")
    shape = (*x.shape[:at], size, *x.shape[at + 1 :])
    return TensorType(x.dtype, shape), TensorType(DType.i64, shape)


@top_k.reference
def _(x: Array, n: Array, *, axis: int, largest: bool) -> tuple[Array, Array]:
    count, at = int(n.reshape(-1)[0]), axis % x.ndim
    require(0 <= count <= x.shape[at], "E-RUN-OPERATOR", f"the top {count} of {x.shape[at]}")
    if largest:
        # Sorted from behind, so that the first of equal elements comes last, and first in the end.
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
    known_value(n, "how many elements top_k takes")
    at = axis % x.rank
    before = _order(k, x.dtype, largest)
    if 0 in values.shape:
        return
    others = [m for d, m in enumerate(x.shape) if d != at]
    size = x.shape[at]
    if values.shape[at] <= INSERTIONS * affine.assumed(size).bit_length():
        with k.routine() as r, r.loops(others) as index:
            row = _Row(index, at)
            _insert_each(k, r, row, x, values, places, before)
        return
    if not isinstance(size, int):
        raise CompileError("E-SHAPE-OPEN", f"sorting {size} elements needs their number")
    sorter = _MergeSort(k, size, x.dtype, before)
    with k.routine() as r, r.loops(others) as index:
        row = _Row(index, at)
        with r.loop(size, "t") as t:
            sorter.put(r, t, x[row.index(t)])
        sorter.sort(r)
        with r.loop(values.shape[at], "t") as t:
            r.store(values[row.index(t)], sorter.keys[t])
            r.store(places[row.index(t)], sorter.numbers[t])


def _order(k: Lowering, dtype: DType, largest: bool) -> Before:
    def before(a: Scalar, b: Scalar) -> Scalar:
        found = k.gt(a, b) if largest else k.lt(a, b)
        if not dtype.is_float:
            return found
        first, second = (a, b) if largest else (b, a)
        return k.apply("or", found, k.apply("and", k.isnan(first), k.apply("not", k.isnan(second))))

    return before


class _Row:
    """Indices of elements along one axis, for fixed indices on the others."""

    def __init__(self, others: list[Expr], at: int) -> None:
        self.head, self.tail = others[:at], others[at:]

    def index(self, t: Expr) -> list[Expr]:
        """The index of an element whose number is a loop's."""
        return [*self.head, t, *self.tail]

    def at(self, t: Scalar) -> list[Scalar | Expr]:
        """The index of an element whose number is computed."""
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
    """Keep the best elements so far in order; a new one moves those behind it by one place."""
    n = values.shape[len(row.head)]
    hole = r.cell(DType.i64, "hole")
    with r.loop(x.shape[len(row.head)], "t") as t:
        element = x[row.index(t)]
        last = values[row.index(n - 1)]
        # While there is room, elements go behind the last; then one has to come before the last.
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


class _MergeSort:
    """Sorts keys with their numbers, stably: runs of 1, 2, 4... elements are merged in turn."""

    def __init__(self, k: Lowering, size: int, dtype: DType, before: Before) -> None:
        self.k, self.size, self.before = k, size, before
        n_passes = max(size - 1, 0).bit_length()
        self.widths = [1 << p for p in range(n_passes)]
        pairs = [
            (k.temporary((size,), dtype, "keys"), k.temporary((size,), DType.i64, "numbers"))
            for _ in range(2)
        ]
        # Passes go from one pair of tensors to the other and end in the second.
        self.pairs = pairs if n_passes % 2 else pairs[::-1]
        self.keys, self.numbers = pairs[1]

    def put(self, r: RoutineBuilder, t: Expr, key: Read) -> None:
        """Set an element before sorting."""
        keys, numbers = self.pairs[0]
        r.store(keys[t], key)
        r.store(numbers[t], self.k.index(t))

    def sort(self, r: RoutineBuilder) -> None:
        """Sort what was put: `keys` and `numbers` are in order afterwards."""
        left, right = r.cell(DType.i64, "left"), r.cell(DType.i64, "right")
        step = r.cell(DType.i64, "step")
        for p, width in enumerate(self.widths):
            source, target = self.pairs[p % 2], self.pairs[1 - p % 2]
            with r.loop(-(-self.size // (2 * width)), "run") as run:
                self._merge(r, source, target, (left, right, step), run * (2 * width), width)

    def _merge(
        self,
        r: RoutineBuilder,
        source: tuple[Handle, Handle],
        target: tuple[Handle, Handle],
        cells: tuple[Read, Read, Read],
        start: Expr,
        width: int,
    ) -> None:
        k, (left, right, step) = self.k, cells
        (keys, numbers), (to_keys, to_numbers) = source, target
        middle = k.min(k.index(start + width), k.number(self.size, DType.i64))
        end = k.min(k.index(start + 2 * width), k.number(self.size, DType.i64))
        r.store(left, k.index(start))
        r.store(right, middle)
        with r.loop(2 * width, "t") as t:
            place = k.index(start + t)
            comes_first = k.apply(
                "and", k.lt(right, end), self.before(keys.at(right), keys.at(left))
            )
            from_right = k.apply("or", k.ge(left, middle), comes_first)
            r.store(step, k.convert(from_right, DType.i64))
            taken = k.where(k.gt(step, 0), right, left)
            r.store(to_keys.at(place), keys.at(taken))
            r.store(to_numbers.at(place), numbers.at(taken))
            r.store(left, left + 1 - step)
            r.store(right, right + step)


@top_k.onnx("TopK")
def _(n: OnnxCall) -> Operand | tuple[Operand, ...] | None:
    """The number is an attribute before opset 10; what need not be sorted may be."""
    given = n.operand(1)
    count: Operand = np.array(n.attr("k"), np.int64) if given is None else given
    made = top_k(n.operand(0), count, axis=n.attr("axis", -1), largest=bool(n.attr("largest", 1)))
    return tuple(Out(made, i) for i in range(n.n_outputs))


@top_k.samples
def _() -> Iterator[tuple[Any, ...]]:
    ties = np.array([[3, 1, 3, 2, 1, 3], [0, -1, -1, 5, 0, 5]], np.float32)
    odd = np.array([1, np.nan, -np.inf, np.inf, np.nan, 2], np.float32)
    for largest in (True, False):
        yield [ties, np.array([4])], {"largest": largest}
        yield [odd, np.array([6])], {"largest": largest}
        yield ["f32[2,70,2]", np.array([61])], {"axis": 1, "largest": largest}
        yield ["u8[3,41]", np.array([40])], {"largest": largest}
    yield ["i64[5,3]", np.array([2])], {"axis": 0}
    yield ["f16[2,33]", np.array([33], np.int64)], {"axis": -1}
    yield ["f32[2,3]", np.array([0])], {}
    yield ["f64[1]", np.array(1)], {"largest": False}
