"""The policy for sums of products of small types: dot steps with 32-bit sums.

    o: split(i, 4, io, id)    four consecutive channels form one step (bf16: two channels)
    o: tensorize(id, dot)
    o: reorder(..., io, row, column, lane, id)
    o: pack(W)                [..., io, lane, 4 channels]

One operand is a constant, packed so that the elements of a step are contiguous over all lanes. In
the other operand the elements of a step are contiguous in memory, and all lanes read the same
elements. All other loops are as in an f32 contraction: sums stay in registers during the entire
reduction.

The operand that differs between lanes may also be a bf16 tensor with contiguous lanes. Examples are
pixels in plain order and the right operand of attention's second product. The load then interleaves
two vectors of lanes into pairs, which pays off for enough rows. Source: the vectorisation of 8-bit
convolutions in oneDNN (VPDPBUSD); Jacob et al. 2018 (arXiv:1712.05877); VDPBF16PS.
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
"""The small types that dot steps multiply, with the 32-bit types of their sums."""

FEWEST_ROWS = 4
"""The minimum number of rows for which interleaving vectors into pairs at the load pays off."""

UNROLL = 4
"""The unroll factor of the loop over steps; a larger factor increases register pressure."""


def dots(nest: Nest, ctx: Context) -> Nest | None:
    """Rewrite the nest with dot steps; None if the types or layouts of operands do not allow them.

    Without an instruction for pairs of bf16, dot steps of bf16 gain nothing, so the result is None.
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
    """Return the two reads of small types whose products are summed unchanged."""
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
    """Return the number of products that one step sums in each 32-bit lane."""
    operands = small_reads(nest)
    assert operands is not None
    return 4 // operands[0].dtype.nbytes


def _operands(nest: Nest, ctx: Context) -> tuple[Read, Read] | None:
    """Return the operand that lanes share, and the operand that differs between lanes.

    The second operand is a constant to be packed, or has contiguous lanes.
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
    """Return whether a non-constant operand has contiguous lanes that can be interleaved."""
    if not _is_bf16((shared, own)) or own.tensor in ctx.packable or depends(shared, vector.var):
        return False
    return nest.stride_of(own.tensor, own.index, vector.var) == 1


def round_up_lanes(nest: Nest, ctx: Context) -> Nest:
    """Extend loops to include a blocked target's padding lanes, if all operands have padding."""
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
    """Return the reduction loop along which the shared operand is contiguous."""
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
    """Return the longest loop along which pairs of bf16 are interleaved for all lanes.

    None if the contiguous loop of the target is shorter than a vector: interleaving would not pay
    off.
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
    """Return the longest reduction loop that steps from one vector of lanes to the next."""
    found: list[Axis] = []
    for a in nest.reduced:
        stride = nest.stride_of(own.tensor, own.index, a.var)
        packed = shared.tensor in ctx.packable and affine.symbol(a.var) in shared.index
        is_counted = isinstance(a.extent, int) and a.extent > 1
        if stride and is_counted and (packed or _are_neighbours(nest, shared, a)):
            found.append(a)
    return max(found, key=lambda a: a.size, default=None)


def _are_neighbours(nest: Nest, read: Read, a: Axis) -> bool:
    """Return whether the iterations that form a dot step read consecutive elements."""
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
    """Split a loop into dot steps; steps do not cross the channel blocks of the shared operand.

    Padding bytes after the last channel of a blocked operand are multiplied by zeros.
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
    """Return whether a loop runs over all channels of a blocked image with padding bytes.

    Return False for floats, whose padding is not read: 0 times NaN or infinity is not 0.
    """
    for read in small_reads(nest) or ():
        t = nest.tensors[read.tensor]
        whole = t.dtype.is_integer and t.layout.block % _step(nest) == 0
        if whole and t.dims[1] == k.extent:
            return True
    return False


def _reduction_inside(nest: Nest) -> Nest:
    """Move reduction loops innermost, in the order: blocks of channels, taps, steps."""
    steps = [a for a in nest.reduced if a.kind != "for"]
    blocks = [a for a in nest.reduced if a.kind == "for" and a.var in nest.splits]
    taps = [a for a in nest.reduced if a not in steps and a not in blocks]
    steps.sort(key=lambda a: a.kind == "dot")
    order = [a.var for a in (*nest.space, *blocks, *taps, *steps)]
    return nest.reorder(*order)


def _loads_along(nest: Nest, var: str, ctx: Context) -> bool:
    """Return whether lanes along a loop share one operand, but not the other operand."""
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
        return None  # the constant cannot be packed in loop order
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
    """Order the outer loops: groups first; columns last if only the packed operand fits half L2."""
    image = [v for v in outer if not depends(packed, v)]
    groups = [v for v in outer if v not in image]
    weights, data = (nest.tensors[r.tensor].assumed.n_elements for r in (packed, shared))
    if weights <= ctx.target.l2_bytes // 2 < data:
        return [*groups, *image, *rows, columns]
    return [*groups, columns, *image, *rows]
