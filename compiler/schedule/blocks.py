"""How many places of a shared axis one turn of its loop computes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from compiler.compute.scalar import Apply, Read, reads
from compiler.ir import affine
from compiler.ir.types import TensorType
from compiler.schedule.stages import Group, name_of
from compiler.targets.target import Target

ROWS = 48
"""Rows of a product that one turn computes at most: each loads the other operand once."""

LEAST_ROWS = 8
"""Fewer rows than this would leave a register tile half empty."""


def block_size(
    group: Group, held: Iterable[str], tensors: Mapping[str, TensorType], target: Target
) -> int:
    """One place, unless places are rows of a product that share its other operand.

    What is held inside takes no more than half of the second cache.
    """
    nbytes = sum(tensors[t].assumed.nbytes for t in held)
    extent = affine.assumed(group.extent)
    per_place = max(nbytes // max(extent, 1), 1)
    fits = max(target.l2_bytes // 2 // per_place, 1)
    if not _is_row(group):
        return 1
    wanted = min(ROWS, max(fits // LEAST_ROWS, 1) * LEAST_ROWS)
    return min(wanted, group.extent) if isinstance(group.extent, int) else wanted


def _is_row(group: Group) -> bool:
    """Whether a product has the axis in one factor alone."""
    for part in group.joints:
        own = group.own[name_of(part)]
        for s in part:
            body = s.reduce.body if s.reduce is not None else None
            if isinstance(body, Apply) and body.fn == "mul":
                has = [any(_depends(r, own) for r in reads(a)) for a in body.args]
                if has in ([True, False], [False, True]):
                    return True
    return False


def _depends(r: Read, axis: str) -> bool:
    return any(axis in affine.symbols(e) for e in r.index)
