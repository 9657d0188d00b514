"""In-place stages: a temporary reuses the memory of an operand that no later stage reads.

    E[i, j] = decay(SCORE[i, j] - TOP[i])    no later reader of SCORE: E reuses its memory

A block of attention rows then stores its scores once instead of twice, so twice as many rows fit
the cache.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from compiler.compute.computation import Stage
from compiler.compute.scalar import fetches
from compiler.compute.statements import rename_buffers
from compiler.loops.nodes import Kernel
from compiler.schedule.stages.iterations import Tensors
from compiler.schedule.stages.tree import Group, Member, Part, leaves, read, stored, touched


def in_place(
    members: Sequence[Member], temporaries: Collection[str], tensors: Tensors
) -> dict[str, str]:
    """Return, for each temporary that can reuse memory, the temporary that provides the memory."""
    parts = [*leaves(members)]
    found: dict[str, str] = {}
    for position, part in enumerate(parts):
        if not (isinstance(part, tuple) and len(part) == 1 and part[0].target in temporaries):
            continue
        (stage,) = part
        behind = touched(parts[position + 1 :])
        for t in sorted(stage.read_tensors & {*temporaries} - behind):
            alone = stage.target not in touched(parts[:position])
            may = alone and _may_store_over(stage, t, tensors)
            if may and _is_made_beside(members, part, t):
                found[stage.target] = found.get(t, t)
                break
    return found


def _may_store_over(stage: Stage, read: str, tensors: Tensors) -> bool:
    """Return whether each point of a stage reads a tensor only at the index that it stores."""
    if stage.reduce is not None or tensors[read] != tensors[stage.target]:
        return False
    if not tensors[read].layout.is_plain or any(f.tensor == read for f in fetches(stage.value)):
        return False
    return all(r.index == stage.index for r in stage.reads if r.tensor == read)


def _is_made_beside(members: Sequence[Member], part: Part, tensor: str) -> bool:
    """Return whether all loops around a part that reads a tensor contain the tensor's producer.

    If a loop did not contain the producer, a later iteration would read an element that an earlier
    iteration has overwritten.
    """
    for group in (m for m in members if isinstance(m, Group)):
        if any(p is part for p in group.nests):
            others = [p for p in group.nests if p is not part]
            if tensor in read(others) and tensor not in stored(others):
                return False
            return _is_made_beside(group.members, part, tensor)
    return True


def with_reuse(kernel: Kernel, places: Mapping[str, str]) -> Kernel:
    """Replace temporaries by the buffers whose memory they reuse, if both have the same shape."""
    buffers = kernel.buffers
    names = {t: u for t, u in places.items() if buffers[t].shape == buffers[u].shape}
    params = tuple(b for b in kernel.params if b.name not in names)
    return replace(kernel, params=params, body=rename_buffers(kernel.body, names))
