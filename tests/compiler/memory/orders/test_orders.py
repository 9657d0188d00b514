"""Tests of order methods against all orders, with bytes by the planner's lifetimes."""

from __future__ import annotations

from itertools import islice
from random import Random

import pytest

from compiler.memory.lifetimes import Step
from compiler.memory.orders import METHODS, Tasks, order_tasks
from compiler.memory.orders.downsets import beam, lowest
from compiler.memory.orders.regions import floor_bytes, regions, settled
from tests.compiler.memory.orders.problems import all_orders, random_problem

QUICK = [name for name in METHODS if name != "cp_sat"]


@pytest.mark.parametrize("seed", range(60))
def test_the_bytes_of_an_order_are_those_of_the_planner(seed: int):
    problem = random_problem(seed, 8)
    tasks = problem.tasks
    for order in islice(all_orders(tasks), 40):
        assert tasks.is_order(order)
        assert tasks.peak_bytes(order) == problem.live_bytes(order)


@pytest.mark.parametrize("seed", range(100, 180))
def test_dynamic_programming_finds_the_lowest_peak_and_no_method_a_lower_one(seed: int):
    tasks = random_problem(seed, 7).tasks
    fewest = min(map(tasks.peak_bytes, all_orders(tasks)))
    for name in QUICK:
        found = order_tasks(tasks, name)
        assert tasks.is_order(found.order), name
        assert found.peak_bytes == tasks.peak_bytes(found.order) >= fewest, name
        assert found.given_bytes == tasks.peak_bytes(range(len(tasks)))
        assert found.peak_bytes == fewest or not found.is_lowest, name
    assert order_tasks(tasks, "dp").peak_bytes == fewest
    assert order_tasks(tasks, "dp").is_lowest
    assert tasks.least_bytes <= floor_bytes(tasks) <= fewest


def test_an_order_that_waits_for_nothing_it_needs_is_none():
    tasks = Tasks.of([Step((), ("a",)), Step(("a",), ("b",))], {"a": 8, "b": 24})
    assert tasks.is_order([0, 1])
    assert not tasks.is_order([1, 0])
    assert not tasks.is_order([0])
    assert not tasks.is_order([0, 0])


def test_other_reasons_to_wait_are_kept():
    steps = [Step((), ("a",)), Step((), ("b",)), Step(("a",), ("c",)), Step(("b",), ("d",))]
    sizes = {"a": 100, "b": 70, "c": 1, "d": 2}
    free = order_tasks(Tasks.of(steps, sizes, kept=["c", "d"]))
    assert (free.peak_bytes, free.given_bytes) == (101, 171)
    bound = Tasks.of(steps, sizes, waits={2: [1], 3: [0]}, kept=["c", "d"])
    assert order_tasks(bound).peak_bytes == 171


def test_the_given_order_stays_where_none_is_better():
    for seed in range(30):
        tasks = random_problem(seed, 9).tasks
        found = order_tasks(tasks)
        assert found.peak_bytes <= found.given_bytes
        assert found.is_changed == (found.peak_bytes < found.given_bytes)


def test_finding_is_deterministic():
    tasks = wide(4, n_stages=2, width=7)
    assert [order_tasks(tasks, name) for name in QUICK] == [
        order_tasks(tasks, name) for name in QUICK
    ]


def wide(seed: int, n_stages: int, width: int) -> Tasks:
    """Return stages of chains of random widths, each from one value to a sum."""
    chance = Random(seed)
    steps, sizes, last = [Step((), ("x",))], {"x": 64}, "x"
    for stage in range(n_stages):
        ends: list[str] = []
        for chain in range(width):
            source = last
            for link in range(3):
                made = f"{stage}.{chain}.{link}"
                steps.append(Step((source,), (made,)))
                sizes[made] = chance.randrange(1, 40) * 8
                source = made
            ends.append(source)
        # Listed level by level, as in a breadth-first exporter.
        steps[-3 * width :] = [
            steps[len(steps) - 3 * width + 3 * c + i] for i in range(3) for c in range(width)
        ]
        last = f"sum{stage}"
        steps.append(Step(tuple(ends), (last,)))
        sizes[last] = 64
    return Tasks.of(steps, sizes, kept=[last])


def test_regions_are_cut_where_every_order_passes():
    tasks = wide(1, n_stages=3, width=4)
    order = settled(tasks, range(len(tasks)))
    found = list(regions(tasks, order))
    assert [(r.start, r.end) for r in found] == [(0, 1), (1, 14), (14, 27), (27, 40)]
    assert max(r.peak_bytes for r in found) == tasks.peak_bytes(order)


def test_results_that_are_written_outside_cut_nothing_short():
    """A launch that only writes a result into the caller's array does not prevent a split."""
    steps = [Step((), ("a",)), Step(("a",), ("b",)), Step(("a",), ("head",)), Step(("b",), ("c",))]
    tasks = Tasks.of(steps, {"a": 8, "b": 16, "c": 4}, kept=["c"])
    assert settled(tasks, [0, 1, 3, 2]) == [0, 2, 1, 3]
    assert len(list(regions(tasks, [0, 2, 1, 3]))) == 3


def test_a_region_with_too_many_sets_is_still_put_in_order():
    tasks = wide(2, n_stages=1, width=12)
    given = tasks.peak_bytes(range(len(tasks)))
    few = lowest(tasks, given, 0, most_steps=50)
    assert not few.is_complete
    narrow = beam(tasks, given, 0, width=2)
    assert narrow is not None
    assert tasks.is_order(narrow)
    exact = order_tasks(tasks, "dp")
    assert exact.is_lowest
    assert exact.peak_bytes <= tasks.peak_bytes(narrow) < given
    assert exact.peak_bytes <= order_tasks(tasks).peak_bytes < given


def test_large_graphs_take_steps_in_proportion(monkeypatch: pytest.MonkeyPatch):
    """Only regions that determine the peak are searched."""
    from compiler.memory.orders import best

    parts: list[int] = []
    inner = best.lowest
    monkeypatch.setattr(
        best, "lowest", lambda part, *rest: (parts.append(len(part)), inner(part, *rest))[1]
    )
    tasks = wide(3, n_stages=200, width=8)
    assert len(tasks) == 5001
    found = order_tasks(tasks)
    assert found.peak_bytes < found.given_bytes
    assert sum(parts) < 2000


def test_nothing_to_put_in_order():
    empty = Tasks.of([], {})
    for name in METHODS:
        assert order_tasks(empty, name).order == ()
