"""A sweep over the steps that tracks all possible orders of the live blocks in memory.

A backward pass then chooses one order and reconstructs its offsets.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from compiler.memory.planners.native import now
from compiler.memory.planners.research.planar.pq_tree import LEAF, Tree, in_order, leaf
from compiler.memory.planners.research.planar.segments import Division, Segment, Step, Way, bits

Rectangle: TypeAlias = tuple[int, int, int]
"""The first step, the step after the last step, and the size in bytes."""

Path: TypeAlias = "tuple[Path, Segment] | None"
"""The newest segment, linked to earlier segments."""


MOST_TRIED = 40
"""Maximum number of branches tried per state of the beam."""


class State(NamedTuple):
    """A state of the beam: the choices of segments up to a step.

    `chance` is the logarithm of the expected number of chance matches so far; lower is more
    plausible. `tree` has the possible orders, `path` the segments so far, and `spare` the leaves of
    currently unused memory, as bits.
    """

    chance: float
    tree: Tree
    path: Path
    spare: int


class Sweep:
    """A sweep over rectangles that use all, or nearly all, bytes of a capacity at each step."""

    def __init__(self, rectangles: Sequence[Rectangle], capacity_bytes: int) -> None:
        self.n = len(rectangles)
        self.sizes = [*(size for _, _, size in rectangles), capacity_bytes, capacity_bytes]
        self.steps = _steps(rectangles, self.sizes)

    def packed(self, width: int, deadline: float) -> list[int] | None:
        """Return offsets of all rectangles; None if all branches end or time is up.

        The beam has at most `width` states.
        """
        states = [State(0.0, leaf(self.n), None, 0)]
        for step in self.steps:
            states = self._following(states, step, width, deadline)
            if not states:
                return None
        return _offsets(states[0], self.sizes)[: self.n]

    def _following(
        self, states: Sequence[State], step: Step, width: int, deadline: float
    ) -> list[State]:
        """Return the most plausible successors of all states; an empty list if time is up.

        Checking a branch against the PQ-tree is the slowest operation, so the most plausible
        branches are checked first.
        """
        ways: list[tuple[float, int, State, Way, Division | None]] = []
        for state in states:
            if now() > deadline:
                return []
            for way in step.ways(state.tree, state.spare):
                ways.append((state.chance + way.chance, len(ways), state, way, None))
        heapq.heapify(ways)
        following: dict[Tree, State] = {}
        tried = 0
        while ways and len(following) < width and tried < MOST_TRIED * width and now() <= deadline:
            likely, turn, state, way, division = heapq.heappop(ways)
            if division is None:
                tried += 1
                division = step.division(state.tree, way, state.spare, self._new_leaf)
                if division is None:
                    continue
                chance = state.chance + division.chance
                if chance > likely:  # spare memory changes, so other branches may be more plausible
                    heapq.heappush(ways, (chance, turn, state, way, division))
                    continue
            if division.tree not in following:
                following[division.tree] = self._after(state, division)
        return [*following.values()]

    def _after(self, state: State, division: Division) -> State:
        path, spare = state.path, state.spare
        for segment in division.segments:
            path = (path, segment)
            spare &= ~bits(segment[1])
            spare |= bits([i for i in segment[2] if i > self.n + 1])
        return State(state.chance + division.chance, division.tree, path, spare)

    def _new_leaf(self, size: int) -> int:
        self.sizes.append(size)
        return len(self.sizes) - 1


def _steps(rectangles: Sequence[Rectangle], sizes: Sequence[int]) -> list[Step]:
    """Return the steps at which rectangles end or start.

    Before the first and after the last step, one leaf has all bytes.
    """
    n = len(rectangles)
    ended: dict[int, list[int]] = {}
    begun: dict[int, dict[int, list[int]]] = {}
    for i, (start, end, _) in enumerate(rectangles):
        ended.setdefault(end, []).append(i)
        begun.setdefault(start, {}).setdefault(end, []).append(i)
    ended.setdefault(min(begun), []).append(n)
    last = max(ended)
    begun[last] = {last: [n + 1]}
    moments = sorted(ended.keys() | begun.keys())
    return [Step(ended.get(t, []), list(begun.get(t, {}).values()), sizes) for t in moments]


def _offsets(state: State, sizes: Sequence[int]) -> list[int]:
    """Reconstruct offsets backwards in time.

    At each segment, the leaves that end get the bytes of the leaves that begin.
    """
    offsets = [0] * len(sizes)
    assert state.tree[1] == LEAF
    order = [state.tree[2][0]]
    path = state.path
    while path is not None:
        path, (tree, some, other) = path
        offset = 0
        for i in order:
            offsets[i] = offset
            offset += sizes[i]
        rank = {i: turn for turn, i in enumerate(order)}
        place = min(rank[i] for i in other)
        rank.update(dict.fromkeys(some, place))
        order = in_order(tree, rank)
    return offsets
