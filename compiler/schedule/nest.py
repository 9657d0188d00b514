"""A loop nest under construction, and the moves that shape it.

A nest is one stage of a computation over physical buffers: a list of loops, outermost first, some
over the target's points and some over its reduction. A move returns a new nest and never changes
what is computed; one that is not legal raises E-SCHEDULE-MOVE with the reason. `realize.py` writes
the nest out as Loop IR.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from compiler.compute.scalar import (
    Read,
    Reduce,
    Scalar,
    reads,
    reduction,
    rewrite,
)
from compiler.errors import require
from compiler.ir import affine
from compiler.ir.affine import Expr, Range
from compiler.ir.types import TensorType
from compiler.loops.nodes import LoopKind
from compiler.schedule.indices import substitute
from compiler.schedule.packing import Packing, packing_for


@dataclass(frozen=True, slots=True)
class Axis:
    """One loop: its index, how often it runs, and how.

    `lanes` marks a reduction loop whose iterations are kept apart in registers and combined at the
    end.
    """

    var: str
    extent: Expr
    is_reduction: bool
    kind: LoopKind = "for"
    lanes: bool = False

    @property
    def size(self) -> int:
        """How often it runs, or is taken to run where only a run tells."""
        return affine.assumed(self.extent)

    @property
    def range(self) -> Range:
        """Where the index runs at most, both ends included."""
        return (0, affine.last_of(self.extent))

    def __str__(self) -> str:
        word = "" if self.kind == "for" else f"{self.kind} "
        return f"{word}{self.var}<{self.extent}"


@dataclass(frozen=True, slots=True)
class Split:
    """A loop of `length` run as `outer` parts of `factor` iterations of `inner`.

    When the factor does not divide the length, `inner` is shorter in the last part. Either part
    may have been split again. Of an open length what is left runs in steps of its own.
    """

    var: str
    length: Expr
    outer: str
    inner: str
    factor: int


@dataclass(frozen=True, slots=True)
class Beside:
    """One more result of a nest: what is stored, where, at each point of the same loops."""

    target: str
    index: tuple[Expr, ...]
    value: Scalar
    zero_halo: bool = False


@dataclass(frozen=True)
class Nest:
    """One stage over physical buffers, with its loops and the moves made so far.

    `beside` has further results over the same loops, in the order in which they are stored.
    """

    target: str
    index: tuple[Expr, ...]
    value: Scalar
    axes: tuple[Axis, ...]
    tensors: Mapping[str, TensorType]
    packings: Mapping[str, Packing]
    shapes: Mapping[str, tuple[Expr, ...]]
    zero_halo: bool = False
    beside: tuple[Beside, ...] = ()
    splits: Mapping[str, Split] = field(default_factory=dict)
    """By the name of the outer part."""
    moves: tuple[str, ...] = ()
    _addresses: dict[object, Expr] = field(default_factory=dict, init=False, compare=False)
    """Addresses worked out already: policies ask for the same ones many times."""

    # Looking

    @property
    def ranges(self) -> dict[str, Range]:
        """Where each index runs, both ends included."""
        return {a.var: a.range for a in self.axes}

    @property
    def space(self) -> list[Axis]:
        """The loops over the target's points."""
        return [a for a in self.axes if not a.is_reduction]

    @property
    def reduced(self) -> list[Axis]:
        """The loops over the reduction."""
        return [a for a in self.axes if a.is_reduction]

    @property
    def results(self) -> tuple[Beside, ...]:
        """All that is stored at each point, the nest's own target first."""
        return (Beside(self.target, self.index, self.value, self.zero_halo), *self.beside)

    @property
    def values(self) -> tuple[Scalar, ...]:
        """What is stored at each point, result by result."""
        return (self.value, *(b.value for b in self.beside))

    @property
    def reduce(self) -> Reduce | None:
        """The reduction inside the value."""
        return reduction(self.value)

    @property
    def reductions(self) -> tuple[Reduce, ...]:
        """The reductions inside all values, equal ones once: each has an accumulator."""
        found = (reduction(v) for v in self.values)
        return tuple(dict.fromkeys(r for r in found if r is not None))

    def axis(self, var: str) -> Axis:
        """The loop with this index. Errors: E-SCHEDULE-MOVE."""
        found = [a for a in self.axes if a.var == var]
        require(bool(found), "E-SCHEDULE-MOVE", f"there is no loop {var!r} in {self}")
        return found[0]

    def has(self, var: str) -> bool:
        """Whether there is a loop with this index."""
        return any(a.var == var for a in self.axes)

    def reads(self) -> list[Read]:
        """All reads of buffers."""
        return [r for value in self.values for r in reads(value)]

    def strides(self, tensor: str) -> tuple[Expr, ...]:
        """Elements between neighbours along each physical axis of a buffer."""
        return affine.row_major(self.shapes[tensor])

    def address(self, tensor: str, index: Sequence[Expr]) -> Expr:
        """The offset of an element in its buffer, in elements."""
        key = (tensor, tuple(index))
        if key not in self._addresses:
            total: Expr = 0
            for e, stride in zip(index, self.strides(tensor), strict=True):
                total = total + e * stride
            self._addresses[key] = affine.simplify(total, self.ranges)
        return self._addresses[key]

    def stride_of(self, tensor: str, index: Sequence[Expr], var: str) -> int | None:
        """By how much the address grows with an index; None when not by a constant."""
        return coefficient(self.address(tensor, index), var)

    def __str__(self) -> str:
        return f"{self.target}: " + ", ".join(map(str, self.axes))

    # Moves

    def split(self, var: str, factor: int, outer: str = "", inner: str = "") -> Nest:
        """Run a loop in parts: `for i<n` becomes `for io<ceil(n/f) { for ii<f }`, the last part
        shorter.

        Errors: E-SCHEDULE-MOVE when the loop is not plain or the factor does not fit.
        """
        a = self.axis(var)
        uneven = var in self.splits and self.splits[var].length % self.splits[var].factor
        require(
            a.kind == "for" and not uneven and factor >= 1,
            "E-SCHEDULE-MOVE",
            f"loop {a} cannot be split by {factor}: its last part is shorter",
        )
        names = (outer or f"{var}o", inner or f"{var}i")
        made = Split(var, a.extent, names[0], names[1], factor)
        first = replace(a, var=names[0], extent=(a.extent + factor - 1) // factor)
        second = replace(a, var=names[1], extent=factor)
        joined = affine.symbol(names[0]) * factor + affine.symbol(names[1])
        axes = tuple(b for c in self.axes for b in ((first, second) if c is a else (c,)))
        done = self._with({var: joined}, axes, f"split({var}, {factor}, {names[0]}, {names[1]})")
        return replace(done, splits={**self.splits, names[0]: made})

    def fuse(self, outer: str, inner: str, var: str) -> Nest:
        """Run two loops as one: `for a<m { for b<n }` becomes `for f<m*n`.

        Errors: E-SCHEDULE-MOVE when the loops are not plain, next to each other and of one kind.
        """
        a, b = self.axis(outer), self.axis(inner)
        at = self.axes.index(a)
        require(
            self.axes[at + 1 : at + 2] == (b,)
            and a.is_reduction == b.is_reduction
            and a.kind == b.kind == "for"
            and not self._is_part(outer)
            and not self._is_part(inner),
            "E-SCHEDULE-MOVE",
            f"loops {a} and {b} cannot run as one",
        )
        f = affine.symbol(var)
        # An empty loop stays empty, and nothing is divided by 0.
        width = max(b.extent, 1) if isinstance(b.extent, int) else b.extent
        joined = {outer: affine.floordiv(f, width), inner: affine.mod(f, width)}
        fused = Axis(var, a.extent * b.extent, a.is_reduction)
        axes = (*self.axes[:at], fused, *self.axes[at + 2 :])
        return self._with(joined, axes, f"fuse({outer}, {inner}, {var})")

    def reorder(self, *order: str) -> Nest:
        """Run the loops in this order, outermost first; loops not named keep their place after.

        Errors: E-SCHEDULE-MOVE when the parts of a split with a shorter end would come before it.
        """
        named = [self.axis(v) for v in order]
        axes = (*named, *(a for a in self.axes if a not in named))
        places = {a.var: i for i, a in enumerate(axes)}
        for s in self.splits.values():
            inside = [places[v] for v in self.parts(s.inner)]
            require(
                not self._is_uneven(s) or max(places[v] for v in self.parts(s.outer)) < min(inside),
                "E-SCHEDULE-MOVE",
                f"{s.inner} must run inside {s.outer}, whose last part is shorter",
            )
        return replace(self, axes=axes, moves=(*self.moves, f"reorder({', '.join(order)})"))

    def mark(self, kind: LoopKind, *loops: str) -> Nest:
        """Run loops in another way: `unroll`, `vector`, `parallel` or `dot`.

        Errors: E-SCHEDULE-MOVE for a vector loop that is not innermost but for a dot step, and for
        a dot step that is no loop of the reduction.
        """
        for var in loops:
            require(
                kind != "dot" or self.axis(var).is_reduction,
                "E-SCHEDULE-MOVE",
                f"{var} is no loop of the reduction, and products are summed along those only",
            )
            self.axis(var)
        axes = tuple(replace(a, kind=kind) if a.var in loops else a for a in self.axes)
        require(
            all(a.kind != "vector" for a in [a for a in axes if a.kind != "dot"][:-1]),
            "E-SCHEDULE-MOVE",
            "a vector loop must be innermost",
        )
        return replace(self, axes=axes, moves=(*self.moves, f"{kind}({', '.join(loops)})"))

    def without_halo(self) -> Nest:
        """The nest leaving the zeros round its target to an earlier one."""
        return replace(self, zero_halo=False)

    def joined(self, other: Nest) -> Nest:
        """The nest with the results of another that has the same loops, before any move."""
        return replace(self, beside=(*self.beside, *other.results))

    def keep_lanes(self, *loops: str) -> Nest:
        """Keep the iterations of reduction loops apart in registers until the end."""
        for var in loops:
            require(
                self.axis(var).is_reduction,
                "E-SCHEDULE-MOVE",
                f"{var} is no loop of the reduction",
            )
        axes = tuple(replace(a, lanes=True) if a.var in loops else a for a in self.axes)
        return replace(self, axes=axes, moves=(*self.moves, f"keep_lanes({', '.join(loops)})"))

    def parts(self, var: str) -> list[str]:
        """The loops that a loop has become by splits."""
        for s in self.splits.values():
            if s.var == var:
                return [*self.parts(s.outer), *self.parts(s.inner)]
        return [var]

    def _is_uneven(self, s: Split) -> bool:
        """Whether the inner loop of a split is ever shorter than its factor."""
        around = (t for t in self.splits.values() if t.inner == s.var)
        return bool(s.length % s.factor) or any(map(self._is_uneven, around))

    def _is_part(self, var: str) -> bool:
        """Whether a loop's length depends on another's position."""
        return any(s.length % s.factor and var in (s.outer, s.inner) for s in self.splits.values())

    def round_up(self, var: str, multiple: int) -> Nest:
        """Run a loop to the next multiple; the caller knows that the memory behind is there."""
        a = self.axis(var)
        require(
            isinstance(a.extent, int), "E-SCHEDULE-MOVE", f"the length of {a} is not known here"
        )
        extent = -(-a.extent // multiple) * multiple
        if extent == a.extent:
            return self
        axes = tuple(replace(b, extent=extent) if b is a else b for b in self.axes)
        return replace(self, axes=axes, moves=(*self.moves, f"round_up({var}, {multiple})"))

    def pack(self, tensor: str) -> Nest:
        """Repack a constant into the order of the loops that read it.

        Errors: E-SCHEDULE-MOVE when its index is not made of whole loops.
        """
        found = {r.index for r in self.reads() if r.tensor == tensor}
        require(
            len(found) == 1 and tensor not in self.packings,
            "E-SCHEDULE-MOVE",
            f"{tensor} is read at {len(found)} different places",
        )
        (index,) = found
        packing, variables = packing_for(
            index, self.shapes[tensor], {a.var: a.extent for a in self.axes}
        )
        require(
            packing is not None, "E-SCHEDULE-MOVE", f"{tensor}[{index}] does not follow the loops"
        )
        assert packing is not None
        new_index = tuple(affine.symbol(v) for v in variables)

        def change(s: Scalar) -> Scalar | None:
            return (
                replace(s, index=new_index) if isinstance(s, Read) and s.tensor == tensor else None
            )

        return replace(
            self,
            value=rewrite(self.value, change),
            beside=tuple(replace(b, value=rewrite(b.value, change)) for b in self.beside),
            packings={**self.packings, tensor: packing},
            shapes={**self.shapes, tensor: packing.shape},
            moves=(*self.moves, f"pack({tensor})"),
        )

    def _with(self, values: Mapping[str, Expr], axes: tuple[Axis, ...], move: str) -> Nest:
        ranges = {a.var: a.range for a in axes}
        reduced = tuple(a.var for a in axes if a.is_reduction)
        first, *others = (
            replace(
                b,
                index=tuple(affine.simplify(affine.substitute(e, values), ranges) for e in b.index),
                value=substitute(b.value, values, ranges, reduced),
            )
            for b in self.results
        )
        return replace(
            self,
            axes=axes,
            index=first.index,
            value=first.value,
            beside=tuple(others),
            moves=(*self.moves, move),
        )


def coefficient(e: Expr, var: str) -> int | None:
    """The factor of a symbol in a sum; None when it also stands inside a division or extreme."""
    if isinstance(e, int):
        return 0
    factor = 0
    for atom, c in e.terms:
        if atom == var:
            factor = c
        elif not isinstance(atom, str) and var in affine.symbols(atom.a) | affine.symbols(atom.b):
            return None
    return factor
