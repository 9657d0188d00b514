import itertools
import random
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.errors import CompileError
from compiler.memory import Buffer, Plan, check_plan, parse_plan, plan_memory
from compiler.memory.planners.all import PLANNERS
from compiler.memory.problem import check_problem


@st.composite
def problems(draw: st.DrawFn) -> list[Buffer]:
    rows = draw(
        st.lists(st.tuples(st.integers(0, 300), st.integers(0, 12), st.integers(1, 8)), max_size=14)
    )
    return [Buffer(f"b{i}", size, start, start + n) for i, (size, start, n) in enumerate(rows)]


@settings(max_examples=200, deadline=None)
@given(problems(), st.sampled_from([1, 16, 64]), st.sampled_from(list(PLANNERS)))
def test_every_plan_passes_the_checker_and_is_not_below_the_bound(
    buffers: list[Buffer], alignment: int, planner: str
) -> None:
    plan = plan_memory(buffers, alignment_bytes=alignment, planner=planner, time_limit_s=0.005)
    assert check_plan(plan) == []
    assert plan.peak_bytes >= plan.lower_bound_bytes
    assert [b.name for b in plan.buffers] == [b.name for b in buffers]


@settings(max_examples=60, deadline=None)
@given(problems())
def test_the_text_of_a_plan_reads_back_equal(buffers: list[Buffer]) -> None:
    plan = plan_memory(buffers)
    assert parse_plan(str(plan)) == plan


def test_text_keeps_names_that_need_quotes_and_what_a_buffer_holds() -> None:
    plan = Plan((Buffer('a "b"\\', 5, 0, 2, 64, ('a "b"\\', "view of it", "y")),), 32)
    assert parse_plan(str(plan)) == plan
    parts = Plan((Buffer("w", 96, 0, 2, 64, ("a", "w", "b c"), starts=(0, 0, 64)),), 32)
    assert str(parts).endswith(', holds a w "b c"@64\n}')
    assert parse_plan(str(parts)) == parts


def test_buffers_that_are_never_alive_together_share_bytes() -> None:
    plan = plan_memory([Buffer("a", 128, 0, 2), Buffer("b", 100, 2, 5), Buffer("c", 40, 1, 4)])
    assert plan.offset_of("a") == plan.offset_of("b") == 0
    assert plan.offset_of("c") == 128
    assert plan.peak_bytes == 168
    assert plan.lower_bound_bytes == 168
    assert plan.unshared_bytes == 128 + 64 + 100


def test_what_alignment_leaves_between_buffers_counts_in_what_a_plan_is_held_against() -> None:
    plan = plan_memory([Buffer("a", 4, 0, 2), Buffer("b", 32, 1, 3), Buffer("c", 32, 2, 4)])
    assert plan.peak_bytes == plan.lower_bound_bytes == 64 + 32
    assert plan.unshared_bytes == 64 + 64 + 4  # the smallest is last


def test_the_smallest_gap_that_fits_is_taken() -> None:
    # x and y leave gaps of 64 and 128 bytes above a and b while s is placed.
    buffers = [
        Buffer("a", 320, 0, 1),
        Buffer("x", 300, 1, 9),
        Buffer("gap", 256, 0, 2),
        Buffer("s", 60, 1, 2),
    ]
    plan = plan_memory(buffers, planner="greedy_by_size")
    assert plan.offset_of("x") == 0
    assert plan.offset_of("gap") == 320
    assert plan.offset_of("s") == 576


def test_hill_climbing_is_never_worse_than_greedy() -> None:
    buffers = [
        Buffer(f"b{i}", 64 * (1 + i * 7 % 11), i * 5 % 13, i * 5 % 13 + 3) for i in range(40)
    ]
    greedy = plan_memory(buffers, planner="greedy")
    better = plan_memory(buffers, planner="hill_climb", time_limit_s=0.05)
    assert better.peak_bytes <= greedy.peak_bytes


@pytest.mark.parametrize(
    ("buffers", "words"),
    [
        ([Buffer("a", -1, 0, 1)], "at least 0 bytes"),
        ([Buffer("a", 1, 3, 3)], "end after its start"),
        ([Buffer("a", 1, -2, 3)], "at least 0, the first step"),
        ([Buffer("a", 1, 0, 1), Buffer("a", 1, 0, 1)], "used twice"),
    ],
)
def test_problems_that_make_no_sense_are_named(buffers: list[Buffer], words: str) -> None:
    with pytest.raises(CompileError, match=words) as caught:
        plan_memory(buffers)
    assert caught.value.code == "E-PLAN-INPUT"


def test_pins_that_meet_are_found_as_by_comparing_all_pairs() -> None:
    chance = random.Random(5)
    n_wrong = 0
    for _ in range(300):
        buffers = [
            Buffer(f"b{i}", chance.randrange(9), start, start + chance.randint(1, 4), pinned=pinned)
            for i in range(chance.randint(2, 7))
            for start, pinned in [(chance.randrange(12), chance.randrange(40))]
        ]
        wrong = any(
            a.start < b.end
            and b.start < a.end
            and a.pinned < b.pinned + b.size
            and b.pinned < a.pinned + a.size
            and a.size
            and b.size
            for a, b in itertools.combinations(buffers, 2)
        )
        n_wrong += wrong
        if wrong:
            with pytest.raises(CompileError, match="pinned to bytes of"):
                check_problem(buffers)
        else:
            check_problem(buffers)
    assert 50 < n_wrong < 250


USED = """
import sys
import compiler
graph = "graph g(x: f32[2,3]) {\\n  y: f32[2,3] = relu(x)\\n  return y\\n}"
compiler.compile(compiler.parse(graph))
print(*(m for m in sys.modules if m.startswith("compiler.memory.")))
"""


def test_what_compiles_a_program_imports_neither_the_registry_nor_searches() -> None:
    found = subprocess.run(
        [sys.executable, "-c", USED], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
    imported = set(found.stdout.split())
    assert "compiler.memory.planners.quick" in imported
    for late in ("planners.all", "planners.exact", "planners.windows", "orders.joint", "remat"):
        assert f"compiler.memory.{late}" not in imported


def test_unknown_planner_and_alignment_are_option_errors() -> None:
    wrong: tuple[dict[str, Any], ...] = ({"planner": "magic"}, {"alignment_bytes": 48})
    for options in wrong:
        with pytest.raises(CompileError) as caught:
            plan_memory([], **options)
        assert caught.value.code == "E-OPTION-VALUE"


@pytest.mark.parametrize(
    ("text", "line"),
    [("", 0), ("plan {\n}", 1), ("plan 5 bytes, alignment 64 {\n  a: many bytes\n}", 2)],
)
def test_text_that_is_no_plan_is_refused_with_the_line(text: str, line: int) -> None:
    with pytest.raises(CompileError) as caught:
        parse_plan(text)
    assert (caught.value.code, caught.value.where.line) == ("E-TEXT-SYNTAX", line)


def test_a_wrong_total_is_refused() -> None:
    text = str(plan_memory([Buffer("a", 128, 0, 2), Buffer("b", 100, 1, 5)]))
    with pytest.raises(CompileError, match="the buffers need 228 bytes, but the plan states 230"):
        parse_plan(text.replace("plan 228", "plan 230"))
