"""The policy for contractions (sums of products): matrix products and convolutions.

All contractions share one schedule. The schedule vectorises the contiguous axis of the output:
channels in a blocked layout, columns or pixels in a plain layout. The schedule unrolls a second
axis as rows. Constants are packed in loop order, and the accumulators stay in registers during the
entire reduction.
Source: register blocking of Goto and van de Geijn 2008; direct convolution in blocked layout,
Georganas et al. 2018 (arXiv:1808.05567).
"""

from __future__ import annotations

from compiler.compute.scalar import Apply, Convert, Inside, Read, Scalar, reads
from compiler.ir import affine
from compiler.schedule.nest import Axis, Nest
from compiler.schedule.policies.blocking import (
    ask_ahead,
    copied_block,
    depth_of,
    in_parts,
    row_block,
)
from compiler.schedule.policies.context import (
    Context,
    contiguous_axis,
    divided,
    fuse_all,
    operands,
    pack_constants,
    strides,
)
from compiler.schedule.policies.reduction import dot_product
from compiler.schedule.policies.short_rows import span_rows
from compiler.schedule.policies.tiles import FEW_REGISTERS, choose_tile

MOST_ROWS, SURE_ROWS = 14, 4
"""The number of rows of the largest tile. A loop whose length is known only at run time counts as
at most `SURE_ROWS` rows."""

UNROLL = 2
"""The unroll factor of the reduction; larger factors increase compile time without a speed-up."""

FAR_STEPS = "each step of the reduction reads a different cache line"


def is_contraction(nest: Nest) -> bool:
    """Return whether the nest sums products of two reads, with optional zero points and scales."""
    reduce = nest.reduce
    if reduce is None or reduce.combine != "add" or not isinstance(reduce.body, Apply):
        return False
    is_product = reduce.body.fn == "mul"
    return is_product and all(_read(a, reduce.axes) is not None for a in reduce.body.args)


def _read(s: Scalar, reduced: tuple[str, ...]) -> Read | None:
    match s:
        case Convert(arg):
            return _read(arg, reduced)
        case Inside(_, then, _):
            return _read(then, reduced)
        case Apply("sub" | "mul", (left, same)) if not _depends_on(same, reduced):
            return _read(left, reduced)
        case _:
            return s if isinstance(s, Read) else None


def _depends_on(s: Scalar, names: tuple[str, ...]) -> bool:
    return any(affine.symbols(e) & set(names) for r in reads(s) for e in r.index)


def contraction(nest: Nest, ctx: Context) -> Nest:
    """Tile a contraction for registers, pack its constants and unroll the innermost loops."""
    nest = split_groups(nest)
    nest = split_blocked_reduction(nest)
    nest = _round_up_blocked(nest, ctx)
    nest = fuse_all(_spatial_together(nest), ctx.packable)
    vector = _vector_axis(nest, ctx)
    if vector is None:
        return dot_product(nest, ctx)
    rows = _rows_axis(nest, vector)
    if _prefers_dot_product(nest, vector, ctx):
        return dot_product(nest, ctx)
    return _tile(nest, vector, rows, ctx)


def split_groups(nest: Nest) -> Nest:
    """Split channel loops at the group size, so that the group index is a loop."""
    changed = True
    while changed:
        changed = False
        for var, divisor in divided(nest).items():
            blocks = {t.layout.block for t in nest.tensors.values()}
            if not nest.has(var) or divisor in blocks:
                continue
            a = nest.axis(var)
            if 1 < divisor < a.size and a.extent % divisor == 0:
                nest = nest.split(var, divisor, f"{var}g", f"{var}c")
                changed = True
                break
    return nest


def split_blocked_reduction(nest: Nest) -> Nest:
    """Split reduction loops over blocked channels by the block size."""
    for var, divisor in divided(nest).items():
        if nest.has(var) and nest.axis(var).is_reduction and nest.axis(var).size > divisor:
            nest = nest.split(var, divisor, f"{var}b", f"{var}l")
    return nest


def _round_up_blocked(nest: Nest, ctx: Context) -> Nest:
    """Extend loops to include a blocked output's padding lanes, if all operands have padding."""
    block = nest.tensors[nest.target].layout.block
    if block == 1:
        return nest
    c = [v for v, d in divided(nest).items() if d == block and nest.has(v)]
    channels = [v for v in c if not nest.axis(v).is_reduction and nest.axis(v).extent % block]
    for var in channels:
        if all(_has_padding(nest, r, var, block, ctx) for r in nest.reads()):
            nest = nest.round_up(var, block)
    return nest


def _has_padding(nest: Nest, read: Read, var: str, block: int, ctx: Context) -> bool:
    uses = [e for e in read.index if var in affine.symbols(e)]
    if not uses:
        return True
    if read.tensor in ctx.packable:
        return all(e == affine.symbol(var) for e in uses)
    return nest.tensors[read.tensor].layout.block == block and len(uses) == 2


def _spatial_together(nest: Nest) -> Nest:
    """Move reduction loops innermost; loops over blocks and taps precede loops over channels."""
    reduced = nest.reduced
    channels = [a for a in reduced if _is_channel(nest, a)]
    blocks = [a for a in channels if a.var in nest.splits]
    inner = [a for a in channels if a not in blocks]
    taps = [a for a in reduced if a not in channels]
    order = [a.var for a in (*nest.space, *blocks, *taps, *inner)]
    return nest.reorder(*order)


def _is_channel(nest: Nest, a: Axis) -> bool:
    """Return whether this variable is the only variable of each index that contains it.

    An index of a window combines a position and a tap.
    """
    return not any(
        len(affine.symbols(e)) > 1 and a.var in affine.symbols(e) and not _is_split_sum(nest, e)
        for r in nest.reads()
        for e in r.index
    )


def _is_split_sum(nest: Nest, e: affine.Expr) -> bool:
    """Return whether an index recombines the parts of a single split loop."""
    names = affine.symbols(e)
    return any(names <= {*nest.parts(s.outer), *nest.parts(s.inner)} for s in nest.splits.values())


def _vector_axis(nest: Nest, ctx: Context) -> Axis | None:
    """Return the output's contiguous loop or, if it is short, a loop with a contiguous operand.

    A transposed convolution of stride 2 writes every second pixel; these pixels become the lanes.
    """
    found = contiguous_axis(nest)
    if found is not None and 2 * found.size > ctx.lanes(nest.tensors[nest.target].dtype):
        return found
    apart: list[tuple[int, Axis]] = []
    for a in nest.space:
        own, of_reads = strides(nest, a.var)
        loads = [s for r, s in of_reads if r in operands(nest)]
        if own is not None and a.size > (found.size if found else 1) and 1 in loads:
            apart.append((own, a))
    if found is not None:
        apart = [(own, a) for own, a in apart if own == found.extent]
    return min(apart, key=lambda pair: pair[0])[1] if apart else found


def _rows_axis(nest: Nest, vector: Axis) -> Axis | None:
    """Return the loop to unroll as rows; the operand loaded as vectors does not depend on it.

    If the vector operand depends on all loops, as in depthwise convolutions, rows share the scalars
    of the other operand. A loop whose length is known only at run time, such as the batch loop,
    counts as at most `SURE_ROWS` rows.
    """
    depends = [{n for e in r.index for n in affine.symbols(e)} for r in operands(nest)]
    others = [a for a in nest.space if a is not vector and a.size > 1]
    loaded = [d for d in depends if vector.var in d]
    free = [a for a in others if any(a.var not in d for d in loaded)]
    sharing = [a for a in others if any(a.var not in d for d in depends)]
    candidates = free or sharing or others

    def n_rows(a: Axis) -> int:
        return min(a.size, MOST_ROWS if isinstance(a.extent, int) else SURE_ROWS)

    return max(reversed(candidates), key=n_rows, default=None)


def _prefers_dot_product(nest: Nest, vector: Axis, ctx: Context) -> bool:
    """Return whether vectorising the reduction is faster: columns are few or far apart."""
    innermost = nest.reduced[-1]
    along = [s for r, s in strides(nest, innermost.var)[1] if r in operands(nest)]
    contiguous = all(s in (0, 1) for s in along) and 1 in along
    if nest.tensors[nest.target].layout.block > 1 or not contiguous or innermost.size < 32:
        return False
    scattered = [
        s
        for r, s in strides(nest, vector.var)[1]
        if r in operands(nest) and r.tensor not in ctx.packable and s not in (0, 1)
    ]
    return vector.size < 8 or len(scattered) > 0


def _tile(nest: Nest, vector: Axis, rows: Axis | None, ctx: Context) -> Nest:
    reduce = nest.reduce
    assert reduce is not None
    lanes = ctx.lanes(reduce.dtype)
    nest, part = in_parts(nest, vector, _unroll(ctx), ctx) if rows else (nest, "")
    depth = depth_of(nest) // (nest.axis(part).size if part else 1)
    n_vectors = -(-vector.size // lanes)
    image = [a.var for a in nest.space if a not in (vector, rows) and _moves_image(nest, a.var)]
    spanned = span_rows(nest, vector, rows, image, ctx) if rows and not part else None
    if spanned is not None:
        nest, rows = spanned
        image = []
    apart = _row_bytes(nest, vector, rows) if rows and spanned is None else 0
    tile = choose_tile(rows.size if rows else 1, n_vectors, depth, ctx.target, apart)
    outer = [a.var for a in nest.space if a not in (vector, rows)]
    v, r = vector.var, rows.var if rows else ""
    size = f"{tile.rows} x {tile.vectors} vectors" if r else f"{tile.vectors} vectors"
    block = None
    if rows and spanned is not None:
        block = copied_block(nest, vector, rows, tile, ctx)
    elif rows and not part:
        block = row_block(nest, vector, rows, image, tile, ctx)
    if block is not None:
        nest = nest.because("a block of rows stays in L2 and is reused for all columns")
        nest = nest.split(block.loop, block.size, f"{block.loop}b", f"{block.loop}r")
        inner = {block.loop: f"{block.loop}r"}
        outer, image = ([inner.get(a, a) for a in loops] for loops in (outer, image))
        r = inner.get(r, r)
    nest = nest.because(
        f"a tile of {size} of sums fits {ctx.target.n_vector_registers} registers and has the "
        "fewest estimated cycles"
    )
    nest = nest.split(v, lanes * tile.vectors, f"{v}o", f"{v}m")
    nest = nest.because(f"a vector holds {lanes} {reduce.dtype}")
    nest = nest.split(f"{v}m", lanes, f"{v}v", f"{v}l")
    if r:
        nest = nest.because("all rows reuse each loaded vector")
        nest = nest.split(r, tile.rows, f"{r}o", f"{r}i")
    nest, reduced = _unrolled_step(nest, _unroll(ctx))
    inside = [f"{r}i"] if r else []
    outer_rows = [f"{r}o"] if r else []
    around = _outer_order(nest, outer, f"{v}o", outer_rows, ctx)
    in_memory = part and around[-1] != f"{v}o"
    if in_memory:
        # The loop over parts contains the loops over rows, so the columns of a part stay in cache.
        reduced.remove(part)
        around.insert(around.index(f"{v}o") + 1, part)
    if block is not None:
        if r == f"{block.loop}r":  # the block consists of rows of one image
            around = [*image, *(a for a in around if a not in image)]
            image = []
        first = min(around.index(a) for a in (f"{v}o", *outer_rows, *image))
        around.insert(first, f"{block.loop}b")
    nest = nest.reorder(*around, *reduced, *inside, f"{v}v", f"{v}l")
    nest = nest.because("columns are contiguous in the target").vectorize(f"{v}l")
    nest = nest.because("each sum of a tile has its own register").unroll(*inside, f"{v}v")
    if in_memory:
        nest = nest.because("sums stay in memory between parts of the reduction").cache_write(part)
    if block is not None and block.copied:
        why = "tiles span rows that are not contiguous" if spanned else FAR_STEPS
        nest = nest.because(why).cache_read(block.copied, f"{block.loop}b")
    return ask_ahead(pack_constants(nest, ctx), tile, depth, f"{r}o" if r else "", ctx)


def _row_bytes(nest: Nest, vector: Axis, rows: Axis) -> int:
    """Return the distance in bytes between the scalars that a step broadcasts to adjacent rows."""
    found = [
        abs(s or 0) * r.dtype.nbytes
        for r, s in strides(nest, rows.var)[1]
        if r in operands(nest) and not any(vector.var in affine.symbols(e) for e in r.index)
    ]
    return max(found, default=0)


def _unroll(ctx: Context) -> int:
    return UNROLL if ctx.target.n_vector_registers > FEW_REGISTERS else 1


def _unrolled_step(nest: Nest, n_steps: int) -> tuple[Nest, list[str]]:
    """Unroll the innermost reduction loop by a small factor."""
    innermost = nest.reduced[-1]
    uneven = innermost.var in nest.splits
    if n_steps > 1 and _is_channel(nest, innermost) and innermost.size >= n_steps and not uneven:
        s = f"{innermost.var}u"
        nest = nest.split(innermost.var, n_steps, f"{innermost.var}o", s).unroll(s)
    return nest, [a.var for a in nest.reduced]


def _outer_order(
    nest: Nest, outer: list[str], columns: str, rows: list[str], ctx: Context
) -> list[str]:
    """Order the outer loops: batch and groups first, then columns, then rows.

    Rows come before columns if the packed constants fit half of L2, and the other operands do not.
    """
    image = [v for v in outer if _moves_image(nest, v)]
    batch = [v for v in outer if v not in image]
    sizes = {
        r.tensor: nest.tensors[r.tensor].assumed.n_elements * r.dtype.nbytes for r in operands(nest)
    }
    packed = sum(n for t, n in sizes.items() if t in ctx.packable)
    streamed = sum(n for t, n in sizes.items() if t not in ctx.packable)
    if packed and packed <= ctx.target.l2_bytes // 2 < streamed:
        return [*batch, *image, *rows, columns]
    return [*batch, columns, *image, *rows]


def _moves_image(nest: Nest, var: str) -> bool:
    """Return whether an operand is invariant in a loop, as in a loop over pixels or rows."""
    return any(var not in {n for e in r.index for n in affine.symbols(e)} for r in operands(nest))
