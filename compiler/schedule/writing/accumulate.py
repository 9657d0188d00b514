"""Accumulators in registers: initialised before a reduction, updated in it, stored after it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from compiler.compute.scalar import (
    Accumulated,
    Number,
    Read,
    Reduce,
    Scalar,
    apply,
    reduction,
    rewrite,
)
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.ir.types import DType
from compiler.loops.nodes import Buffer, Statement, Store
from compiler.schedule.nest import Axis, Beside, Nest
from compiler.schedule.writing.peel import (
    At,
    Fixed,
    loops_over,
    settled,
    stands_here,
    stored,
)


class Writer(Protocol):
    """Allocates registers and counts emitted statements."""

    def register(self, dtype: DType, shape: tuple[int, ...]) -> Buffer:
        """Allocate an accumulator."""
        ...

    def block(self, dtype: DType, shape: tuple[int, ...]) -> Buffer:
        """Allocate memory for partial sums."""
        ...

    def written(self, made: tuple[Statement, ...]) -> tuple[Statement, ...]:
        """Count statements and return them. Errors: E-LIMIT-CODE."""
        ...


class _Accumulator:
    """The registers of one reduction: partial results per vector length, and the final result."""

    def __init__(self, point: Accumulation, reduce: Reduce, realizer: Writer) -> None:
        self.reduce = reduce
        tile, lanes = point.tile, point.lanes
        self._realizer = realizer
        self._axes = [*tile, *lanes]
        self._vector = next((a for a in tile if a.kind == "vector"), None)
        self._by_length: dict[int, Buffer] = {}
        self.acc({})
        self.identity = identity(reduce.combine, reduce.dtype)
        self.total: Buffer | None = None
        if lanes:
            self.total = realizer.register(reduce.dtype, tuple(map(length_of, tile)))

    def acc(self, cut: Fixed) -> Buffer:
        """Return the register of partial results; shorter vectors have a separate register.

        If shorter vectors shared the register of full vectors, every step would need a blend to
        preserve the remaining lanes.
        """
        lengths = {a.var: length_of(a) for a in self._axes}
        vector = self._vector.var if self._vector is not None else ""
        length = cut.get(vector)
        if isinstance(length, int):
            lengths[vector] = length
        found = self._by_length.get(lengths.get(vector, 0))
        if found is None:
            found = self._realizer.register(self.reduce.dtype, tuple(lengths.values()))
            self._by_length[lengths.get(vector, 0)] = found
        return found

    def done(self, cut: Fixed) -> Buffer:
        """Return the register of the final result."""
        return self.total or self.acc(cut)


class Accumulation:
    """Initialisation, update and completion of reductions for one point of the outer loops."""

    def __init__(self, nest: Nest, first: int, realizer: Writer, finish: Finish) -> None:
        self.nest, self.realizer, self.finish = nest, realizer, finish
        self.bare = replace(nest, entries=())
        self.inner = nest.axes[first:]
        self.tile = [a for a in self.inner if not a.is_reduction]
        self.lanes = [a for a in self.inner if a.lanes]
        vector = [a for a in self.tile if a.kind == "vector"]
        assert not (vector and self.lanes), "points and reduction cannot both be vectorised"
        self.parts = [_Accumulator(self, r, realizer) for r in nest.reductions]

    def statements(self, at: At, cut: Fixed) -> tuple[Statement, ...]:
        """Emit all statements for one point of the outer loops."""
        init: tuple[Statement, ...] = ()
        for p in self.parts:
            init += self._begun(p, at, cut)
        update = loops_over(self.nest, self.inner, at, cut, self._update)
        combine: tuple[Statement, ...] = ()
        if self.lanes:
            combine = loops_over(self.bare, self.tile, at, cut, self._combine)
        finish = loops_over(self.bare, self.tile, at, cut, self._finish)
        return (*init, *update, *combine, *finish)

    def _begun(self, p: _Accumulator, at: At, cut: Fixed) -> tuple[Statement, ...]:
        """Initialise every lane, since the final combination also reads lanes without terms."""
        lanes = {a.var for a in self.lanes}
        splits = {k: s for k, s in self.nest.splits.items() if lanes.isdisjoint((k, s.inner))}
        whole = {v: n for v, n in cut.items() if lanes.isdisjoint(self.nest.parts(v))}
        nest = replace(self.bare, splits=splits)
        axes = [*self.tile, *self.lanes]
        return loops_over(
            nest,
            axes,
            at,
            whole,
            lambda at, cut: (self._set(p.acc(cut), axes, at, cut, p.identity),),
        )

    def _read(self, register: Buffer, axes: Sequence[Axis], at: At, cut: Fixed) -> Read:
        return Read(register.name, place_in(axes, at, cut), register.dtype)

    def _set(
        self, register: Buffer, axes: Sequence[Axis], at: At, cut: Fixed, value: Scalar
    ) -> Store:
        return Store(register.name, place_in(axes, at, cut), value)

    def _update(self, at: At, cut: Fixed) -> tuple[Statement, ...]:
        return self.realizer.written(tuple(self._updated(p, at, cut) for p in self.parts))

    def _updated(self, p: _Accumulator, at: At, cut: Fixed) -> Statement:
        body = settled(self.nest, p.reduce.body, at, cut)
        into, axes = p.acc(cut), [*self.tile, *self.lanes]
        old = self._read(into, axes, at, cut)
        return self._set(into, axes, at, cut, apply(p.reduce.combine, old, body))

    def _combine(self, at: At, cut: Fixed) -> tuple[Statement, ...]:
        return tuple(self._combined(p, at, cut) for p in self.parts)

    def _combined(self, p: _Accumulator, at: At, cut: Fixed) -> Statement:
        assert p.total is not None
        index, acc = place_in(self.tile, at, cut), p.acc(cut)
        terms: list[Scalar] = [
            Read(acc.name, (*index, *lane), acc.dtype)
            for lane in itertools.product(*(range(length_of(a)) for a in self.lanes))
        ]
        while len(terms) > 1:  # pairwise: errors and latency grow logarithmically
            half = len(terms) // 2
            pairs: list[Scalar] = [
                apply(p.reduce.combine, terms[i], terms[half + i]) for i in range(half)
            ]
            terms = [*pairs, *terms[2 * half :]]
        return self._set(p.total, self.tile, at, cut, terms[0])

    def _finish(self, at: At, cut: Fixed) -> tuple[Statement, ...]:
        sums = {p.reduce: self._read(p.done(cut), self.tile, at, cut) for p in self.parts}
        return self.finish(sums, at, cut)


def place_in(axes: Sequence[Axis], at: At, cut: Fixed) -> tuple[Expr, ...]:
    """Return the index of a point in the tile; remainder loops of single elements have index 0."""
    return tuple(
        affine.symbol(a.var) if stands_here(at, a.var) else 0 if cut.get(a.var) == 1 else at[a.var]
        for a in axes
    )


Sums = Mapping[Reduce, Read]
"""Maps each reduction to the read of its sum."""

Finish = Callable[[Sums, At, Fixed], tuple[Statement, ...]]
"""Emits the stores of a point, given its sums."""


def finished(nest: Nest, sums: Sums, at: At, cut: Fixed) -> tuple[Statement, ...]:
    """Store the results of a point, computed from its sums."""
    return tuple(_finished(nest, b, sums, at, cut) for b in nest.results)


def _finished(nest: Nest, result: Beside, sums: Sums, at: At, cut: Fixed) -> Statement:
    own = reduction(result.value)
    if own is None:
        return stored(nest, result, at, cut)
    # Substitute indices before inserting the register, whose index is the position in the tile.
    outline = rewrite(result.value, lambda s: _hole(s) if isinstance(s, Reduce) else None)
    store = stored(nest, replace(result, value=outline), at, cut)
    value = rewrite(store.value, lambda s: sums[own] if isinstance(s, Accumulated) else None)
    return Store(store.buffer, store.index, value)


def _hole(s: Scalar) -> Accumulated:
    """Return a placeholder for the result of a reduction until its register is known."""
    return Accumulated(s.dtype)


def length_of(a: Axis) -> int:
    """Return the constant trip count of a loop inside a reduction."""
    assert isinstance(a.extent, int), f"{a} cannot be kept in registers"
    return a.extent


def identity(combine: str, dtype: DType) -> Number:
    """Return the identity element of a combination."""
    if combine == "add":
        return Number(0.0 if dtype.is_float else 0, dtype)
    if combine == "mul":
        return Number(1.0 if dtype.is_float else 1, dtype)
    if dtype.is_float:
        return Number(float("inf") if combine == "min" else float("-inf"), dtype)
    if dtype is DType.bool:
        return Number(combine == "min", dtype)
    signed = dtype.label.startswith("i")
    low = -(1 << (dtype.bits - 1)) if signed else 0
    high = (1 << (dtype.bits - signed)) - 1
    return Number(high if combine == "min" else low, dtype)
