"""Byte ranges occupied at the current step of a sweep, to test new blocks for overlap."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort

MOST_TOGETHER = 1_000
"""Half the maximum length of a chunk. The sorted offsets are stored in chunks, so an insertion or
removal moves only the offsets of one chunk."""

Stretch = tuple[int, int, str]
"""A byte range: its offset, its limit (the offset after its last byte), and its owner's name."""


class Taken:
    """Disjoint byte ranges, ordered by offset."""

    def __init__(self) -> None:
        self._stretches: dict[int, Stretch] = {}
        self._pieces: list[list[int]] = [[]]
        self._firsts = [-math.inf]

    def meets(self, offset: int, limit: int) -> list[Stretch]:
        """Return the ranges adjacent to `offset`, below and above, that overlap [offset, limit).

        If any range overlaps [offset, limit), an adjacent range does.
        """
        at = self._piece(offset)
        piece = self._pieces[at]
        here = bisect_left(piece, offset)
        near: list[int] = piece[max(here - 1, 0) : here + 1]
        if here == 0 and at:
            near += self._pieces[at - 1][-1:]
        if here == len(piece) and at + 1 < len(self._pieces):
            near.append(self._pieces[at + 1][0])
        stretches = (self._stretches[n] for n in near)
        return sorted(s for s in stretches if s[0] < limit and offset < s[1])

    def add(self, offset: int, limit: int, name: str) -> None:
        """Mark a range of free bytes as taken; the range must not be empty."""
        self._stretches[offset] = (offset, limit, name)
        at = self._piece(offset)
        piece = self._pieces[at]
        insort(piece, offset)
        if len(piece) > 2 * MOST_TOGETHER:
            self._pieces[at : at + 1] = [piece[:MOST_TOGETHER], piece[MOST_TOGETHER:]]
            self._firsts.insert(at + 1, piece[MOST_TOGETHER])

    def remove(self, offset: int) -> None:
        """Remove the range at an offset."""
        del self._stretches[offset]
        at = self._piece(offset)
        piece = self._pieces[at]
        del piece[bisect_left(piece, offset)]
        if not piece and at:
            del self._pieces[at], self._firsts[at]

    def _piece(self, offset: int) -> int:
        return bisect_right(self._firsts, offset) - 1
