import math
import random
from dataclasses import replace

import pytest

from benchmarks.planning_planted import cut_up, planted
from compiler.memory import Buffer, check_plan
from compiler.memory.plan import make_problem
from compiler.memory.planners.best import best
from compiler.memory.planners.planner import Options
from compiler.memory.planners.research.joined import joined
from compiler.memory.planners.research.joining import BOLD, CAREFUL, inside, join, joinable
from compiler.memory.planners.research.rejoined import rejoined
from compiler.memory.planners.research.rejoining import rejoining


@pytest.mark.parametrize(("n_buffers", "seed"), [(100, 5), (300, 6), (1000, 7)])
def test_a_packing_that_was_planted_is_found(n_buffers: int, seed: int) -> None:
    problem = make_problem(planted(n_buffers, seed, capacity=1 << 20), 1)
    assert problem.lower_bound_bytes == 1 << 20
    found = joined.plan(problem, Options(30.0))
    assert found.plan is not None
    assert check_plan(found.plan, problem=problem) == []
    assert (found.plan.peak_bytes, found.stopped) == (1 << 20, "optimal")
    assert best.plan(problem, Options(30.0)).stopped == "optimal"


def test_what_is_joined_has_no_gap_and_nothing_twice() -> None:
    blocks = make_problem(planted(200, 3), 1).blocks
    rectangles = join(blocks)
    assert len(rectangles) < len(blocks) / 2
    assert sorted(i for r in rectangles for i, _ in r.parts) == list(range(len(blocks)))
    for r in rectangles:
        area = sum(blocks[i].size * (blocks[i].end - blocks[i].start) for i, _ in r.parts)
        assert area == r.size * (r.end - r.start)
        for i, offset in r.parts:
            assert 0 <= offset <= r.size - blocks[i].size
            assert r.start <= blocks[i].start < blocks[i].end <= r.end


def test_what_chance_would_join_as_well_stays_apart() -> None:
    def halves(first: int, second: int, more: int) -> list[Buffer]:
        # At other steps more bytes are live, so memory may be spare here.
        long = [Buffer(f"long{i}", 10**6 + 7**i, 0, 2) for i in range(more)]
        return [
            *long,
            Buffer("most", 10**8, 2, 3),
            Buffer("before", first, 0, 1),
            Buffer("behind", second, 1, 2),
        ]

    def n_joined(buffers: list[Buffer], most_chance: float) -> int:
        return len(buffers) - len(join(make_problem(buffers, 1).blocks, most_chance))

    # An equal sum near a thousand is hardly a coincidence; an equal sum of three may be.
    assert n_joined(halves(1009, 1009, 3), CAREFUL) == 1
    assert n_joined(halves(5, 5, 3), CAREFUL) == 0
    assert n_joined(halves(5, 5, 3), BOLD) == 1
    assert n_joined(halves(1009, 1010, 3), BOLD) == 0


def test_what_alone_begins_at_a_full_step_takes_the_place_of_what_alone_ends() -> None:
    buffers = [Buffer("long", 1000, 0, 2), Buffer("before", 2, 0, 1), Buffer("behind", 2, 1, 2)]
    assert len(join(make_problem(buffers, 1).blocks, CAREFUL)) == 2
    spare = [*buffers, Buffer("most", 1100, 2, 3)]
    assert len(join(make_problem(spare, 1).blocks, CAREFUL)) == 4


def test_what_was_joined_wrongly_is_taken_apart_until_all_is_one_rectangle() -> None:
    made = cut_up("lines", 1000, 0)
    problem = make_problem(made.buffers, made.alignment_bytes)
    joins = rejoining(problem, Options())
    first = len(joins.rectangles())
    assert first > 5
    joins.go_on(math.inf, patience=200)
    (left,) = joins.rectangles()
    assert left.size == made.optimum_bytes
    plan = problem.plan(inside([left], [0], len(problem.blocks)))
    assert check_plan(plan, problem=problem) == []
    assert plan.peak_bytes <= made.optimum_bytes


def test_what_is_joined_again_and_again_is_never_more_and_always_all() -> None:
    made = cut_up("grid", 100, 2)
    problem = make_problem(made.buffers, made.alignment_bytes)
    joins = rejoining(problem, Options(seed=1))
    before = len(joins.rectangles())
    for _ in range(5):
        joins.go_on(math.inf, patience=20)
        rectangles = joins.rectangles()
        assert len(rectangles) <= before
        before = len(rectangles)
        assert sorted(i for r in rectangles for i, _ in r.parts) == list(range(100))
        for r in rectangles:
            blocks = [problem.blocks[i] for i, _ in r.parts]
            assert r.size * (r.end - r.start) == sum(b.size * (b.end - b.start) for b in blocks)


def test_the_search_over_what_was_joined_again_finds_what_one_joining_does_not() -> None:
    made = cut_up("lines", 1000, 0)
    problem = make_problem(made.buffers, made.alignment_bytes)
    found = rejoined.plan(problem, Options(60.0))
    assert check_plan(found.plan, problem=problem) == []
    assert found.plan.peak_bytes <= made.optimum_bytes


def test_few_of_many_are_joined_that_did_not_lie_together() -> None:
    # Sizes of some cache lines among 16,384: sums of a few are often equal by chance.
    made = cut_up("lines", 300, 1)
    whole = [replace(b, size=-(-b.size // 64) * 64) for b in made.buffers]
    blocks = make_problem(whole, 64).blocks
    careful, bold = join(blocks, CAREFUL), join(blocks, BOLD)
    assert len(bold) < len(careful) < len(blocks)


def test_pins_and_sizes_between_alignments_are_not_joined() -> None:
    free = [Buffer("a", 64, 0, 1), Buffer("b", 128, 0, 1)]
    assert joinable(make_problem(free, 64).blocks)
    assert not joinable(make_problem(free, 128).blocks)
    assert not joinable(make_problem([*free, Buffer("c", 64, 1, 2, pinned=0)], 64).blocks)


def test_problems_that_fit_by_chance_only_keep_their_plans_right() -> None:
    for seed in range(20):
        chance = random.Random(seed)
        buffers = [
            Buffer(
                f"b{i}", chance.randint(1, 4), s := chance.randrange(8), s + chance.randint(1, 4)
            )
            for i in range(25)
        ]
        problem = make_problem(buffers, 1)
        found = joined.plan(problem, Options(0.2))
        assert found.plan is not None
        assert check_plan(found.plan, problem=problem) == []
