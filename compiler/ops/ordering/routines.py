"""Sorting in routines of loops, shared by the operators that order elements."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from compiler.compute.builder import Handle, Lowering, RoutineBuilder
from compiler.compute.scalar import Fetch, Read, Scalar
from compiler.dataclass import dataclass
from compiler.ir.affine import Expr
from compiler.ir.types import DType

Before = Callable[[Scalar, Scalar], Scalar]
"""A function that builds a test of whether one value precedes another."""


def order(k: Lowering, dtype: DType, *, descending: bool) -> Before:
    """Return the test for ascending or descending order; NaN is larger than all numbers."""

    def before(a: Scalar, b: Scalar) -> Scalar:
        found = k.gt(a, b) if descending else k.lt(a, b)
        if not dtype.is_float:
            return found
        first, second = (a, b) if descending else (b, a)
        return k.apply("or", found, k.apply("and", k.isnan(first), k.apply("not", k.isnan(second))))

    return before


@dataclass
class Sorter:
    """A stable merge sort of numbered keys, which merges runs of 1, 2, 4... elements.

    The passes of the merge sort alternate between two buffers.
    """

    k: Lowering
    r: RoutineBuilder
    keys: Handle
    numbers: Handle
    side: Read
    before: Before

    @staticmethod
    def of(k: Lowering, r: RoutineBuilder, room: Expr, dtype: DType, before: Before) -> Sorter:
        """Create a sorter whose capacity is `room` elements."""
        keys = k.temporary((2, room), dtype, "keys")
        numbers = k.temporary((2, room), DType.i64, "numbers")
        return Sorter(k, r, keys, numbers, r.cell(DType.i64, "side"), before)

    def clear(self) -> None:
        """Begin anew."""
        self.r.store(self.side, 0)

    def put(self, t: Scalar | Expr, key: Scalar, number: Scalar) -> None:
        """Store the key and the number of an element, before or after sorting."""
        self.r.store(self.keys.at(self.side, t), key)
        self.r.store(self.numbers.at(self.side, t), number)

    def key(self, t: Scalar | Expr) -> Fetch:
        """Return the key at an index."""
        return self.keys.at(self.side, t)

    def number(self, t: Scalar | Expr) -> Fetch:
        """Return the number that identifies the element at an index."""
        return self.numbers.at(self.side, t)

    def sort(self, count: Scalar) -> None:
        """Sort the first `count` elements."""
        k, r = self.k, self.r
        width, start = r.cell(DType.i64, "width"), r.cell(DType.i64, "start")
        middle, end = r.cell(DType.i64, "middle"), r.cell(DType.i64, "end")
        r.store(width, 1)
        with r.repeat(k.lt(width, count)):
            r.store(start, 0)
            with r.repeat(k.lt(start, count)):
                r.store(middle, k.min(start + width, count))
                r.store(end, k.min(start + width * 2, count))
                self._merge(start, middle, end)
            r.store(self.side, 1 - self.side)
            r.store(width, width * 2)

    def _merge(self, place: Read, middle: Read, end: Read) -> None:
        """Merge the adjacent sorted runs [place, middle), [middle, end); set `place` to `end`."""
        k, r = self.k, self.r
        left, right = r.cell(DType.i64, "left"), r.cell(DType.i64, "right")
        step = r.cell(DType.i64, "step")
        r.store(left, place)
        r.store(right, middle)
        with r.repeat(k.lt(place, end)):
            comes_first = self.before(self.key(right), self.key(left))
            has_right = k.apply("and", k.lt(right, end), comes_first)
            r.store(step, k.convert(k.apply("or", k.ge(left, middle), has_right), DType.i64))
            taken = k.where(k.gt(step, 0), right, left)
            r.store(self.keys.at(1 - self.side, place), self.key(taken))
            r.store(self.numbers.at(1 - self.side, place), self.number(taken))
            r.store(left, left + 1 - step)
            r.store(right, right + step)
            r.store(place, place + 1)


@dataclass
class Heap:
    """A binary heap of numbered keys; the top is the first in the order or, if reversed, the last.

    Of equal keys, the key with the lower number precedes.
    """

    k: Lowering
    r: RoutineBuilder
    keys: Handle
    numbers: Handle
    count: Read
    before: Before
    is_reversed: bool
    cells: Mapping[str, Read]

    @staticmethod
    def of(
        k: Lowering,
        r: RoutineBuilder,
        room: Expr,
        dtype: DType,
        before: Before,
        *,
        is_reversed: bool = False,
    ) -> Heap:
        """Create a heap whose capacity is `room` elements."""
        keys = k.temporary((room,), dtype, "heap")
        numbers = k.temporary((room,), DType.i64, "numbers")
        cells = {name: r.cell(DType.i64, name) for name in ("hole", "child", "goes", "number")}
        cells["key"] = r.cell(dtype, "key")
        count = r.cell(DType.i64, "count")
        return Heap(k, r, keys, numbers, count, before, is_reversed, cells)

    def clear(self) -> None:
        """Begin anew."""
        self.r.store(self.count, 0)

    @property
    def key(self) -> Fetch:
        """Return the key at the top of the heap."""
        return self.keys.at(0)

    @property
    def number(self) -> Fetch:
        """Return the number of the element at the top of the heap."""
        return self.numbers.at(0)

    def push(self, key: Scalar, number: Scalar) -> None:
        """Add an element."""
        k, r, hole = self.k, self.r, self.cells["hole"]
        self._hold(key, number)
        r.store(hole, self.count)
        r.store(self.count, self.count + 1)
        parent = (hole - 1) / 2
        with r.repeat(k.apply("and", k.gt(hole, 0), self._held_before(parent))):
            self._move(parent, hole)
            r.store(hole, parent)
        self._put_held(hole)

    def pop(self) -> None:
        """Remove the top."""
        r = self.r
        r.store(self.count, self.count - 1)
        self._hold(self.keys.at(self.count), self.numbers.at(self.count))
        self._sink()

    def replace(self, key: Scalar, number: Scalar) -> None:
        """Replace the top of the heap by another element."""
        self._hold(key, number)
        self._sink()

    def _sink(self) -> None:
        """Sift the replaced top element down the heap."""
        k, r = self.k, self.r
        hole, child, goes = (self.cells[n] for n in ("hole", "child", "goes"))
        r.store(hole, 0)
        r.store(child, 1)
        with r.repeat(k.lt(child, self.count)):
            other = child + 1
            better = k.apply("and", k.lt(other, self.count), self._before(other, child))
            r.store(child, child + k.convert(better, DType.i64))
            r.store(goes, k.convert(self._held_before(child), DType.i64))
            with r.when(k.gt(goes, 0)):
                r.store(child, self.count)
            with r.when(k.eq(goes, 0)):
                self._move(child, hole)
                r.store(hole, child)
                r.store(child, child * 2 + 1)
        self._put_held(hole)

    def _hold(self, key: Scalar, number: Scalar) -> None:
        self.r.store(self.cells["key"], key)
        self.r.store(self.cells["number"], number)

    def _put_held(self, place: Scalar) -> None:
        self.r.store(self.keys.at(place), self.cells["key"])
        self.r.store(self.numbers.at(place), self.cells["number"])

    def _move(self, source: Scalar, target: Scalar) -> None:
        self.r.store(self.keys.at(target), self.keys.at(source))
        self.r.store(self.numbers.at(target), self.numbers.at(source))

    def _held_before(self, place: Scalar) -> Scalar:
        there = self.keys.at(place), self.numbers.at(place)
        return self._first((self.cells["key"], self.cells["number"]), there)

    def _before(self, a: Scalar, b: Scalar) -> Scalar:
        first = self.keys.at(a), self.numbers.at(a)
        return self._first(first, (self.keys.at(b), self.numbers.at(b)))

    def _first(self, a: tuple[Scalar, Scalar], b: tuple[Scalar, Scalar]) -> Scalar:
        """Return whether one numbered key precedes another in the heap."""
        k = self.k
        a, b = (b, a) if self.is_reversed else (a, b)
        (key, number), (other, other_number) = a, b
        apart = self.before(key, other)
        tied = k.apply("not", k.apply("or", apart, self.before(other, key)))
        return k.apply("or", apart, k.apply("and", tied, k.lt(number, other_number)))
