"""Register tiles over several rows of an image, where its rows are shorter than tiles like them.

A row of 7 pixels is a tile of 4 and one of 3, and neither keeps the processor busy; 49 pixels are
nine tiles of 5 and one of 4. Rows of an image with zeros around it, or read in steps of two, do not
lie end to end, so tiles over several of them need a copy in which they do.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.errors import CompileError
from compiler.schedule.nest import Axis, Nest
from compiler.schedule.policies.blocking import copied_block, cycles_again, depth_of
from compiler.schedule.policies.context import Context
from compiler.schedule.policies.tiles import choose_tile, tile_cycles

COPY_CYCLES = 6
"""An element of a copy: its row and column are computed by division (measured on Zen 3)."""

LEAST_GAIN = 1.05
"""How much faster tiles over several rows have to be: their ends are code of their own."""


def span_rows(
    nest: Nest, vector: Axis, rows: Axis, image: Sequence[str], ctx: Context
) -> tuple[Nest, Axis] | None:
    """The nest with rows and the loop round them as one, and that loop; None where it costs more.

    `image` are all loops besides the rows that the constant does not depend on.
    """
    at = nest.position(rows.var)
    if len(image) != 1 or not at or nest.axes[at - 1].var != image[0]:
        return None
    outer = nest.axis(image[0])
    if not isinstance(outer.extent, int) or not isinstance(rows.extent, int):
        return None
    name = f"{outer.var}{rows.var}"
    try:
        fused = nest.because(f"rows of {rows.size} are short for a tile")
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
