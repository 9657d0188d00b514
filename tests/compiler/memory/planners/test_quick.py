import random

import pytest

from compiler.memory import Buffer, check_plan
from compiler.memory.plan import make_problem
from compiler.memory.planners.greedy import greedy
from compiler.memory.planners.planner import Options
from compiler.memory.planners.quick import quick
from tests.compiler.memory.planners.exact.test_exact import planted


def test_a_gap_that_orders_leave_is_climbed_the_same_way_each_time() -> None:
    n_better = 0
    for seed in range(12):
        chance = random.Random(seed)
        rows = [(chance.randrange(1, 40), chance.randrange(0, 25)) for _ in range(30)]
        buffers = [
            Buffer(f"b{i}", 64 * size, start, start + chance.randint(1, 9))
            for i, (size, start) in enumerate(rows)
        ]
        problem = make_problem(buffers, 64)
        before, after = greedy.plan(problem).plan, quick.plan(problem).plan
        assert before is not None
        assert after is not None
        assert check_plan(after, problem=problem) == []
        assert after.peak_bytes <= before.peak_bytes
        assert quick.plan(problem).plan == after
        n_better += after.peak_bytes < before.peak_bytes
    assert n_better


def test_a_ring_of_values_like_that_of_dilated_convolutions_reaches_its_bound() -> None:
    rows: list[tuple[int, int, int]] = [(1216, 0, 4)]
    for layer, kept in enumerate((1232, 1264, 1328, 1456)):
        step = 3 * layer
        rows += [(2400, step + 1, step + 3), (1200, step + 2, step + 4)]
        rows.append((kept, step + 3, step + 7))
    rows += [(2400, 13, 15), (1200, 14, 16), (1200, 15, 17), (1200, 16, 18)]
    buffers = [Buffer(f"b{i}", 64 * n, start, end) for i, (n, start, end) in enumerate(rows)]
    problem = make_problem(buffers, 64)
    assert greedy.plan(problem).plan.peak_bytes > problem.lower_bound_bytes
    assert quick.plan(problem).plan.peak_bytes == problem.lower_bound_bytes


def test_a_gap_that_climbing_leaves_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = make_problem(planted(4, 40), 1)
    found = quick.plan(problem)
    assert check_plan(found.plan, problem=problem) == []
    assert found.stopped == "optimal"
    assert quick.plan(problem, Options(time_limit_s=0.0)).plan == found.plan
    monkeypatch.setattr("compiler.memory.planners.quick.MOST_NODES", 10)
    assert quick.plan(problem).gap > 0.1
