"""Tests of the account of an arena, against a map of every byte at every step."""

import itertools
import random

import numpy as np

from compiler.memory import Buffer, plan_memory
from compiler.memory.account import (
    Handover,
    fullest_step,
    handovers,
    live_by_step,
    used_by_step,
)

# c reuses all of a and a byte of b; d uses new memory.
SMALL = (
    Buffer("a", 3, 0, 2, 0),
    Buffer("b", 4, 1, 3, 3),
    Buffer("c", 4, 3, 5, 0),
    Buffer("d", 2, 2, 5, 8),
)


def test_a_small_plan():
    assert live_by_step(SMALL) == [3, 7, 6, 6, 6]
    assert used_by_step(SMALL) == [3, 7, 10, 10, 10]
    assert fullest_step(SMALL) == 1
    assert handovers(SMALL) == [Handover(0, 2, 3), Handover(1, 2, 1)]


def test_nothing_is_planned():
    assert live_by_step([]) == used_by_step([]) == handovers([]) == []
    assert fullest_step([]) == 0


def test_empty_buffers_take_no_place_over():
    buffers = [Buffer("a", 8, 0, 1, 0), Buffer("none", 0, 1, 2, 0), Buffer("b", 8, 2, 3, 0)]
    assert handovers(buffers) == [Handover(0, 2, 8)]


def test_random_plans_against_a_picture_of_their_bytes():
    chance = random.Random(5)
    for _ in range(60):
        plan = plan_memory(_problem(chance), alignment_bytes=chance.choice((1, 4)))
        owner = np.full((max(b.end for b in plan.buffers), plan.peak_bytes), -1)
        for n, b in enumerate(plan.buffers):
            owner[b.start : b.end, b.offset : b.limit] = n
        assert live_by_step(plan.buffers) == (owner >= 0).sum(axis=1).tolist()
        assert used_by_step(plan.buffers) == [
            int(np.nonzero(row >= 0)[0].max(initial=-1)) + 1 for row in owner
        ]
        assert sorted(handovers(plan.buffers), key=str) == sorted(_pictured(owner), key=str)


def _problem(chance: random.Random) -> list[Buffer]:
    starts = [chance.randrange(12) for _ in range(chance.randint(1, 14))]
    return [
        Buffer(f"b{i}", chance.randint(0, 9), start, start + chance.randint(1, 5))
        for i, start in enumerate(starts)
    ]


def _pictured(owner: np.ndarray) -> list[Handover]:
    """Return each change of owner, column by column, without free steps."""
    found: dict[tuple[int, int], int] = {}
    for column in owner.T:
        seen = [int(n) for n in column if n >= 0]
        for before, after in itertools.pairwise(seen):
            if before != after:
                found[before, after] = found.get((before, after), 0) + 1
    return [Handover(a, b, n) for (a, b), n in found.items()]
