"""How a contraction meets the caches: rows in blocks, a deep reduction in parts, prefetches.

Source: the loops over MC and KC of Goto and van de Geijn 2008; prefetch distances measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from compiler.compute.scalar import Read
from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.schedule.nest import Axis, Nest
from compiler.schedule.policies.context import Context, depends, operands
from compiler.schedule.policies.tiles import (
    FEW_REGISTERS,
    FMA_PER_CYCLE,
    L2_SHARE,
    LINE_BYTES,
    Tile,
    lines_kept,
)

NARROW, WIDE = 2, 4
"""Vectors of a strip: a reduction in which even a narrow strip does not stay in L2 runs in parts,
each so deep that a wide one does."""

PART_SHARE = 0.25
"""Of L2, what a strip of one part may fill: the rows and the sums are there too."""

SUMS_SHARE = 0.5
"""Of L2, what the sums of all rows may fill; where they do not fit, parts would not pay."""

BLOCK_SHARE = 0.6
"""Of what two strips of columns leave of L2 (one in use, one on its way), a block of rows' part."""

LEAST_TILES = 12
"""Column tiles that share a copy of a block, for each time it holds an element of the operand."""

RUN_CYCLES, LINE_CYCLES = 0.5, 2.5
"""Cycles lost for a line from behind L2: in a run as long as a page, which the processor fetches
ahead, and in a shorter one (measured on Zen 3)."""

LEAST_SHARING = 3
"""Tiles of a copied block that share a strip of columns: with fewer, L3 is too busy for them."""

FAR = 4
"""How much longer columns take that come from memory."""

LEAST_GAIN = 0.028
"""Of the cycles of all multiply-adds, what blocks have to save: ends of blocks cost some."""

PAGE_BYTES = 4096
"""Where the processor stops fetching ahead."""

AHEAD_BYTES = 8192
"""How far ahead packed constants are asked for: the time a line takes to come from memory."""

LEAST_ROWS_ASKING = 2
"""A single row waits for memory anyway: prefetching would only compete with its loads."""

MOST_TILES_ASKING, MOST_PARTS = 40, 8
"""Tiles of rows that ask for the next strip of columns, and parts of it: 2 to 14 % for 64 to 200
rows and more for fewer, nothing for 250 tiles (measured on Zen 3)."""


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


@dataclass(frozen=True, slots=True)
class Block:
    """Iterations of a loop over rows whose operand stays in L2; `copied` names it, or is ""."""

    loop: str
    size: int
    copied: str


def row_block(
    nest: Nest, vector: Axis, rows: Axis, around: Sequence[str], tile: Tile, ctx: Context
) -> Block | None:
    """The block of rows to run all columns over; None where that does not save cycles.

    Without blocks the rows come past for each tile of columns, with them the columns for each
    block. `around` are the loops over images, of which the outermost one is cut where several
    images fit into a block and their number is known, else the rows. Rows are copied into panels
    where each step of the reduction reads another line of them.
    """
    found = _rows_and_columns(nest, vector, around)
    if found is None:
        return None
    (read, loaded), l2_bytes, images = found, ctx.target.l2_bytes, around
    if not _may_cut_images(nest, read, rows, around, _free_bytes(nest, tile, ctx)):
        around = ()
    cut = nest.axis(around[0]) if around else rows
    rows_bytes = _bytes(nest, read, [rows.var, *around])
    columns_bytes = _bytes(nest, loaded, [vector.var])
    n_tiles = -(-vector.size // (ctx.lanes(read.dtype) * tile.vectors))
    panel_bytes = rows.size * depth_of(nest) * read.dtype.nbytes
    n_uses = n_tiles * min(rows_bytes / panel_bytes, 1)
    is_copied = cut is rows and n_uses >= LEAST_TILES and _is_apart(nest, read)
    is_copied = is_copied and _may_copy(nest, read, rows)
    stays = rows_bytes <= l2_bytes or columns_bytes <= l2_bytes // 2
    if rows_bytes <= l2_bytes // 2 or (stays and not is_copied):
        return None  # what is smaller runs inside, and stays near
    kept_bytes = panel_bytes if is_copied else rows_bytes
    size = _block_size(nest, cut, kept_bytes, tile.rows if cut is rows else 1, tile, ctx)
    if not 0 < size < cut.size:
        return None
    block = Block(cut.var, size, read.tensor if is_copied else "")
    saved = rows_bytes * n_tiles * _line_cycles(nest, read, rows, tile) / LINE_BYTES
    n_products = prod(a.size for a in (rows, vector, *map(nest.axis, around), *nest.reduced))
    computing = n_products / (ctx.lanes(read.dtype) * FMA_PER_CYCLE)
    if saved - cycles_again(nest, vector, block, images, ctx) < LEAST_GAIN * computing:
        return None
    return block


def copied_block(nest: Nest, vector: Axis, rows: Axis, tile: Tile, ctx: Context) -> Block | None:
    """The block of rows to copy, or all of them; None where a copy is not legal, or too large."""
    found = _rows_and_columns(nest, vector, ())
    if found is None or not _may_copy(nest, found[0], rows):
        return None
    panel_bytes = rows.size * depth_of(nest) * found[0].dtype.nbytes
    size = _block_size(nest, rows, panel_bytes, tile.rows, tile, ctx)
    if size < min(LEAST_SHARING * tile.rows, rows.size):
        return None
    return Block(rows.var, size, found[0].tensor)


def cycles_again(
    nest: Nest, vector: Axis, block: Block, images: Sequence[str], ctx: Context
) -> float:
    """What it costs that the columns come past for each block, not once."""
    found = _rows_and_columns(nest, vector, images)
    assert found is not None
    columns_bytes = _bytes(nest, found[1], [vector.var])
    n_again = -(-nest.axis(block.loop).size // block.size) - 1
    far = FAR if columns_bytes > ctx.target.l3_bytes else 1
    return columns_bytes * n_again * far * RUN_CYCLES / LINE_BYTES


def _rows_and_columns(nest: Nest, vector: Axis, images: Sequence[str]) -> tuple[Read, Read] | None:
    """The operand that is the same in all lanes, and the other one.

    None where loops other than those over images are open.
    """
    found = {r for r in operands(nest) if r.tensor in nest.tensors}
    streamed = [r for r in found if not depends(r, vector.var)]
    loaded = [r for r in found if depends(r, vector.var)]
    known = [a for a in nest.axes if a.var not in images or isinstance(a.extent, int)]
    if len(streamed) != 1 or len(loaded) != 1 or not all(_is_counted(a) for a in known):
        return None
    return streamed[0], loaded[0]


def _may_cut_images(
    nest: Nest, read: Read, rows: Axis, around: Sequence[str], free_bytes: float
) -> bool:
    """Whether the number of images is known, and one of them fits into a block."""
    known = bool(around) and all(_is_counted(nest.axis(v)) for v in around)
    return known and _bytes(nest, read, [rows.var, *around[1:]]) <= free_bytes


def _block_size(
    nest: Nest, cut: Axis, kept_bytes: float, multiple: int, tile: Tile, ctx: Context
) -> int:
    """Iterations of a block, about as many in each; 0 where not even the least fits."""
    most = int(_free_bytes(nest, tile, ctx) * cut.size / kept_bytes) // multiple * multiple
    if most <= 0:
        return 0
    n_blocks = -(-cut.size // most)
    return -(-cut.size // (n_blocks * multiple)) * multiple


def _free_bytes(nest: Nest, tile: Tile, ctx: Context) -> float:
    """What a block of rows may take of L2, beside two strips of columns."""
    strip_bytes = depth_of(nest) * tile.vectors * ctx.target.vector_bytes
    return BLOCK_SHARE * (ctx.target.l2_bytes - 2 * strip_bytes)


def _line_cycles(nest: Nest, read: Read, rows: Axis, tile: Tile) -> float:
    """What a line of the rows costs, by how many bytes a tile reads side by side."""
    extents = {a.var: a.size for a in nest.reduced} | {rows.var: min(tile.rows, rows.size)}
    found = ((nest.stride_of(read.tensor, read.index, v), n) for v, n in extents.items())
    run = read.dtype.nbytes
    for step, n in sorted((abs(s) * read.dtype.nbytes, n) for s, n in found if s):
        if step > max(run, LINE_BYTES):
            break
        run += step * (n - 1)
    return RUN_CYCLES if run >= PAGE_BYTES else LINE_CYCLES


def _is_counted(a: Axis) -> bool:
    return isinstance(a.extent, int) and a.extent > 0


def _bytes(nest: Nest, read: Read, passing: Sequence[str]) -> float:
    """Bytes of an operand that are read for one iteration of the loops outside of `passing`.

    Those of windows overlap; inside other loops a nest reads only a part of a tensor.
    """
    outside = [a.size for a in nest.space if a.var not in passing and depends(read, a.var)]
    walked = prod(a.size for a in nest.axes if depends(read, a.var))
    n_elements = min(walked, nest.tensors[read.tensor].assumed.n_elements)
    return n_elements * read.dtype.nbytes / prod(outside)


def _may_copy(nest: Nest, read: Read, rows: Axis) -> bool:
    try:
        nest.cache_read(read.tensor, rows.var)
    except CompileError:
        return False
    return True


def _is_apart(nest: Nest, read: Read) -> bool:
    """Whether steps of the reduction read an operand in more lines than the first cache holds."""
    for a in nest.reduced:
        step_bytes = abs(nest.stride_of(read.tensor, read.index, a.var) or 0) * read.dtype.nbytes
        if step_bytes >= LINE_BYTES and a.size > lines_kept(step_bytes):
            return True
    return False


def ask_ahead(nest: Nest, tile: Tile, depth: int, rows: str, ctx: Context) -> Nest:
    """Ask for packed constants before they are needed, where these come from behind L1.

    `rows` is the loop over tiles of rows. Machines with few registers compute a step in a few
    cycles, and follow its lines themselves. But the first tile waits for each strip of columns:
    where few others make up for it, all ask for the next strip meanwhile, each for a part.
    """
    strip_bytes = depth * tile.vectors * ctx.target.vector_bytes
    steps = [a for a in nest.reduced if a.kind == "for" and isinstance(a.extent, int)]
    if tile.rows < LEAST_ROWS_ASKING or strip_bytes <= ctx.target.l1d_bytes // 2 or not steps:
        return nest
    ahead_bytes, loop, over, share = AHEAD_BYTES, steps[-1].var, "", 1
    if ctx.target.n_vector_registers <= FEW_REGISTERS:
        if not rows or not _is_counted(nest.axis(rows)):
            return nest
        n_tiles = nest.axis(rows).size
        if n_tiles > MOST_TILES_ASKING:
            return nest
        ahead_bytes, share = strip_bytes, min(1 << (n_tiles.bit_length() - 1), MOST_PARTS)
        over = rows if share > 1 else ""
    for r in operands(nest):
        n_elements = nest.stride_of(r.tensor, r.index, loop) if r.tensor in nest.packings else None
        if n_elements and not (over and depends(r, over)):
            distance = -(-ahead_bytes // (n_elements * r.dtype.nbytes))
            reason = f"{r.tensor} does not stay in L1: its lines take longer than a few steps"
            nest = nest.because(reason)
            if over:
                nest = nest.prefetch(r.tensor, loop, distance, over, share)
            else:
                nest = nest.prefetch(r.tensor, loop, distance)
    return nest
