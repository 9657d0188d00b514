"""Accumulators in memory: a block of partial sums that outer reduction loops update.

    block = 0
    for ko { for m, n { acc = 0; for ki { acc += ... }; block[m, n] += acc } }
    for m, n { y = block[m, n] }

The loop over `ki` is a separate reduction with sums in registers. The operands of an iteration of
`ko` thus stay in the cache while all points use them. Sums of matrix tiles are always in memory in
Loop IR; the code generator keeps them in tile registers.
Source: the loop over KC of Goto and van de Geijn 2008.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compiler.compute.scalar import Read, Reduce, Scalar, apply
from compiler.loops.nodes import Buffer, Statement, Store
from compiler.schedule.nest import Axis, Nest
from compiler.schedule.writing.accumulate import (
    Accumulation,
    Finish,
    Sums,
    Writer,
    identity,
    length_of,
    place_in,
)
from compiler.schedule.writing.peel import At, Fixed, loops_over, settled


class Scratch:
    """The blocks of partial sums of a nest, for one point of the enclosing loops."""

    def __init__(self, nest: Nest, first: int, realizer: Writer, finish: Finish) -> None:
        self.nest, self.realizer, self.finish = nest, realizer, finish
        in_tiles = any(a.kind == "tile" for a in nest.axes)
        last = len(nest.axes) if in_tiles else nest.position(nest.cached) + 1
        inner = [i for i, a in enumerate(nest.axes) if a.is_reduction and i >= last]
        self.split = inner[0] if inner else len(nest.axes)
        self.around = nest.axes[first : self.split]
        self.points = [a for a in nest.axes[first:] if not a.is_reduction]
        # Each thread that shares an outer loop has a separate block.
        threads = [a for a in nest.axes[:first] if a.kind == "parallel"]
        self.axes: Sequence[Axis] = [*threads, *self.points]
        shape = tuple(map(length_of, self.axes))
        self.blocks = {r: realizer.block(r.dtype, shape) for r in nest.reductions}
        self.inside: Accumulation | None = None
        if inner:
            self.inside = Accumulation(nest, self.split, realizer, self._add_sums)

    def statements(self, at: At, cut: Fixed) -> tuple[Statement, ...]:
        """Emit all statements for one point of the enclosing loops."""
        nest, bare = self.nest, replace(self.nest, entries=())
        inside = self.inside.statements if self.inside is not None else self._add_terms
        return (
            *loops_over(bare, self.points, at, cut, self._begin),
            *loops_over(nest, self.around, at, cut, inside),
            *loops_over(bare, self._plain, at, cut, self._finish),
        )

    @property
    def _plain(self) -> list[Axis]:
        """Return the loops over points for the final stores; tile loops become plain loops."""
        return [replace(a, kind="for") if a.kind == "tile" else a for a in self.points]

    def _begin(self, at: At, cut: Fixed) -> tuple[Statement, ...]:
        return tuple(
            self._set(b, identity(r.combine, r.dtype), at, cut) for r, b in self.blocks.items()
        )

    def _add_sums(self, sums: Sums, at: At, cut: Fixed) -> tuple[Statement, ...]:
        return tuple(self._add(r, b, sums[r], at, cut) for r, b in self.blocks.items())

    def _add_terms(self, at: At, cut: Fixed) -> tuple[Statement, ...]:
        terms = {r: settled(self.nest, r.body, at, cut) for r in self.blocks}
        return self.realizer.written(
            tuple(self._add(r, b, terms[r], at, cut) for r, b in self.blocks.items())
        )

    def _finish(self, at: At, cut: Fixed) -> tuple[Statement, ...]:
        return self.finish({r: self._read(b, at, cut) for r, b in self.blocks.items()}, at, cut)

    def _add(self, r: Reduce, block: Buffer, more: Scalar, at: At, cut: Fixed) -> Store:
        return self._set(block, apply(r.combine, self._read(block, at, cut), more), at, cut)

    def _set(self, block: Buffer, value: Scalar, at: At, cut: Fixed) -> Store:
        return Store(block.name, place_in(self.axes, at, cut), value)

    def _read(self, block: Buffer, at: At, cut: Fixed) -> Read:
        return Read(block.name, place_in(self.axes, at, cut), block.dtype)
