"""The policy for sums of products of small types: steps of a few, each summed into 32 bits.

    o: split(i, 4, io, id)    four neighbouring channels are one step; of bf16 two
    o: tensorize(id, dot)
    o: reorder(..., io, row, column, lane, id)
    o: pack(W)                [..., io, lane, 4 channels]

One operand is a constant, packed so that a step's elements of every lane lie together; the other
has them as neighbours in memory, and all lanes read the same ones. For the rest the loops are those
of a contraction in f32: rows and vectors of the target stay in registers over the whole reduction.

Where the operand of the lanes is no constant (pixels in plain order, the second product of
attention) and elements are bf16, its lanes lie side by side, and pairs are put together out of two
runs of lanes as they are loaded: it takes as many rows to make that worth while.
Source: the vectorisation of 8-bit convolutions in oneDNN (VPDPBUSD); Jacob et al. 2018
(arXiv:1712.05877); VDPBF16PS.
"""

from __future__ import annotations

from compiler.compute.scalar import Apply, Convert, Read, Scalar
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
from compiler.schedule.policies.tiles import choose_tile

SUMMED_IN = {DType.u8: DType.i32, DType.i8: DType.i32, DType.bf16: DType.f32}
"""The small types that steps multiply, and the type of 32 bits in which they are summed."""

FEWEST_ROWS = 4
"""Rows that share a vector of pairs put together as it is loaded."""

UNROLL = 4
"""Steps written out, as in contractions of f32; of more, too much waits in registers."""


def dots(nest: Nest, ctx: Context) -> Nest | None:
    """The nest in dot steps; None where operands are not small, or do not lie as steps need them.

    Without an instruction for pairs of bf16 there is nothing to gain by them.
    """
    operands = small_reads(nest)
    if operands is None or (_is_bf16(operands) and not ctx.target.has_bf16_dot):
        return None
    nest = round_up_lanes(split_groups(nest), ctx)
    k = _steps_along(nest, ctx)
    if k is None:
        return None
    nest = _split_steps(nest, k)
    nest = fuse_all(_reduction_inside(nest))
    vector = contiguous_axis(nest)
    if vector is None or not _loads_along(nest, vector.var, ctx):
        return None
    return _tile(nest, vector, ctx)


def small_reads(nest: Nest) -> tuple[Read, Read] | None:
    """The two reads of a small type whose products are summed, as they are."""
    reduce = nest.reduce
    if reduce is None or reduce.combine != "add" or not nest.reduced:
        return None
    match reduce.body:
        case Apply("mul", (a, b), dtype):
            left, right = _small(a, dtype), _small(b, dtype)
            return (left, right) if left is not None and right is not None else None
        case _:
            return None


def _small(s: Scalar, summed_in: DType) -> Read | None:
    match s:
        case Convert(Read() as read) if SUMMED_IN.get(read.dtype) is summed_in:
            return read
        case _:
            return None


def _is_bf16(operands: tuple[Read, Read]) -> bool:
    return operands[0].dtype is DType.bf16


def _step(nest: Nest) -> int:
    """How many products one step sums in each lane of 32 bits."""
    operands = small_reads(nest)
    assert operands is not None
    return 4 // operands[0].dtype.nbytes


def _operands(nest: Nest, ctx: Context) -> tuple[Read, Read] | None:
    """The operand that lanes share, and that of the lanes: a constant that is packed for them.

    Or one whose lanes lie side by side.
    """
    found = small_reads(nest)
    if found is None:
        return None
    a, b = found
    vector = contiguous_axis(nest)
    for shared, own in ((a, b), (b, a)):
        if vector is not None and _are_side_by_side(nest, shared, own, vector, ctx):
            return shared, own
    if b.tensor in ctx.packable and b.tensor != a.tensor:
        return a, b
    return (b, a) if a.tensor in ctx.packable and a.tensor != b.tensor else None


def _are_side_by_side(nest: Nest, shared: Read, own: Read, vector: Axis, ctx: Context) -> bool:
    """Whether lanes of an operand that is no constant lie side by side: pairs of two runs."""
    if not _is_bf16((shared, own)) or own.tensor in ctx.packable or depends(shared, vector.var):
        return False
    return nest.stride_of(own.tensor, own.index, vector.var) == 1


def round_up_lanes(nest: Nest, ctx: Context) -> Nest:
    """Compute the padding lanes of a blocked target too, where every operand has them."""
    block = nest.tensors[nest.target].layout.block
    if block == 1:
        return nest
    for var, d in divided(nest).items():
        if d != block or not nest.has(var) or nest.axis(var).is_reduction:
            continue
        if all(_has_lanes(nest, r, var, block, ctx) for r in nest.reads()):
            nest = nest.round_up(var, block)
    return nest


def _has_lanes(nest: Nest, read: Read, var: str, block: int, ctx: Context) -> bool:
    uses = [e for e in read.index if var in affine.symbols(e)]
    if read.tensor in ctx.packable:
        return all(e == affine.symbol(var) for e in uses)
    return not uses or nest.tensors[read.tensor].layout.block == block


def _steps_along(nest: Nest, ctx: Context) -> Axis | None:
    """The reduction loop along which the shared operand's elements are neighbours."""
    operands = _operands(nest, ctx)
    if operands is None:
        return None
    shared, packed = operands
    if packed.tensor not in ctx.packable:
        return _steps_between_runs(nest, shared, packed, ctx)
    at = [e for e in shared.index if not isinstance(e, int)]
    for a in nest.reduced:
        is_last = bool(at) and a.var in affine.symbols(at[-1])
        if is_last and affine.symbol(a.var) in packed.index and _are_neighbours(nest, shared, a):
            return a
    return _steps_of_parts(nest, shared, packed, ctx)


def _steps_of_parts(nest: Nest, shared: Read, packed: Read, ctx: Context) -> Axis | None:
    """The longest loop along which pairs of bf16 are put together for all lanes.

    It takes a vector of lanes to make that worth while.
    """
    vector = contiguous_axis(nest)
    if not _is_bf16((shared, packed)) or vector is None or vector.size < ctx.target.lanes(4):
        return None
    found = [
        a
        for a in nest.reduced
        if isinstance(a.extent, int)
        and a.extent > 1
        and affine.symbol(a.var) in packed.index
        and nest.stride_of(shared.tensor, shared.index, a.var)
    ]
    return max(found, key=lambda a: a.size, default=None)


def _steps_between_runs(nest: Nest, shared: Read, own: Read, ctx: Context) -> Axis | None:
    """The longest reduction loop that moves from one run of lanes to another."""
    found: list[Axis] = []
    for a in nest.reduced:
        stride = nest.stride_of(own.tensor, own.index, a.var)
        packed = shared.tensor in ctx.packable and affine.symbol(a.var) in shared.index
        is_counted = isinstance(a.extent, int) and a.extent > 1
        if stride and is_counted and (packed or _are_neighbours(nest, shared, a)):
            found.append(a)
    return max(found, key=lambda a: a.size, default=None)


def _are_neighbours(nest: Nest, read: Read, a: Axis) -> bool:
    """Whether the iterations of a loop that make up a step read neighbouring elements."""
    if not isinstance(a.extent, int):
        return False
    step = _step(nest)
    first = affine.symbol(a.var) * step
    ranges = {**nest.ranges, a.var: (0, -(-a.extent // step) - 1)}
    places = [
        affine.simplify(
            nest.address(
                read.tensor, tuple(affine.substitute(e, {a.var: first + i}) for e in read.index)
            ),
            ranges,
        )
        for i in (0, step - 1)
    ]
    return places[1] - places[0] == step - 1


def _split_steps(nest: Nest, k: Axis) -> Nest:
    """Steps along a loop, inside blocks where the shared operand lies in blocks.

    Behind the last channel of a blocked operand lie the bytes of its padding, which meet zeros.
    """
    v, extent, step = k.var, k.extent, _step(nest)
    assert isinstance(extent, int)
    if extent % step and _has_padding(nest, k):
        nest = nest.round_up(v, step)
    nest = nest.split(v, step, f"{v}o", f"{v}d").tensorize(f"{v}d", "dot")
    steps = f"{v}o"
    block = divided(nest).get(steps, 0)
    if block and nest.axis(steps).size > block:
        nest, written = nest.split(steps, block, f"{v}b", f"{v}u"), f"{v}u"
        if block > UNROLL:
            nest, written = nest.split(written, UNROLL, f"{v}c", f"{v}w"), f"{v}w"
        return nest.unroll(written)
    if not extent % step and nest.axis(steps).size >= 2 * UNROLL and not block:
        return nest.split(steps, UNROLL, f"{v}b", f"{v}u").unroll(f"{v}u")
    return nest


def _has_padding(nest: Nest, k: Axis) -> bool:
    """Whether a loop walks over all channels of a blocked image, so that more bytes follow them.

    Padding of floats is not read: 0 times what happens to lie there need not be 0.
    """
    for read in small_reads(nest) or ():
        t = nest.tensors[read.tensor]
        whole = t.dtype.is_integer and t.layout.block % _step(nest) == 0
        if whole and t.dims[1] == k.extent:
            return True
    return False


def _reduction_inside(nest: Nest) -> Nest:
    """Reduction loops after the others: blocks of channels, taps, steps."""
    steps = [a for a in nest.reduced if a.kind != "for"]
    blocks = [a for a in nest.reduced if a.kind == "for" and a.var in nest.splits]
    taps = [a for a in nest.reduced if a not in steps and a not in blocks]
    steps.sort(key=lambda a: a.kind == "dot")
    order = [a.var for a in (*nest.space, *blocks, *taps, *steps)]
    return nest.reorder(*order)


def _loads_along(nest: Nest, var: str, ctx: Context) -> bool:
    """Whether lanes along a loop share one operand and have their own elements of the other."""
    operands = _operands(nest, ctx)
    if operands is None:
        return False
    shared, packed = operands
    return not depends(shared, var) and depends(packed, var)


def _tile(nest: Nest, vector: Axis, ctx: Context) -> Nest | None:
    lanes = ctx.target.lanes(4)
    operands = _operands(nest, ctx)
    assert operands is not None
    shared, packed = operands
    others = [a for a in nest.space if a is not vector]
    free = [a for a in others if a.size > 1 and not depends(packed, a.var)]
    rows = max(reversed(free), key=lambda a: min(a.size, 14), default=None)
    if packed.tensor not in ctx.packable and (rows is None or rows.size < FEWEST_ROWS):
        return None
    depth = 1
    for a in nest.reduced:
        depth *= a.size if a.kind != "dot" else 1
    n_vectors = -(-vector.size // lanes)
    tile = choose_tile(rows.size if rows else 1, n_vectors, depth, ctx.target)
    outer = [a.var for a in others if a is not rows]
    v = vector.var
    nest = nest.split(v, lanes * tile.vectors, f"{v}o", f"{v}m").split(
        f"{v}m", lanes, f"{v}v", f"{v}l"
    )
    inside: list[str] = []
    around: list[str] = []
    if rows is not None:
        around, inside = [f"{rows.var}o"], [f"{rows.var}i"]
        nest = nest.split(rows.var, tile.rows, *around, *inside)
    reduced = [a.var for a in nest.reduced if a.kind != "dot"]
    (step,) = (a.var for a in nest.reduced if a.kind == "dot")
    first = outer_order(nest, outer, f"{v}o", around, shared, packed, ctx)
    nest = nest.reorder(*first, *reduced, *inside, f"{v}v", f"{v}l", step)
    nest = nest.vectorize(f"{v}l").unroll(*inside, f"{v}v")
    try:
        if packed.tensor in ctx.packable:
            nest = nest.pack(packed.tensor)
        nest = pack_constants(nest, ctx)
    except CompileError:
        return None  # the constant does not follow the loops
    return nest


def outer_order(
    nest: Nest,
    outer: list[str],
    columns: str,
    rows: list[str],
    shared: Read,
    packed: Read,
    ctx: Context,
) -> list[str]:
    """Batch and groups first; columns inside when their constant stays in the cache."""
    image = [v for v in outer if not depends(packed, v)]
    groups = [v for v in outer if v not in image]
    weights, data = (nest.tensors[r.tensor].assumed.n_elements for r in (packed, shared))
    if weights <= ctx.target.l2_bytes // 2 < data:
        return [*groups, *image, *rows, columns]
    return [*groups, columns, *image, *rows]
