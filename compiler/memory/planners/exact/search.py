"""The outer search: for a plan within a given capacity, or else for the smallest plan.

Without a given capacity, the search approaches the smallest sufficient capacity from both sides. A
packing within a tried capacity lowers the upper bound; a proof of infeasibility raises the lower
bound. A capacity that is undecided after a number of nodes is tried again in the next round, with
twice as many nodes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from compiler.memory.buffer import Block
from compiler.memory.planners.exact.turns import Pack, Verdict
from compiler.memory.planners.native import now
from compiler.memory.planners.planner import Options, Outcome, placed
from compiler.memory.problem import Problem

MOST_BLOCKS = 3_000
"""Largest number of blocks in a group: the table of pairs alive together grows quadratically."""

FIRST_NODES = 20_000
"""Number of search nodes for each capacity in the first round."""


def improve(problem: Problem, options: Options, start: Outcome) -> Outcome:
    """Return a better plan than `start`, or a better bound, within the time limit."""
    groups = Groups(problem, options.seed)
    return Improvement(problem, options, start, groups).outcome() if groups.searchable else start


def packed_within(
    problem: Problem, capacity_bytes: int, n_nodes: int, seed: int = 0
) -> Sequence[int] | None:
    """Return offsets within a capacity, or None if `n_nodes` search nodes per group find none.

    The result does not depend on the clock.
    """
    groups = Groups(problem, seed)
    return groups.into(capacity_bytes, math.inf, n_nodes).offsets if groups.searchable else None


def groups_apart(which: Iterable[int], blocks: Sequence[Block]) -> list[list[int]]:
    """Split blocks into groups without common steps, which can be packed separately."""
    groups: list[list[int]] = []
    end = 0
    for i in sorted(which, key=lambda i: blocks[i].start):
        if not groups or blocks[i].start >= end:
            groups.append([])
        groups[-1].append(i)
        end = max(end, blocks[i].end)
    return groups


class Groups:
    """The blocks of a problem, divided into groups that share no step and are packed one by one."""

    def __init__(self, problem: Problem, seed: int) -> None:
        self.blocks = problem.blocks
        apart = groups_apart([i for i, b in enumerate(self.blocks) if b.size], self.blocks)
        self.searchable = max(map(len, apart), default=0) <= MOST_BLOCKS
        """Whether all groups are small enough for the search."""
        self.packs = (
            [(g, Pack([self.blocks[i] for i in g], seed)) for g in apart] if self.searchable else []
        )

    def into(self, capacity_bytes: int, deadline: float, n_nodes: int | None) -> Verdict:
        """Pack each group into the capacity, with at most `n_nodes` search nodes per group."""
        offsets = [max(b.pinned, 0) for b in self.blocks]
        used = 0
        for group, pack in self.packs:
            verdict = pack.into(capacity_bytes, deadline, n_nodes)
            used += verdict.n_nodes
            if verdict.offsets is None:
                return verdict
            for i, offset in zip(group, verdict.offsets, strict=True):
                offsets[i] = offset
        return Verdict(offsets, False, used)


class Improvement:
    """The best plan and bound so far, and the search for improvements of both."""

    def __init__(self, problem: Problem, options: Options, start: Outcome, groups: Groups) -> None:
        self.problem, self.options, self.groups = problem, options, groups
        self.deadline = options.deadline()
        self.best = start.plan
        self.bound = start.lower_bound_bytes
        self.grain = grain_bytes(problem.blocks)

    def outcome(self) -> Outcome:
        """Search for a plan within the capacity or, without a capacity, for the optimum."""
        capacity = self.options.capacity_bytes
        if capacity is None:
            self._narrow()
        else:
            infeasible = capacity < self.bound or self._pack(capacity, None).infeasible
            if infeasible:
                self.bound = max(self.bound, self._next(capacity))
                return Outcome(self.best, self.bound, "infeasible")
        if self.best.peak_bytes <= self.bound:
            return Outcome(self.best, self.bound, "optimal")
        within = capacity is not None and self.best.peak_bytes <= capacity
        return Outcome(self.best, self.bound, "within capacity" if within else "time")

    def _narrow(self) -> None:
        n_nodes = FIRST_NODES
        while self.bound < self.best.peak_bytes and now() < self.deadline:
            self._round(n_nodes)
            n_nodes *= 2

    def _round(self, n_nodes: int) -> None:
        """Try the lower bound as capacity, then bisect between failed and successful capacities."""
        target = least = self.bound
        while target < self.best.peak_bytes and now() < self.deadline:
            verdict = self._pack(target, n_nodes)
            if verdict.offsets is None:
                least = self._next(target)
            if verdict.infeasible:
                self.bound = max(self.bound, least)
            half = (least + self.best.peak_bytes - 1) // 2
            target = max(least, half // self.grain * self.grain)

    def _next(self, capacity_bytes: int) -> int:
        """Return the smallest possible peak above a capacity."""
        return (capacity_bytes // self.grain + 1) * self.grain

    def _pack(self, capacity_bytes: int, n_nodes: int | None) -> Verdict:
        """Pack each group into the capacity; record the plan if it is better."""
        verdict = self.groups.into(capacity_bytes, self.deadline, n_nodes)
        if verdict.offsets is not None:
            found = placed(self.problem, verdict.offsets)
            if found.plan.peak_bytes < self.best.peak_bytes:
                self.best = found.plan
        return verdict


def grain_bytes(blocks: Sequence[Block]) -> int:
    """Return a common divisor of the peaks of all plans in which no block can move down."""
    marks = [(b.size, b.alignment_bytes) for b in blocks if b.size]
    pins = [b.pinned for b in blocks if b.pinned > 0]
    aligned = [a for _, a in marks if a > 1]
    return math.gcd(*(size for size, _ in marks), *aligned, *pins)
