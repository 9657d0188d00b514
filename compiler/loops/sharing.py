"""Division of a body with parallel loops into regions without barriers inside.

    for o in 0..4 {                every thread runs all iterations of o, and in each of them
    parallel y in 0..7 { A }       its share of y;
    B                              one thread runs B
    }

Pieces of a region run concurrently, as do different iterations of a plain loop around a parallel
loop. So no piece of a region may access elements that another piece stores. If the iterations of a
plain loop are not provably independent, the loop stays outside the region. Each of its iterations
then has a separate region.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compiler.compute.statements import Loop, Statement, walk_statements
from compiler.dataclass import dataclass
from compiler.loops.independence import Ranges, are_apart, range_of, why_dependent
from compiler.loops.nodes import Buffer

Piece = tuple[Statement, ...]
"""Either a loop that is or contains a parallel loop, or adjacent statements for one thread."""


def loop_of(piece: Piece) -> Loop | None:
    """Return the piece's loop if it is or contains a parallel loop, else None."""
    loop = piece[0] if len(piece) == 1 else None
    return loop if isinstance(loop, Loop) and has_parallel(piece) else None


def has_parallel(body: Sequence[Statement]) -> bool:
    """Return whether a body contains a parallel loop."""
    return any(isinstance(s, Loop) and s.kind == "parallel" for s in walk_statements(body))


def pieces(body: Sequence[Statement]) -> list[Piece]:
    """Partition a body into parallel loops, loops around these, and the statements in between."""
    found: list[Piece] = []
    for s in body:
        if found and loop_of(found[-1]) is None and not has_parallel((s,)):
            found[-1] += (s,)
        else:
            found.append((s,))
    return found


def all_apart(body: Sequence[Piece], buffers: Mapping[str, Buffer], outer: Ranges) -> bool:
    """Return whether all pieces of a body are independent."""
    return all(are_apart(a, b, buffers, outer) for i, a in enumerate(body) for b in body[:i])


def is_shareable(piece: Piece, buffers: Mapping[str, Buffer], outer: Ranges) -> bool:
    """Return whether a team of threads can run a piece without barriers inside."""
    loop = loop_of(piece)
    if loop is None:
        return False
    if loop.kind == "parallel":
        return True
    inside = {**outer, loop.var: range_of(loop, outer)}
    inner = pieces(loop.body)
    return (
        loop.kind == "for"
        and not why_dependent(loop, buffers, outer)
        and all(loop_of(p) is None or is_shareable(p, buffers, inside) for p in inner)
        and all_apart(inner, buffers, inside)
    )


@dataclass(frozen=True, slots=True)
class Members:
    """Adjacent pieces of a body; pieces of a region run concurrently, other pieces in order."""

    pieces: tuple[Piece, ...]
    is_region: bool


def regions(
    body: Sequence[Statement], buffers: Mapping[str, Buffer], outer: Ranges
) -> list[Members]:
    """Partition a body into maximal regions of provably independent pieces, and other pieces."""
    found: list[Members] = []
    for piece in pieces(body):
        shared = is_shareable(piece, buffers, outer)
        if found and _joins(found[-1], piece, shared, buffers, outer):
            found[-1] = Members((*found[-1].pieces, piece), True)
        else:
            found.append(Members((piece,), shared))
    return found


def _joins(
    region: Members, piece: Piece, shared: bool, buffers: Mapping[str, Buffer], outer: Ranges
) -> bool:
    """Return whether a piece can join a region; the region or the piece must be shareable."""
    if loop_of(piece) is not None and not shared:
        return False
    if not region.is_region and (not shared or any(loop_of(p) for p in region.pieces)):
        return False
    return all(are_apart(p, piece, buffers, outer) for p in region.pieces)
