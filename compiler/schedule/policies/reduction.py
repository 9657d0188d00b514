"""The policy for reductions, pools and dot products.

If consecutive results read consecutive elements, lanes run over results. If the reduction runs over
contiguous memory, lanes run over the reduction. Several accumulators are then combined pairwise at
the end, which also keeps the error of long sums small.
"""

from __future__ import annotations

from compiler.schedule.nest import Axis, Nest
from compiler.schedule.policies.context import (
    Context,
    contiguous_axis,
    fuse_all,
    pack_constants,
    strides,
)

ACCUMULATORS = 8
"""The number of independent chains of additions that hide the latency of an addition (4 cycles, 2
additions per cycle)."""

WORTH_A_CHAIN = 4
"""The minimum number of iterations per additional accumulator, since combining accumulators at the
end costs time."""

UNROLLED_WINDOW = 9
"""The maximum number of taps of an unrolled window."""

LONGEST_STEP = 8
"""The maximum stride between adjacent lanes, in elements: larger strides share few cache lines."""

LONG_RUN = 16
"""The minimum number of contiguous elements for which lanes always run over the reduction."""


def reduction(nest: Nest, ctx: Context) -> Nest:
    """Vectorise over results if these are contiguous, else over the reduction."""
    space_last = nest.reorder(*(a.var for a in nest.space), *(a.var for a in nest.reduced))
    nest = fuse_all(space_last)
    vector = _vector_axis(nest, ctx)
    if vector is not None:
        return _over_results(nest, vector, ctx)
    return dot_product(nest, ctx)


def _vector_axis(nest: Nest, ctx: Context) -> Axis | None:
    """Return the loop for lanes over results; None if lanes over the reduction are faster.

    Vectors of elements at a small stride are assembled by shuffles or gathers.
    """
    a = contiguous_axis(nest)
    if a is None or nest.tensors[nest.target].layout.block > 1:
        return a
    of_reads = [s for _, s in strides(nest, a.var)[1]]
    run = _run(nest)
    if 1 in of_reads or 2 in of_reads:
        return a if run < LONG_RUN else None
    assert nest.reduce is not None
    near = any(s is not None and 1 <= s <= LONGEST_STEP for s in of_reads)
    return a if near and run < ctx.lanes(nest.reduce.dtype) else None


def _run(nest: Nest) -> int:
    """Return the number of contiguous elements that the innermost reduction loop reads."""
    innermost = nest.reduced[-1]
    along = [s for _, s in strides(nest, innermost.var)[1]]
    return innermost.size if 1 in along else 1


def _over_results(nest: Nest, vector: Axis, ctx: Context) -> Nest:
    reduce = nest.reduce
    assert reduce is not None
    lanes = ctx.lanes(reduce.dtype)
    n_vectors = max(1, min(-(-vector.size // lanes), ACCUMULATORS))
    if n_vectors > 1 and vector.size % (lanes * n_vectors):
        n_vectors = next(n for n in range(n_vectors, 0, -1) if (vector.size // lanes) % n == 0)
    others = [a for a in nest.space if a is not vector]
    v = vector.var
    nest = nest.split(v, lanes * n_vectors, f"{v}o", f"{v}m").split(
        f"{v}m", lanes, f"{v}v", f"{v}l"
    )
    rows: list[str] = []
    if others and n_vectors < ACCUMULATORS // 2 and others[-1].size > 1:
        r = others[-1].var
        n_rows = min(others[-1].size, ACCUMULATORS // n_vectors)
        nest = nest.split(r, n_rows, f"{r}o", f"{r}i")
        rows = [f"{r}i"]
        others = [*others[:-1], nest.axis(f"{r}o")]
    reduced = [a.var for a in nest.reduced]
    nest = nest.reorder(f"{v}o", *(a.var for a in others), *reduced, *rows, f"{v}v", f"{v}l")
    n_taps = 1
    for a in nest.reduced:
        n_taps *= a.size
    unrolled = [a.var for a in nest.reduced] if n_taps <= UNROLLED_WINDOW else []
    nest = nest.vectorize(f"{v}l").unroll(*rows, f"{v}v", *unrolled)
    return pack_constants(nest, ctx)


def dot_product(nest: Nest, ctx: Context) -> Nest:
    """Vectorise the innermost reduction loop; its lanes are combined at the end."""
    reduce = nest.reduce
    assert reduce is not None
    lanes = ctx.lanes(reduce.dtype)
    innermost = max(nest.reduced, key=lambda a: _contiguity(nest, a))
    order = [a.var for a in nest.reduced if a is not innermost]
    nest = nest.reorder(*(a.var for a in nest.space), *order, innermost.var)
    if innermost.size < lanes or innermost.var in nest.splits:
        return pack_constants(nest, ctx)
    k = innermost.var
    n_chains = _power_of_two(min(ACCUMULATORS // 2, innermost.size // lanes))
    nest = nest.split(k, lanes * n_chains, f"{k}o", f"{k}m").split(f"{k}m", lanes, f"{k}c", f"{k}l")
    chains = [f"{k}c"]
    n_more = _chains_outside(nest, order, ACCUMULATORS // 2 // n_chains)
    if n_more > 1:
        r = order.pop()
        nest = nest.split(r, n_more, f"{r}o", f"{r}c")
        order.append(f"{r}o")
        chains.insert(0, f"{r}c")
    nest = nest.reorder(*(a.var for a in nest.space), *order, f"{k}o", *chains, f"{k}l")
    nest = nest.rfactor(*chains, f"{k}l").vectorize(f"{k}l").unroll(*chains)
    return pack_constants(nest, ctx)


def _chains_outside(nest: Nest, order: list[str], most: int) -> int:
    """Return the number of iterations of the next outer loop that get separate sums."""
    if not order or not isinstance(nest.axis(order[-1]).extent, int):
        return 1
    return _power_of_two(max(1, min(most, nest.axis(order[-1]).size // WORTH_A_CHAIN)))


def _power_of_two(n: int) -> int:
    """Round down to a power of two, so that the final combination adds halves vector by vector."""
    return 1 << (n.bit_length() - 1)


def _contiguity(nest: Nest, a: Axis) -> tuple[int, int]:
    along = [s for _, s in strides(nest, a.var)[1]]
    return (sum(s in (0, 1) for s in along) if 1 in along else -1, a.size)
