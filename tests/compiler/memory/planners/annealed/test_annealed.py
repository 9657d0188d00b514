import random

import pytest

from benchmarks.planning_planted import cut_up
from compiler.memory.buffer import Buffer
from compiler.memory.check import check_plan
from compiler.memory.plan import make_problem
from compiler.memory.planners.all import PLANNERS
from compiler.memory.planners.native import now
from compiler.memory.planners.planner import Options
from compiler.memory.planners.research.annealed import joins
from compiler.memory.planners.research.annealed.forest import FROZEN, HOT, Annealing
from compiler.memory.planners.research.joining import Joined, inside
from compiler.memory.planners.research.rejoining import rejoining
from compiler.memory.problem import Problem

annealed = PLANNERS["annealed"]
LATER = 1e12


def _problem(family: str, n_buffers: int, seed: int) -> Problem:
    made = cut_up(family, n_buffers, seed)
    return make_problem(made.buffers, made.alignment_bytes)


def _check(rectangles: tuple[Joined, ...], problem: Problem) -> None:
    """Check that every block is in one rectangle, without gaps and overlaps."""
    assert sorted(i for r in rectangles for i, _ in r.parts) == list(range(len(problem.blocks)))
    stacked: list[int] = []
    for r in rectangles:
        blocks = [problem.blocks[i] for i, _ in r.parts]
        assert r.size * (r.end - r.start) == sum(b.size * (b.end - b.start) for b in blocks)
        stacked.append(sum(s.size for s in rectangles[: len(stacked)]))
    plan = problem.plan(inside(rectangles, stacked, len(problem.blocks)))
    assert check_plan(plan, problem=problem) == []


@pytest.mark.parametrize("family", ["few units", "halves", "pinwheels", "columns"])
def test_every_cooling_leaves_rectangles_of_all_blocks_without_a_gap(family: str) -> None:
    problem = _problem(family, 100, 1)
    coolings = Annealing(problem.blocks, 1).coolings(LATER)
    for _ in range(3):
        rectangles = next(coolings)
        assert len(rectangles) < 100
        _check(rectangles, problem)


def test_what_is_made_and_undone_leaves_its_lists_right() -> None:
    problem = _problem("few units", 60, 2)
    forest = Annealing(problem.blocks, 2)._apart()
    for hot in (HOT, 9.0, FROZEN):
        n = joins.anneal.interpreted(forest, 3000, hot)
        nodes, roots = forest.nodes, set(forest.lists[joins.ROOTS, :n].tolist())
        assert forest.count.tolist()[:2] == [n, 60 - (len(_nodes(forest, roots)) - 60)]
        for side, column in ((0, joins.END), (1, joins.START)):
            seen: list[int] = []
            for step, first in enumerate(forest.steps[:, side].tolist()):
                while first >= 0:
                    seen.append(first)
                    assert nodes[first, column] == step
                    first = int(nodes[first, joins.NEXT + side])
            assert sorted(seen) == sorted(roots)


def _nodes(forest: joins.Forest, roots: set[int]) -> list[int]:
    found = list(roots)
    for node in found:
        child = int(forest.nodes[node, joins.CHILD])
        while child >= 0:
            found.append(child)
            child = int(forest.nodes[child, joins.SIBLING])
    return found


def test_interpreted_and_compiled_moves_are_the_same() -> None:
    problem = _problem("few units", 60, 3)
    one, two = (Annealing(problem.blocks, 3)._apart() for _ in range(2))
    assert joins.anneal(one, 4000, HOT) == joins.anneal.interpreted(two, 4000, HOT)
    for a, b in zip(one, two, strict=True):
        assert a.tolist() == b.tolist()


def test_a_packing_of_few_units_is_found_that_joining_once_does_not_find() -> None:
    problem = _problem("few units", 300, 0)
    assert PLANNERS["joined"].plan(problem, Options(2.0)).stopped == "finished"
    found = annealed.plan(problem, Options(60.0))
    assert check_plan(found.plan, problem=problem) == []
    assert found.stopped == "optimal"


def test_others_go_on_with_the_fewest_rectangles_of_both() -> None:
    problem = _problem("few units", 200, 4)
    joins = rejoining(problem, Options(seed=4))
    before = joins.rectangles()
    assert not joins.take_over(Annealing(joins.blocks, 4).blocks)
    assert joins.rectangles() == before
    fewer = next(Annealing(joins.blocks, 4).coolings(LATER))
    assert len(fewer) < len(before)
    assert joins.take_over(fewer)
    assert joins.rectangles() == fewer


def test_spare_memory_is_annealed_with_the_blocks_and_left_out_of_what_is_placed() -> None:
    problem = _problem("holes", 100, 1)
    joins = rejoining(problem, Options())
    n_blocks, n_all = len(problem.blocks), len(joins.blocks)
    assert n_all > n_blocks, "the test requires spare memory"
    made = next(Annealing(joins.blocks, 1).coolings(LATER))
    assert sorted(i for r in made for i, _ in r.parts) == list(range(n_all))
    found = annealed.plan(problem, Options(2.0))
    assert check_plan(found.plan, problem=problem) == []


def test_time_that_is_up_leaves_no_cooling() -> None:
    problem = _problem("few units", 100, 5)
    assert list(Annealing(problem.blocks, 5).coolings(now())) == []


def test_pinned_and_empty_buffers_keep_plans_right() -> None:
    chance = random.Random(6)
    free = [
        Buffer(f"b{i}", chance.randint(0, 9), s := chance.randrange(8), s + 1 + i % 4)
        for i in range(40)
    ]
    for buffers in (free, [*free, Buffer("pinned", 2, 0, 9, pinned=8)]):
        problem = make_problem(buffers, 4)
        assert check_plan(annealed.plan(problem, Options(0.3)).plan, problem=problem) == []
