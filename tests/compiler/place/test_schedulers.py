"""Tests of schedulers: their examples, and the shortest schedule by enumeration as a bound."""

from __future__ import annotations

import itertools
import random

import pytest

from compiler.errors import CompileError
from compiler.ir.operator import Cost
from compiler.place import optimum
from compiler.place.check import check_schedule
from compiler.place.heft import by_rank
from compiler.place.optimum import finished
from compiler.place.place import SCHEDULERS, place
from compiler.place.platform_text import load_platform, shipped
from compiler.place.problem import Problem
from compiler.place.scheduler import Scheduler
from compiler.place.simulate import Conduct, simulate
from compiler.place.tasks import Datum, Task, TaskGraph
from compiler.place.timeline import by_order
from tests.task_graphs import FAMILIES, random_tasks

each_scheduler = pytest.mark.parametrize("scheduler", SCHEDULERS.values(), ids=list(SCHEDULERS))
PROVEN_S = 120.0
"""Upper bound on the time of any machine to prove the optimum of these problems."""

QUICK = [s for s in SCHEDULERS.values() if s.is_quick]


@each_scheduler
def test_the_example_holds(scheduler: Scheduler) -> None:
    tasks, platform, expected = scheduler.example_parts()
    assert scheduler.decide(Problem(tasks, platform), 10.0) == expected
    assert scheduler.title.endswith(".")
    assert len(scheduler.words) > len(scheduler.title)
    assert scheduler.source


def shortest(problem: Problem) -> float:
    """Return the minimum makespan over all devices and orders, with earliest start times."""
    found = float("inf")
    for order in itertools.permutations(range(problem.n)):
        at = {t: i for i, t in enumerate(order)}
        if any(at[u] > at[v] for v in range(problem.n) for u, _ in problem.before[v]):
            continue
        for devices in itertools.product(*problem.able):
            found = min(found, finished(problem, by_order(problem, list(order), list(devices))))
    return found


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("platform", ["two-cores", "gpu", "npu"])
def test_cp_sat_finds_the_optimum_and_nobody_is_better(platform: str, seed: int) -> None:
    family = list(FAMILIES)[seed]
    problem = Problem(random_tasks(family, 5, seed), load_platform(platform))
    least = shortest(problem)
    exact = SCHEDULERS["cp_sat"].decide(problem, PROVEN_S)
    assert finished(problem, exact) == pytest.approx(least, rel=1e-4)
    assert exact.bound_seconds == pytest.approx(least, rel=1e-4)
    assert problem.bound_seconds <= least * (1 + 1e-9)
    for s in SCHEDULERS.values():
        placement = s.decide(problem, 0.5)
        assert finished(problem, placement) >= least * (1 - 1e-9)
        assert placement.bound_seconds <= least * (1 + 1e-9)


@pytest.mark.parametrize("scheduler", QUICK, ids=[s.name for s in QUICK])
@pytest.mark.parametrize("platform", shipped())
def test_runs_are_right_and_no_later_than_planned(platform: str, scheduler: Scheduler) -> None:
    machine = load_platform(platform)
    for family in FAMILIES:
        tasks = random_tasks(family, 25, 1)
        problem = Problem(tasks, machine)
        placement = scheduler.decide(problem, 0.0)
        run = simulate(problem, placement, Conduct(contention=False))
        assert not check_schedule(tasks, machine, run, contention=False)
        assert run.makespan_seconds <= finished(problem, placement) * (1 + 1e-9)
        assert run.makespan_seconds >= problem.bound_seconds * (1 - 1e-9)


@pytest.mark.parametrize(
    ("name", "platforms"),
    [("heft", ("two-cores", "gpu", "npu")), ("iterated", ("gpu", "npu", "board"))],
)
def test_heft_is_near_the_optimum(name: str, platforms: tuple[str, ...]) -> None:
    ratios: list[float] = []
    for seed, family in enumerate(FAMILIES):
        for platform in platforms:
            problem = Problem(random_tasks(family, 14, seed), load_platform(platform))
            least = finished(problem, SCHEDULERS["cp_sat"].decide(problem, PROVEN_S))
            ratios.append(finished(problem, SCHEDULERS[name].decide(problem, 0.0)) / least)
    assert min(ratios) >= 1 - 1e-6
    assert sum(ratios) / len(ratios) <= 1.06


@pytest.mark.parametrize("name", ["heft", "iterated"])
def test_plans_that_follow_others_are_never_longer(name: str) -> None:
    gained = 0
    for platform in shipped():
        for family in FAMILIES:
            problem = Problem(random_tasks(family, 25, 6), load_platform(platform))
            first = by_rank(problem, problem.upward_ranks)
            seconds = finished(problem, SCHEDULERS[name].decide(problem, 0.0))
            assert first.finished() == finished(problem, first.placement())
            assert seconds <= first.finished()
            gained += seconds < first.finished()
    assert gained >= 5


def test_min_cut_takes_the_least_work_of_all_partitions() -> None:
    def spent(problem: Problem, device: tuple[int, ...]) -> float:
        whole = sum(
            problem.seconds[t][d] + problem.head[t][d] + problem.tail[t][d]
            for t, d in enumerate(device)
        )
        bus = problem.platform
        for name, maker in problem.graph.maker.items():
            source = bus.devices[device[maker]].memory
            to = {bus.devices[device[r]].memory for r in problem.graph.readers[name]}
            nbytes = problem.graph.datum[name].nbytes
            whole += sum(bus.seconds_between(nbytes, source, m) for m in to - {source})
        return whole

    for seed, family in enumerate(FAMILIES):
        problem = Problem(random_tasks(family, 7, seed), load_platform("gpu"))
        number = {d.name: i for i, d in enumerate(problem.platform.devices)}
        made = SCHEDULERS["min_cut"].decide(problem, 0.0)
        cut = spent(problem, tuple(number[s.device] for s in made.slots))
        assert cut == pytest.approx(
            min(spent(problem, d) for d in itertools.product(*problem.able)), rel=1e-6
        )


def test_best_is_no_worse_than_anybody() -> None:
    tasks, machine = random_tasks("layered", 20, 2), load_platform("board")
    found = {
        name: place(tasks, machine, scheduler=name, time_limit_s=1.0).makespan_seconds
        for name in SCHEDULERS
        if SCHEDULERS[name].is_quick or name == "best"
    }
    assert found["best"] == min(found.values())


def test_equal_seeds_give_equal_schedules() -> None:
    tasks, machine = random_tasks("layered", 30, 4), load_platform("two-sockets")
    for s in QUICK:
        assert place(tasks, machine, scheduler=s.name) == place(tasks, machine, scheduler=s.name)


def test_large_graphs_take_next_to_no_time() -> None:
    tasks, machine = random_tasks("layered", 600, 1), load_platform("two-sockets")
    for s in QUICK:
        made = place(tasks, machine, scheduler=s.name)
        assert not check_schedule(tasks, machine, made)


def test_zero_lengths_and_no_tasks_at_all_are_fine() -> None:
    machine = load_platform("two-cores")
    nothing = TaskGraph("nothing", (), ())
    chance = random.Random(3)
    data = tuple(Datum(f"v{i}", 0, is_result=i == 9) for i in range(10))
    tasks = tuple(
        Task(f"t{i}", (), tuple(f"v{u}" for u in sorted({chance.randrange(i)} if i else ())),
             (f"v{i}",), Cost(), {"core0": 0.0, "core1": 0.0})
        for i in range(10)
    )  # fmt: skip
    still = TaskGraph("still", tasks, data)
    for name in SCHEDULERS:
        assert place(nothing, machine, scheduler=name, time_limit_s=0.2).makespan_seconds == 0
        made = place(still, machine, scheduler=name, time_limit_s=0.2)
        assert not check_schedule(still, machine, made)


def test_what_is_not_offered_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks, machine = random_tasks("layered", 6, 1), load_platform("gpu")
    with pytest.raises(CompileError, match="no scheduler is named 'magic'"):
        place(tasks, machine, scheduler="magic")
    with pytest.raises(CompileError, match="limited to 400 tasks"):
        place(random_tasks("layered", 401, 1), machine, scheduler="cp_sat")

    def missing() -> None:
        raise CompileError("E-OPTION-VALUE", "this scheduler needs OR-Tools")

    monkeypatch.setattr(optimum, "cp_model", missing)
    with pytest.raises(CompileError, match="OR-Tools"):
        place(tasks, machine, scheduler="cp_sat")
    tasks = random_tasks("layered", 20, 2)
    made = place(tasks, load_platform("board"), scheduler="best", time_limit_s=0.5)
    assert any("OR-Tools" in note for note in made.notes)
