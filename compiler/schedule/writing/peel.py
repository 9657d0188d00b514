"""Emission of the loops of a nest; splits with remainders are peeled."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from compiler.compute.scalar import Read, Scalar
from compiler.ir import affine
from compiler.ir.affine import Expr, Range
from compiler.loops.nodes import Loop, Prefetch, Statement, Store
from compiler.schedule.indices import substitute
from compiler.schedule.nest import Axis, Beside, Entry, Nest, Split
from compiler.schedule.policies.tiles import LINE_BYTES

At = Mapping[str, Expr]
"""Substitutions for loop variables: an iteration, a shifted index, or an outer loop's index."""

Fixed = Mapping[str, Expr]
"""The trip counts of shortened loops; the count of a vector loop may be known only at run time."""


Body = Callable[[At, Fixed], tuple[Statement, ...]]
"""Emits the statements in the body of loops."""


MOST_LINES = 64
"""The maximum number of cache lines prefetched per iteration: prefetched data must fit L1."""


def loops_over(
    nest: Nest,
    axes: Sequence[Axis],
    at: At,
    cut: Fixed,
    body: Body,
) -> tuple[Statement, ...]:
    """Wrap a body in loops over the axes; a loop with a remainder becomes two loops.

    `at` substitutes loop variables; `cut` has the trip counts of shortened loops.
    """
    if not axes:
        return body(at, cut)
    a, rest = axes[0], axes[1:]
    if not stands_here(at, a.var):
        return _entered(nest, a, rest, at, cut, body)
    split = nest.splits.get(a.var)
    extent, tail = cut.get(a.var, a.extent), 0
    if split is not None:
        length = cut.get(split.var, split.length)
        if not isinstance(length, int):
            return _open_parts(nest, a, rest, at, cut, body, (split, length))
        extent, tail = -(-length // split.factor), length % split.factor
    n_full = extent - 1 if tail else extent
    statements: list[Statement] = []
    if n_full == 1 and a.kind not in ("vector", "tile"):
        statements += _entered(nest, a, rest, {**at, a.var: 0}, cut, body)
    elif n_full:
        statements.append(Loop(a.var, 0, n_full, _entered(nest, a, rest, at, cut, body), a.kind))
    if tail:
        assert split is not None
        shorter = {**cut, split.inner: tail}
        statements += _entered(nest, a, rest, {**at, a.var: n_full}, shorter, body)
    return tuple(statements)


def _entered(
    nest: Nest, a: Axis, rest: Sequence[Axis], at: At, cut: Fixed, body: Body
) -> tuple[Statement, ...]:
    """Emit the body of a loop: copies and prefetches first, then the inner loops."""
    inside = loops_over(nest, rest, at, cut, body)
    if not nest.entries:
        return inside
    entries = (e for e in nest.entries if e.loop == a.var)
    begun = itertools.chain.from_iterable(_begun(nest, e, at, cut) for e in entries)
    return (*begun, *inside)


MOST_LANES = 16
"""The maximum number of contiguous elements that a copy moves at once."""


def _begun(nest: Nest, e: Entry, at: At, cut: Fixed) -> tuple[Statement, ...]:
    bare = replace(nest, entries=())
    inside = nest.axes[nest.position(e.loop) + 1 :]
    read = Read(e.tensor, e.index, nest.dtype_of(e.tensor))
    if not e.block:
        ahead = {e.loop: _iteration_asked(nest, e), **{a.var: 0 for a in inside}}
        first = tuple(affine.substitute(i, ahead) for i in e.index)
        decided = {v: i for v, i in at.items() if v not in ahead or v == e.loop}
        asked = Prefetch(e.tensor, tuple(affine.substitute(i, decided) for i in first))
        return _asked_in_lines(nest, e, asked, read.dtype.nbytes)
    copied = [a for a in inside if any(a.var in affine.symbols(i) for i in e.place)]
    plain = [a if a.kind == "vector" else replace(a, kind="for") for a in copied]
    for last in plain[-1:]:
        if nest.stride_of(e.tensor, e.index, last.var) == 1 and last.size <= MOST_LANES:
            plain[-1] = replace(last, kind="vector")
    element = Beside(e.block, e.place, read)
    return loops_over(bare, plain, at, cut, lambda at, cut: (stored(bare, element, at, cut),))


def _iteration_asked(nest: Nest, e: Entry) -> Expr:
    """Return the later iteration whose data the current iteration prefetches."""
    here = affine.symbol(e.loop)
    if e.over:
        turn: Expr = affine.symbol(e.over)
        if not isinstance(nest.axis(e.over).extent, int):
            turn = affine.mod(turn, e.share)  # an unknown number of iterations may exceed `share`
        return affine.floordiv(here + turn * nest.axis(e.loop).extent, e.share) + e.distance
    return here + e.distance


def _asked_in_lines(nest: Nest, e: Entry, asked: Prefetch, nbytes: int) -> tuple[Statement, ...]:
    """Prefetch an iteration's cache lines: all for a packed constant, else the first one."""
    n_elements = nest.stride_of(e.tensor, e.index, e.loop) or 0
    n_lines = min(-(-n_elements * nbytes // LINE_BYTES), MOST_LINES)
    if e.tensor not in nest.packings or n_lines <= 1:
        return (asked,)
    line = f"{e.loop}_line"
    *outer, last = asked.index
    place = (*outer, last + affine.symbol(line) * (LINE_BYTES // nbytes))
    return (Loop(line, 0, n_lines, (Prefetch(e.tensor, place),), "unroll"),)


def _open_parts(
    nest: Nest,
    opened: Axis,
    rest: Sequence[Axis],
    at: At,
    cut: Fixed,
    body: Body,
    part: tuple[Split, Expr],
    is_left_over: bool = False,
) -> tuple[Statement, ...]:
    """Emit the loop over full parts of a symbolic length, then the remainder in smaller parts.

    `part` is the split and its length. The elements after the last full tile form full vectors or
    smaller row tiles. The remaining elements form a partial vector, or are processed one by one.
    Each of the resulting loops has separate code, and separate copies of the operands that the loop
    `opened` copies.
    """
    split, length = part
    statements: list[Statement] = []
    n_parts = affine.floordiv(length, split.factor)
    if is_left_over:
        # The loop over the tile is emitted at this level, so its index in registers is 0.
        cut, counter = {**cut, split.outer: 1}, _left(split.outer)
        whole = _entered(nest, opened, rest, {**at, split.outer: affine.symbol(counter)}, cut, body)
    else:
        counter = split.outer
        whole = _entered(nest, opened, rest, at, cut, body)
    if n_parts != 0:
        statements.append(Loop(counter, 0, n_parts, whole))
    left = affine.mod(length, split.factor)
    if left == 0:
        return tuple(statements)
    behind: dict[str, Expr] = {**at, split.outer: n_parts}
    inner = next((s for s in nest.splits.values() if s.var == split.inner), None)
    if inner is not None:
        return (
            *statements,
            *_open_parts(nest, opened, rest, behind, cut, body, (inner, left), True),
        )
    done: Expr = 0
    for size in _smaller_tiles(nest, split):
        counter = f"{split.inner}_by{size}"
        first = done + affine.symbol(counter) * size
        moved = {**behind, split.inner: affine.symbol(split.inner) + first}
        tile = _entered(nest, opened, rest, moved, {**cut, split.inner: size}, body)
        statements.append(Loop(counter, 0, affine.floordiv(left, size), tile))
        done, left = done + affine.floordiv(left, size) * size, affine.mod(left, size)
    if nest.axis(split.inner).kind == "vector":
        lanes = _entered(nest, opened, rest, behind, {**cut, split.inner: left}, body)
        return (*statements, Loop(_left(split.inner), 0, _at_most_one(left, split.factor), lanes))
    behind[split.inner] = affine.symbol(_left(split.inner)) + done
    single = _entered(nest, opened, rest, behind, {**cut, split.inner: 1}, body)
    return (*statements, Loop(_left(split.inner), 0, left, single))


def _at_most_one(left: Expr, size: int) -> Expr:
    """Return 1 if a remainder of this size exists, else 0."""
    return affine.floordiv(left + (size - 1), size)


def _smaller_tiles(nest: Nest, split: Split) -> list[int]:
    """Return the sizes of row tiles for a remainder: powers of two above 1 and below a full tile.

    A remainder needs at most one tile of each size, so it needs few passes over the columns and
    little code.
    """
    a = nest.axis(split.inner)
    if a.kind != "unroll" or a.is_reduction:
        return []
    return [1 << k for k in reversed(range(1, (split.factor - 1).bit_length()))]


def _left(var: str) -> str:
    """Return the name of a split's remainder loop, which is emitted outside the split's loops."""
    return f"{var}_left"


def stands_here(at: At, var: str) -> bool:
    """Return whether the loop over a variable is emitted here.

    This is true if `at` has no substitute for the variable, or the variable plus an offset.
    """
    return var not in at or var in affine.symbols(at[var])


def _ranges(nest: Nest, at: At, cut: Fixed) -> dict[str, Range]:
    ranges = nest.ranges
    ranges.update((_left(a.var), a.range) for a in nest.axes)
    ranges.update((v, (0, affine.last_of(n))) for v, n in cut.items() if v not in at)
    ranges.update((v, (i, i)) for v, i in at.items() if isinstance(i, int))
    return ranges


def settled(nest: Nest, value: Scalar, at: At, cut: Fixed) -> Scalar:
    """Replace loop variables in a value by their substitutions."""
    return substitute(value, dict(at), _ranges(nest, at, cut))


def stored(nest: Nest, result: Beside, at: At, cut: Fixed) -> Store:
    """Emit the store of one result, with fixed loops substituted."""
    ranges = _ranges(nest, at, cut)
    index = tuple(affine.simplify(affine.substitute(e, dict(at)), ranges) for e in result.index)
    return Store(result.target, index, substitute(result.value, dict(at), ranges))
