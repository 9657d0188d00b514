"""Tests of the complete search against brute force and against planted packings."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace

import pytest

from compiler.memory import Buffer, Problem, check_plan
from compiler.memory.buffer import Block
from compiler.memory.csvfile import read_csv
from compiler.memory.plan import make_problem
from compiler.memory.planners import native
from compiler.memory.planners.exact import exact
from compiler.memory.planners.exact.inner import FOUND, FULL, NONE, UNKNOWN, run
from compiler.memory.planners.exact.preorders import PREORDERS, measure, preorder
from compiler.memory.planners.exact.search import groups_apart, improve
from compiler.memory.planners.exact.sections import sections_of
from compiler.memory.planners.exact.state import OFFSET, begin, grown
from compiler.memory.planners.place import place
from compiler.memory.planners.planner import Options, Outcome, placed

NESTED = """id,lower,upper,size
outer,0,23,3
left,0,4,5
bridge,4,11,5
whole_left,0,11,4
right,11,23,9
"""


def fits(blocks: Sequence[Block], capacity: int, lying: tuple[tuple[Block, int], ...] = ()) -> bool:
    """Return whether any packing exists, by trying every offset of every block."""
    if len(lying) == len(blocks):
        return True
    b = blocks[len(lying)]
    spots = [b.pinned] if b.pinned >= 0 else range(0, capacity - b.size + 1, b.alignment_bytes)
    return any(
        at + b.size <= capacity
        and all(
            b.end <= c.start or c.end <= b.start or at + b.size <= o or o + c.size <= at
            for c, o in lying
        )
        and fits(blocks, capacity, (*lying, (b, at)))
        for at in spots
    )


def small_problem(seed: int) -> Problem:
    """Return a few buffers of a few bytes; some aligned, sometimes one pinned or one duplicate."""
    chance = random.Random(seed)
    alignment = chance.choice([1, 1, 2, 4])
    buffers: list[Buffer] = []
    for i in range(chance.randint(2, 6)):
        start = chance.randrange(6)
        end = chance.randint(start + 1, 7)
        size = chance.randint(1, 5 if alignment == 1 else 7)
        own = chance.choice([1, 1, 1, 2])
        buffers.append(Buffer(f"b{i}", size, start, end, alignment_bytes=own))
    if chance.random() < 0.3:
        unit = max(alignment, buffers[0].alignment_bytes)
        buffers[0] = replace(buffers[0], pinned=unit * chance.randrange(3))
    elif chance.random() < 0.4:
        buffers.append(replace(buffers[0], name="twin"))
    return make_problem(buffers, alignment)


def as_they_stand(problem: Problem) -> Outcome:
    """Return the plan of first fit in the order of the blocks, which a search can improve."""
    return placed(problem, place(problem.blocks, range(len(problem.blocks)), "first"))


def planted(seed: int, n_buffers: int, capacity: int = 4096, n_steps: int = 60) -> list[Buffer]:
    """Return shuffled rectangles, cut from one, that fill time and memory without a gap."""
    chance = random.Random(seed)
    boxes = [(0, n_steps, 0, capacity)]
    while len(boxes) < n_buffers:
        start, end, low, high = boxes.pop(
            max(range(len(boxes)), key=lambda i: chance.random() * _area(boxes[i]))
        )
        if chance.random() < 0.6 and high - low > 1:
            cut = chance.randrange(low + 1, high)
            boxes += [(start, end, low, cut), (start, end, cut, high)]
        elif end - start > 1:
            cut = chance.randrange(start + 1, end)
            boxes += [(start, cut, low, high), (cut, end, low, high)]
        else:
            boxes.append((start, end, low, high))
    chance.shuffle(boxes)
    return [Buffer(f"b{i}", h - lo, s, e) for i, (s, e, lo, h) in enumerate(boxes)]


def _area(box: tuple[int, int, int, int]) -> int:
    return (box[1] - box[0]) * (box[3] - box[2])


@pytest.mark.parametrize("seed", range(60))
def test_the_optimum_is_that_of_brute_force(seed: int) -> None:
    problem = small_problem(seed)
    start = as_they_stand(problem)
    least = next(c for c in range(1, 200) if fits(problem.blocks, c))
    found = improve(problem, Options(60.0), start)
    assert found.plan is not None
    assert check_plan(found.plan, problem=problem) == []
    assert (found.plan.peak_bytes, found.stopped) == (least, "optimal")
    assert found.lower_bound_bytes == least


@pytest.mark.parametrize("seed", range(60, 100))
def test_a_capacity_is_met_or_proven_too_small_as_brute_force_says(seed: int) -> None:
    problem = small_problem(seed)
    start = as_they_stand(problem)
    least = next(c for c in range(1, 200) if fits(problem.blocks, c))
    enough = improve(problem, Options(60.0, capacity_bytes=least), start)
    assert enough.plan is not None
    assert enough.plan.peak_bytes == least
    less = improve(problem, Options(60.0, capacity_bytes=least - 1), start)
    assert less.stopped == "infeasible"
    assert least - 1 < less.lower_bound_bytes <= least


@pytest.mark.parametrize(("seed", "n_buffers"), [(1, 20), (2, 40), (3, 60)])
def test_a_packing_without_a_gap_is_found_again(seed: int, n_buffers: int) -> None:
    problem = Problem(tuple(planted(seed, n_buffers)))
    found = exact.plan(problem, Options(60.0, capacity_bytes=4096))
    assert found.plan is not None
    assert (found.plan.peak_bytes, found.stopped) == (4096, "optimal")
    assert check_plan(found.plan, problem=problem) == []


def test_a_problem_from_a_file_is_packed_without_a_gap() -> None:
    problem = Problem(tuple(read_csv(NESTED)))
    found = improve(problem, Options(60.0), as_they_stand(problem))
    assert found.plan is not None
    assert (found.plan.peak_bytes, found.stopped) == (12, "optimal")


def test_a_search_that_is_interrupted_at_every_node_ends_as_one_in_one_go() -> None:
    blocks = Problem(tuple(planted(4, 24))).blocks
    at_once, nodes = searched(blocks, 4096, 100_000)
    bit_by_bit, counted = searched(blocks, 4096, 1)
    assert at_once == bit_by_bit
    assert counted >= nodes > len(blocks)


def searched(blocks: Sequence[Block], capacity: int, n_nodes: int) -> tuple[list[int], int]:
    """Return offsets and the number of nodes of a search in slices, with little memory."""
    sections = sections_of(blocks)
    sizes = sections.size
    order = preorder(PREORDERS[0], measure(blocks, sections))
    board = begin(sections, sizes, capacity, order)
    board = board._replace(frames=board.frames[:, :4].copy(), pool=board.pool[:-8].copy())
    total = 0
    while True:
        found, used = run(board, n_nodes)
        total += used
        if found == FULL:
            board = grown(board)
        elif found != UNKNOWN:
            assert found in (FOUND, NONE)
            return board.block[OFFSET, :-1].tolist(), total


def test_the_search_ends_at_its_time_with_the_plan_it_was_given_at_worst() -> None:
    problem = Problem(tuple(planted(5, 400, capacity=1 << 20, n_steps=300)))
    improve(problem, Options(0.01), as_they_stand(problem))
    started = time.process_time()
    found = exact.plan(problem, Options(0.3))
    assert time.process_time() - started < 30
    assert found.plan is not None
    assert found.lower_bound_bytes <= found.plan.peak_bytes
    assert check_plan(found.plan, problem=problem) == []


def test_blocks_that_no_moment_has_in_common_are_groups() -> None:
    blocks = Problem(
        (Buffer("a", 4, 0, 3), Buffer("b", 2, 5, 9), Buffer("c", 1, 2, 5), Buffer("d", 7, 8, 9))
    ).blocks
    assert groups_apart(range(4), blocks) == [[0, 2], [1, 3]]


def test_sections_are_the_largest_sets_that_live_together() -> None:
    blocks = Problem((Buffer("a", 4, 0, 6), Buffer("b", 2, 1, 3), Buffer("c", 1, 3, 8))).blocks
    sections = sections_of(blocks)
    assert sections.n_sections == 2
    assert sections.first.tolist() == [0, 0, 1]
    assert sections.end.tolist() == [2, 1, 2]
    assert sections.inside.tolist() == [0, 1, 0, 2]


INTERPRETED = """
import sys
sys.modules["numba"] = None
from tests.compiler.memory.planners.exact.test_exact import planted, searched
from compiler.memory import Problem
print(searched(Problem(tuple(planted(4, 24))).blocks, 4096, 100_000))
"""


def test_interpreted_and_compiled_search_take_the_same_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(native, "LOADING_SECONDS", 0.0)
    found = subprocess.run(
        [sys.executable, "-c", INTERPRETED], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
    blocks = Problem(tuple(planted(4, 24))).blocks
    assert found.stdout.strip() == str(searched(blocks, 4096, 100_000))
