import itertools

from benchmarks.planning_planted import cut_up
from compiler.memory.buffer import Buffer, blocks_of, live_bytes
from compiler.memory.check import check_plan
from compiler.memory.plan import find_planner, make_problem
from compiler.memory.planners.planner import Options
from compiler.memory.planners.research.spare import spare_blocks


def spare(buffers: list[Buffer], capacity: int) -> set[tuple[int, int, int]]:
    return {(b.start, b.end, b.size) for b in spare_blocks(blocks_of(buffers), capacity)}


def test_spare_memory_fills_every_step() -> None:
    buffers = [Buffer("a", 5, 0, 4), Buffer("b", 3, 2, 9), Buffer("c", 2, 5, 9)]
    blocks = blocks_of(buffers)
    full = [*blocks, *spare_blocks(blocks, 11)]
    for step in range(9):
        assert live_bytes([b for b in full if b.start <= step < b.end]) == 11


def test_what_sums_up_to_zero_is_a_block_or_two_that_are_cut() -> None:
    # 1000 bytes are full except for 101 in 2..7 and for 203 in 4..9, with 97 after them until 12.
    levels = {0: 1000, 2: 899, 4: 696, 7: 797, 9: 903, 12: 1000, 14: 0}
    steps = sorted(levels)
    buffers = [Buffer(f"b{a}", levels[a], a, b) for a, b in itertools.pairwise(steps)]
    assert spare(buffers, 1000) == {(2, 7, 101), (4, 9, 97), (4, 9, 106), (9, 12, 97)}


def test_spare_memory_beside_a_block_lives_as_long() -> None:
    pieces = [(2, 9, 101), (2, 6, 53), (4, 9, 17), (6, 11, 29)]
    free = [sum(size for a, b, size in pieces if a <= t < b) for t in range(12)]
    below = [Buffer(f"b{t}", 500 - free[t], t, t + 1) for t in range(12)]
    above = [Buffer("to 2", 500, 0, 2), Buffer("to 6", 500, 2, 6), Buffer("rest", 500, 6, 12)]
    rest = {(2, 4, 101), (4, 9, 101), (4, 9, 17), (2, 4, 29), (4, 9, 29), (9, 11, 29)}
    assert spare([*below, *above], 1000) == {(2, 6, 24), *rest}


def test_a_plan_around_spare_memory_is_found() -> None:
    made = cut_up("holes", 1000, 0)
    problem = make_problem(made.buffers, made.alignment_bytes)
    found = find_planner("rejoined").plan(problem, Options(60))
    assert found.plan.peak_bytes == made.optimum_bytes
    assert check_plan(found.plan, problem=problem) == []
