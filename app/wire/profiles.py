"""Payloads of measured runs, and Chrome trace events."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

from app.rounds import Rounds
from app.wire import VERSION
from app.wire.shapes import profiles as shapes
from app.wire.shapes.jobs import Kernel, Result
from app.wire.shapes.profiles import KernelTimes, Profile
from compiler.bench.disturbance import Disturbance
from compiler.diagnosis.causes import diagnosis_json
from compiler.diagnosis.programs import diagnoses
from compiler.figures.execution import kernel_bytes, kernel_flops
from compiler.figures.times import (
    kernel_speed,
    kernel_times,
    outside_kernels,
    run_median,
    run_times,
    separate_call,
    throughput,
    totals,
)
from compiler.ir.graph import Node
from compiler.machine.keep import machine_of, measured_at, processor
from compiler.machine.machine import LEVELS, Level, Machine
from compiler.machine.roofline import Unit
from compiler.runtime.program import Program
from compiler.runtime.shares import origin_shares
from compiler.runtime.trace_events import (
    KernelTime,
    Span,
    compile_tracks,
    run_tracks,
    trace_events,
)
from compiler.targets.target import Target


def profile(
    program: Program, rounds: Rounds, options: Mapping[str, Any], disturbed: Disturbance
) -> Profile:
    """Return the measured times, with the lower bounds on this machine and the causes.

    `options` are those of the compilation.
    """
    threads = options["threads"]
    machine = machine_of(program.target)
    imported = program.source
    if program.trace is not None and program.trace.events:
        imported = program.trace.events[0].before  # with the sizes of this compilation
    measured = rounds.profile
    measured.predicted = rounds.predicted
    measured.call_s = separate_call(measured.medians.values(), run_median(rounds.whole))
    causes = diagnoses(program, measured, threads, options["precision"])
    producers = program.graph.producers
    rows: list[KernelTimes] = []
    for number, k in enumerate(program.kernels):
        if k.name not in rounds.profile:
            continue
        node = producers.get(k.writes[0]) if k.writes else None
        p = rounds.predicted.get(k.name)
        times = kernel_times(measured, k.name)
        rows.append(
            {
                "kernel": number,
                **times,
                **kernel_speed(k, times),
                "unit": p.unit if p else "",
                "flops": kernel_flops(k),
                "bytes": kernel_bytes(k),
                "traffic": {at: round(n) for at, n in p.traffic.items() if n} if p else {},
                "fewer_products": node is not None and _has_fewer_products(node),
                "diagnosis": diagnosis_json(causes[k.name]),
                "shares": {} if node is None else origin_shares(node, program.graph, imported),
            }
        )
    units = {row["unit"] for row in rows}
    whole = run_times(rounds.whole)
    speed = throughput(program.kernels, whole["median_s"])
    sums = totals(measured, machine, whole["median_s"])
    outside = outside_kernels(whole["median_s"], sums["kernels_s"])
    return {
        "version": VERSION,
        "threads": threads,
        "seed": options["seed"],
        "machine": _machine(machine, program.target, units),
        "disturbance": disturbance(disturbed),
        "run": {**whole, "flops_per_s": speed},
        "totals": {**sums, "outside_s": outside, "call_s": measured.call_s},
        "kernels": rows,
    }


def disturbance(found: Disturbance) -> shapes.Disturbance:
    """Return the disturbance of a measurement."""
    return {
        "threads": found.threads,
        "n_processors": found.n_processors,
        "busy_processors": found.busy_processors,
        "waiting_share": found.waiting_share,
        "steal_share": found.steal_share,
        "causes": list(found.causes),
        "machine": found.machine,
        "words": f"{found.words} Machine: {found.machine}.",
    }


def _has_fewer_products(node: Node) -> bool:
    """Return whether the kernel contains a Winograd convolution."""
    inside = [n for region in node.regions.values() for n in region.nodes]
    names = (str(n.attrs.get("algorithm", "")) for n in (node, *inside))
    return any(name.startswith("winograd") for name in names)


def _machine(m: Machine, target: Target, used: Container[str]) -> shapes.Machine:
    peaks: dict[Unit, float] = {
        "f32": m.flops_per_second,
        "int8": m.int8_ops_per_second,
        "bf16": m.bf16_flops_per_second,
        "int8_tiles": m.int8_tile_ops_per_second,
        "bf16_tiles": m.bf16_tile_flops_per_second,
    }
    sizes: dict[Level, int] = {"L1": m.l1_bytes, "L2": m.l2_bytes, "L3": m.l3_bytes}
    return {
        "name": processor(),
        "features": features_of(target),
        "n_processors": target.n_cores,
        "is_measured": m.is_measured,
        "measured": measured_at() if m.is_measured else None,
        "peaks": [
            {"unit": unit, "flops_per_second": rate, "is_used": unit in used}
            for unit, rate in peaks.items()
            if rate
        ],
        "levels": [
            {"level": at, "bytes": sizes.get(at), "bytes_per_second": m.bytes_per_second(at)}
            for at in LEVELS
        ],
        "call_s": m.call_seconds,
    }


def features_of(t: Target) -> list[str]:
    """Describe the features that determine the speed of a core."""
    has = {
        "fused multiply-add": t.has_fma,
        "int8 dot products": t.has_int8_dot,
        "bf16 dot products": t.has_bf16_dot,
        "int8 matrix tiles": t.has_int8_tiles,
        "bf16 matrix tiles": t.has_bf16_tiles,
    }
    return [f"vectors of {t.vector_bytes} bytes", *(name for name, there in has.items() if there)]


def trace(result: Result, measured: Profile) -> dict[str, Any]:
    """Return a compilation and one run of its program as Chrome trace events."""
    passes = [
        Span(
            row["name"],
            row["seconds"] + row["verify_seconds"],
            {"verifying_us": row["verify_seconds"] * 1e6, "nodes_after": row["n_nodes"]},
        )
        for row in result["stages"][1:]
    ]
    phases = [(row["phase"], row["seconds"]) for row in result["timings"]]
    kernels = [
        _kernel_time(result["kernels"][row["kernel"]], row, measured["run"]["repeats"])
        for row in measured["kernels"]
    ]
    facts = {
        "model": result["model"]["name"],
        "pipeline": result["pipeline"],
        "machine": measured["machine"]["name"],
        "versions": result["versions"],
        "whole_run_median_us": measured["run"]["median_s"] * 1e6,
    }
    tracks = [*compile_tracks(phases, passes), *run_tracks(kernels, measured["threads"])]
    return trace_events(tracks, facts)


def _kernel_time(kernel: Kernel, row: KernelTimes, n: int) -> KernelTime:
    return KernelTime(
        kernel["name"],
        row["median_s"],
        row["low_s"],
        row["high_s"],
        n,
        row["flops"],
        kernel["bytes_read"],
        kernel["bytes_written"],
        row["predicted_s"],
        row["bound"],
        kernel["origins"],
    )
