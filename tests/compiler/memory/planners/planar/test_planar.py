from collections.abc import Callable

import pytest

from benchmarks.planning_planted import cut_up, pinwheels, planted
from compiler.memory.buffer import Buffer
from compiler.memory.check import check_plan
from compiler.memory.plan import make_problem
from compiler.memory.planners.all import PLANNERS
from compiler.memory.planners.planner import Options
from compiler.memory.planners.research.joining import CAREFUL, inside, join
from compiler.memory.planners.research.planar.sweep import Sweep

LATER = 1e12
planar = PLANNERS["planar"]


@pytest.mark.parametrize("make", [planted, pinwheels])
@pytest.mark.parametrize("n_buffers", [30, 100, 300])
def test_planted_plans_without_a_gap_are_found(
    make: Callable[[int, int], list[Buffer]], n_buffers: int
) -> None:
    for seed in range(2):
        problem = make_problem(make(n_buffers, seed), 1)
        found = planar.plan(problem, Options(60))
        assert found.stopped == "optimal"
        assert found.plan.peak_bytes == 1 << 20
        assert check_plan(found.plan, problem=problem) == []


def test_sizes_of_one_alignment_stay_aligned() -> None:
    buffers = [Buffer(b.name, b.size * 64, b.start, b.end) for b in pinwheels(60, 4, capacity=4096)]
    problem = make_problem(buffers, 64)
    found = planar.plan(problem, Options(60))
    assert found.plan.peak_bytes == 4096 * 64
    assert check_plan(found.plan, problem=problem) == []


def test_bytes_behind_a_buffer_that_none_can_begin_in_count_as_its_own() -> None:
    made = cut_up("lines", 200, 2)
    problem = make_problem(made.buffers, made.alignment_bytes)
    found = planar.plan(problem, Options(60))
    assert found.plan.peak_bytes <= made.optimum_bytes
    assert check_plan(found.plan, problem=problem) == []


@pytest.mark.parametrize("family", ["holes", "shrunk"])
def test_spare_memory_is_found_where_it_begins_and_ends(family: str) -> None:
    for seed in range(1, 3):
        made = cut_up(family, 100, seed)
        problem = make_problem(made.buffers, 1)
        found = planar.plan(problem, Options(60))
        assert found.stopped == "optimal"
        assert check_plan(found.plan, problem=problem) == []


def test_a_few_buffers_may_be_missing() -> None:
    buffers = pinwheels(80, 2)[3:]
    problem = make_problem(buffers, 1)
    found = planar.plan(problem, Options(60, 1 << 20))
    assert found.plan.peak_bytes <= 1 << 20
    assert check_plan(found.plan, problem=problem) == []


def test_empty_buffers_have_a_place_too() -> None:
    problem = make_problem([*pinwheels(30, 1), Buffer("empty", 0, 3, 7)], 1)
    found = planar.plan(problem, Options(60))
    assert found.plan.peak_bytes == 1 << 20
    assert check_plan(found.plan, problem=problem) == []


def test_problems_with_much_spare_memory_or_pins_are_left_to_others() -> None:
    loose = [Buffer(f"b{i}", 3 + i * 7 % 5, i * 5 % 11, i * 5 % 11 + 3) for i in range(30)]
    pinned = [Buffer("p", 4, 0, 3, pinned=2), Buffer("q", 5, 1, 4), Buffer("r", 2, 2, 9)]
    for buffers in (loose, pinned):
        problem = make_problem(buffers, 1)
        found = planar.plan(problem, Options(5))
        assert found.stopped in ("finished", "optimal")
        assert check_plan(found.plan, problem=problem) == []


def test_what_is_likely_is_followed_whichever_way_it_comes_from() -> None:
    made = cut_up("pinwheels, few steps", 1000, 0)
    problem = make_problem(made.buffers, 1)
    rectangles = join(problem.blocks, CAREFUL)
    backward = [(-j.end, -j.start, j.size) for j in rectangles]
    offsets = Sweep(backward, made.optimum_bytes).packed(2, LATER)
    assert offsets is not None
    plan = problem.plan(inside(rectangles, offsets, len(problem.blocks)))
    assert plan.peak_bytes == made.optimum_bytes
    assert check_plan(plan, problem=problem) == []
