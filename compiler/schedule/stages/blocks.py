"""How many places of a shared axis one iteration of its loop computes."""

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
"""Rows of a product that one iteration computes at most: each loads the other operand once."""

LEAST_ROWS = 4
"""Fewer rows than this would wait for loads, whatever else the tile has."""

SIDE_BY_SIDE = 4
"""Places of which each stage is computed before the next: the ends of their sums overlap."""

LEAST_TURNS = 4
"""Fewer iterations than this would leave threads nothing to share."""


def block_size(
    group: Group, held: Iterable[str], tensors: Mapping[str, TensorType], target: Target
) -> int:
    """Few places, unless they are rows of a product that share its other operand.

    What is held inside takes no more than half of the second cache, or of the first. Fewer rows
    than that leaves are whole register tiles.
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
    """Why an iteration of a group's loop has as many places as it has."""
    if group.places == 1:
        return "what lies between stays near"
    if _product_of_rows(group) is not None:
        return "rows of a product share its other operand"
    return "what lies between stays near, and ends of sums overlap"


def _is_short(group: Group, per_place: int, extent: int, target: Target) -> bool:
    """Whether places end in sums that may overlap, and what they hold stays in the first cache."""
    sums = any(s.reduce is not None for part in group.joints for s in part)
    few = SIDE_BY_SIDE * per_place <= target.l1d_bytes // 2
    return sums and few and extent >= LEAST_TURNS * SIDE_BY_SIDE


def _product_of_rows(group: Group) -> Stage | None:
    """A product that has the axis in one factor alone."""
    for part in group.joints:
        own = group.own[name_of(part)]
        for s in part:
            body = s.reduce.body if s.reduce is not None else None
            if isinstance(body, Apply) and body.fn == "mul":
                has = [any(_depends(r, own) for r in reads(a)) for a in body.args]
                if has in ([True, False], [False, True]):
                    return s
    return None


def _tile_rows(product: Stage, target: Target) -> int:
    """The rows of the register tile for a block of a product."""
    columns, depth = (
        prod(affine.assumed(product.extents[a]) for a in axes)
        for axes in (product.axes[-1:], product.reduce_axes)
    )
    lanes = target.lanes(DType.f32.nbytes)
    return choose_tile(ROWS, -(-columns // lanes), depth, target).rows


def _depends(r: Read, axis: str) -> bool:
    return any(axis in affine.symbols(e) for e in r.index)
