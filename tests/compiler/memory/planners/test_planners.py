"""Tests of the contract of all planners: description, example, and valid plans."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.errors import CompileError
from compiler.memory import Buffer, Problem, check_plan, parse_plan
from compiler.memory.plan import make_problem
from compiler.memory.planners.all import PLANNERS
from compiler.memory.planners.planner import Options, Planner

each_planner = pytest.mark.parametrize("planner", PLANNERS.values(), ids=PLANNERS)


@each_planner
def test_a_planner_says_what_it_does_and_whom_it_follows(planner: Planner) -> None:
    assert planner.title.endswith(".")
    assert len(planner.words.splitlines()) > 1, "the docstring states when the planner is useful"
    assert planner.source


@each_planner
def test_the_example_of_a_planner_is_true(planner: Planner) -> None:
    before, after = (parse_plan(text) for text in planner.example.split("=>"))
    assert all(b.offset < 0 for b in before.buffers)
    found = planner.plan(Problem(before.buffers, before.alignment_bytes), Options(0.5))
    assert found.plan is not None
    assert str(found.plan) == str(after), f"it is\n{found.plan}"
    assert found.lower_bound_bytes <= found.plan.peak_bytes
    assert found.planner


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Return small problems of all kinds; pinned blocks are above all others and do not overlap."""
    rows = draw(
        st.lists(
            st.tuples(
                st.integers(0, 300), st.integers(0, 12), st.integers(1, 8), st.sampled_from("  ab")
            ),
            max_size=14,
        )
    )
    aligned = draw(st.lists(st.sampled_from([1, 1, 8, 128]), min_size=14, max_size=14))
    pins = draw(st.lists(st.sampled_from([-1, -1, -1, 0]), min_size=14, max_size=14))
    buffers = [
        Buffer(
            f"b{i}",
            size,
            start,
            start + n,
            alignment_bytes=aligned[i],
            pinned=512 * i if pins[i] == 0 and group == " " else -1,
            shares=group.strip(),
        )
        for i, (size, start, n, group) in enumerate(rows)
    ]
    return make_problem(buffers, draw(st.sampled_from([1, 16, 64])))


@each_planner
@settings(max_examples=25, deadline=None)
@given(problem=problems())
def test_every_plan_passes_the_checker_and_is_not_below_the_bound(
    planner: Planner, problem: Problem
) -> None:
    found = planner.plan(problem, Options(time_limit_s=0.005))
    assert found.plan is not None
    assert check_plan(found.plan, problem=problem) == []
    assert found.plan.peak_bytes >= found.lower_bound_bytes >= problem.live_bytes
    if found.stopped == "optimal":
        assert found.plan.peak_bytes == found.lower_bound_bytes


@each_planner
def test_an_empty_buffer_keeps_the_place_it_is_pinned_to(planner: Planner) -> None:
    # Alignment makes the two others end one byte above the live bytes, so searches have work.
    problem = Problem(
        (
            Buffer("a", 3, 1, 3, alignment_bytes=4),
            Buffer("b", 5, 0, 2, alignment_bytes=4),
            Buffer("empty", 0, 0, 9, pinned=512),
        ),
        1,
    )
    found = planner.plan(problem, Options(time_limit_s=0.5))
    assert check_plan(found.plan, problem=problem) == []


def test_a_planner_whose_package_is_missing_names_it() -> None:
    lacking = replace(PLANNERS["naive"], needs="no_such_package")
    with pytest.raises(CompileError, match="no_such_package") as caught:
        lacking.plan(Problem(()))
    assert caught.value.code == "E-PLAN-PACKAGE"


@each_planner
def test_a_problem_without_buffers_has_an_empty_plan(planner: Planner) -> None:
    found = planner.plan(Problem(()), Options(0.01))
    assert found.plan is not None
    assert (found.plan.peak_bytes, found.stopped) == (0, "optimal")


def test_cp_sat_plans_what_must_be_aligned_and_what_is_pinned() -> None:
    rows = [(5, 0, 3), (7, 2, 6), (4, 1, 4), (9, 4, 8), (3, 0, 8), (6, 5, 9), (8, 3, 5)]
    buffers = [
        Buffer(f"b{i}", size, start, end, alignment_bytes=4 if i % 2 else 1)
        for i, (size, start, end) in enumerate(rows)
    ]
    problem = make_problem([*buffers, Buffer("pinned", 2, 0, 9, pinned=8)], 1)
    found = PLANNERS["cp_sat"].plan(problem, Options(3.0))
    assert found.plan is not None
    assert found.stopped == "optimal"
    assert check_plan(found.plan, problem=problem) == []


@each_planner
def test_a_plan_within_the_capacity_is_good_enough(planner: Planner) -> None:
    buffers = tuple(Buffer(f"b{i}", 10 + 7 * i % 11, i, i + 3 + i % 2) for i in range(12))
    room = sum(b.size for b in buffers)
    found = planner.plan(Problem(buffers), Options(5.0, capacity_bytes=room))
    assert found.stopped in ("within capacity", "optimal")
