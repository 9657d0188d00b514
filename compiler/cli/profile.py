"""Seconds of each kernel beside what it needs at least: for `run --profile`."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from compiler.cli.output import seconds_text, table
from compiler.runtime.profile import Profile

SHOWN = 40
"""Kernels in the table, the slowest first; `--json` has all."""


def profile_json(profile: Profile) -> list[dict[str, Any]]:
    """Every launch in order. Units: seconds."""
    return [
        {
            "kernel": name,
            "seconds": seconds,
            "median_s": profile.medians[name],
            "predicted_s": p.seconds if (p := profile.predicted.get(name)) else None,
            "bound": p.bound if p else "",
            "is_measured_machine": bool(p and p.is_measured),
        }
        for name, seconds in profile.items()
    ]


def show_profile(console: Console, profile: Profile) -> None:
    """The same for people, the slowest first."""
    slowest = sorted(profile.items(), key=lambda item: -item[1])
    total = max(profile.seconds, 1e-12)
    rows = [
        (name, seconds_text(s), f"{100 * s / total:.1f} %", *_prediction(profile, name, s))
        for name, s in slowest[:SHOWN]
    ]
    columns = ["kernel", ">time", ">share", ">at least", ">of that", "bound by"]
    console.print(table(columns, rows))
    if len(slowest) > SHOWN:
        rest = sum(s for _, s in slowest[SHOWN:])
        console.print(f"{len(slowest) - SHOWN} more kernels take {seconds_text(rest)} together.")
    least = sum(p.seconds for p in profile.predicted.values())
    console.print(
        f"All kernels {seconds_text(profile.seconds)}, each called on its own; by the roofline of "
        f"this machine at least {seconds_text(least)}."
    )
    if not all(p.is_measured for p in profile.predicted.values()):
        console.print("Its speeds are estimates: compilarium doctor --measure measures them.")


def _prediction(profile: Profile, name: str, seconds: float) -> tuple[str, str, str]:
    found = profile.predicted.get(name)
    if found is None:
        return "", "", ""
    share = f"{100 * found.seconds / max(seconds, 1e-12):.0f} %"
    return seconds_text(found.seconds), share, found.bound
