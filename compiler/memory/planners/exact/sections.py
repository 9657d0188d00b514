"""A problem as arrays: its sections, the blocks of each section, and pairs alive together.

A *section* is a step with a maximal set of live blocks: a maximal clique of the interval graph of
lifetimes. A step is omitted if all its live blocks are also alive in a section. There are at most
as many sections as blocks, and each block is alive in consecutive sections.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from compiler.memory.buffer import Block


class Sections(NamedTuple):
    """The constant arrays of a search. Arrays of int64; units: bytes, sections.

    Block b is alive in the sections from first[b] to end[b] - 1. The blocks alive together with it
    are near[near_first[b]:near_first[b + 1]]; the blocks of section s are
    inside[inside_first[s]:...]. Sizes are rounded up to multiples of `unit_bytes`, the smallest
    alignment of the blocks.
    """

    size: Any
    first: Any
    end: Any
    mask: Any
    pinned: Any
    near_first: Any
    near: Any
    inside_first: Any
    inside: Any

    @property
    def n_blocks(self) -> int:
        """Return the number of blocks."""
        return len(self.size)

    @property
    def n_sections(self) -> int:
        """Return the number of sections."""
        return len(self.inside_first) - 1


def sections_of(blocks: Sequence[Block]) -> Sections:
    """Build the arrays for blocks of at least one byte."""
    table = np.array([(b.start, b.end, b.size, b.alignment_bytes, b.pinned) for b in blocks])
    start, end, size, alignment, pinned = table.astype(np.int64).reshape(-1, 5).T.copy()
    unit = unit_bytes(blocks)
    opens = _openings(start, end)
    low, high = np.searchsorted(opens, start), np.searchsorted(opens, end)
    meet = (low[:, None] < high[None]) & (low[None] < high[:, None])
    np.fill_diagonal(meet, False)
    spans = np.arange(len(opens))[:, None]
    alive = (low[None] <= spans) & (spans < high[None])
    return Sections(
        -(-size // unit) * unit,
        low.astype(np.int64),
        high.astype(np.int64),
        alignment - 1,
        pinned,
        *_rows(meet),
        *_rows(alive),
    )


def unit_bytes(blocks: Sequence[Block]) -> int:
    """Return the smallest alignment of the blocks; every offset is a multiple of it."""
    return min((b.alignment_bytes for b in blocks), default=1)


def _openings(start: Any, end: Any) -> Any:
    """Return the steps with maximal sets of live blocks.

    A block starts at each of these steps, and a block ends before the next start of a block.
    """
    starts = np.unique(start)
    return starts[np.unique(np.searchsorted(starts, np.unique(end)) - 1)]


def _rows(table: Any) -> tuple[Any, Any]:
    """Return a Boolean table in compressed rows: row starts, and the columns of true entries."""
    first = np.zeros(len(table) + 1, np.int64)
    np.cumsum(table.sum(axis=1), out=first[1:])
    return first, np.nonzero(table)[1].astype(np.int64)
