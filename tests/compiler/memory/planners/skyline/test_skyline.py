import random
import tracemalloc

import pytest

from benchmarks.planning_planted import cut_up
from compiler.memory.buffer import Buffer
from compiler.memory.check import check_plan
from compiler.memory.plan import make_problem
from compiler.memory.planners.all import PLANNERS
from compiler.memory.planners.planner import Options
from compiler.memory.planners.research.joining import apart, whole
from compiler.memory.planners.research.skyline import search
from compiler.memory.planners.research.skyline.search import WEIGHTS, Skylines

skyline = PLANNERS["skyline"]
LATER = 1e12


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("alignment_bytes", [1, 16])
def test_packings_are_right_in_both_directions_of_time(back: bool, alignment_bytes: int) -> None:
    chance = random.Random(alignment_bytes)
    for seed in range(10):
        buffers = [
            Buffer(f"b{i}", chance.randint(1, 90), s := chance.randrange(20), s + 1 + i % 5)
            for i in range(30)
        ]
        problem = make_problem(buffers, alignment_bytes)
        found = Skylines(apart(whole(problem.blocks)), back).packed(
            8, WEIGHTS[0], 1 << 30, LATER, seed
        )
        assert found is not None
        plan = problem.plan(found)
        assert check_plan(plan, problem=problem) == []
        assert plan.peak_bytes >= problem.lower_bound_bytes


def test_more_ways_at_once_pack_better_than_the_orders_where_sizes_are_alike() -> None:
    made = cut_up("grid", 300, 1)
    problem = make_problem(made.buffers, made.alignment_bytes)
    orders = PLANNERS["greedy"].plan(problem).plan.peak_bytes
    packed = [Skylines(apart(problem.blocks)).packed(32, w, orders, LATER, 0) for w in WEIGHTS]
    assert any(packed)


def test_no_packing_is_given_that_is_not_below_the_limit() -> None:
    problem = make_problem([Buffer("a", 5, 0, 3), Buffer("b", 4, 2, 6)], 1)
    assert Skylines(apart(problem.blocks)).packed(4, WEIGHTS[0], 9, LATER, 0) is None
    assert Skylines(apart(problem.blocks)).packed(4, WEIGHTS[0], 10, LATER, 0) is not None


def test_a_search_is_no_wider_than_its_memory_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MOST_BYTES", 1 << 22)
    buffers = [Buffer(f"b{i}", 3 + i % 5, i, i + 4) for i in range(30)]
    side = Skylines(apart(make_problem(buffers, 1).blocks))
    side.packed(4, WEIGHTS[0], 1 << 30, LATER, 0)  # what is compiled is no array of the search
    tracemalloc.start()
    try:
        assert side.packed(1 << 40, WEIGHTS[0], 1 << 30, LATER, 0) is not None
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 0.9 * search.MOST_BYTES < most < 1.2 * search.MOST_BYTES


def test_pinned_and_empty_buffers_keep_plans_right() -> None:
    rows = [(5, 0, 3), (7, 2, 6), (4, 1, 4), (9, 4, 8), (0, 0, 8), (6, 5, 9), (8, 3, 5)]
    free = [Buffer(f"b{i}", size, start, end) for i, (size, start, end) in enumerate(rows)]
    for buffers in (free, [*free, Buffer("pinned", 2, 0, 9, pinned=8)]):
        problem = make_problem(buffers, 4)
        assert check_plan(skyline.plan(problem, Options(0.3)).plan, problem=problem) == []
