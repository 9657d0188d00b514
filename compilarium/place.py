"""`place`: assign the kernels of a model to the devices of a platform, and simulate a run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from compilarium.options import (
    load_model,
    model_argument,
    named_shapes,
    pipeline_option,
    shape_option,
)
from compilarium.output import progress, report, reporting, table, write_output
from compilarium.seconds import Seconds
from compiler.errors import CompileError
from compiler.ir.graph import Graph
from compiler.ir.infer import specialize
from compiler.machine.keep import known
from compiler.machine.machine import Machine
from compiler.passes.engine.cost import Roofline
from compiler.passes.pipeline.run import run_pipeline
from compiler.place.check import check_schedule
from compiler.place.cores import cores
from compiler.place.gantt import gantt_svg, gantt_text
from compiler.place.hiding import Hidden, hiding
from compiler.place.of_graph import tasks_of
from compiler.place.place import SCHEDULERS, place
from compiler.place.platform import Platform
from compiler.place.platform_text import MOST_DEVICES, load_platform, shipped
from compiler.place.problem import one_device_seconds
from compiler.place.schedule import Schedule
from compiler.place.simulate import Conduct
from compiler.place.tasks import TaskGraph
from compiler.place.transfers import with_transfers
from compiler.units import bytes_text, seconds_text

LONGEST_TABLE = 60
"""Maximum number of rows of a printed table; longer tables are only in the JSON."""


@click.command()
@model_argument()
@click.option("--devices", required=True, metavar="NAME|FILE",
              help=f"Platform: {', '.join(shipped())}; host:N (N local cores); "
              "or a file.")  # fmt: skip
@click.option("--scheduler", default="iterated", show_default=True, metavar="NAME",
              help=f"Scheduler: {', '.join(SCHEDULERS)}.")  # fmt: skip
@click.option("--ahead", type=click.IntRange(min=0), default=None,
              help="Prefetch distance in tasks: 0 on demand, 1 double-buffered.")  # fmt: skip
@click.option("--contention/--no-contention", default=True, show_default=True,
              help="Limit the concurrent transfers on a link.")  # fmt: skip
@click.option("--time-limit", "time_limit_s", default=5.0, show_default=True,
              type=Seconds(min=0),
              help="Time limit in seconds for schedulers that search.")  # fmt: skip
@pipeline_option()
@shape_option()
@click.option("--emit", type=click.Choice(["tasks", "graph", "platform"]),
              help="Print the tasks, the graph with transfers, or the platform.")  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path),
              help="File for the Gantt chart, as SVG, or for the text of --emit.")  # fmt: skip
@reporting
def command(
    model: Path,
    devices: str,
    scheduler: str,
    ahead: int | None,
    contention: bool,
    time_limit_s: float,
    pipeline: str,
    shapes: tuple[tuple[str, tuple[int, ...]], ...],
    emit: str | None,
    output: Path | None,
) -> None:
    """Place MODEL on the devices of a platform, and simulate a run.

    Each kernel of the optimised graph is a task. The time of a task on a device follows from the
    task's operations and bytes. Links transfer values between memories.
    """
    platform = named_platform(devices, known())
    with progress(f"reading {model.name}"):
        graph = load_model(model)
        if shapes:
            graph = specialize(graph, named_shapes(shapes))
        graph = run_pipeline(graph, pipeline, verify=False, keep_declined=False)[0]
    tasks = tasks_of(graph)
    conduct = Conduct(ahead, contention)
    made = place(tasks, platform, scheduler=scheduler, conduct=conduct, time_limit_s=time_limit_s)
    faults = check_schedule(tasks, platform, made, contention=contention)
    assert not faults, f"the schedule is wrong: {faults[0]}"
    if emit is not None:
        _emit(_text(emit, graph, tasks, platform, made), output)
        return
    if output is not None:
        write_output(output, gantt_svg(tasks, platform, made))
    hidden = hiding(tasks, platform, made, contention=contention)
    data = {
        "ok": True,
        "model": str(model),
        "scheduler": scheduler,
        "hiding": [asdict(h) for h in hidden],
        **_facts(tasks, platform, made),
    }

    def show(console: Console) -> None:
        _show(console, tasks, platform, made, scheduler)
        if made.moves:
            console.print(_hiding_table(platform, hidden))

    report(data, show)


def named_platform(devices: str, machine: Machine) -> Platform:
    """Return a built-in platform, a platform from a file, or N cores of this machine."""
    kind, colon, count = devices.partition(":")
    if kind != "host" or not colon:
        return load_platform(devices)
    if not re.fullmatch(r"[0-9]{1,4}", count) or not 1 <= int(count) <= MOST_DEVICES:
        raise CompileError(
            "E-OPTION-VALUE",
            f"expected host:N with N from 1 to {MOST_DEVICES}, got {devices!r:.40}",
            hint="write host:2 for two cores of this machine",
        )
    speed = Roofline(
        machine.flops_per_second, machine.dram_bytes_per_second, machine.launch_seconds
    )
    return cores(int(count), speed, handover_seconds=machine.fork_seconds)


def _text(emit: str, graph: Graph, tasks: TaskGraph, platform: Platform, made: Schedule) -> str:
    if emit == "graph":
        return str(with_transfers(graph, tasks, platform, made))
    return str(tasks if emit == "tasks" else platform)


def _emit(text: str, output: Path | None) -> None:
    if output is not None:
        write_output(output, text)
    else:
        click.echo(text)


def _facts(tasks: TaskGraph, platform: Platform, made: Schedule) -> dict[str, Any]:
    alone = one_device_seconds(tasks, platform)
    return {
        "gap": made.gap,
        "one_device_seconds": alone,
        "n_tasks": len(tasks.tasks),
        "moved_bytes": sum(tasks.datum[m.datum].nbytes for m in made.moves),
        "schedule": made.to_json(tasks),
    }


def _hiding_table(platform: Platform, hidden: Sequence[Hidden]) -> Table:
    """Tabulate the time and peak memory of a run for each prefetch distance."""
    limited = [m.name for m in platform.memories if m.nbytes is not None]
    rows = [
        (
            h.words,
            "does not fit" if h.makespan_seconds is None else seconds_text(h.makespan_seconds),
            *(bytes_text(h.peak_bytes[m]) if h.peak_bytes else "" for m in limited),
        )
        for h in hidden
    ]
    return table(["operands arrive", ">run time", *(f">peak in {m}" for m in limited)], rows)


def _show(
    console: Console, tasks: TaskGraph, platform: Platform, made: Schedule, scheduler: str
) -> None:
    console.print(gantt_text(tasks, platform, made))
    whole = made.makespan_seconds or 1.0
    count = {d.name: sum(s.device == d.name for s in made.slots) for d in platform.devices}
    rows = [
        (name, count.get(name, ""), f"{100 * made.busy_seconds.get(name, 0.0) / whole:.1f} %")
        for name in [*count, *(x.name for x in platform.links)]
    ]
    console.print(table(["device or link", ">tasks", ">busy"], rows))
    memories = [
        (m.name, bytes_text(made.peak_bytes.get(m.name, 0)),
         "" if m.nbytes is None else bytes_text(m.nbytes))
        for m in platform.memories
    ]  # fmt: skip
    console.print(table(["memory", ">peak", ">capacity"], memories))
    slots = sorted(made.slots, key=lambda s: s.start)
    if len(slots) <= LONGEST_TABLE:
        times = [(s.task, s.device, seconds_text(s.start), seconds_text(s.end)) for s in slots]
        console.print(table(["task", "device", ">start", ">end"], times))
    alone = one_device_seconds(tasks, platform)
    beside = "" if alone is None else f"; one device takes {seconds_text(alone)}"
    console.print(
        f"{len(slots)} tasks by {scheduler} in {seconds_text(made.makespan_seconds)}, at most "
        f"{100 * made.gap:.1f} % more than the shortest schedule{beside}"
    )
    for note in made.notes:
        console.print(note)
