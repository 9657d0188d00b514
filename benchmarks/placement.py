"""Quality of schedulers, and measured times of their plans on two cores: docs/placement.md.

    python -m benchmarks.placement optimum [--seeds 8] [--seconds 5] [MODEL ...]
    python -m benchmarks.placement cores [--rounds 40] [--only NAME ...]

The first part measures no times; the second part needs two processors that are idle otherwise.

Optimum:
The problems are random graphs of six families with 10 to 30 tasks, and regions of as many
neighbouring tasks of the given models (by default the light models), on every platform. The table
has the length of each scheduler's plan over the length of the best plan that CP-SAT finds within
the time limit.

Cores:
The models have wide branching. Kernels are timed one by one on one thread. HEFT plans two cores
with these times, and the plan is compiled. The predicted time is the length of the plan, the
measured time that of the program. Runs on one and two threads are interleaved; times are minima.
`apart` is the time from a store on one processor until the second processor sees the store, before
and after the measurement. A virtual machine may get two threads of one core, or cores without a
common cache; then no plan is faster than one thread.
"""

from __future__ import annotations

import argparse
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

from benchmarks.handover import handover_seconds
from benchmarks.wide_graphs import WIDE
from compiler import compile
from compiler.frontend import load
from compiler.machine.keep import known
from compiler.passes.pipeline.run import run_pipeline
from compiler.place.of_graph import tasks_of
from compiler.place.optimum import finished
from compiler.place.place import SCHEDULERS
from compiler.place.platform_text import load_platform, shipped
from compiler.place.problem import Problem
from compiler.place.tasks import TaskGraph
from compiler.runtime.inputs import random_inputs
from compiler.runtime.program import Program
from compiler.runtime.thunks.planned import HALF_CYCLES_PER_SECOND
from tests.models import light_model
from tests.task_graphs import FAMILIES, random_tasks

MODELS = ("inception_v1", "squeezenet", "shufflenet")
SIZES = (10, 30)
COMPARED = [s.name for s in SCHEDULERS.values() if s.is_quick]
PROVEN = 1e-4
"""Largest relative gap to the bound of a plan that counts as optimal."""


def random_graphs(seeds: int) -> Iterator[tuple[str, TaskGraph]]:
    """Yield random graphs with their families, with evenly distributed sizes."""
    for family in FAMILIES:
        for seed in range(seeds):
            n = SIZES[0] + (SIZES[1] - SIZES[0]) * seed // max(seeds - 1, 1)
            yield family, random_tasks(family, n, seed)


def regions(tasks: TaskGraph, n: int) -> Iterator[TaskGraph]:
    """Yield regions of `n` neighbouring tasks. Values from earlier tasks are inputs, values that
    later tasks read are results."""
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
    """Yield regions of the task graphs of optimised models."""
    for path in models:
        graph = run_pipeline(load(path), "default", verify=False, keep_declined=False)[0]
        yield from (("models", r) for r in regions(tasks_of(graph), SIZES[1]))


def compare(graphs: Sequence[tuple[str, TaskGraph]], limit_s: float) -> None:
    """Print a table with a row for each platform and family, and a column for each scheduler."""
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


@dataclass(frozen=True, slots=True)
class Cores:
    """The seconds of entire runs of one model, and of the plan."""

    one: float
    kernels: float
    roofline: float
    predicted: float
    measured: float
    apart: tuple[float, float]

    @property
    def ratio(self) -> float:
        """Return the measured time over the predicted time."""
        return self.measured / self.predicted


def on_two_cores(model: bytes | Path, rounds: int) -> Cores:
    """Plan a model for two cores; return the predicted and measured times."""
    graph = load(model)
    alone = compile(graph)
    inputs = random_inputs(graph)
    timed = alone.profile(inputs, rounds)
    launched = [k for k in alone.kernels if not k.inside]
    # Separate calls of kernels, as in a profile, have an overhead that entire runs do not have.
    machine = known()
    seconds = {
        k.writes[0]: max(timed[k.name] - machine.call_seconds, timed[k.name] / 2) for k in launched
    }
    both = compile(graph, threads=2, spread="branches", seconds=seconds)
    least = {alone: math.inf, both: math.inf}
    before = handover_seconds()
    for _ in range(rounds):
        for program in least:
            for _ in range(2):  # the first run loads the caches for the second run
                start = perf_counter()
                program.run(inputs)
                least[program] = min(least[program], perf_counter() - start)
    apart = (before, handover_seconds())
    predictions = {k.writes[0]: alone.predictions.get(k.name) for k in launched}
    by_roofline = {v: p.seconds if p else seconds[v] for v, p in predictions.items()}
    counted = compile(graph, threads=2, spread="branches", seconds=by_roofline)
    # The overhead around the kernels (checks of inputs, the call) also occurs on two threads.
    around = max(least[alone] - sum(seconds.values()), 0.0)
    return Cores(
        least[alone],
        sum(seconds.values()),
        planned_seconds(counted, by_roofline),
        planned_seconds(both, seconds) + around,
        least[both],
        apart,
    )


def planned_seconds(program: Program, seconds: Mapping[str, float]) -> float:
    """Return the predicted time of a program: planned regions, and other kernels sequentially."""
    assert program.fixed is not None, "sizes are known"
    sections = program.fixed.sections
    inside = {i for s in sections for i in range(s.first, s.end)}
    launched = [k for k in program.kernels if not k.inside]
    in_turn = sum(seconds[k.writes[0]] for i, k in enumerate(launched) if i not in inside)
    return in_turn + sum(s.at_once for s in sections) / HALF_CYCLES_PER_SECOND


def measure(names: Sequence[str], rounds: int) -> None:
    """Measure models on two cores, and print a table."""
    models: dict[str, bytes | Path] = {"inception_v1": light_model("inception_v1")}
    models.update((name, make()) for name, make in WIDE.items() if not names or name in names)
    columns = "one core | by the roofline | predicted | measured | over predicted | faster | apart"
    print(f"| model | {columns} |")
    print(f"|---|{'---:|' * 7}")
    ratios: list[float] = []
    for name, model in models.items():
        if names and name not in names:
            continue
        c = on_two_cores(model, rounds)
        ratios.append(c.ratio)
        times = (c.one, c.roofline, c.predicted, c.measured)
        cells = " | ".join(f"{1e3 * t:.2f} ms" for t in times)
        apart = " ".join(f"{1e9 * t:.0f}" for t in c.apart)
        faster = f"{c.one / c.measured:.2f}"
        print(f"| {name} | {cells} | {c.ratio:.2f} | {faster} | {apart} ns |", flush=True)
    near = sum(abs(r - 1) <= 0.2 for r in ratios)
    print(f"\n{near} of {len(ratios)} within 20 % of what was predicted.")


def main() -> None:
    """Run the requested part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=("optimum", "cores"))
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--only", nargs="*", default=())
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("models", type=Path, nargs="*")
    given = parser.parse_args()
    if given.part == "cores":
        measure(given.only, given.rounds)
        return
    models = given.models or [light_model(name) for name in MODELS]
    compare([*random_graphs(given.seeds), *model_regions(models)], given.seconds)


if __name__ == "__main__":
    main()
