"""Measured time and lower bound of each kernel, for `run --profile` and `run --trace`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rich.console import Console

from compilarium.output import table
from compiler.diagnosis.causes import Diagnosis, diagnosis_json
from compiler.figures import times
from compiler.machine.keep import processor
from compiler.machine.machine import Machine
from compiler.runtime.profile import Profile
from compiler.runtime.program import Program
from compiler.runtime.trace_events import (
    KernelTime,
    Span,
    compile_tracks,
    run_tracks,
    trace_events,
)
from compiler.units import percent_text, ratio_text, seconds_text

TRACED_RUNS = 20
"""Default number of timed runs of kernels for a trace."""

DIAGNOSED = 3
"""Number of kernels whose diagnosis is printed, slowest first; `--json` has all diagnoses."""

SHOWN = 40
"""Number of kernels in the table, slowest first; `--json` lists all kernels."""


def profile_json(
    profile: Profile, machine: Machine, diagnoses: Mapping[str, Diagnosis]
) -> dict[str, Any]:
    """Return the launches in order and their totals, as JSON data. Units: seconds."""
    predicted = profile.predicted
    return {
        "profile": [
            {
                "kernel": name,
                **times.kernel_times(profile, name),
                "is_measured_machine": name in predicted and predicted[name].is_measured,
                "diagnosis": diagnosis_json(diagnoses[name]),
            }
            for name in profile
        ],
        "totals": times.totals(profile, machine),
    }


def show_profile(console: Console, data: Mapping[str, Any]) -> None:
    """Print the profile as a table, slowest kernel first."""
    slowest = sorted(data["profile"], key=lambda row: -row["median_s"])
    rows = [
        (
            row["kernel"],
            seconds_text(row["median_s"]),
            percent_text(row["share"]),
            *_prediction(row),
        )
        for row in slowest[:SHOWN]
    ]
    columns = ["kernel", ">median", ">share", ">lower bound", ">ratio", "bound by"]
    console.print(table(columns, rows))
    for row in slowest[:DIAGNOSED]:
        found = row["diagnosis"]
        console.print(f"{row['kernel']}: {found['title']}. {found['evidence']}", highlight=False)
        for action in found["actions"]:
            console.print(f"  {action['words']}", highlight=False)
    if len(slowest) > SHOWN:
        rest = sum(row["median_s"] for row in slowest[SHOWN:])
        console.print(f"The other {len(slowest) - SHOWN} kernels take {seconds_text(rest)}.")
    totals = data["totals"]
    console.print(
        f"All kernels, each called separately: {seconds_text(totals['kernels_s'])}; lower bound "
        f"{seconds_text(totals['predicted_s'])}. Lower bound of a whole run in one call: "
        f"{seconds_text(totals['run_bound_s'])}."
    )
    if not all(row["is_measured_machine"] for row in slowest if row["predicted_s"] is not None):
        console.print("Machine speeds are estimates; measure: compilarium doctor --measure.")


def _prediction(row: Mapping[str, Any]) -> tuple[str, str, str]:
    if row["predicted_s"] is None:
        return "", "", ""
    return seconds_text(row["predicted_s"]), ratio_text(row["ratio"]), row["bound"]


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
