"""Writing a nest out as Loop IR: peeled ends, register accumulators, and the zeroed halo."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from compiler.compute.scalar import Number, Read, Reduce, Scalar, apply, rewrite
from compiler.ir import affine
from compiler.ir.affine import Expr, Range
from compiler.ir.types import DType
from compiler.loops.nodes import Buffer, Loop, LoopKind, Statement, Store
from compiler.schedule.indices import substitute
from compiler.schedule.nest import Axis, Nest

Fixed = Mapping[str, int]
"""Loops already decided: an outer loop's last iteration, or a shortened inner loop's length."""


@dataclass
class Realizer:
    """Writes the nests of one kernel; gives each accumulator a name of its own."""

    registers: list[Buffer] = field(default_factory=list)

    def realize(self, nest: Nest) -> tuple[Statement, ...]:
        """The statements that compute a nest."""
        first = next((i for i, a in enumerate(nest.axes) if a.is_reduction), len(nest.axes))
        halo = zero_halo(nest) if nest.zero_halo else ()
        if first == len(nest.axes):
            body = _loops(
                nest, nest.axes, {}, {}, lambda at, cut: (_store(nest, at, nest.value, cut),)
            )
            return (*halo, *body)
        point = _Accumulation(nest, first, self)
        return (*halo, *_loops(nest, nest.axes[:first], {}, {}, point.statements))

    def register(self, dtype: DType, shape: tuple[int, ...]) -> Buffer:
        """A new accumulator."""
        name = "acc" if not self.registers else f"acc{len(self.registers)}"
        self.registers.append(Buffer(name, dtype, shape, "register"))
        return self.registers[-1]


def _loops(
    nest: Nest,
    axes: Sequence[Axis],
    at: Fixed,
    cut: Fixed,
    body: Callable[[Fixed, Fixed], tuple[Statement, ...]],
) -> tuple[Statement, ...]:
    """Loops over the axes round a body; a loop whose last part is shorter is written as two.

    `at` holds loops fixed to one iteration, `cut` the lengths of loops that are shortened there.
    """
    if not axes:
        return body(at, cut)
    a, rest = axes[0], axes[1:]
    split = nest.splits.get(a.var)
    extent, tail = cut.get(a.var, a.extent), 0
    if split is not None:
        length = cut.get(split.var, split.length)
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


def _kind(nest: Nest, a: Axis, cut: Fixed) -> LoopKind:
    """Lanes of a reduction that are cut short run one after the other into one sum."""
    return "for" if a.lanes and any(a.var in nest.parts(v) for v in cut) else a.kind


def _ranges(nest: Nest, at: Fixed, cut: Fixed) -> dict[str, Range]:
    ranges = {a.var: (0, cut.get(a.var, a.extent) - 1) for a in nest.axes}
    ranges.update((v, (i, i)) for v, i in at.items())
    return ranges


def _settled(nest: Nest, value: Scalar, at: Fixed, cut: Fixed) -> Scalar:
    return substitute(value, dict(at), _ranges(nest, at, cut))


def _store(nest: Nest, at: Fixed, value: Scalar, cut: Fixed) -> Store:
    ranges = _ranges(nest, at, cut)
    index = tuple(affine.simplify(affine.substitute(e, dict(at)), ranges) for e in nest.index)
    return Store(nest.target, index, substitute(value, dict(at), ranges))


class _Accumulation:
    """Init, update and finish of a reduction into registers, for one point of the outer loops."""

    def __init__(self, nest: Nest, first: int, realizer: Realizer) -> None:
        reduce = nest.reduce
        assert reduce is not None
        self.nest, self.reduce = nest, reduce
        self.inner = nest.axes[first:]
        self.tile = [a for a in self.inner if not a.is_reduction]
        self.lanes = [a for a in self.inner if a.lanes]
        vector = [a for a in self.tile if a.kind == "vector"]
        assert not (vector and self.lanes), "either the points or the reduction is vectorised"
        shape = tuple(a.extent for a in (*self.tile, *self.lanes))
        self.acc = realizer.register(reduce.dtype, shape)
        self.identity = identity(reduce.combine, reduce.dtype)
        # Lanes that are cut short at the end are summed apart, one by one.
        self.rest: Buffer | None = None
        lanes = {a.var for a in self.lanes}
        if any(
            s.length % s.factor and lanes & set(nest.parts(s.inner)) for s in nest.splits.values()
        ):
            self.rest = realizer.register(reduce.dtype, tuple(a.extent for a in self.tile))
        self.total: Buffer | None = None
        if self.lanes:
            self.total = realizer.register(reduce.dtype, tuple(a.extent for a in self.tile))

    def statements(self, at: Fixed, cut: Fixed) -> tuple[Statement, ...]:
        """Everything for one point of the outer loops."""
        init = _loops(
            self.nest,
            [*self.tile, *self.lanes],
            at,
            cut,
            lambda at, cut: (self._set(self.acc, [*self.tile, *self.lanes], at, self.identity),),
        )
        if self.rest is not None:
            rest = self.rest
            init += _loops(
                self.nest,
                self.tile,
                at,
                cut,
                lambda at, cut: (self._set(rest, self.tile, at, self.identity),),
            )
        update = _loops(self.nest, self.inner, at, cut, self._update)
        combine: tuple[Statement, ...] = ()
        if self.total is not None:
            combine = _loops(self.nest, self.tile, at, cut, self._combine)
        finish = _loops(self.nest, self.tile, at, cut, self._finish)
        return (*init, *update, *combine, *finish)

    def _index(self, axes: Sequence[Axis], at: Fixed) -> tuple[Expr, ...]:
        return tuple(at.get(a.var, affine.symbol(a.var)) for a in axes)

    def _read(self, register: Buffer, axes: Sequence[Axis], at: Fixed) -> Read:
        return Read(register.name, self._index(axes, at), register.dtype)

    def _set(self, register: Buffer, axes: Sequence[Axis], at: Fixed, value: Scalar) -> Store:
        return Store(register.name, self._index(axes, at), value)

    def _update(self, at: Fixed, cut: Fixed) -> tuple[Statement, ...]:
        body = _settled(self.nest, self.reduce.body, at, cut)
        if self.rest is not None and self._lanes_cut(cut):
            old: Scalar = self._read(self.rest, self.tile, at)
            return (self._set(self.rest, self.tile, at, apply(self.reduce.combine, old, body)),)
        axes = [*self.tile, *self.lanes]
        old = self._read(self.acc, axes, at)
        return (self._set(self.acc, axes, at, apply(self.reduce.combine, old, body)),)

    def _lanes_cut(self, cut: Fixed) -> bool:
        lanes = {a.var for a in self.lanes}
        return any(lanes & set(self.nest.parts(v)) for v in cut)

    def _combine(self, at: Fixed, cut: Fixed) -> tuple[Statement, ...]:
        assert self.total is not None
        index = self._index(self.tile, at)
        terms: list[Scalar] = [
            Read(self.acc.name, (*index, *lane), self.acc.dtype)
            for lane in itertools.product(*(range(a.extent) for a in self.lanes))
        ]
        if self.rest is not None:
            terms.append(self._read(self.rest, self.tile, at))
        while len(terms) > 1:  # pairwise, so that errors and latency grow with the logarithm
            half = len(terms) // 2
            pairs: list[Scalar] = [
                apply(self.reduce.combine, terms[i], terms[half + i]) for i in range(half)
            ]
            terms = [*pairs, *terms[2 * half :]]
        return (self._set(self.total, self.tile, at, terms[0]),)

    def _finish(self, at: Fixed, cut: Fixed) -> tuple[Statement, ...]:
        done = self._read(self.total or self.acc, self.tile, at)
        value = rewrite(self.nest.value, lambda s: done if isinstance(s, Reduce) else None)
        return (_store(self.nest, at, value, cut),)


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


def zero_halo(nest: Nest) -> tuple[Statement, ...]:
    """Write the zeros around each image of the target; its own elements are left alone."""
    t = nest.tensors[nest.target]
    shape = t.layout.physical_shape(t.static_shape)
    zero = Number(0.0 if t.dtype.is_float else 0, t.dtype)
    statements: list[Statement] = []
    for axis, h in enumerate(t.layout.halo, start=2):
        if not h:
            continue
        for start, stop in ((0, h), (shape[axis] - h, shape[axis])):
            bounds = [(0, n) for n in shape]
            bounds[axis] = (start, stop)
            # Axes before this one have their own borders written already.
            for other, oh in enumerate(t.layout.halo[: axis - 2], start=2):
                bounds[other] = (oh, shape[other] - oh)
            statements += _fill(nest.target, bounds, zero, f"h{axis}{'ab'[start > 0]}")
    return tuple(statements)


def _fill(
    target: str, bounds: list[tuple[int, int]], value: Number, prefix: str
) -> tuple[Statement, ...]:
    lanes = 16
    index: list[Expr] = []
    loops: list[tuple[str, int, int]] = []
    for d, (start, stop) in enumerate(bounds):
        if stop - start == 1:
            index.append(start)
        else:
            index.append(affine.symbol(f"{prefix}{d}"))
            loops.append((f"{prefix}{d}", start, stop))
    body: tuple[Statement, ...] = (Store(target, tuple(index), value),)
    for position, (var, start, stop) in enumerate(reversed(loops)):
        if position == 0 and stop - start <= lanes:
            body = (Loop(var, start, stop, body, "vector"),)
        elif position == 0:
            body = _vector_parts(var, start, stop, body, lanes)
        else:
            body = (Loop(var, start, stop, body),)
    return body


def _vector_parts(
    var: str, start: int, stop: int, body: tuple[Statement, ...], lanes: int
) -> tuple[Statement, ...]:
    """A long run of stores as full vectors and a shorter end."""
    (store,) = body
    assert isinstance(store, Store)
    n_full = (stop - start) // lanes
    i, lane = affine.symbol(f"{var}o"), affine.symbol(f"{var}v")

    def at(first: Expr, n: int) -> Loop:
        index = tuple(affine.substitute(e, {var: first + lane}) for e in store.index)
        return Loop(f"{var}v", 0, n, (Store(store.buffer, index, store.value),), "vector")

    parts: list[Statement] = (
        [Loop(f"{var}o", 0, n_full, (at(i * lanes + start, lanes),))] if n_full else []
    )
    rest = (stop - start) % lanes
    if rest:
        parts.append(at(start + n_full * lanes, rest))
    return tuple(parts)
