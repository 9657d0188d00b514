"""Sorting inside routines: what operators share that order elements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from compiler.compute.builder import Handle, Lowering, RoutineBuilder
from compiler.compute.scalar import Fetch, Read, Scalar
from compiler.ir.affine import Expr
from compiler.ir.types import DType

Before = Callable[[Scalar, Scalar], Scalar]
"""Whether a value comes before another one."""


def order(k: Lowering, dtype: DType, *, descending: bool) -> Before:
    """Rising or falling order of the elements of a type; NaN is larger than all numbers."""

    def before(a: Scalar, b: Scalar) -> Scalar:
        found = k.gt(a, b) if descending else k.lt(a, b)
        if not dtype.is_float:
            return found
        first, second = (a, b) if descending else (b, a)
        return k.apply("or", found, k.apply("and", k.isnan(first), k.apply("not", k.isnan(second))))

    return before


@dataclass
class Sorter:
    """Keys with numbers, sorted stably: runs of 1, 2, 4... elements are merged in turn.

    There is room for two copies: passes go from one to the other and back.
    """

    k: Lowering
    r: RoutineBuilder
    keys: Handle
    numbers: Handle
    side: Read
    before: Before

    @staticmethod
    def of(k: Lowering, r: RoutineBuilder, room: Expr, dtype: DType, before: Before) -> Sorter:
        """A sorter for at most so many elements."""
        keys = k.temporary((2, room), dtype, "keys")
        numbers = k.temporary((2, room), DType.i64, "numbers")
        return Sorter(k, r, keys, numbers, r.cell(DType.i64, "side"), before)

    def clear(self) -> None:
        """Begin anew."""
        self.r.store(self.side, 0)

    def put(self, t: Scalar | Expr, key: Scalar, number: Scalar) -> None:
        """Set the element at a place, before or after sorting."""
        self.r.store(self.keys.at(self.side, t), key)
        self.r.store(self.numbers.at(self.side, t), number)

    def key(self, t: Scalar | Expr) -> Fetch:
        """The key at a place."""
        return self.keys.at(self.side, t)

    def number(self, t: Scalar | Expr) -> Fetch:
        """The number at a place."""
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
        """Merge two sorted runs, [place, middle) and [middle, end); `place` is `end` afterwards."""
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
