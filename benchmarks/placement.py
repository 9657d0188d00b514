"""How good schedulers are: against the optimum of small graphs, as docs/placement.md shows.

    python -m benchmarks.placement optimum [--seeds 8] [--seconds 5] [MODEL ...]

Random graphs of six families with 10 to 30 tasks, and regions of as many neighbouring tasks of the
models that are given (light models unless told otherwise), on every platform. What is printed is
the length of a scheduler's plan over that of the best one which CP-SAT finds in the given time.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from compiler.frontend import load
from compiler.passes.pipeline.run import run_pipeline
from compiler.place.of_graph import tasks_of
from compiler.place.optimum import finished
from compiler.place.place import SCHEDULERS
from compiler.place.platform_text import load_platform, shipped
from compiler.place.problem import Problem
from compiler.place.tasks import TaskGraph
from tests.models import light_model
from tests.task_graphs import FAMILIES, random_tasks

MODELS = ("inception_v1", "squeezenet", "shufflenet")
SIZES = (10, 30)
COMPARED = [s.name for s in SCHEDULERS.values() if s.is_quick]
PROVEN = 1e-4
"""A plan that is no more than this share above the bound is the optimum."""


def random_graphs(seeds: int) -> Iterator[tuple[str, TaskGraph]]:
    """By family, sizes spread evenly."""
    for family in FAMILIES:
        for seed in range(seeds):
            n = SIZES[0] + (SIZES[1] - SIZES[0]) * seed // max(seeds - 1, 1)
            yield family, random_tasks(family, n, seed)


def regions(tasks: TaskGraph, n: int) -> Iterator[TaskGraph]:
    """Runs of `n` neighbouring tasks; what they read from before is given, what is read after is
    a result."""
    for first in range(0, len(tasks.tasks) - n // 2, n):
        inside = tasks.tasks[first : first + n]
        made = {m for t in inside for m in t.makes}
        read = {r for t in inside for r in t.reads}
        last = {
            m
            for m in made
            if tasks.datum[m].is_result or any(r >= first + n for r in tasks.readers[m])
        }
        data = [replace(d, is_result=d.name in last) for d in tasks.data if d.name in made | read]
        yield TaskGraph(f"{tasks.name}[{first}]", inside, tuple(data))


def model_regions(models: Sequence[Path]) -> Iterator[tuple[str, TaskGraph]]:
    """Regions of optimised models."""
    for path in models:
        graph = run_pipeline(load(path), "default", verify=False, keep_declined=False)[0]
        yield from (("models", r) for r in regions(tasks_of(graph), SIZES[1]))


def compare(graphs: Sequence[tuple[str, TaskGraph]], limit_s: float) -> None:
    """Print a table: rows are platforms and families, columns schedulers."""
    rows: dict[tuple[str, str], list[list[float]]] = defaultdict(list)
    n_proven = n = 0
    for platform in shipped():
        machine = load_platform(platform)
        for family, tasks in graphs:
            problem = Problem(tasks, machine)
            exact = SCHEDULERS["cp_sat"].decide(problem, limit_s)
            plans = [finished(problem, SCHEDULERS[s].decide(problem, 0.0)) for s in COMPARED]
            least = min([finished(problem, exact), *plans])
            n += 1
            n_proven += least <= exact.bound_seconds * (1 + PROVEN)
            for key in ((platform, family), (platform, "all"), ("all", family), ("all", "all")):
                rows[key].append([p / least if least else 1.0 for p in plans])
    print(f"| platform | graphs | {' | '.join(COMPARED)} |")
    print(f"|---|---|{'---:|' * len(COMPARED)}")
    for (platform, family), ratios in rows.items():
        if "all" in (platform, family):
            means = [f"{sum(column) / len(column):.3f}" for column in zip(*ratios, strict=True)]
            print(f"| {platform} | {family} | {' | '.join(means)} |")
    worst = [f"{max(column):.2f}" for column in zip(*rows["all", "all"], strict=True)]
    print(f"| all | the worst | {' | '.join(worst)} |")
    print(f"\n{n} problems; the optimum of {n_proven} was proven in {limit_s:g} s each.")


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=("optimum",))
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("models", type=Path, nargs="*")
    given = parser.parse_args()
    models = given.models or [light_model(name) for name in MODELS]
    compare([*random_graphs(given.seeds), *model_regions(models)], given.seconds)


if __name__ == "__main__":
    main()
