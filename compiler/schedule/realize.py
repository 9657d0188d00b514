"""Writing a nest out as Loop IR: peeled ends and register accumulators."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

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
from compiler.errors import CompileError
from compiler.ir import affine
from compiler.ir.affine import Expr, Range
from compiler.ir.types import DType
from compiler.loops.nodes import Buffer, Loop, LoopKind, Statement, Store
from compiler.schedule.halo import zero_halo
from compiler.schedule.indices import substitute
from compiler.schedule.language.legal import require_finished
from compiler.schedule.limits import MOST_STATEMENTS
from compiler.schedule.nest import Axis, Beside, Nest, Split

At = Mapping[str, Expr]
"""Loops already decided: the iteration an outer loop is at, or the index of a loop further out."""

Fixed = Mapping[str, int]
"""The lengths of loops that are shorter here."""


@dataclass
class Realizer:
    """Writes the nests of one kernel; gives each accumulator a name of its own."""

    registers: list[Buffer] = field(default_factory=list)
    n_written: int = 0

    def realize(self, nest: Nest) -> tuple[Statement, ...]:
        """The statements that compute a nest. Errors: E-SCHEDULE-MOVE for one not finished."""
        require_finished(nest)
        first = next((i for i, a in enumerate(nest.axes) if a.is_reduction), len(nest.axes))
        halos = (zero_halo(nest, b.target) for b in nest.results if b.zero_halo)
        halo = tuple(itertools.chain.from_iterable(halos))
        if first == len(nest.axes):
            body = _loops(
                nest,
                nest.axes,
                {},
                {},
                lambda at, cut: self.written(tuple(_store(nest, b, at, cut) for b in nest.results)),
            )
            return (*halo, *body)
        point = _Accumulation(nest, first, self)
        return (*halo, *_loops(nest, nest.axes[:first], {}, {}, point.statements))

    def written(self, made: tuple[Statement, ...]) -> tuple[Statement, ...]:
        """The statements, counted. Errors: E-LIMIT-CODE."""
        self.n_written += len(made)
        if self.n_written > MOST_STATEMENTS:
            raise CompileError(
                "E-LIMIT-CODE",
                f"the ends of loops would be written out as more than {MOST_STATEMENTS} statements",
            )
        return made

    def register(self, dtype: DType, shape: tuple[int, ...]) -> Buffer:
        """A new accumulator."""
        name = "acc" if not self.registers else f"acc{len(self.registers)}"
        self.registers.append(Buffer(name, dtype, shape, "register"))
        return self.registers[-1]


def _loops(
    nest: Nest,
    axes: Sequence[Axis],
    at: At,
    cut: Fixed,
    body: Callable[[At, Fixed], tuple[Statement, ...]],
) -> tuple[Statement, ...]:
    """Loops over the axes round a body; a loop whose last part is shorter is written as two.

    `at` holds loops fixed to one iteration, `cut` the lengths of loops that are shortened there.
    """
    if not axes:
        return body(at, cut)
    a, rest = axes[0], axes[1:]
    if not _stands_here(at, a.var):
        return _loops(nest, rest, at, cut, body)
    split = nest.splits.get(a.var)
    extent, tail = cut.get(a.var, a.extent), 0
    if split is not None:
        length = cut.get(split.var, split.length)
        if not isinstance(length, int):
            return _open_parts(nest, rest, at, cut, body, (split, length))
        extent, tail = -(-length // split.factor), length % split.factor
    n_full = extent - 1 if tail else extent
    statements: list[Statement] = []
    if n_full == 1 and a.kind != "vector":
        statements += _loops(nest, rest, {**at, a.var: 0}, cut, body)
    elif n_full:
        statements.append(
            Loop(a.var, 0, n_full, _loops(nest, rest, at, cut, body), _kind(nest, a, cut))
        )
    if tail:
        assert split is not None
        shorter = {**cut, split.inner: tail}
        statements += _loops(nest, rest, {**at, a.var: n_full}, shorter, body)
    return tuple(statements)


def _open_parts(
    nest: Nest,
    rest: Sequence[Axis],
    at: At,
    cut: Fixed,
    body: Callable[[At, Fixed], tuple[Statement, ...]],
    part: tuple[Split, Expr],
    is_left_over: bool = False,
) -> tuple[Statement, ...]:
    """The loop over whole parts of an open length, then what is left in ever smaller parts.

    `part` is the split and the length that it cuts: whole tiles, then whole vectors of the shorter
    last tile (or smaller tiles of rows), then single elements, each with code of its own.
    """
    split, length = part
    statements: list[Statement] = []
    n_parts = affine.floordiv(length, split.factor)
    if is_left_over:
        # The loop of the tile stands out here, and its place in registers is the first one.
        cut, counter = {**cut, split.outer: 1}, _left(split.outer)
        whole = _loops(nest, rest, {**at, split.outer: affine.symbol(counter)}, cut, body)
    else:
        counter = split.outer
        whole = _loops(nest, rest, at, cut, body)
    if n_parts != 0:
        statements.append(Loop(counter, 0, n_parts, whole))
    left = affine.mod(length, split.factor)
    if left == 0:
        return tuple(statements)
    behind: dict[str, Expr] = {**at, split.outer: n_parts}
    inner = next((s for s in nest.splits.values() if s.var == split.inner), None)
    if inner is not None:
        return (*statements, *_open_parts(nest, rest, behind, cut, body, (inner, left), True))
    done: Expr = 0
    for size in _smaller_tiles(nest, split):
        counter = f"{split.inner}_by{size}"
        first = done + affine.symbol(counter) * size
        moved = {**behind, split.inner: affine.symbol(split.inner) + first}
        tile = _loops(nest, rest, moved, {**cut, split.inner: size}, body)
        statements.append(Loop(counter, 0, affine.floordiv(left, size), tile))
        done, left = done + affine.floordiv(left, size) * size, affine.mod(left, size)
    behind[split.inner] = affine.symbol(_left(split.inner)) + done
    single = _loops(nest, rest, behind, {**cut, split.inner: 1}, body)
    return (*statements, Loop(_left(split.inner), 0, left, single))


SMALLER_TILES = 2
"""Tiles of half the rows, and half of that, for what is left of open rows: more is more code."""


def _smaller_tiles(nest: Nest, split: Split) -> list[int]:
    """The row tiles between a whole one and a single row."""
    a = nest.axis(split.inner)
    halves = [split.factor // 2, split.factor // 4][:SMALLER_TILES]
    return [n for n in halves if n > 1] if a.kind == "unroll" and not a.is_reduction else []


def _left(var: str) -> str:
    """The loop over what is left, written further out than the loop whose place it takes."""
    return f"{var}_left"


def _stands_here(at: At, var: str) -> bool:
    """Whether a loop is still to be written: it is not decided, or its index only begins later."""
    return var not in at or var in affine.symbols(at[var])


def _kind(nest: Nest, a: Axis, cut: Fixed) -> LoopKind:
    """Lanes of a reduction that are cut short run one after the other into one sum."""
    return "for" if a.lanes and _lanes_cut(nest, cut) else a.kind


def _lanes_cut(nest: Nest, cut: Fixed) -> bool:
    lanes = {a.var for a in nest.axes if a.lanes}
    return any(not lanes.isdisjoint(nest.parts(v)) for v in cut)


def _ranges(nest: Nest, at: At, cut: Fixed) -> dict[str, Range]:
    ranges = {a.var: a.range for a in nest.axes}
    ranges.update((_left(a.var), a.range) for a in nest.axes)
    ranges.update((v, (0, n - 1)) for v, n in cut.items() if v not in at)
    ranges.update((v, (i, i)) for v, i in at.items() if isinstance(i, int))
    return ranges


def _settled(nest: Nest, value: Scalar, at: At, cut: Fixed) -> Scalar:
    return substitute(value, dict(at), _ranges(nest, at, cut))


def _store(nest: Nest, result: Beside, at: At, cut: Fixed) -> Store:
    ranges = _ranges(nest, at, cut)
    index = tuple(affine.simplify(affine.substitute(e, dict(at)), ranges) for e in result.index)
    return Store(result.target, index, substitute(result.value, dict(at), ranges))


class _Accumulator:
    """The registers of one reduction of a nest: partial results, those cut short, and the total."""

    def __init__(self, point: _Accumulation, reduce: Reduce, realizer: Realizer) -> None:
        self.reduce = reduce
        tile, lanes = point.tile, point.lanes
        self.acc = realizer.register(reduce.dtype, tuple(map(_length, (*tile, *lanes))))
        self.identity = identity(reduce.combine, reduce.dtype)
        # Lanes that are cut short at the end are summed apart, one by one.
        self.rest: Buffer | None = None
        names = {a.var for a in lanes}
        nest = point.nest
        if any(
            s.length % s.factor and names & set(nest.parts(s.inner)) for s in nest.splits.values()
        ):
            self.rest = realizer.register(reduce.dtype, tuple(map(_length, tile)))
        self.total: Buffer | None = None
        if lanes:
            self.total = realizer.register(reduce.dtype, tuple(map(_length, tile)))

    @property
    def done(self) -> Buffer:
        """Where the result is at the end."""
        return self.total or self.acc


class _Accumulation:
    """Init, update and finish of reductions into registers, for one point of the outer loops."""

    def __init__(self, nest: Nest, first: int, realizer: Realizer) -> None:
        self.nest, self.realizer = nest, realizer
        self.inner = nest.axes[first:]
        self.tile = [a for a in self.inner if not a.is_reduction]
        self.lanes = [a for a in self.inner if a.lanes]
        vector = [a for a in self.tile if a.kind == "vector"]
        assert not (vector and self.lanes), "either the points or the reduction is vectorised"
        self.parts = [_Accumulator(self, r, realizer) for r in nest.reductions]

    def statements(self, at: At, cut: Fixed) -> tuple[Statement, ...]:
        """Everything for one point of the outer loops."""
        init: tuple[Statement, ...] = ()
        for p in self.parts:
            init += self._filled(p.acc, [*self.tile, *self.lanes], at, cut, p.identity)
            if p.rest is not None:
                init += self._filled(p.rest, self.tile, at, cut, p.identity)
        update = _loops(self.nest, self.inner, at, cut, self._update)
        combine: tuple[Statement, ...] = ()
        if self.lanes:
            combine = _loops(self.nest, self.tile, at, cut, self._combine)
        finish = _loops(self.nest, self.tile, at, cut, self._finish)
        return (*init, *update, *combine, *finish)

    def _filled(
        self, register: Buffer, axes: Sequence[Axis], at: At, cut: Fixed, value: Scalar
    ) -> tuple[Statement, ...]:
        return _loops(
            self.nest,
            axes,
            at,
            cut,
            lambda at, cut: (self._set(register, axes, at, cut, value),),
        )

    def _index(self, axes: Sequence[Axis], at: At, cut: Fixed) -> tuple[Expr, ...]:
        """Where a point lies in the tile: single steps behind whole parts take the first place."""
        return tuple(
            affine.symbol(a.var)
            if _stands_here(at, a.var)
            else 0
            if cut.get(a.var) == 1
            else at[a.var]
            for a in axes
        )

    def _read(self, register: Buffer, axes: Sequence[Axis], at: At, cut: Fixed) -> Read:
        return Read(register.name, self._index(axes, at, cut), register.dtype)

    def _set(
        self, register: Buffer, axes: Sequence[Axis], at: At, cut: Fixed, value: Scalar
    ) -> Store:
        return Store(register.name, self._index(axes, at, cut), value)

    def _update(self, at: At, cut: Fixed) -> tuple[Statement, ...]:
        return self.realizer.written(tuple(self._updated(p, at, cut) for p in self.parts))

    def _updated(self, p: _Accumulator, at: At, cut: Fixed) -> Statement:
        body = _settled(self.nest, p.reduce.body, at, cut)
        into, axes = p.acc, [*self.tile, *self.lanes]
        if p.rest is not None and _lanes_cut(self.nest, cut):
            into, axes = p.rest, self.tile
        old = self._read(into, axes, at, cut)
        return self._set(into, axes, at, cut, apply(p.reduce.combine, old, body))

    def _combine(self, at: At, cut: Fixed) -> tuple[Statement, ...]:
        return tuple(self._combined(p, at, cut) for p in self.parts)

    def _combined(self, p: _Accumulator, at: At, cut: Fixed) -> Statement:
        assert p.total is not None
        index = self._index(self.tile, at, cut)
        terms: list[Scalar] = [
            Read(p.acc.name, (*index, *lane), p.acc.dtype)
            for lane in itertools.product(*(range(_length(a)) for a in self.lanes))
        ]
        if p.rest is not None:
            terms.append(self._read(p.rest, self.tile, at, cut))
        while len(terms) > 1:  # pairwise, so that errors and latency grow with the logarithm
            half = len(terms) // 2
            pairs: list[Scalar] = [
                apply(p.reduce.combine, terms[i], terms[half + i]) for i in range(half)
            ]
            terms = [*pairs, *terms[2 * half :]]
        return self._set(p.total, self.tile, at, cut, terms[0])

    def _finish(self, at: At, cut: Fixed) -> tuple[Statement, ...]:
        return tuple(self._finished(b, at, cut) for b in self.nest.results)

    def _finished(self, result: Beside, at: At, cut: Fixed) -> Statement:
        own = reduction(result.value)
        if own is None:
            return _store(self.nest, result, at, cut)
        register = next(p.done for p in self.parts if p.reduce == own)
        done = self._read(register, self.tile, at, cut)
        # Indices are settled before the register comes in, whose own index is that of the tile.
        outline = rewrite(result.value, lambda s: _hole(s) if isinstance(s, Reduce) else None)
        store = _store(self.nest, replace(result, value=outline), at, cut)
        value = rewrite(store.value, lambda s: done if isinstance(s, Accumulated) else None)
        return Store(store.buffer, store.index, value)


def _hole(s: Scalar) -> Accumulated:
    """What stands for a reduction's result until its register is known."""
    return Accumulated(s.dtype)


def _length(a: Axis) -> int:
    """The length of a loop inside a reduction: registers have a number of places."""
    assert isinstance(a.extent, int), f"{a} cannot be kept in registers"
    return a.extent


def identity(combine: str, dtype: DType) -> Number:
    """The value that changes nothing when combined."""
    if combine == "add":
        return Number(0.0 if dtype.is_float else 0, dtype)
    if combine == "mul":
        return Number(1.0 if dtype.is_float else 1, dtype)
    if dtype.is_float:
        return Number(float("-inf") if combine == "max" else float("inf"), dtype)
    if dtype is DType.bool:
        return Number(combine == "min", dtype)
    signed = dtype.label.startswith("i")
    low = -(1 << (dtype.bits - 1)) if signed else 0
    high = (1 << (dtype.bits - signed)) - 1
    return Number(low if combine == "max" else high, dtype)
