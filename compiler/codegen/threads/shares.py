"""A thread's share of a region: a contiguous range of the iterations of every member.

    parallel co in 0..3 {          units 0..24: each iteration of co has 8 units,
      parallel y in 0..7 { A }       7 iterations of y
      B                              and 1 for B
    }

Each thread has a range of units, and runs the units of each shared loop that are in this range.
Only loop bounds depend on the thread's share, so innermost loops contain no divisions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from compiler.codegen.access.indices import Indices
from compiler.codegen.expressions import Cache
from compiler.codegen.threads.forks import TEAM, THREAD
from compiler.codegen.values import Value, constant
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.ir.types import DType
from compiler.loops.independence import range_of
from compiler.loops.nodes import Buffer, Loop, Statement
from compiler.loops.sharing import Piece, all_apart, loop_of, pieces


class Writer(Protocol):
    """The interface of the kernel emitter."""

    def statements(self, body: Sequence[Statement], cache: Cache) -> None:
        """Emit statements in order."""
        ...

    def count_text(self, loop: Loop, first: Value, end: Value, write: Callable[[], None]) -> None:
        """Emit a loop of independent iterations from `first` to `end`; the range may be empty."""
        ...

    def only_if(self, condition: Value, body: Piece, write: Callable[[], None]) -> None:
        """Emit a conditional block that leaves no value in registers."""
        ...


class Shares:
    """Emits the share of one thread."""

    def __init__(self, writer: Writer, indices: Indices, buffers: Mapping[str, Buffer]) -> None:
        self.writer = writer
        self.out = indices.out
        self.env = indices.env
        self.indices = indices
        self.buffers = buffers

    def region(self, members: Sequence[Piece], cache: Cache) -> None:
        """Emit the thread's share of each piece; a single thread runs an indivisible piece."""
        thread, team = Value(THREAD, DType.i64), Value(TEAM, DType.i64)
        n_alone = 0
        for piece in members:
            loop = loop_of(piece)
            if loop is None:
                chosen = self._two("urem", _number(n_alone), team)
                n_alone += 1
                mine = self.out.op(f"icmp eq i64 {chosen.ref}, {THREAD}", DType.bool, 0, chosen)
                self._alone(piece, cache, mine)
            elif loop.kind == "parallel":
                total = self.indices.scalar(self._units(loop))
                low = self._two("udiv", self._two("mul nuw", thread, total), team)
                following = self._two("add nuw", thread, _number(1))
                high = self._two("udiv", self._two("mul nuw", following, total), team)
                self._shared(loop, cache.setdefault(id(loop), {}), low, high)
            else:
                self._everywhere(loop, cache.setdefault(id(loop), {}))

    def _everywhere(self, loop: Loop, cache: Cache) -> None:
        """Emit a loop: every thread runs all iterations, but only its share of each iteration's
        body."""
        first, end = self.indices.scalar(loop.start), self.indices.scalar(loop.stop)
        inner = pieces(loop.body)
        self.writer.count_text(loop, first, end, lambda: self.region(inner, cache))

    def _units(self, loop: Loop) -> Expr:
        """Return the number of units of a shared loop: iterations times units per iteration."""
        return (loop.stop - loop.start) * self._each(loop)

    def _each(self, loop: Loop) -> Expr:
        """Return the number of units of one iteration."""
        total: Expr = 0
        for piece in self._inside(loop):
            inner = loop_of(piece)
            total = total + (1 if inner is None else self._units(inner))
        return 1 if total == 0 else total

    def _inside(self, loop: Loop) -> list[Piece]:
        """Return the pieces of an iteration; an empty list if the iteration cannot be shared."""
        found = pieces(loop.body)
        loops = [inner for p in found if (inner := loop_of(p)) is not None]
        if not loops or any(inner.kind != "parallel" for inner in loops):
            return []
        if any(loop.var in affine.symbols(e) for x in loops for e in (x.start, x.stop)):
            return []
        ranges = self.env.ranges
        inside = {**ranges, loop.var: range_of(loop, ranges)}
        return found if all_apart(found, self.buffers, inside) else []

    def _piece(self, piece: Piece, cache: Cache, low: Value, high: Value) -> None:
        """Emit units `low` to `high` of a piece, clipped to the piece."""
        loop = loop_of(piece)
        if loop is not None:
            self._shared(loop, cache.setdefault(id(loop), {}), low, high)
            return
        begins = self.out.op(f"icmp sle i64 {low.ref}, 0", DType.bool, 0, low)
        ends = self.out.op(f"icmp sgt i64 {high.ref}, 0", DType.bool, 0, high)
        self._alone(piece, cache, self.out.all_of([begins, ends]))

    def _alone(self, piece: Piece, cache: Cache, condition: Value) -> None:
        self.writer.only_if(condition, piece, lambda: self.writer.statements(piece, cache))

    def _shared(self, loop: Loop, cache: Cache, low: Value, high: Value) -> None:
        """Emit units `low` to `high` of a parallel loop, clipped to the loop."""
        each, inner = self._each(loop), self._inside(loop)
        start = self.indices.scalar(loop.start)
        n = self.indices.scalar(loop.stop - loop.start)
        first, end = (self._pick("smax", v, _number(0)) for v in (low, high))
        if each != 1:
            size = self.indices.scalar(each)
            if not isinstance(each, int):
                size = self._pick("smax", size, _number(1))
            first = self._two("udiv", first, size)
            raised = self._two("add", end, self._two("sub", size, _number(1)))
            end = self._two("udiv", raised, size)
        end = self._pick("smin", end, n)
        first, end = (self._two("add", start, v) for v in (first, end))

        def write() -> None:
            if not inner:
                self.writer.statements(loop.body, cache)
                return
            iteration = self._two("sub", self.env.values[loop.var], start)
            done = self._two("mul", iteration, self.indices.scalar(each))
            for piece in inner:
                self._piece(piece, cache, self._two("sub", low, done), self._two("sub", high, done))
                own = loop_of(piece)
                units = 1 if own is None else self._units(own)
                done = self._two("add", done, self.indices.scalar(units))

        self.writer.count_text(loop, first, end, write)

    def _pick(self, name: str, a: Value, b: Value) -> Value:
        return self.out.call(f"llvm.{name}.i64", DType.i64, 0, a, b)

    def _two(self, operation: str, a: Value, b: Value) -> Value:
        return self.out.op(f"{operation} i64 {a.ref}, {b.ref}", DType.i64, 0, a, b)


def _number(n: int) -> Value:
    return constant(n, DType.i64)
