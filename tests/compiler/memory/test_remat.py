"""Tests of rematerialised tasks: lower peak, all tasks run, no reads of dropped values."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from compiler.memory.lifetimes import Step
from compiler.memory.orders import Tasks
from compiler.memory.remat import Repeated, cheapest, least, recompute
from tests.compiler.memory.orders.problems import all_orders, random_problem


def hourglass(depth: int) -> Tasks:
    """Return a chain of values that are read again in reverse order."""
    sizes = {f"d{i}": 100 for i in range(depth)} | {f"u{i}": 100 for i in range(depth - 1)}
    steps = [Step((f"d{i - 1}",) if i else (), (f"d{i}",)) for i in range(depth)]
    last = f"d{depth - 1}"
    for i in reversed(range(depth - 1)):
        steps.append(Step((last, f"d{i}"), (f"u{i}",)))
        last = f"u{i}"
    return Tasks.of(steps, sizes, kept=[last])


@pytest.mark.parametrize(
    ("limit_bytes", "n_again"), [(700, 0), (600, 1), (500, 2), (400, 4), (300, 10)]
)
def test_less_memory_takes_more_runs(limit_bytes: int, n_again: int):
    tasks = hourglass(6)
    found = recompute(tasks, [1.0] * len(tasks), limit_bytes, range(len(tasks)))
    assert found.peak_bytes == limit_bytes
    assert len(found.again) == n_again
    assert wrong_reads(tasks, found) == []


def test_what_may_not_run_again_does_not():
    tasks = hourglass(6)
    found = recompute(tasks, [1.0] * len(tasks), 500, {1, 2})
    assert found.peak_bytes == 500
    assert {found.origins[p] for p in found.again} <= {1, 2}
    assert recompute(tasks, [1.0] * len(tasks), 500, ()).again == []


def test_the_cheap_value_is_computed_again():
    steps = [
        Step((), ("x",)),
        Step(("x",), ("dear",)),
        Step(("x",), ("cheap",)),
        Step(("x",), ("wide",)),
        Step(("wide",), ("narrow",)),
        Step(("narrow", "dear", "cheap", "x"), ("y",)),
    ]
    sizes = {"x": 10, "dear": 100, "cheap": 100, "wide": 500, "narrow": 10, "y": 10}
    tasks = Tasks.of(steps, sizes, kept=["y"])
    found = recompute(tasks, [1, 50, 2, 1, 1, 1], 620, range(6))
    assert [found.origins[p] for p in found.again] == [2]


@pytest.mark.parametrize("seed", range(80))
def test_random_tasks_keep_what_they_compute(seed: int):
    problem = random_problem(seed, 10)
    tasks = problem.tasks
    given = tasks.peak_bytes(range(len(tasks)))
    for share in (0.9, 0.6):
        found = recompute(tasks, [1.0] * len(tasks), int(given * share), range(len(tasks)))
        assert found.tasks.is_order(range(len(found.tasks)))
        assert wrong_reads(tasks, found) == []
        assert found.peak_bytes <= given


@pytest.mark.parametrize("seed", range(40))
def test_the_cheapest_runs_are_none_where_an_order_does(seed: int):
    tasks = random_problem(seed, 6).tasks
    lowest = min(map(tasks.peak_bytes, all_orders(tasks)))
    found = cheapest(tasks, [1.0] * len(tasks), lowest, range(len(tasks)))
    assert found is not None
    assert found.again == []
    assert found.peak_bytes == lowest
    assert wrong_reads(tasks, found) == []


@pytest.mark.parametrize("limit_bytes", [500, 400, 300])
def test_no_runs_within_a_limit_are_cheaper_than_the_cheapest(limit_bytes: int):
    """Compare with every sequence of runs, shortest first."""
    tasks = hourglass(4)
    costs = [1.0] * len(tasks)
    found = cheapest(tasks, costs, limit_bytes, range(len(tasks)))
    assert found is not None
    assert found.peak_bytes <= limit_bytes
    fewest = next(
        n
        for n in range(len(tasks), 2 * len(tasks))
        if any(Repeated.of_runs(tasks, r).peak_bytes <= limit_bytes for r in sequences(tasks, n))
    )
    assert len(found.origins) == fewest
    greedy = recompute(tasks, costs, limit_bytes, range(len(tasks)))
    assert greedy.peak_bytes > limit_bytes or len(greedy.origins) >= fewest


def test_what_cannot_be_done_is_not_found():
    tasks = hourglass(4)
    assert cheapest(tasks, [1.0] * len(tasks), 299, range(len(tasks))) is None
    assert cheapest(tasks, [1.0] * len(tasks), 300, ()) is None


@pytest.mark.parametrize("seed", range(40))
def test_nothing_needs_less_than_the_least(seed: int):
    """No sequence of runs fits into one byte less, also with a few more runs."""
    tasks = random_problem(seed, 5).tasks
    costs, every = [1.0] * len(tasks), range(len(tasks))
    found = least(tasks, costs, every)
    assert found is not None
    assert wrong_reads(tasks, found) == []
    assert cheapest(tasks, costs, found.peak_bytes - 1, every) is None
    lowest = min(
        Repeated.of_runs(tasks, r).peak_bytes
        for n in range(len(tasks), len(tasks) + 3)
        for r in sequences(tasks, n)
    )
    assert found.peak_bytes <= lowest
    assert len(found.origins) > len(tasks) + 2 or found.peak_bytes == lowest


def sequences(tasks: Tasks, n_runs: int) -> Iterator[list[int]]:
    """Yield every sequence of so many runs that includes all tasks after their predecessors."""

    def further(done: list[int]) -> Iterator[list[int]]:
        missing = len(tasks) - len(set(done))
        if len(done) == n_runs and not missing:
            yield done
        if missing > n_runs - len(done) or len(done) == n_runs:
            return
        for t in range(len(tasks)):
            if [t] != done[-1:] and all(b in done for b in tasks.before[t]):
                yield from further([*done, t])

    return further([])


def wrong_reads(given: Tasks, found: Repeated) -> list[str]:
    """Return the errors in a sequence of runs, by an oracle that ignores bytes."""
    faults: list[str] = []
    made: set[int] = set()
    for place, origin in enumerate(found.origins):
        reads = found.tasks.reads[place]
        if [found.values[v] for v in reads] != list(given.reads[origin]):
            faults.append(f"run {place} reads other values than task {origin}")
        if [found.values[v] for v in found.tasks.writes[place]] != list(given.writes[origin]):
            faults.append(f"run {place} writes other values than task {origin}")
        faults += [f"run {place} reads {v} too early" for v in reads if v not in made]
        made |= set(found.tasks.writes[place])
    if set(found.origins) != set(range(len(given))):
        faults.append("not every task runs")
    return faults
