"""Block sizes of shared loops: the number of positions that one iteration computes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod

from compiler.compute.computation import Stage
from compiler.compute.scalar import Apply, Read, reads
from compiler.ir import affine
from compiler.ir.types import DType, TensorType
from compiler.schedule.policies.tiles import choose_tile
from compiler.schedule.stages.tree import Group, name_of
from compiler.targets.target import Target

ROWS = 48
"""The maximum number of rows of a product per iteration. The rows of an iteration share each load
of the other operand."""

LEAST_ROWS = 4
"""The minimum number of rows of a tile; with fewer rows, loads are the bottleneck for any width."""

SIDE_BY_SIDE = 4
"""The number of positions per iteration for short sums; the final combinations of their lanes
overlap.
"""

LEAST_TURNS = 4
"""The minimum number of iterations of a loop that threads share."""


def block_size(
    group: Group, held: Iterable[str], tensors: Mapping[str, TensorType], target: Target
) -> int:
    """Choose the number of positions per iteration: large if rows of a product share an operand.

    Temporaries inside the loop take at most half of L2 (of L1 for short sums). If the cache limits
    the number of rows, the number is a multiple of the register tile's rows.
    """
    nbytes = sum(tensors[t].assumed.nbytes for t in held)
    extent = affine.assumed(group.extent)
    per_place = max(nbytes // max(extent, 1), 1)
    fits = max(target.l2_bytes // 2 // per_place, 1)
    product = _product_of_rows(group)
    if product is None:
        return SIDE_BY_SIDE if _is_short(group, per_place, extent, target) else 1
    wanted = ROWS
    if fits < ROWS:
        tile = max(_tile_rows(product, target), LEAST_ROWS)
        wanted = max(fits // tile, 1) * tile
    return min(wanted, group.extent) if isinstance(group.extent, int) else wanted


def reason(group: Group) -> str:
    """Return the reason for the number of positions per iteration of a group."""
    if group.places == 1:
        return "temporaries stay in cache"
    if _product_of_rows(group) is not None:
        return "rows of a product share its other operand"
    return "temporaries stay in cache, and the final reductions of sums overlap"


def _is_short(group: Group, per_place: int, extent: int, target: Target) -> bool:
    """Return whether final reductions of several positions can overlap, and temporaries fit L1."""
    sums = any(s.reduce is not None for part in group.nests for s in part)
    few = SIDE_BY_SIDE * per_place <= target.l1d_bytes // 2
    return sums and few and extent >= LEAST_TURNS * SIDE_BY_SIDE


def _product_of_rows(group: Group) -> Stage | None:
    """Return a product with the group's axis in exactly one of its factors."""
    for part in group.nests:
        own = group.own[name_of(part)]
        for s in part:
            body = s.reduce.body if s.reduce is not None else None
            if isinstance(body, Apply) and body.fn == "mul":
                has = [any(_depends(r, own) for r in reads(a)) for a in body.args]
                if has in ([True, False], [False, True]):
                    return s
    return None


def _tile_rows(product: Stage, target: Target) -> int:
    """Return the number of rows of a product's register tile."""
    columns, depth = (
        prod(affine.assumed(product.extents[a]) for a in axes)
        for axes in (product.axes[-1:], product.reduce_axes)
    )
    lanes = target.lanes(DType.f32.nbytes)
    return choose_tile(ROWS, -(-columns // lanes), depth, target).rows


def _depends(r: Read, axis: str) -> bool:
    return any(axis in affine.symbols(e) for e in r.index)
