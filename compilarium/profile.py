"""Measured time and lower bound of each kernel, for `run --profile` and `run --trace`."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console

from compilarium.output import table
from compiler.machine.keep import processor
from compiler.runtime.profile import Profile
from compiler.runtime.program import Program
from compiler.runtime.trace_events import (
    KernelTime,
    Span,
    compile_tracks,
    run_tracks,
    trace_events,
)
from compiler.units import seconds_text

TRACED_RUNS = 20
"""Default number of timed runs of kernels for a trace."""

SHOWN = 40
"""Number of kernels in the table, slowest first; `--json` lists all kernels."""


def profile_json(profile: Profile) -> list[dict[str, Any]]:
    """Return the launches in order, as JSON data. Units: seconds."""
    return [
        {
            "kernel": name,
            "seconds": seconds,
            "median_s": profile.medians[name],
            "low_s": profile.intervals[name][0],
            "high_s": profile.intervals[name][1],
            "predicted_s": p.seconds if (p := profile.predicted.get(name)) else None,
            "bound": p.bound if p else "",
            "is_measured_machine": bool(p and p.is_measured),
        }
        for name, seconds in profile.items()
    ]


def show_profile(console: Console, profile: Profile) -> None:
    """Print the profile as a table, slowest kernel first."""
    slowest = sorted(profile.items(), key=lambda item: -item[1])
    total = max(profile.seconds, 1e-12)
    rows = [
        (name, seconds_text(s), f"{100 * s / total:.1f} %", *_prediction(profile, name, s))
        for name, s in slowest[:SHOWN]
    ]
    columns = ["kernel", ">time", ">share", ">lower bound", ">bound / time", "bound by"]
    console.print(table(columns, rows))
    if len(slowest) > SHOWN:
        rest = sum(s for _, s in slowest[SHOWN:])
        console.print(f"The other {len(slowest) - SHOWN} kernels take {seconds_text(rest)}.")
    least = sum(p.seconds for p in profile.predicted.values())
    console.print(
        f"All kernels: {seconds_text(profile.seconds)}, timed separately; lower bound by the "
        f"roofline of this machine: {seconds_text(least)}."
    )
    if not all(p.is_measured for p in profile.predicted.values()):
        console.print("Machine speeds are estimates; measure: compilarium doctor --measure.")


def _prediction(profile: Profile, name: str, seconds: float) -> tuple[str, str, str]:
    found = profile.predicted.get(name)
    if found is None:
        return "", "", ""
    share = f"{100 * found.seconds / max(seconds, 1e-12):.0f} %"
    return seconds_text(found.seconds), share, found.bound


def trace_bytes(program: Program, profile: Profile, model: str, threads: int) -> bytes:
    """Return compilation steps, passes and one run as Chrome trace events, in JSON bytes."""
    events = program.trace.events if program.trace is not None else []
    passes = [
        Span(
            e.name,
            e.seconds + e.verify_seconds,
            {"verifying_us": e.verify_seconds * 1e6, "nodes_after": len(e.after.nodes)},
        )
        for e in events
    ]
    tracks = [
        *compile_tracks([(s.name, s.seconds) for s in program.stages], passes),
        *run_tracks(_kernel_times(program, profile), threads),
    ]
    facts = {"model": model, "machine": processor(), "threads": threads}
    return json.dumps(trace_events(tracks, facts)).encode()


def _kernel_times(program: Program, profile: Profile) -> list[KernelTime]:
    found: list[KernelTime] = []
    for k in program.kernels:
        if k.name not in profile:
            continue
        p = profile.predicted.get(k.name)
        found.append(
            KernelTime(
                k.name,
                profile.medians[k.name],
                *profile.intervals[k.name],
                len(profile.runs),
                k.flops,
                k.bytes_read,
                k.bytes_written,
                p.seconds if p else None,
                p.bound if p else "",
                k.origins,
            )
        )
    return found
