"""The state of a loop nest (its loops, and the value at each point), and queries about the state.

A nest is one stage of a computation over physical buffers: a list of loops, outermost first. Some
loops iterate over the points of the target (the tensor that the stage stores), the others over its
reduction. `compiler.schedule.language` declares the moves that transform a nest; `nest.py` combines
the state and the moves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Self

from compiler.compute.scalar import Read, Reduce, Scalar, reads, reduction
from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.ir import affine
from compiler.ir.affine import Expr, Range
from compiler.ir.types import DType, TensorType
from compiler.loops.nodes import LoopKind
from compiler.schedule.indices import substitute
from compiler.schedule.language.call import Call
from compiler.schedule.operands.packing import Packing

MOST_LOOPS = 32
"""The maximum number of loops in a nest: the cost of each move grows with the number of loops."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One loop: its index, trip count and kind.

    `lanes` marks a reduction loop whose iterations have separate accumulators, combined at the end.
    """

    var: str
    extent: Expr
    is_reduction: bool
    kind: LoopKind = "for"
    lanes: bool = False

    @property
    def size(self) -> int:
        """The trip count; an assumed trip count if the size is known only at run time."""
        return affine.assumed_size(self.extent)

    @property
    def range(self) -> Range:
        """The range of the index, both ends included."""
        return (0, affine.last_of(self.extent))

    def __str__(self) -> str:
        word = "" if self.kind == "for" else f"{self.kind} "
        return f"{word}{self.var}<{self.extent}"


@dataclass(frozen=True, slots=True)
class Split:
    """A loop of `length` iterations, split into parts of `factor` iterations.

    The loop `outer` runs over the parts, the loop `inner` over the iterations of a part.

    When the factor does not divide the length, `inner` is shorter in the last part. Each of the two
    loops may be split again. If the length is known only at run time, the remainder runs in
    separate loops.
    """

    var: str
    length: Expr
    outer: str
    inner: str
    factor: int


@dataclass(frozen=True, slots=True)
class Beside:
    """An additional result of a nest: the value and index of a store at each point."""

    target: str
    index: tuple[Expr, ...]
    value: Scalar
    zero_halo: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """A copy or prefetch of one operand at the start of each iteration of a loop.

    With a `block`, all elements that the inner loops read are copied into the block; `place` is the
    index of an element in the block. Without a block, each iteration prefetches for the iteration
    that is `distance` iterations later. The prefetch covers the first cache line of the operand, or
    all lines of a packed constant. With a loop `over`, each iteration of `over` prefetches only one
    of `share` equal parts of the lines.
    """

    loop: str
    tensor: str
    index: tuple[Expr, ...]
    block: str = ""
    place: tuple[Expr, ...] = ()
    distance: int = 0
    over: str = ""
    share: int = 1


@dataclass(frozen=True)
class Loops:
    """One stage over physical buffers, with its loops and the moves applied so far.

    `beside` has the additional results that the same loops store, in store order. `packable` are
    the constants that only this nest reads. `owed` are constants that must be packed before the
    nest is complete, since a loop runs past their last element.
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
    """Splits by the name of the outer loop."""
    packable: frozenset[str] = frozenset()
    owed: frozenset[str] = frozenset()
    moves: tuple[Call, ...] = ()
    cached: str = ""
    """The innermost reduction loop that adds to partial sums in memory, or ""."""
    entries: tuple[Entry, ...] = ()
    reason: str = ""
    """The reason for the next move."""
    used: frozenset[str] = frozenset()
    """Names of removed loops; indices of earlier splits may still use these names."""
    around: Mapping[str, Range] = field(default_factory=dict)
    """Index ranges of the loops around the entire nest; moves do not change these loops."""
    _addresses: dict[object, Expr] = field(default_factory=dict, init=False, compare=False)
    """A cache of addresses: policies request the same addresses many times."""

    @property
    def ranges(self) -> dict[str, Range]:
        """The range of each index, both ends included."""
        return {**self.around, **{a.var: a.range for a in self.axes}}

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
        """All results stored at each point, the nest's own target first."""
        return (Beside(self.target, self.index, self.value, self.zero_halo), *self.beside)

    @property
    def values(self) -> tuple[Scalar, ...]:
        """The values stored at each point, one per result."""
        return (self.value, *(b.value for b in self.beside))

    @property
    def reduce(self) -> Reduce | None:
        """The reduction inside the value."""
        return reduction(self.value)

    @property
    def reductions(self) -> tuple[Reduce, ...]:
        """The distinct reductions inside all values; each has an accumulator."""
        found = (reduction(v) for v in self.values)
        return tuple(dict.fromkeys(r for r in found if r is not None))

    def axis(self, var: str) -> Axis:
        """Return the loop with this index. Errors: E-SCHEDULE-MOVE."""
        found = next((a for a in self.axes if a.var == var), None)
        if found is None:
            names = ", ".join(a.var for a in self.axes) or "none"
            raise CompileError(
                "E-SCHEDULE-MOVE", f"there is no loop {var!r}; loops of {self.target}: {names}"
            )
        return found

    def position(self, var: str) -> int:
        """Return the depth of a loop, 0 for the outermost. Errors: E-SCHEDULE-MOVE."""
        return self.axes.index(self.axis(var))

    def has(self, var: str) -> bool:
        """Return whether there is a loop with this index."""
        return any(a.var == var for a in self.axes)

    def reads(self) -> list[Read]:
        """Return all reads of buffers."""
        return [r for value in self.values for r in reads(value)]

    def dtype_of(self, tensor: str) -> DType:
        """Return the element type of a tensor, or of a block that contains a copy."""
        source = next((e.tensor for e in self.entries if e.block == tensor), tensor)
        return self.dtype_of(source) if source != tensor else self.tensors[tensor].dtype

    def strides(self, tensor: str) -> tuple[Expr, ...]:
        """Return the stride of each physical axis of a buffer, in elements."""
        return affine.row_major(self.shapes[tensor])

    def address(self, tensor: str, index: Sequence[Expr]) -> Expr:
        """Return the offset of an element in its buffer, in elements."""
        key = (tensor, tuple(index))
        if key not in self._addresses:
            total: Expr = 0
            for e, stride in zip(index, self.strides(tensor), strict=True):
                total = total + e * stride
            self._addresses[key] = affine.simplify(total, self.ranges)
        return self._addresses[key]

    def stride_of(self, tensor: str, index: Sequence[Expr], var: str) -> int | None:
        """Return the stride of an address along a loop, in elements; None if it is not constant."""
        return affine.coefficient(self.address(tensor, index), var)

    def parts(self, var: str) -> list[str]:
        """Return the loops into which splits have divided a loop."""
        for s in self.splits.values():
            if s.var == var:
                return [*self.parts(s.outer), *self.parts(s.inner)]
        return [var]

    def is_uneven(self, s: Split) -> bool:
        """Return whether the factor of a split, or of an enclosing split, leaves a remainder."""
        around = (t for t in self.splits.values() if t.inner == s.var)
        return bool(s.length % s.factor) or any(map(self.is_uneven, around))

    def is_cut(self, var: str) -> bool:
        """Return whether a loop belongs to a split with a shorter last part."""
        return any(var in (s.outer, s.inner) and self.is_uneven(s) for s in self.splits.values())

    @property
    def held(self) -> frozenset[str]:
        """Loops that no move may change: partial sums or copies depend on their iterations."""
        loops = (loop for e in self.entries for loop in (e.loop, e.over))
        return frozenset(filter(None, (self.cached, *loops)))

    @property
    def taken(self) -> frozenset[str]:
        """Names that a new loop cannot have."""
        sizes = (affine.symbols(a.extent) for a in self.axes)
        return self.used.union(self.around, (a.var for a in self.axes), *sizes)

    def because(self, reason: str) -> Self:
        """Return the nest with a reason for its next move."""
        return replace(self, reason=reason)

    def noted(self, call: Call, before: Self) -> Self:
        """Return the nest with its last move recorded; `before` is the nest before that move.

        Errors: E-SCHEDULE-MOVE.
        """
        return replace(self, moves=(*before.moves, call), reason="")

    def rewritten(self, values: Mapping[str, Expr], axes: tuple[Axis, ...]) -> Self:
        """Return the nest over `axes`; `values` maps old indices to expressions of new ones."""
        ranges = {**self.around, **{a.var: a.range for a in axes}}
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
            entries=tuple(_moved(e, values, ranges) for e in self.entries),
            used=self.used.union(values),
        )

    def __str__(self) -> str:
        return f"{self.target}: " + ", ".join(map(str, self.axes))


def _moved(e: Entry, values: Mapping[str, Expr], ranges: Mapping[str, Range]) -> Entry:
    def new(index: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple(affine.simplify(affine.substitute(i, values), ranges) for i in index)

    return replace(e, index=new(e.index), place=new(e.place))
