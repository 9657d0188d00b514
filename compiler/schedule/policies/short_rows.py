"""Register tiles over several rows of an image, for rows that are shorter than efficient tiles.

A row of 7 pixels is divided into a tile of 4 pixels and a tile of 3 pixels; both tiles are
inefficient. All 49 pixels of 7 rows are divided into nine tiles of 5 pixels and a tile of 4 pixels.
Rows of a padded image, or of an image read with stride 2, are not contiguous, so tiles over several
rows need a contiguous copy.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.errors import CompileError
from compiler.schedule.nest import Axis, Nest
from compiler.schedule.policies.blocking import copied_block, cycles_again, depth_of
from compiler.schedule.policies.context import Context
from compiler.schedule.policies.tiles import choose_tile, tile_cycles

COPY_CYCLES = 6
"""Cycles per copied element, including a division for its row and column (measured on Zen 3)."""

LEAST_GAIN = 1.05
"""The minimum predicted speedup of tiles over several rows, since their remainders need additional
code."""


def span_rows(
    nest: Nest, vector: Axis, rows: Axis, image: Sequence[str], ctx: Context
) -> tuple[Nest, Axis] | None:
    """Fuse the row loop with the enclosing loop; return the nest and fused loop; None if slower.

    `image` are all loops on which the constant does not depend, except the row loop.
    """
    at = nest.position(rows.var)
    if len(image) != 1 or not at or nest.axes[at - 1].var != image[0]:
        return None
    outer = nest.axis(image[0])
    if not isinstance(outer.extent, int) or not isinstance(rows.extent, int):
        return None
    name = f"{outer.var}{rows.var}"
    try:
        fused = nest.because(f"rows of {rows.size} pixels are too short for a register tile")
        fused = fused.fuse(outer.var, rows.var, name)
    except CompileError:
        return None
    pixels, depth = fused.axis(name), depth_of(nest)
    n_vectors = -(-vector.size // ctx.lanes(nest.tensors[nest.target].dtype))
    single = choose_tile(rows.size, n_vectors, depth, ctx.target)
    tile = choose_tile(pixels.size, n_vectors, depth, ctx.target)
    block = copied_block(fused, vector, pixels, tile, ctx)
    if block is None:
        return None
    apart = outer.size * tile_cycles(single, rows.size, n_vectors, depth, ctx.target)
    together = tile_cycles(tile, pixels.size, n_vectors, depth, ctx.target)
    together += COPY_CYCLES * pixels.size * depth + cycles_again(fused, vector, block, (), ctx)
    return (fused, pixels) if together * LEAST_GAIN < apart else None
