"""Tests of iterative repair on small traces: reductions, neighbours, no worse plans."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.planning_traces import TRACES
from compiler.memory import Buffer, Problem, check_plan
from compiler.memory.plan import make_problem
from compiler.memory.planners.all import PLANNERS
from compiler.memory.planners.best import best
from compiler.memory.planners.native import now
from compiler.memory.planners.orders import greedy_by_halves
from compiler.memory.planners.place import MANY
from compiler.memory.planners.planner import Options
from compiler.memory.planners.research.repair import repair
from compiler.memory.planners.research.repair.lists import empty_lists, enter, leave, neighbors
from compiler.memory.planners.research.repair.reduction import Reduction
from compiler.memory.planners.research.repair.search import Search
from tests.selection import few


def _problem(rows: list[tuple[int, int, int]], alignment: int = 1) -> Problem:
    buffers = [Buffer(f"b{i}", size, start, end) for i, (size, start, end) in enumerate(rows)]
    return make_problem(buffers, alignment)


def test_blocks_alive_throughout_lie_at_the_bottom_and_are_not_searched() -> None:
    problem = _problem([(5, 0, 9), (3, 0, 4), (7, 0, 9), (2, 4, 9), (0, 0, 9)], alignment=4)
    reduction = Reduction(problem.blocks)
    assert reduction.bottom == 8 + 8
    assert reduction.blocks.size.tolist() == [3, 2]
    assert reduction.restored(np.array([0, 4])) == [0, 16, 8, 20, 0]


def test_only_steps_with_a_maximal_live_set_remain() -> None:
    # Steps 0 and 1: the live set of step 0 is a subset of that of step 1, as no block ends at 1.
    problem = _problem([(1, 0, 3), (1, 1, 2), (1, 2, 5), (1, 4, 7)])
    blocks = Reduction(problem.blocks).blocks
    assert blocks.start.tolist() == [0, 0, 1, 2]
    assert blocks.end.tolist() == [2, 1, 3, 3]


def test_nothing_is_moved_to_the_bottom_where_a_block_is_pinned() -> None:
    buffers = [Buffer("a", 4, 0, 9), Buffer("b", 4, 0, 9, pinned=0), Buffer("c", 2, 3, 5)]
    assert Reduction(Problem(tuple(buffers)).blocks).bottom == 0


@pytest.mark.parametrize("seed", range(4))
def test_neighbors_are_those_of_all_pairs_after_blocks_came_and_went(seed: int) -> None:
    chance = random.Random(seed)
    rows = []
    for _ in range(120):
        start, size = chance.randrange(200), chance.randint(1, 40)
        rows.append((size, start, start + (chance.randint(1, 9) if size > 1 else 150)))
    blocks = Reduction(_problem(rows).blocks).blocks
    lists, offsets = empty_lists(blocks), np.full(len(rows), -1)
    for _ in range(300):
        block = chance.randrange(len(rows))
        if offsets[block] >= 0:
            leave(blocks, lists, offsets, block)
            offsets[block] = -1
            continue
        found = np.zeros(len(rows) + 1, np.int64)
        for ends in (False, True):
            key = offsets + (blocks.size if ends else 0)
            expected = [
                i
                for i in np.flatnonzero(offsets >= 0)
                if blocks.start[i] < blocks.end[block] and blocks.start[block] < blocks.end[i]
            ]
            n = neighbors(blocks, lists, offsets, block, ends, found)
            assert sorted(found[:n].tolist()) == expected
            assert key[found[:n]].tolist() == sorted(key[found[:n]].tolist())
        offsets[block] = chance.randrange(500)
        enter(blocks, lists, offsets, block)


@pytest.mark.parametrize("n_plans", few((4, 6), 1))
def test_each_plan_of_the_search_has_a_lower_peak_and_none_is_below_the_bound(n_plans: int) -> None:
    problem = _problem(_crowd(400, seed=1))
    reduction = Reduction(problem.blocks)
    search = Search(reduction.blocks, reduction.reduced([0] * 400), seed=0)
    wanted = problem.lower_bound_bytes - reduction.bottom
    peaks: list[int] = []
    for offsets in itertools.islice(search.plans(wanted, now() + 60.0), n_plans):
        plan = problem.plan(reduction.restored(offsets))
        assert check_plan(plan, problem=problem) == []
        peaks.append(plan.peak_bytes)
    assert len(peaks) == n_plans
    assert peaks == sorted(set(peaks), reverse=True)
    assert peaks[-1] >= problem.lower_bound_bytes


def test_repair_respects_pins_and_alignments() -> None:
    buffers = [
        replace(b, alignment_bytes=(1, 16, 64)[i % 3], pinned=4096 * i if i % 90 == 7 else -1)
        for i, b in enumerate(_problem(_crowd(300, seed=2)).buffers)
    ]
    problem = make_problem(buffers, 1)
    found = repair.plan(problem, Options(1.0))
    assert check_plan(found.plan, problem=problem) == []


def test_best_repairs_large_traces() -> None:
    problem = _problem(_crowd(MANY, seed=3))
    greedy = greedy_by_halves.plan(problem)
    found = best.plan(problem, Options(6.0))
    assert check_plan(found.plan, problem=problem) == []
    assert found.planner == "repair"
    assert found.gap < greedy.gap / 2


@pytest.mark.parametrize("name", ["training, pipeline", "serving, beams", "crowded"])
def test_a_made_trace_is_planned_within_two_percent_or_with_less_than_greedy(name: str) -> None:
    buffers = TRACES[name](900, random.Random(f"{name} 5"))
    problem = make_problem(buffers, 64)
    found = repair.plan(problem, Options(1.0))
    assert check_plan(found.plan, problem=problem) == []
    greedy = PLANNERS["greedy"].plan(problem)
    assert found.gap <= 0.02 or found.plan.peak_bytes < greedy.plan.peak_bytes


def _crowd(n: int, seed: int) -> list[tuple[int, int, int]]:
    """Return n blocks over n steps, with heavy-tailed sizes and short lifetimes."""
    chance = random.Random(seed)
    lives = [(chance.randrange(n), chance.randint(1, 60)) for _ in range(n)]
    sizes = [1 + int(1000 * chance.lognormvariate(0, 1)) for _ in range(n)]
    return [(size, at, at + life) for size, (at, life) in zip(sizes, lives, strict=True)]
