"""Exact reductions of a problem: fewer blocks and fewer steps, with the same optimum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from compiler.memory.buffer import Block


class Arrays(NamedTuple):
    """The fields of blocks as arrays, in steps and bytes.

    `mask` is the alignment minus 1. `pinned` is -1 for a block without a pinned offset.
    """

    start: Any
    end: Any
    size: Any
    mask: Any
    pinned: Any


class Reduction:
    """A problem without the blocks that are alive at every step, reduced to the relevant steps.

    If no block is pinned and all alignments are equal, the blocks alive at every step are placed at
    the bottom. Any plan can be rearranged in this way, with the same peak. A step remains only if
    its live set is not contained in the live set of another step. Blocks of 0 bytes are omitted.
    """

    def __init__(self, blocks: Sequence[Block]) -> None:
        rows = [(b.start, b.end, b.size, b.alignment_bytes - 1, b.pinned) for b in blocks]
        start, end, size, mask, pinned = np.array(rows, np.int64).reshape(-1, 5).T.copy()
        start, end = maximal_steps(start, end, size > 0)
        whole = (start == 0) & (end == end.max(initial=0)) & (size > 0)
        if (pinned >= 0).any() or len(np.unique(mask)) > 1:
            whole[:] = False
        padded = (size[whole] + mask[whole]) & ~mask[whole]
        self.bottom = int(padded.sum())
        """Bytes at the bottom, occupied by the blocks that are alive at every step."""
        self._offsets = np.maximum(pinned, 0)
        self._offsets[whole] = np.cumsum(padded) - padded
        self._moving = np.flatnonzero(~whole & (size > 0))
        at = self._moving
        self.blocks = Arrays(start[at], end[at], size[at], mask[at], pinned[at])

    def reduced(self, offsets: Sequence[int]) -> Any:
        """Return the offsets of the remaining blocks, given the offsets of all blocks."""
        return np.array(offsets, np.int64)[self._moving]

    def restored(self, offsets: Any) -> list[int]:
        """Return the offsets of all blocks, given the offsets of the reduced problem."""
        found = self._offsets.copy()
        found[self._moving] = offsets + self.bottom
        return found.tolist()


def maximal_steps(start: Any, end: Any, counts: Any) -> tuple[Any, Any]:
    """Return lifetimes after removal of all steps except those with a maximal live set.

    At a step with a maximal live set, a block starts, and a block ends before the next start.
    `counts` is a mask: only these blocks count for the live sets. The lifetimes of other blocks may
    become empty.
    """
    starts, ends = np.unique(start[counts]), np.unique(end[counts])
    if not len(starts):
        return np.zeros_like(start), np.zeros_like(end)
    until = np.append(starts[1:], ends[-1])
    ended = np.searchsorted(ends, until, "right") > np.searchsorted(ends, starts, "right")
    kept = starts[ended]
    return tuple(np.searchsorted(kept, steps).astype(np.int64) for steps in (start, end))
