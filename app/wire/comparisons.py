"""Payloads of comparisons of two compilations."""

from __future__ import annotations

from collections.abc import Mapping

from app.rounds import Rounds
from app.wire import VERSION
from app.wire.profiles import disturbance
from app.wire.shapes.comparisons import ComparedKernel, ComparedProgram, ComparedRuns, Comparison
from compiler.bench.disturbance import Disturbance
from compiler.bench.versus import Versus
from compiler.figures.times import run_times, separate_call
from compiler.runtime.program import Program


def comparison(
    other: str,
    found: Versus,
    programs: tuple[Program, Program],
    rounds: tuple[Rounds, Rounds],
    options: Mapping[str, int],
    disturbed: Disturbance,
    *,
    is_native: bool,
) -> Comparison:
    """Return the verdict on two programs, with the times of both."""
    value, low, high = found.ratio
    first, second = rounds
    runs = Versus((first.batch_minima,), (second.batch_minima,))
    sides = [
        _side(program, each, seconds)
        for program, each, seconds in zip(programs, rounds, found.seconds, strict=True)
    ]
    return {
        "version": VERSION,
        "other": other,
        "verdict": found.verdict,
        "ratio": value,
        "low": low,
        "high": high,
        "equal_share": found.equal_share,
        "n_copies": len(found.a),
        "n_blocks": found.n_blocks,
        "is_native": is_native,
        "threads": options["threads"],
        "seed": options["seed"],
        "disturbance": disturbance(disturbed),
        "runs": _ratio(runs),
        "a": sides[0],
        "b": sides[1],
    }


def _ratio(found: Versus) -> ComparedRuns:
    value, low, high = found.ratio
    return {
        "verdict": found.verdict,
        "ratio": value,
        "low": low,
        "high": high,
        "equal_share": found.equal_share,
    }


def _side(program: Program, rounds: Rounds, launches_s: float) -> ComparedProgram:
    times = rounds.profile
    kernels: list[ComparedKernel] = [
        {
            "kernel": number,
            "median_s": times.medians[k.name],
            "min_s": times[k.name],
            "low_s": times.intervals[k.name][0],
            "high_s": times.intervals[k.name][1],
        }
        for number, k in enumerate(program.kernels)
        if k.name in times
    ]
    return {
        "launches_s": launches_s,
        "call_s": separate_call(times.medians.values(), launches_s),
        "run": run_times(rounds.whole),
        "kernels": kernels,
    }
