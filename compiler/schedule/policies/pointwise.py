"""The policy for stages without a reduction: elementwise chains and data movement."""

from __future__ import annotations

from compiler.schedule.nest import Axis, Nest
from compiler.schedule.policies.context import (
    Context,
    contiguous_axis,
    divided,
    fuse_all,
    pack_constants,
    round_up_where_legal,
    strides,
)

VECTORS = 4
"""The number of vectors per iteration: unrolling hides latency and loop overhead."""


def pointwise(nest: Nest, ctx: Context) -> Nest:
    """Fuse loops over contiguous memory and vectorise the contiguous loop of the target."""
    nest = fuse_all(nest)
    nest = _pad_lanes(nest)
    vector = contiguous_axis(nest)
    if vector is None:
        return nest
    t = nest.tensors[nest.target]
    lanes = ctx.lanes(t.dtype)
    v = vector.var
    if t.layout.block > 1:
        return _blocked(nest, vector, t.layout.block, ctx)
    nest = _split_blocks(nest, v)
    others = [a for a in nest.space if a is not vector]
    across = _across(nest, vector, others, lanes)
    if across is not None:
        return _turned(nest, vector, across, lanes, ctx)
    n_vectors = max(1, min(VECTORS, vector.size // lanes))
    nest = nest.split(v, lanes * n_vectors, f"{v}o", f"{v}m").split(
        f"{v}m", lanes, f"{v}v", f"{v}l"
    )
    nest = nest.reorder(*(a.var for a in others), f"{v}o", f"{v}v", f"{v}l")
    return pack_constants(nest.vectorize(f"{v}l").unroll(f"{v}v"), ctx)


def _across(nest: Nest, vector: Axis, others: list[Axis], lanes: int) -> Axis | None:
    """Return the loop along which an operand is contiguous and the target is not, if any."""
    far = [r for r, s in strides(nest, vector.var)[1] if s is not None and s > 1]
    for a in others:
        near = {r.tensor for r, s in strides(nest, a.var)[1] if s == 1}
        if any(r.tensor in near for r in far) and min(a.size, vector.size) >= lanes:
            return a
    return None


def _turned(nest: Nest, vector: Axis, across: Axis, lanes: int, ctx: Context) -> Nest:
    """Tile a transposition into squares: cache lines stay in L1 until all elements are used."""
    v, a = vector.var, across.var
    nest = nest.because("a square tile reads and writes whole cache lines")
    nest = nest.split(v, lanes, f"{v}o", f"{v}l").split(a, lanes, f"{a}o", f"{a}i")
    outer = [b.var for b in nest.space if b.var not in (f"{v}o", f"{v}l", f"{a}o", f"{a}i")]
    nest = nest.reorder(*outer, f"{a}o", f"{v}o", f"{a}i", f"{v}l")
    return pack_constants(nest.vectorize(f"{v}l"), ctx)


def _split_blocks(nest: Nest, vector: str) -> Nest:
    """Split channel loops by the block size of operands with blocked channels."""
    blocks = {nest.tensors[r.tensor].layout.block for r in nest.reads()} - {1}
    for var, divisor in divided(nest).items():
        if divisor in blocks and var != vector and nest.has(var) and nest.axis(var).size > divisor:
            nest = nest.split(var, divisor, f"{var}b", f"{var}l")
    return nest


def _blocked(nest: Nest, vector: Axis, block: int, ctx: Context) -> Nest:
    """Vectorise over the channels of a block, with loops in the order of the target's memory."""
    rows = _rows([a for a in nest.space if a is not vector])
    v = vector.var
    if rows is not None and _fills_words(nest, rows, block, ctx):
        return _in_words(nest, vector, rows, block, ctx)
    nest = nest.split(v, block, f"{v}b", f"{v}l")
    unrolled: list[str] = []
    if rows is not None:
        is_turned = _across(nest, nest.axis(f"{v}l"), [rows], VECTORS) is not None
        n_rows = min(block, rows.size) if is_turned else VECTORS
        nest = nest.split(rows.var, n_rows, f"{rows.var}o", f"{rows.var}i")
        unrolled = [f"{rows.var}i"]
    outer = [a.var for a in nest.space if a.var not in (f"{v}l", *unrolled)]
    outer.sort(key=lambda var: -(strides(nest, var)[0] or 0))
    nest = nest.reorder(*outer, *unrolled, f"{v}l")
    return pack_constants(nest.vectorize(f"{v}l").unroll(*unrolled), ctx)


def _fills_words(nest: Nest, rows: Axis, block: int, ctx: Context) -> bool:
    """Return whether a block is a word of four bytes, and an operand is contiguous along rows."""
    is_word = block == 4 and nest.tensors[nest.target].dtype.nbytes == 1
    along = [s for _, s in strides(nest, rows.var)[1]]
    lies = 1 in along and all(s in (0, 1) for s in along)
    return is_word and lies and rows.size >= ctx.target.lanes(4)


def _in_words(nest: Nest, vector: Axis, rows: Axis, block: int, ctx: Context) -> Nest:
    """Vectorise over the rows, since blocks are too short for vectors: each lane writes a word."""
    v, r = vector.var, rows.var
    nest = nest.because("a block is one word, and the pixels of a channel are contiguous")
    nest = nest.split(v, block, f"{v}b", f"{v}i")
    nest = nest.split(r, ctx.target.lanes(4), f"{r}o", f"{r}l")
    outer = [a.var for a in nest.space if a.var not in (f"{v}i", f"{r}l")]
    outer.sort(key=lambda var: -(strides(nest, var)[0] or 0))
    nest = nest.reorder(*outer, f"{v}i", f"{r}l")
    return pack_constants(nest.vectorize(f"{r}l").unroll(f"{v}i"), ctx)


def _rows(others: list[Axis]) -> Axis | None:
    return others[-1] if others and others[-1].size > 1 else None


def _pad_lanes(nest: Nest) -> Nest:
    """Extend loops to include a blocked target's padding lanes if operands have the same blocks."""
    block = nest.tensors[nest.target].layout.block
    if block == 1 or any(nest.tensors[r.tensor].layout.block != block for r in nest.reads()):
        return nest
    for v, d in divided(nest).items():
        if d == block and nest.has(v) and nest.axis(v).extent == nest.tensors[nest.target].dims[1]:
            nest = round_up_where_legal(nest, v, block)
    return nest
