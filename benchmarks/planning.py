"""Comparison of memory planners: peak over the proven bound, and processor seconds.

    python -m benchmarks.planning [--time-limit 5] [--planners best,exact] [--seeds 3]
                                  [--family planted] [--large 100000] [--planted] [--traces]
                                  [--processor] [FOLDER ...]

The problems are planted packings with a known optimum, generated traces of programs, and all
problems in the folders, in the format of `compilarium plan`. A number between dots in a file name
is the capacity, as in MiniMalloc's problems: planners stop at the first plan within the capacity,
and ratios are relative to the capacity. --large adds traces of the given number of buffers.

--planted selects all families of planted packings instead, each planned once as by `compilarium
plan`. The table has the number of optimal plans, the largest gap to the optimum, and the longest
wall time. --traces selects generated traces of training, serving and allocators, with 20,000 to
55,000 buffers each, planned once by `best`. Every plan is checked. With --processor, time limits
and seconds are processor time, for machines with other load.
"""

from __future__ import annotations

import argparse
import math
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.planning_planted import FAMILIES, cut_up, pinwheels, planted
from benchmarks.planning_problems import serving_trace, training_trace
from benchmarks.planning_traces import TRACES, trace
from compiler.memory.buffer import Buffer
from compiler.memory.check import check_plan
from compiler.memory.csvfile import read_csv
from compiler.memory.plan import find_planner, make_problem
from compiler.memory.planners.all import PLANNERS
from compiler.memory.planners.planner import Options, Outcome, Planner
from compiler.memory.problem import Problem

PLANTED_SIZES = (100, 300, 1000, 2000)
LARGE_PLANNERS = ("greedy_by_size", "greedy_by_span", "best")


@dataclass(frozen=True)
class Task:
    """A problem of a family, with the known size of its optimal plan, if known."""

    family: str
    problem: Problem
    known_bytes: int = 0

    def plan(self, planner: Planner, time_limit_s: float) -> tuple[Outcome, float, float]:
        """Return the outcome, the ratio to the known or proven bound, and processor seconds."""
        options = Options(time_limit_s, self.known_bytes or None)
        start = time.process_time()
        found = planner.plan(self.problem, options)
        seconds = time.process_time() - start
        faults = check_plan(found.plan, problem=self.problem)
        assert not faults, f"{planner.name}: {faults[0]}"
        bound = self.known_bytes or found.lower_bound_bytes
        return found, found.plan.peak_bytes / bound, seconds


def main() -> None:
    options = _options()
    if options.processor:
        time.monotonic = time.perf_counter = time.process_time
    if options.planted:
        _plan_planted(options.family, options.seeds, options.planted_limit)
        return
    if options.traces:
        _plan_traces(options.family, options.seeds, options.planted_limit)
        return
    planners = [find_planner(n) for n in options.planners.split(",")]
    tasks = [*_made(options.seeds), *_read(options.folders)]
    families = dict.fromkeys(t.family for t in tasks if options.family in t.family)
    for family in families:
        _compare(family, [t for t in tasks if t.family == family], planners, options.time_limit)
    if options.large:
        large = [find_planner(n) for n in LARGE_PLANNERS]
        for task in _large(options.large):
            _compare(f"{task.family}, {options.large} buffers", [task], large, 15.0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--time-limit", type=float, default=5.0)
    parser.add_argument("--planners", default=",".join(PLANNERS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--family", default="", help="only families with this text in their names")
    parser.add_argument("--large", type=int, default=0)
    parser.add_argument("--planted", action="store_true")
    parser.add_argument("--traces", action="store_true")
    parser.add_argument("--processor", action="store_true", help="measure and limit processor time")
    parser.add_argument("--planted-limit", type=float, default=15.0, help="seconds for each plan")
    return parser.parse_args()


def _made(n_seeds: int) -> Iterator[Task]:
    for seed in range(n_seeds):
        for n in PLANTED_SIZES:
            yield Task(f"planted, {n} buffers", _problem(planted(n, seed)), 1 << 20)
            yield Task(f"pinwheels, {n} buffers", _problem(pinwheels(n, seed)), 1 << 20)
        yield Task("training trace, 1000 buffers", _problem(training_trace(1000, seed), 64))
        yield Task("serving trace, 1000 buffers", _problem(serving_trace(1000, seed), 64))


def _large(n_buffers: int) -> Iterator[Task]:
    yield Task("training trace", _problem(training_trace(n_buffers, 1), 64))
    yield Task("serving trace", _problem(serving_trace(n_buffers, 1), 64))


def _plan_planted(name: str, n_seeds: int, time_limit_s: float) -> None:
    print("| family | buffers | optimum found | largest gap | seconds, most |")
    print("|---|---:|---:|---:|---:|")
    best = find_planner("best")
    for family in (f for f in FAMILIES if name in f):
        for n in PLANTED_SIZES:
            gaps: list[float] = []
            most = 0.0
            for seed in range(n_seeds):
                made = cut_up(family, n, seed)
                problem = _problem(made.buffers, made.alignment_bytes)
                begin = time.perf_counter()
                found = best.plan(problem, Options(time_limit_s))
                most = max(most, time.perf_counter() - begin)
                faults = check_plan(found.plan, problem=problem)
                assert not faults, f"{family}: {faults[0]}"
                gaps.append(found.plan.peak_bytes / made.optimum_bytes - 1)
            n_found = sum(gap <= 0 for gap in gaps)
            print(
                f"| {family} | {n} | {n_found} of {n_seeds} | {100 * max(0, *gaps):.1f} % "
                f"| {most:.1f} |",
                flush=True,
            )


def _plan_traces(name: str, n_seeds: int, time_limit_s: float) -> None:
    print("| trace | seed | buffers | bound | peak | gap | seconds | by |")
    print("|---|---:|---:|---:|---:|---:|---:|---|")
    best = find_planner("best")
    for family in (f for f in TRACES if name in f):
        for seed in range(n_seeds):
            problem = _problem(trace(family, seed))
            begin = time.perf_counter()
            found = best.plan(problem, Options(time_limit_s))
            seconds = time.perf_counter() - begin
            faults = check_plan(found.plan, problem=problem)
            assert not faults, f"{family}: {faults[0]}"
            print(
                f"| {family} | {seed} | {len(problem.buffers)} | {found.lower_bound_bytes} "
                f"| {found.plan.peak_bytes} | {100 * found.gap:.2f} % | {seconds:.1f} "
                f"| {found.planner} |",
                flush=True,
            )


def _read(folders: Sequence[Path]) -> Iterator[Task]:
    for folder in folders:
        for path in sorted(folder.glob("*.csv")):
            capacity = re.search(r"\.(\d+)\.", path.name)
            buffers = read_csv(path.read_text(encoding="utf-8"), path.name)
            yield Task(path.stem, _problem(buffers), int(capacity[1]) if capacity else 0)


def _problem(buffers: Sequence[Buffer], alignment_bytes: int = 1) -> Problem:
    problem = make_problem(buffers, alignment_bytes)
    assert problem.lower_bound_bytes >= 0  # cached here, outside of timed code
    return problem


def _compare(
    family: str, tasks: Sequence[Task], planners: Sequence[Planner], time_limit_s: float
) -> None:
    print(f"\n{family}\n")
    print("| planner | peak / bound | worst | solved | seconds | most | by |")
    print("|---|---:|---:|---:|---:|---:|---|")
    for planner in planners:
        results = [t.plan(planner, time_limit_s) for t in tasks]
        ratios = [ratio for _, ratio, _ in results]
        seconds = [s for _, _, s in results]
        n_solved = sum(o.stopped in ("optimal", "within capacity") for o, _, _ in results)
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        makers = ", ".join(dict.fromkeys(o.planner for o, _, _ in results))
        print(
            f"| {planner.name} | {mean:.4f} | {max(ratios):.4f} | {n_solved} of {len(tasks)} "
            f"| {sum(seconds) / len(seconds):.2f} | {max(seconds):.2f} | {makers} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
