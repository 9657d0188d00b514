"""Preparation of a kernel for emission: the choice of hardware vectors for its loops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from compiler.codegen.access.memory import has_masks
from compiler.codegen.values import HALF, power_of_two
from compiler.compute.scalar import (
    Apply,
    Bits,
    Convert,
    Fetch,
    Read,
    Scalar,
    children,
    index_symbols,
    reads,
)
from compiler.compute.scalar import walk as parts
from compiler.compute.statements import substitute_statements, values_of
from compiler.dataclass import dataclass
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.loops.nodes import Buffer, If, Kernel, Loop, Statement, Store, While
from compiler.loops.nodes import walk_statements as walk
from compiler.targets.target import Target

UNROLLED_PIECES = 8
"""The maximum number of hardware vectors of a vector loop; a longer vector loop becomes a loop over
vectors."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A kernel ready for emission; `widths` maps vector loops, by identity, to numbers of lanes.

    `whole` are the loops that use a full vector although they have fewer iterations.
    """

    kernel: Kernel
    widths: Mapping[int, int]
    whole: frozenset[int] = frozenset()

    def pieces(self, loop: Loop) -> list[tuple[int, int, int]]:
        """Return the pieces of a vector loop as (first lane, active lanes, lanes of the vector).

        For an open trip count, the result has the pieces for its upper bound.
        """
        extent, width = most_lanes(loop), self.widths[id(loop)]
        if id(loop) in self.whole:
            return [(0, extent, width)]
        pieces = [(k, width, width) for k in range(0, extent - width + 1, width)]
        rest = extent % width
        if rest:
            pieces.append((extent - rest, rest, power_of_two(rest)))
        return pieces


def prepare(kernel: Kernel, target: Target) -> Prepared:
    """Choose the lanes of every vector loop; split long loops into loops over vectors."""
    split = replace(kernel, body=_split(kernel.body, kernel, target))
    widths = {
        id(s): _lanes(s, kernel.buffers, target)
        for s in walk(split.body)
        if isinstance(s, Loop) and s.kind == "vector"
    }
    return Prepared(split, widths)


def _lanes(loop: Loop, buffers: Mapping[str, Buffer], target: Target) -> int:
    """Return the number of lanes of a hardware vector for the widest elements in the loop."""
    widest = 1
    for s in walk(loop.body):
        if not isinstance(s, Store):
            continue
        widest = max(widest, buffers[s.buffer].dtype.nbytes)
        for part in _in_lanes(s.value, loop.var):
            if isinstance(part, Apply | Convert | Bits | Read | Fetch):
                widest = max(widest, _working_bytes(part))
    return target.lanes(widest)


def _in_lanes(value: Scalar, var: str) -> Iterator[Scalar]:
    """Yield the subexpressions of a value that are computed per lane, not once for all lanes."""
    yield value
    for part in children(value):
        if not isinstance(value, Fetch) or var in index_symbols(part):
            yield from _in_lanes(part, var)


def _working_bytes(part: Apply | Convert | Bits | Read | Fetch) -> int:
    """Return the bytes that a lane occupies while a subexpression is computed."""
    types = [part.dtype]
    if isinstance(part, Convert):
        types.append(part.arg.dtype)
        if any(t.is_storage and t.is_float for t in types):
            return max(4, *(t.nbytes for t in types))
    return 4 if part.dtype in HALF else part.dtype.nbytes


def _split(body: tuple[Statement, ...], kernel: Kernel, target: Target) -> tuple[Statement, ...]:
    made: list[Statement] = []
    for s in body:
        if isinstance(s, If | While):
            made.append(replace(s, body=_split(s.body, kernel, target)))
        elif not isinstance(s, Loop):
            made.append(s)
        elif s.kind != "vector":
            made.append(replace(s, body=_split(s.body, kernel, target)))
        else:
            made += _split_vector(s, kernel, target)
    return tuple(made)


def _split_vector(loop: Loop, kernel: Kernel, target: Target) -> Iterator[Loop]:
    width = _lanes(loop, kernel.buffers, target)
    if not isinstance(loop.stop - loop.start, int):
        yield from _split_open(loop, width, kernel, target)
        return
    n_whole = loop.extent // width
    if n_whole <= UNROLLED_PIECES or _lanes_of_registers(loop, kernel):
        yield loop
        return
    assert isinstance(loop.start, int)
    counter = f"{loop.var}.vectors"
    moved: dict[str, Expr] = {
        loop.var: affine.symbol(counter) * width + affine.symbol(loop.var) + loop.start
    }
    part = Loop(loop.var, 0, width, substitute_statements(loop.body, moved), "vector")
    yield Loop(counter, 0, n_whole, (part,), "for")
    done = loop.start + n_whole * width
    if done < loop.start + loop.extent:
        yield replace(loop, start=done, stop=loop.start + loop.extent)


def most_lanes(loop: Loop) -> int:
    """Return the trip count of a vector loop, or its upper bound."""
    return affine.last_of(loop.stop - loop.start) + 1


def _split_open(loop: Loop, width: int, kernel: Kernel, target: Target) -> Iterator[Loop]:
    """Split a loop of symbolic length into full vectors and a partial vector.

    Loops over lanes of registers stay unchanged, because they already are partial vectors. On a
    target without masked loads and stores, the remainder of a loop without registers runs element
    by element.
    """
    if loop.start == 0 and (most_lanes(loop) <= width or _lanes_of_registers(loop, kernel)):
        yield loop
        return
    counter = f"{loop.var}.vectors"
    n_whole = affine.floordiv(loop.stop - loop.start, width)
    moved = affine.symbol(counter) * width + affine.symbol(loop.var) + loop.start
    body = substitute_statements(loop.body, {loop.var: moved})
    yield Loop(counter, 0, n_whole, (Loop(loop.var, 0, width, body, "vector"),), "for")
    first = loop.start + n_whole * width
    if not _has_masks(loop, kernel, target):
        yield replace(loop, start=first, kind="for")
        return
    left = affine.mod(loop.stop - loop.start, width)
    body = substitute_statements(loop.body, {loop.var: affine.symbol(loop.var) + first})
    yield Loop(loop.var, 0, left, body, "vector")


def _has_masks(loop: Loop, kernel: Kernel, target: Target) -> bool:
    """Return whether the target has masks for all types that a loop loads and stores."""
    return all(has_masks(target, kernel.buffers[name].dtype) for name in touched(loop.body))


def touched(body: tuple[Statement, ...]) -> set[str]:
    """Return the buffers that statements store to or read."""
    found = {s.buffer for s in walk(body) if isinstance(s, Store)}
    for s in walk(body):
        found |= {p.tensor for v in values_of(s) for p in parts(v) if isinstance(p, Read | Fetch)}
    return found


def _lanes_of_registers(loop: Loop, kernel: Kernel) -> bool:
    """Return whether the lane indexes a register."""
    registers = {b.name for b in kernel.registers}
    for s in walk(loop.body):
        if isinstance(s, Store):
            accesses = [(s.buffer, s.index), *((r.tensor, r.index) for r in reads(s.value))]
            for name, index in accesses:
                if name in registers and any(loop.var in affine.symbols(e) for e in index):
                    return True
    return False
