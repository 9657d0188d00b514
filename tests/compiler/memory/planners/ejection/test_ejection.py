import random

import numpy as np
import pytest

from benchmarks.planning_planted import cut_up
from compiler.memory.buffer import Block, Buffer
from compiler.memory.check import check_plan
from compiler.memory.plan import make_problem
from compiler.memory.planners.all import PLANNERS
from compiler.memory.planners.planner import Options
from compiler.memory.planners.research.ejection.search import Search, settle
from tests.selection import few

ejection = PLANNERS["ejection"]
LATER = 1e12


@pytest.mark.parametrize("n_seeds", few((4, 10), 1))
@pytest.mark.parametrize("alignment_bytes", [1, 16])
def test_packings_are_right_and_each_is_smaller_than_the_one_before(
    alignment_bytes: int, n_seeds: int
) -> None:
    chance = random.Random(alignment_bytes)
    for seed in range(n_seeds):
        buffers = [
            Buffer(f"b{i}", chance.randint(1, 90), s := chance.randrange(20), s + 1 + i % 5)
            for i in range(30)
        ]
        problem = make_problem(buffers, alignment_bytes)
        highest = 1 << 30
        packings = Search(problem.blocks, seed).packings(None, problem.lower_bound_bytes, LATER)
        for _, offsets in zip(range(3), packings, strict=False):
            plan = problem.plan(offsets)
            assert check_plan(plan, problem=problem) == []
            assert problem.lower_bound_bytes <= plan.peak_bytes < highest
            highest = plan.peak_bytes


def test_it_packs_better_than_the_packing_it_begins_with() -> None:
    made = cut_up("holes", 100, 1)
    problem = make_problem(made.buffers, made.alignment_bytes)
    orders = PLANNERS["greedy"].plan(problem).plan
    packings = Search(problem.blocks, 0).packings(
        [orders.buffers[b.members[0]].offset for b in problem.blocks], made.optimum_bytes, LATER
    )
    peaks = [
        problem.plan(offsets).peak_bytes for _, offsets in zip(range(3), packings, strict=False)
    ]
    assert peaks[0] == orders.peak_bytes > made.optimum_bytes
    assert peaks[-1] < peaks[0]


def test_a_block_is_put_where_what_it_ejects_costs_least() -> None:
    chance = random.Random(5)
    capacity = 30
    for seed in range(40):
        blocks = [
            Block((), chance.randint(1, 9), s := chance.randrange(9), s + chance.randint(1, 6), 1)
            for _ in range(12)
        ]
        # All blocks but the last are placed; those that would overlap are unplaced.
        lying: dict[int, int] = {}
        for i, b in enumerate(blocks[:-1]):
            offset = chance.randint(0, capacity - b.size)
            if not _in_the_way(blocks, lying, i, offset):
                lying[i] = offset
        some = [*lying, len(blocks) - 1]
        arrays = Search([blocks[i] for i in some], seed).arrays
        offsets = np.array([*lying.values(), -1], np.int64)
        least = min(
            sum(_area(blocks[i]) for i in _in_the_way(blocks, lying, some[-1], offset))
            for offset in range(capacity - blocks[-1].size + 1)
        )
        weights = np.ones(len(some))
        n_free = settle(arrays, offsets, weights, capacity, 1, np.array([seed], np.int64))
        ejected = [i for i, offset in zip(some, offsets, strict=True) if offset < 0]
        assert len(ejected) == n_free
        assert ejected == _in_the_way(blocks, lying, some[-1], int(offsets[-1]))
        assert sum(_area(blocks[i]) for i in ejected) == least


def _in_the_way(blocks: list[Block], lying: dict[int, int], at: int, offset: int) -> list[int]:
    b = blocks[at]
    return [
        i
        for i, low in lying.items()
        if low < offset + b.size
        and offset < low + blocks[i].size
        and blocks[i].start < b.end
        and b.start < blocks[i].end
    ]


def _area(b: Block) -> int:
    return b.size * (b.end - b.start)


def test_pinned_and_empty_buffers_keep_plans_right() -> None:
    rows = [(5, 0, 3), (7, 2, 6), (4, 1, 4), (9, 4, 8), (0, 0, 8), (6, 5, 9), (8, 3, 5)]
    free = [Buffer(f"b{i}", size, start, end) for i, (size, start, end) in enumerate(rows)]
    for buffers in (free, [*free, Buffer("pinned", 2, 0, 9, pinned=8)]):
        problem = make_problem(buffers, 4)
        assert check_plan(ejection.plan(problem, Options(0.3)).plan, problem=problem) == []


def test_sizes_between_alignments_and_shared_places_keep_plans_right() -> None:
    chance = random.Random(3)
    buffers = [
        Buffer(f"b{i}", chance.randint(1, 900), s := chance.randrange(9), s + 1 + i % 4,
               shares="one" if i in (3, 8) else "")
        for i in range(40)
    ]  # fmt: skip
    problem = make_problem(buffers, 64)
    found = ejection.plan(problem, Options(0.5))
    assert check_plan(found.plan, problem=problem) == []
    assert found.plan.peak_bytes <= PLANNERS["greedy"].plan(problem).plan.peak_bytes
