"""Cache blocking of contractions: blocks of rows, parts of long reductions, prefetches.

Source: the loops over MC and KC of Goto and van de Geijn 2008; prefetch distances measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from compiler.compute.scalar import Read
from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.ir import affine
from compiler.ir.affine import Expr
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
from compiler.units import bytes_text

NARROW, WIDE = 2, 4
"""The widths, in vectors, of a narrow and of a wide strip of columns. A reduction is divided into
parts if a narrow strip over the entire reduction exceeds L2. A wide strip over one part of the
reduction stays in L2."""

PART_SHARE = 0.25
"""The fraction of L2 for a strip of columns over one part of the reduction. Rows and sums need the
remainder of L2."""

SUMS_SHARE = 0.5
"""The maximum share of L2 that the sums of all rows may take; with more sums, a reduction in parts
is slower."""

BLOCK_SHARE = 0.6
"""The share of L2 for a block of rows, after subtracting two strips of columns. One strip is in use
while the other is loaded."""

LEAST_TILES = 12
"""The minimum number of column tiles, per copy of an element, for which a block is copied. Where
windows overlap, a block contains several copies of an element."""

RUN_CYCLES, LINE_CYCLES = 0.5, 2.5
"""Stall cycles per cache line that is not in L2 (measured on Zen 3). The first number is for
contiguous reads of at least a page, which the hardware prefetches; the second is for shorter
contiguous reads."""

LEAST_SHARING = 3
"""The minimum number of row tiles in a copied block; these tiles share each strip of columns. With
fewer row tiles, L3 is the bottleneck."""

FAR = 4
"""The slowdown factor of reading columns from memory instead of L3."""

LEAST_GAIN = 0.028
"""The minimum saving by a division into blocks, as a fraction of all multiply-add cycles; smaller
savings are lost at the ends of blocks."""

PAGE_BYTES = 4096
"""The page size in bytes; the hardware prefetcher stops at the end of a page."""

AHEAD_BYTES = 8192
"""The prefetch distance, in bytes, of packed constants; it hides the latency of memory."""

LEAST_ROWS_ASKING = 2
"""The minimum number of rows for prefetches: a single row is memory-bound, and prefetches would
compete for bandwidth."""

MOST_TILES_ASKING, MOST_PARTS = 40, 8
"""The maximum number of row tiles that prefetch the next strip of columns, and the maximum number
of parts of a strip. Prefetching gains 2 to 14 % for 64 to 200 rows, more for fewer rows, and
nothing for 250 tiles (measured on Zen 3)."""


def depth_of(nest: Nest) -> int:
    """Return the number of steps of the reduction."""
    return prod(a.size for a in nest.reduced)


def in_parts(nest: Nest, vector: Axis, step: int, ctx: Context) -> tuple[Nest, str]:
    """Split the outermost reduction loop if operands exceed L2; also return the loop over parts.

    Without a split, the loop over parts is "". If the reduction is a single loop, the length of a
    part is a multiple of `step`.
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
    reason = f"the operands of {depth} reduction steps do not stay in L2"
    return nest.because(reason).split(first.var, size, part, f"{first.var}s"), part


@dataclass(frozen=True, slots=True)
class Block:
    """A block of iterations of a loop over rows or images; the rows that it reads stay in L2.

    `copied` names the operand if the block copies it.
    """

    loop: str
    size: int
    copied: str


def row_block(
    nest: Nest, vector: Axis, rows: Axis, around: Sequence[str], tile: Tile, ctx: Context
) -> Block | None:
    """Choose the block of rows that stays in L2 for all columns; None if no block saves cycles.

    Without blocks, each column tile reads all rows again; with blocks, each block reads all columns
    again. `around` are the loops over images. If the number of images is known and several images
    fit a block, the outermost image loop is split. Otherwise, the row loop is split. Rows are
    copied into panels if each reduction step reads different cache lines of the rows.
    """
    if not isinstance(rows.extent, int):
        return _open_block(nest, vector, rows, around, tile, ctx)
    found = _rows_and_columns(nest, vector, around)
    if found is None:
        return None
    (read, loaded), l2_bytes, images = found, ctx.target.l2_bytes, around
    if not _may_cut_images(nest, read, rows, around, _free_bytes(nest, tile, ctx)):
        around = ()
    cut = nest.axis(around[0]) if around else rows
    rows_bytes = _bytes(nest, read, [rows.var, *around])
    columns_bytes = _bytes(nest, loaded, [vector.var])
    n_tiles = _n_column_tiles(vector, read, tile, ctx)
    panel_bytes = rows.size * depth_of(nest) * read.dtype.nbytes
    n_uses = n_tiles * min(rows_bytes / panel_bytes, 1)
    is_copied = cut is rows and n_uses >= LEAST_TILES and _is_apart(nest, read)
    is_copied = is_copied and _may_copy(nest, read, rows)
    stays = rows_bytes <= l2_bytes or columns_bytes <= l2_bytes // 2
    if rows_bytes <= l2_bytes // 2 or (stays and not is_copied):
        return None  # the inner loops run over the smaller operand, which stays in L2
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


def _open_block(
    nest: Nest, vector: Axis, rows: Axis, around: Sequence[str], tile: Tile, ctx: Context
) -> Block | None:
    """Choose a block if the number of rows is symbolic; the block copies its operand before use."""
    found = _rows_and_columns(nest, vector, [*around, rows.var])
    if found is None or not _is_apart(nest, found[0]) or not _may_copy(nest, found[0], rows):
        return None
    read = found[0]
    if _n_column_tiles(vector, read, tile, ctx) * _share_of_own(nest, read, rows) < LEAST_TILES:
        return None
    panel_bytes = depth_of(nest) * read.dtype.nbytes
    size = int(_free_bytes(nest, tile, ctx) / panel_bytes) // tile.rows * tile.rows
    return Block(rows.var, size, read.tensor) if size > 0 else None


def _n_column_tiles(vector: Axis, read: Read, tile: Tile, ctx: Context) -> int:
    return -(-vector.size // (ctx.lanes(read.dtype) * tile.vectors))


def _share_of_own(nest: Nest, read: Read, rows: Axis) -> float:
    """Return the share of a row's window that the previous row does not read."""
    step = nest.stride_of(read.tensor, read.index, rows.var)
    along = {a: nest.stride_of(read.tensor, read.index, a.var) for a in nest.reduced}
    if not step:
        return 1
    window = prod(a.size for a, s in along.items() if s is not None and abs(s) <= abs(step))
    return min(abs(step) / window, 1)


def copied_block(nest: Nest, vector: Axis, rows: Axis, tile: Tile, ctx: Context) -> Block | None:
    """Choose the block of rows to copy; None if a copy is illegal or too large."""
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
    """Estimate the additional cycles of reading the columns once per block instead of only once."""
    found = _rows_and_columns(nest, vector, images)
    assert found is not None
    columns_bytes = _bytes(nest, found[1], [vector.var])
    n_again = -(-nest.axis(block.loop).size // block.size) - 1
    far = FAR if columns_bytes > ctx.target.l3_bytes else 1
    return columns_bytes * n_again * far * RUN_CYCLES / LINE_BYTES


def _rows_and_columns(nest: Nest, vector: Axis, images: Sequence[str]) -> tuple[Read, Read] | None:
    """Return the operand that all lanes share, and the other operand.

    None if the length of a loop is known only at run time; loops over images are exempt.
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
    """Return whether the number of images is known and an image fits a block."""
    known = bool(around) and all(_is_counted(nest.axis(v)) for v in around)
    return known and _bytes(nest, read, [rows.var, *around[1:]]) <= free_bytes


def _block_size(
    nest: Nest, cut: Axis, kept_bytes: float, multiple: int, tile: Tile, ctx: Context
) -> int:
    """Return the number of iterations per block, similar for all blocks; 0 if no block fits."""
    most = int(_free_bytes(nest, tile, ctx) * cut.size / kept_bytes) // multiple * multiple
    if most <= 0:
        return 0
    n_blocks = -(-cut.size // most)
    return -(-cut.size // (n_blocks * multiple)) * multiple


def _free_bytes(nest: Nest, tile: Tile, ctx: Context) -> float:
    """Return the bytes of L2 that two strips of columns leave for a block of rows."""
    strip_bytes = depth_of(nest) * tile.vectors * ctx.target.vector_bytes
    return BLOCK_SHARE * (ctx.target.l2_bytes - 2 * strip_bytes)


def _line_cycles(nest: Nest, read: Read, rows: Axis, tile: Tile) -> float:
    """Estimate the stall cycles per cache line of the rows, from the length of contiguous reads."""
    extents = {a.var: a.size for a in nest.reduced} | {rows.var: min(tile.rows, rows.size)}
    found = ((nest.stride_of(read.tensor, read.index, v), n) for v, n in extents.items())
    run = read.dtype.nbytes
    for step, n in sorted((abs(s) * read.dtype.nbytes, n) for s, n in found if s):
        if step > max(run, LINE_BYTES):
            break
        run += step * (n - 1)
    return RUN_CYCLES if run >= PAGE_BYTES else LINE_CYCLES


def _fewest_tiles(extent: Expr) -> int:
    """Return the trip count; for open sizes, the count at sizes of 1, but at least `MOST_PARTS`."""
    if isinstance(extent, int):
        return extent
    least = affine.substitute(extent, dict.fromkeys(affine.symbols(extent), 1))
    return max(least if isinstance(least, int) else 0, MOST_PARTS)


def _is_counted(a: Axis) -> bool:
    return isinstance(a.extent, int) and a.extent > 0


def _bytes(nest: Nest, read: Read, passing: Sequence[str]) -> float:
    """Return the bytes of an operand that the loops `passing` read while the other loops are fixed.

    An element counts once, even if overlapping windows read it several times. Only the slice read
    by one iteration of the other loops counts.
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
    """Return whether the steps of a reduction loop read more cache lines than L1 keeps."""
    for a in nest.reduced:
        step = nest.stride_of(read.tensor, read.index, a.var)
        step_bytes = LINE_BYTES if step is None else abs(step) * read.dtype.nbytes
        if step_bytes >= LINE_BYTES and a.size > lines_kept(step_bytes):
            return True
    return False


def ask_ahead(nest: Nest, tile: Tile, depth: int, rows: str, ctx: Context) -> Nest:
    """Prefetch packed constants whose strips take more than half of L1.

    `rows` is the loop over tiles of rows. With few registers a step takes several cycles, and the
    hardware prefetcher loads the cache lines of the step in time. But in each strip of columns, the
    first row tile waits for data. If too few other row tiles hide this wait, every row tile
    prefetches a part of the next strip. If the number of tiles is known only at run time, the
    decision uses the number for open sizes of 1, but at least `MOST_PARTS`.
    """
    strip_bytes = depth * tile.vectors * ctx.target.vector_bytes
    steps = [a for a in nest.reduced if a.kind == "for" and isinstance(a.extent, int)]
    if tile.rows < LEAST_ROWS_ASKING or strip_bytes <= ctx.target.l1d_bytes // 2 or not steps:
        return nest
    ahead_bytes, loop, over, share = AHEAD_BYTES, steps[-1].var, "", 1
    if ctx.target.n_vector_registers <= FEW_REGISTERS:
        if not rows:
            return nest
        n_tiles = _fewest_tiles(nest.axis(rows).extent)
        if not 0 < n_tiles <= MOST_TILES_ASKING:
            return nest
        ahead_bytes, share = strip_bytes, min(1 << (n_tiles.bit_length() - 1), MOST_PARTS)
        over = rows if share > 1 else ""
    for r in operands(nest):
        n_elements = nest.stride_of(r.tensor, r.index, loop) if r.tensor in nest.packings else None
        if n_elements and not (over and depends(r, over)):
            distance = -(-ahead_bytes // (n_elements * r.dtype.nbytes))
            reason = (
                f"a strip of {r.tensor} has {bytes_text(strip_bytes)}, over half of L1: "
                "its lines may be evicted before their next use"
            )
            nest = nest.because(reason)
            if over:
                nest = nest.prefetch(r.tensor, loop, distance, over, share)
            else:
                nest = nest.prefetch(r.tensor, loop, distance)
    return nest
