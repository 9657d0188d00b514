"""Interleaved searches of the same blocks in several orders, with growing time slices.

The time of a search varies unpredictably with its order, by many powers of ten. Slices double from
round to round, so the total time is within a constant factor of the time of the best order. In each
round, the searches with the orders `PREORDERS` resume. So at least one of these searches eventually
finds a packing, or proves that none exists. Each round also has searches with new random orders,
for one slice each.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from compiler.dataclass import dataclass
from compiler.memory.buffer import Block
from compiler.memory.planners.exact.inner import FOUND, FULL, NONE, UNKNOWN, run
from compiler.memory.planners.exact.preorders import (
    PREORDERS,
    Preorder,
    measure,
    preorder,
    random_preorder,
)
from compiler.memory.planners.exact.sections import sections_of
from compiler.memory.planners.exact.state import OFFSET, Board, begin, grown
from compiler.memory.planners.native import now

FIRST_NODES = 2_000
"""Number of search nodes in the first slice."""

N_RANDOM = 8
"""Number of random orders in each round."""

SLICE_SECONDS = 0.02
"""Approximate time in seconds between two checks of the clock within a search."""

NODES_AT_ONCE = 64
"""Nodes before the first check of the clock: few enough even for slow, interpreted code."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on a capacity: a packing, a proof of infeasibility, or neither.

    `offsets` has the offset of each block in bytes. `by` names the search order that decided, and
    `n_nodes` counts the partial packings examined in all orders.
    """

    offsets: Sequence[int] | None
    infeasible: bool
    n_nodes: int
    by: str = ""


class Pack:
    """A packing problem that is searched for several capacities. Blocks have at least one byte."""

    def __init__(self, blocks: Sequence[Block], seed: int = 0) -> None:
        self.blocks = blocks
        self.sections = sections_of(blocks)
        self.real_size = np.array([b.size for b in blocks], np.int64)
        self.measured = measure(blocks, self.sections)
        self.chance = random.Random(seed)

    def into(self, capacity_bytes: int, deadline: float, n_nodes: int | None = None) -> Verdict:
        """Search for a packing within a capacity, until a deadline or a node limit."""
        used = 0
        for search, length in self._turns(capacity_bytes):
            found = search.run(length if n_nodes is None else min(length, n_nodes - used), deadline)
            used += search.n_nodes_of_turn
            if found == FOUND:
                return Verdict(search.offsets(), False, used, search.by)
            if found == NONE:
                return Verdict(None, True, used, search.by)
            if now() >= deadline or (n_nodes is not None and used >= n_nodes):
                break
        return Verdict(None, False, used)

    def _turns(self, capacity_bytes: int) -> Iterator[tuple[Search, int]]:
        """Yield the search to run next and its number of nodes; never end."""
        names = [", ".join(by) for by in PREORDERS]
        orders = [preorder(by, self.measured) for by in PREORDERS]
        searches = [self._search(capacity_bytes, *it) for it in zip(orders, names, strict=True)]
        length = FIRST_NODES
        while True:
            yield from ((search, length) for search in searches)
            for _ in range(N_RANDOM):
                order = random_preorder(self.measured, self.chance)
                yield self._search(capacity_bytes, order, "random"), length
            length *= 2

    def _search(self, capacity_bytes: int, order: Preorder, by: str) -> Search:
        board = begin(self.sections, self.real_size, capacity_bytes, order)
        return Search(board, by)


class Search:
    """A resumable search with one order of blocks."""

    def __init__(self, board: Board, by: str) -> None:
        self.board, self.by = board, by
        self.n_nodes_of_turn = 0

    def run(self, n_nodes: int, deadline: float) -> int:
        """Resume the search for up to `n_nodes` nodes or until a deadline; return its result."""
        self.n_nodes_of_turn = 0
        slice_nodes = NODES_AT_ONCE
        while self.n_nodes_of_turn < n_nodes:
            started = now()
            slice_nodes = min(slice_nodes, n_nodes - self.n_nodes_of_turn)
            found, used = run.soon(self.board, slice_nodes)
            self.n_nodes_of_turn += used
            if found == FULL:
                self.board = grown(self.board)
            elif found != UNKNOWN:
                return found
            ended = now()
            if ended >= deadline:
                break
            if ended - started < SLICE_SECONDS / 2:
                slice_nodes *= 2
        return UNKNOWN

    def offsets(self) -> Any:
        """Return the offsets of a packing that was found, in bytes."""
        return self.board.block[OFFSET, :-1].tolist()
