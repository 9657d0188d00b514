"""`plan`: place the buffers of a planning problem in one arena."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter

import click
from rich.console import Console

from compiler.cli.output import bytes_text, report, reporting, table, write_output
from compiler.errors import CompileError
from compiler.memory.buffer import Plan
from compiler.memory.check import check_plan
from compiler.memory.csvfile import read_csv, write_csv
from compiler.memory.plan import plan_memory
from compiler.memory.planners.all import PLANNERS


@click.command()
@click.argument("problem", type=click.Path(path_type=Path))
@click.option("--capacity", type=click.IntRange(min=0), help="Fail when more bytes are needed.")
@click.option("--planner", default="greedy_by_size", show_default=True, metavar="NAME",
              help=f"One of {', '.join(PLANNERS)}.")  # fmt: skip
@click.option("--alignment", default=1, show_default=True, help="Offsets are multiples of this.")
@click.option("--time-limit", "time_limit_s", default=10.0, show_default=True,
              type=click.FloatRange(min=0), help="Seconds for planners that search.")  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Where the solution goes.")
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

    A buffer of `size` bytes lives in the steps lower..upper (upper excluded). The solution has the
    column `offset` as well.
    """
    buffers = read_csv(_read(problem), problem.name)
    start = perf_counter()
    plan = plan_memory(
        buffers, alignment_bytes=alignment, planner=planner, time_limit_s=time_limit_s
    )
    seconds = perf_counter() - start
    faults = check_plan(plan)
    assert not faults, f"the plan is wrong: {faults[0]}"
    if capacity is not None and plan.peak_bytes > capacity:
        raise CompileError(
            "E-PLAN-CAPACITY",
            f"the plan needs {plan.peak_bytes} bytes, the capacity is {capacity}",
            notes=[f"at least {plan.lower_bound_bytes} bytes are alive at one step"],
        )
    if output is not None:
        write_output(output, write_csv(plan))
    facts = {
        "ok": True,
        "problem": str(problem),
        "planner": planner,
        "n_buffers": len(plan.buffers),
        "peak_bytes": plan.peak_bytes,
        "lower_bound_bytes": plan.lower_bound_bytes,
        "capacity_bytes": capacity,
        "seconds": seconds,
        "offsets": {b.name: b.offset for b in plan.buffers},
    }
    report(facts, lambda c: _show(c, plan, planner, seconds))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        raise CompileError("E-PLAN-INPUT", f"{path}: {e}", hint="check the path") from e


def _show(console: Console, plan: Plan, planner: str, seconds: float) -> None:
    bound = plan.lower_bound_bytes
    over = f"{100 * (plan.peak_bytes / bound - 1):.1f} % above" if bound else "with"
    rows = [(b.name, b.start, b.end, b.size, b.offset) for b in plan.buffers]
    if len(rows) <= 40:
        console.print(table(["buffer", ">start", ">end", ">bytes", ">offset"], rows))
    console.print(
        f"{len(rows)} buffers in {plan.peak_bytes} bytes ({bytes_text(plan.peak_bytes)}), {over} "
        f"the lower bound of {bound} bytes; {planner} took {seconds:.3f} s"
    )
