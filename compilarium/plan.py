"""`plan`: place the buffers of a planning problem in one arena."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, process_time

import click
from rich.console import Console

from compilarium.output import progress, report, reporting, table, write_output
from compilarium.seconds import Seconds
from compiler.errors import CompileError
from compiler.memory.buffer import Buffer
from compiler.memory.check import check_plan
from compiler.memory.csvfile import read_csv_file, write_csv
from compiler.memory.plan import find_planner, make_problem
from compiler.memory.planners.all import PLANNERS
from compiler.memory.planners.native import making_seconds, telling
from compiler.memory.planners.planner import Options, Outcome
from compiler.units import bytes_text

CHECKING = 3.0
"""Upper bound of the time to check and write a plan, as a multiple of the time to read the
problem."""


@click.command()
@click.argument("problem", type=click.Path(path_type=Path))
@click.option(
    "--capacity", type=click.IntRange(min=0), help="Capacity in bytes: fail if the plan needs more."
)
@click.option("--planner", default="best", show_default=True, metavar="NAME",
              help=f"Memory planner: {', '.join(PLANNERS)}.")  # fmt: skip
@click.option(
    "--alignment", default=1, show_default=True, help="Alignment of all offsets in bytes."
)
@click.option("--time-limit", "time_limit_s", default=15.0, show_default=True,
              type=Seconds(min=0),
              help="Time limit in seconds for the command, including checking and writing the "
              "plan. The limit excludes compiling the search, which happens once per "
              "machine.")  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path), help="File for the plan.")
@reporting
def command(
    problem: Path,
    capacity: int | None,
    planner: str,
    alignment: int,
    time_limit_s: float,
    output: Path | None,
) -> None:
    """Plan PROBLEM, a CSV file with the columns id, lower, upper, size.

    A buffer of `size` bytes is live in the steps lower..upper (upper excluded). Optional columns
    are alignment, pinned (a fixed offset) and shares (a name: all buffers with this name get the
    same offset). The solution adds the column `offset`. If a capacity is given, any plan within the
    capacity is accepted.
    """
    chosen = find_planner(planner)
    spent_s = process_time()
    with _without_collections():
        start = perf_counter()
        asked = make_problem(_read(problem), alignment)
        reading_s, start = perf_counter() - start, perf_counter()
        with progress(f"planning {problem.name}") as tell, telling(lambda what: tell(what, None)):
            other_s = 2 * spent_s + (1 + CHECKING) * reading_s
            left_s = max(time_limit_s - other_s, time_limit_s / 2)
            found = chosen.plan(asked, Options(left_s, capacity))
        seconds = perf_counter() - start
        plan = found.plan
        faults = check_plan(plan, problem=asked)
    assert not faults, f"the plan is wrong: {faults[0]}"
    if capacity is not None and plan.peak_bytes > capacity:
        raise CompileError(
            "E-PLAN-CAPACITY",
            f"the plan needs {plan.peak_bytes} bytes, the capacity is {capacity}",
            notes=[
                f"no plan needs less than {found.lower_bound_bytes} bytes",
                f"the planner {found.planner} found the best plan; stopped after {seconds:.1f} s: "
                f"{found.stopped}",
            ],
            hint="" if found.stopped != "infeasible" else "increase the capacity",
        )
    if output is not None:
        write_output(output, write_csv(plan))
    facts = {
        "ok": True,
        "problem": str(problem),
        "planner": planner,
        "made_by": found.planner,
        "stopped": found.stopped,
        "n_buffers": len(plan.buffers),
        "peak_bytes": plan.peak_bytes,
        "lower_bound_bytes": found.lower_bound_bytes,
        "live_bytes": asked.live_bytes,
        "gap": found.gap,
        "capacity_bytes": capacity,
        "seconds": seconds,
        "making_seconds": making_seconds(),
        "offsets": {b.name: b.offset for b in plan.buffers},
    }
    report(facts, lambda c: _show(c, found, planner, seconds))


@contextmanager
def _without_collections() -> Generator[None]:
    """Suspend garbage collection: its repeated scans of a million buffers would double the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _read(path: Path) -> list[Buffer]:
    try:
        with path.open("rb") as file:
            return read_csv_file(file, path.name)
    except OSError as e:
        raise CompileError("E-PLAN-INPUT", f"{path}: {e.strerror}", hint="check the path") from e


def _show(console: Console, found: Outcome, planner: str, seconds: float) -> None:
    plan = found.plan
    rows = [(b.name, b.start, b.end, b.size, b.offset) for b in plan.buffers]
    if len(rows) <= 40:
        console.print(table(["buffer", ">start", ">end", ">bytes", ">offset"], rows))
    over = f"{100 * found.gap:.1f} % above" if found.gap else "with"
    console.print(
        f"{len(rows)} buffers in {plan.peak_bytes} bytes ({bytes_text(plan.peak_bytes)}), {over} "
        f"the lower bound of {found.lower_bound_bytes} bytes"
    )
    maker = planner if found.planner == planner else f"{planner} (with {found.planner})"
    making = making_seconds()
    made = f", {making:.3f} s of it for machine code, once per machine" if making else ""
    console.print(f"planned by {maker} in {seconds:.3f} s{made}; stopped: {found.stopped}")
