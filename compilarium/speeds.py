"""Measured speeds of this machine as a table, for `doctor --measure`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from compilarium.output import Progress, table
from compiler.bench.timing import pinned
from compiler.machine.keep import keep, processor
from compiler.machine.machine import LEVELS, Machine
from compiler.machine.measure import measure
from compiler.units import bytes_text, rate_text, seconds_text


def measured(tell: Progress) -> tuple[Machine, Path | None]:
    """Measure the speeds of this machine on one processor; save them if a cache directory is
    writable."""
    with pinned():
        machine = measure(processor(), lambda what: tell(what, None))
    return machine, keep(machine)


def show_speeds(console: Console, machine: Machine, file: Path | None) -> None:
    """Print the speeds, and the file that contains them."""
    console.print(table(["speed of one core", ">", "measured by"], _rows(machine), machine.name))
    console.print(f"Saved in {file}." if file else "Not saved: no cache directory is writable.")


def _rows(m: Machine) -> Iterator[tuple[str, str, str]]:
    def rate(per_second: float) -> str:
        return f"{bytes_text(per_second)}/s" if per_second else "not measured"

    yield "f32 multiply-adds", rate_text(m.flops_per_second), "operands in registers"
    if m.int8_ops_per_second:
        yield "int8 dot products", rate_text(m.int8_ops_per_second), "operands in registers"
    if m.bf16_flops_per_second:
        yield "bf16 dot products", rate_text(m.bf16_flops_per_second), "operands in registers"
    if m.int8_tile_ops_per_second:
        yield "int8 matrix tiles", rate_text(m.int8_tile_ops_per_second), "operands in L1"
    if m.bf16_tile_flops_per_second:
        yield "bf16 matrix tiles", rate_text(m.bf16_tile_flops_per_second), "operands in L1"
    sizes = {"L1": m.l1_bytes, "L2": m.l2_bytes, "L3": m.l3_bytes}
    for level in LEVELS:
        how = f"a sum; capacity {bytes_text(sizes[level])}" if level in sizes else "a sum"
        yield f"reading from {level}", rate(m.bytes_per_second(level)), how
    yield "copying in DRAM", rate(m.copy_bytes_per_second), "plain stores; bytes copied"
    if m.streamed_copy_bytes_per_second:
        rated = rate(m.streamed_copy_bytes_per_second)
        yield "copying, bypassing caches", rated, "non-temporal stores; bytes copied"
    yield "launch of one kernel", seconds_text(m.launch_seconds), "an empty kernel"
    yield "a call from Python", seconds_text(m.call_seconds), "an empty kernel"
    if m.fork_seconds:
        yield "starting and joining threads", seconds_text(m.fork_seconds), "an empty parallel loop"
