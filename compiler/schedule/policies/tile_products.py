"""The policy for products of small types on machines with matrix tiles.

    o: split(o, 32, oo, om)  split(om, 16, ov, ol)     two tiles of 16 columns
    x: split(x, 32, xo, xm)  split(xm, 16, xv, xt)     two tiles of up to 16 rows
    i: split(i, 32, ib, ik)  split(ik, 2, ip, id)      64 bytes of each row
    reorder(..., oo, xo, ib, xv, ov, xt, ip, ol, id)
    pack(W)                                            [..., ov, ip, ol, 2 or 4 products]

One operand is a constant, packed so that the elements of a step are contiguous for each column. The
second operand is read in place: its rows may have any stride, but its elements along the reduction
must be contiguous. Four tiles of sums stay in tile registers during the entire reduction, so each
loaded tile is used twice. The sums pass through memory (L1) once.
Source: the kernels of oneDNN for AMX. Measured on a machine with AMX: 2 x 2 tiles of 16 rows of 64
bytes are fastest.
"""

from __future__ import annotations

from compiler.compute.scalar import Read
from compiler.errors import CompileError
from compiler.ir import affine
from compiler.ir.types import DType
from compiler.schedule.nest import Axis, Nest
from compiler.schedule.policies.context import (
    Context,
    contiguous_axis,
    depends,
    divided,
    fuse_all,
    pack_constants,
)
from compiler.schedule.policies.contraction import split_groups
from compiler.schedule.policies.dots import outer_order, round_up_lanes, small_reads

TILE_ROWS = 16
TILE_LANES = 16
ROW_BYTES = 64

FEWEST_ROWS = 4
"""The minimum number of rows. A tile step takes as long for 1 row as for 16 rows; vector code takes
a step per row."""

FEWEST_STEPS = 4
"""The minimum number of reduction steps in a tile; with fewer steps, vectors are as fast."""

MOST_PRODUCTS = 4
"""The maximum number of products of bf16 parts that replace one f32 product. The loop over these
products is unrolled, so that the parts stay in tile registers."""

NEW_SHAPES = 2
"""The time, in full tile steps, to store sums, to reconfigure tile shapes and to reload sums."""


def tile_products(nest: Nest, ctx: Context) -> Nest | None:
    """Rewrite the nest with matrix tiles; None if types, layouts or sizes do not suit tiles."""
    operands = small_reads(nest)
    if operands is None or not _has_tiles(operands[0].dtype, ctx):
        return None
    nest = fuse_all(round_up_lanes(split_groups(nest), ctx))
    found = _operands(nest, ctx)
    if found is None:
        return None
    rows_of, packed = found
    columns = contiguous_axis(nest)
    k = _summed(nest, rows_of, packed)
    if columns is None or k is None or depends(rows_of, columns.var):
        return None
    if not depends(packed, columns.var):
        return None
    free = [a for a in nest.space if depends(rows_of, a.var) and not depends(packed, a.var)]
    rows = max(reversed(free), key=lambda a: min(a.size, 2 * TILE_ROWS), default=None)
    extents = [a.extent for a in (rows, columns, k) if a is not None]
    if rows is None or rows.size < FEWEST_ROWS or not all(isinstance(n, int) for n in extents):
        return None
    return _tiled(nest, rows, columns, k, found, ctx)


def _has_tiles(dtype: DType, ctx: Context) -> bool:
    return ctx.target.has_bf16_tiles if dtype is DType.bf16 else ctx.target.has_int8_tiles


def _operands(nest: Nest, ctx: Context) -> tuple[Read, Read] | None:
    """Return the operand whose rows are loaded in place, and the constant to be packed."""
    found = small_reads(nest)
    if found is None or found[0].tensor == found[1].tensor:
        return None
    for packed, other in (found[::-1], found):
        if packed.tensor in ctx.packable:
            return other, packed
    return None


def _summed(nest: Nest, rows_of: Read, packed: Read) -> Axis | None:
    """Return the reduction loop along which the elements of a row are contiguous."""
    blocks = divided(nest)
    for a in nest.reduced:
        if affine.symbol(a.var) not in packed.index:
            continue
        in_blocks = blocks.get(a.var, 0) == nest.tensors[rows_of.tensor].layout.block > 1
        if in_blocks or nest.stride_of(rows_of.tensor, rows_of.index, a.var) == 1:
            return a
    return None


def _tiled(
    nest: Nest, rows: Axis, columns: Axis, k: Axis, operands: tuple[Read, Read], ctx: Context
) -> Nest | None:
    rows_of, packed = operands
    group = 4 // rows_of.dtype.nbytes
    block = divided(nest).get(k.var, 0)
    tap = _tap(nest, k, block or k.size, group, operands)
    n_steps = (block or k.size) // group if tap else _steps(k.size, group, block)
    together = _whole_part(tap.size * n_steps) if tap else n_steps
    if together < FEWEST_STEPS:
        return None
    outer = [a.var for a in nest.space if a not in (rows, columns)]
    parts = [a.var for a in nest.reduced if _is_part(nest, a, rows_of)]
    inside = {k.var, *parts, *([tap.var] if tap else [])}
    taps = [a.var for a in nest.reduced if a.var not in inside]
    r, c, v = rows.var, columns.var, k.var
    nest, first = _blocks(nest, rows, columns, outer, operands, ctx)
    nest = nest.because(f"a tile holds {4 * together} bytes of each row")
    nest = nest.split(v, n_steps * group, f"{v}b", f"{v}k").split(f"{v}k", group, f"{v}p", f"{v}d")
    nest = nest.tensorize(f"{v}d", "dot")
    before = [*first, *taps, f"{v}b"]
    tile, lanes, steps = [f"{r}v", f"{c}v", f"{r}t"], [f"{c}l", f"{v}d"], f"{v}p"
    try:
        if tap is None:
            nest = nest.reorder(*before, *parts, *tile, steps, *lanes).pack(packed.tensor)
        else:
            nest = nest.reorder(*before, *parts, *tile, tap.var, steps, *lanes).pack(packed.tensor)
            nest = nest.because("adjacent elements in a row of the window are contiguous")
            nest = nest.fuse(tap.var, steps, f"{v}s").split(f"{v}s", together, f"{v}w", f"{v}i")
            nest = nest.reorder(*before, f"{v}w", *parts, *tile, f"{v}i", *lanes)
    except CompileError:
        return None  # the constant cannot be packed in loop order
    nest = nest.vectorize(f"{c}l").unroll(*parts, f"{r}v", f"{c}v").tensorize(f"{r}t", "tile")
    return pack_constants(nest, ctx)


def _blocks(
    nest: Nest,
    rows: Axis,
    columns: Axis,
    outer: list[str],
    operands: tuple[Read, Read],
    ctx: Context,
) -> tuple[Nest, list[str]]:
    """Split rows and columns into blocks of tiles; also return the order of the outer loops."""
    r, c = rows.var, columns.var
    rows_of, packed = operands
    tile_rows, down, across = _shape(rows.size, columns.size)
    nest = nest.because(f"{down} x {across} tiles of sums reuse each loaded tile")
    nest = nest.split(c, TILE_LANES * across, f"{c}o", f"{c}m")
    nest = nest.split(f"{c}m", TILE_LANES, f"{c}v", f"{c}l")
    first = outer_order(nest, outer, f"{c}o", [f"{r}o"], rows_of, packed, ctx)
    n_near = _rows_near(nest, rows, rows_of, tile_rows * down, ctx)
    inner = r
    if n_near < rows.size and first.index(f"{c}o") < first.index(f"{r}o"):
        inner = f"{r}b"
        first.insert(first.index(f"{c}o"), f"{r}c")
        nest = nest.because(f"{n_near} rows stay in L2 and are reused for all columns")
        nest = nest.split(r, n_near, f"{r}c", inner)
    nest = nest.split(inner, tile_rows * down, f"{r}o", f"{r}m")
    return nest.split(f"{r}m", tile_rows, f"{r}v", f"{r}t"), first


def _tap(
    nest: Nest, k: Axis, n_channels: int, group: int, operands: tuple[Read, Read]
) -> Axis | None:
    """Return the loop over a row of the window, if channels of adjacent pixels are contiguous.

    The contiguous channels are all channels, or the channels of a block.
    """
    rows_of, packed = operands
    if k.size % n_channels or n_channels % group:
        return None
    for a in nest.reduced:
        stride = nest.stride_of(rows_of.tensor, rows_of.index, a.var)
        plain = isinstance(a.extent, int) and a.size > 1 and affine.symbol(a.var) in packed.index
        if a is not k and plain and stride == n_channels:
            return a
    return None


def _whole_part(n: int) -> int:
    """Return the largest number of steps per tile that divides `n` steps."""
    return max(i for i in range(1, ROW_BYTES // 4 + 1) if n % i == 0)


def _rows_near(nest: Nest, rows: Axis, rows_of: Read, step: int, ctx: Context) -> int:
    """Return the number of rows per block, a multiple of `step`; a block fits half of L2.

    All blocks have similar numbers of rows.
    """
    n_elements = nest.tensors[rows_of.tensor].assumed.n_elements
    row_bytes = max(n_elements * rows_of.dtype.nbytes // rows.size, 1)
    most = max(ctx.target.l2_bytes // 2 // row_bytes // step, 1)
    n_steps = -(-rows.size // step)
    n_parts = -(-n_steps // most)
    return -(-n_steps // n_parts) * step


def _is_part(nest: Nest, a: Axis, rows_of: Read) -> bool:
    """Return whether a loop runs over products of bf16 parts; consecutive products share a part."""
    stride = nest.stride_of(rows_of.tensor, rows_of.index, a.var)
    return isinstance(a.extent, int) and a.extent <= MOST_PRODUCTS and stride is None


def _steps(length: int, group: int, block: int) -> int:
    """Return the number of steps per tile that covers a row with the fewest tiles.

    The remainder after full tiles needs tiles of another shape. The products of an incomplete step
    are summed without tiles. In blocked layouts, only the channels of a block are contiguous.
    """
    most = min(block // group if block else ROW_BYTES // 4, ROW_BYTES // 4)
    n = length // group

    def cost(steps: int) -> tuple[int, int]:
        left = n % steps
        return n // steps + (NEW_SHAPES + 1 if left else 0), -steps

    if block and length > block:
        return most
    return min(range(1, min(most, n) + 1), key=cost, default=0)


def _shape(n_rows: int, n_columns: int) -> tuple[int, int, int]:
    """Return the number of rows of a tile, and the numbers of tiles per block down and across.

    Rows are divided evenly, so that the last tile has nearly as many rows as the other tiles.
    """
    tiles_down, tiles_across = -(-n_rows // TILE_ROWS), -(-n_columns // TILE_LANES)
    rows = -(-n_rows // tiles_down)
    if tiles_across == 1:
        return rows, min(tiles_down, 4), 1
    if tiles_down == 1:
        return rows, 1, min(tiles_across, 4)
    return rows, 2, 2
