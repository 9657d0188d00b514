"""Tests of joint order and placement, against every order with every first-fit sequence."""

from __future__ import annotations

import pytest

from compiler.memory.orders import Tasks, order_tasks
from compiler.memory.orders.joint import Joint, joint
from tests.compiler.memory.orders.problems import all_orders, random_problem, smallest_arena

SEEDS = (0, 1, 2, 3, 4, 5, 7, 8)
"""Seeds, except for one whose optimum takes half a minute to prove."""


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_no_order_and_no_places_need_less(seed: int, in_place: bool):
    problem = random_problem(seed, 5, in_place=in_place)
    tasks = problem.tasks
    fewest = min(smallest_arena(problem.lifetimes(o).buffers) for o in all_orders(tasks))
    found = joint(tasks)
    assert tasks.is_order(found.order)
    assert found.is_optimal
    assert found.arena_bytes == fewest
    assert overlaps(tasks, found) == []


def test_what_is_found_in_no_time_is_an_order_with_places():
    tasks = random_problem(11, 9).tasks
    found = joint(tasks, limit_s=0.01)
    assert tasks.is_order(found.order)
    assert found.bound_bytes <= found.arena_bytes
    assert found.arena_bytes >= order_tasks(tasks, "dp").peak_bytes
    assert overlaps(tasks, found) == []


def overlaps(tasks: Tasks, found: Joint) -> list[tuple[int, int]]:
    """Return pairs of values that overlap in memory while both are live."""
    place = {t: i for i, t in enumerate(found.order)}
    spans: dict[int, tuple[int, int]] = {}
    for t, values in enumerate(tasks.writes):
        for v in values:
            ends = [place[r] for r in tasks.readers[v]]
            last = len(place) if v in tasks.kept else max(ends, default=place[t])
            spans[v] = place[t], last
    wrong: list[tuple[int, int]] = []
    for v, (a, b) in spans.items():
        for w, (c, _) in spans.items():
            apart = (
                found.offsets[v] + tasks.sizes[v] <= found.offsets[w]
                or found.offsets[w] + tasks.sizes[w] <= found.offsets[v]
            )
            in_place = (
                any((w, x) == (y, v) for pairs in tasks.over for y, xs in pairs for x in xs)
                and b == c
            )
            if v != w and a <= c <= b and not apart and not in_place:
                wrong.append((v, w))
    return wrong
