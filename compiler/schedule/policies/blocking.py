"""How a contraction meets the caches: a deep reduction in parts, constants asked for ahead.

Source: the loop over KC of Goto and van de Geijn 2008; prefetch distances measured.
"""

from __future__ import annotations

from math import prod

from compiler.compute.scalar import Read, walk
from compiler.schedule.nest import Axis, Nest
from compiler.schedule.policies.context import Context
from compiler.schedule.policies.tiles import L2_SHARE, Tile

NARROW, WIDE = 2, 4
"""Vectors of a strip: a reduction in which even a narrow strip does not stay in L2 runs in parts,
each so deep that a wide one does."""

PART_SHARE = 0.25
"""Of L2, what a strip of one part may fill: the rows and the sums are there too."""

SUMS_SHARE = 0.5
"""Of L2, what the sums of all rows may fill; where they do not fit, parts would not pay."""

AHEAD_BYTES = 8192
"""How far ahead packed constants are asked for: the time a line takes to come from memory."""

LEAST_ROWS_ASKING = 2
"""A single row waits for memory anyway: what it asks for ahead would only take its turns."""


def depth_of(nest: Nest) -> int:
    """Steps of the reduction."""
    return prod(a.size for a in nest.reduced)


def in_parts(nest: Nest, vector: Axis, step: int, ctx: Context) -> tuple[Nest, str]:
    """Split the outermost loop of a reduction that is too deep for L2; the loop over parts or "".

    Parts are whole multiples of a step where that loop is the only one of the reduction.
    """
    depth, strip_bytes = depth_of(nest), ctx.target.vector_bytes
    if depth * NARROW * strip_bytes <= ctx.target.l2_bytes * L2_SHARE:
        return nest, ""
    n_points = prod(a.size for a in nest.space if a is not vector)
    known = all(isinstance(a.extent, int) for a in nest.axes)
    sums_bytes = n_points * WIDE * strip_bytes
    if not known or n_points == 1 or sums_bytes > ctx.target.l2_bytes * SUMS_SHARE:
        return nest, ""
    first = nest.reduced[0]
    wanted = int(ctx.target.l2_bytes * PART_SHARE) // (WIDE * strip_bytes)
    most = max(wanted * first.size // depth, 1)
    multiple = step if len(nest.reduced) == 1 else 1
    fitting = (n for n in range(most, most // 2, -1) if first.size % n == 0 and n % multiple == 0)
    size = next(fitting, first.size)
    if size == first.size or first.kind != "for" or nest.is_cut(first.var):
        return nest, ""
    part = f"{first.var}p"
    reason = f"{depth} steps of the reduction: what they read would not stay in L2"
    return nest.because(reason).split(first.var, size, part, f"{first.var}s"), part


def ask_ahead(nest: Nest, tile: Tile, depth: int, ctx: Context) -> Nest:
    """Ask for packed constants before they are needed, where these come from behind L1."""
    strip_bytes = depth * tile.vectors * ctx.target.vector_bytes
    steps = [a for a in nest.reduced if a.kind == "for" and isinstance(a.extent, int)]
    if tile.rows < LEAST_ROWS_ASKING or strip_bytes <= ctx.target.l1d_bytes // 2 or not steps:
        return nest
    assert nest.reduce is not None
    loop = steps[-1].var
    for r in (s for s in walk(nest.reduce.body) if isinstance(s, Read)):
        n_elements = nest.stride_of(r.tensor, r.index, loop) if r.tensor in nest.packings else None
        if n_elements:
            distance = -(-AHEAD_BYTES // (n_elements * r.dtype.nbytes))
            reason = f"{r.tensor} does not stay in L1: its lines take longer than a few steps"
            nest = nest.because(reason).prefetch(r.tensor, loop, distance)
    return nest
