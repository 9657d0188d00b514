"""The diagnoses of all kernels of a profiled program."""

from __future__ import annotations

from collections import Counter

from compiler.diagnosis.causes import Diagnosis, diagnose
from compiler.diagnosis.facts import Facts
from compiler.diagnosis.work import work_of
from compiler.figures.times import kernel_times
from compiler.machine.keep import machine_of
from compiler.runtime.profile import Profile
from compiler.runtime.program import Program


def diagnoses(
    program: Program, profile: Profile, threads: int, precision: str
) -> dict[str, Diagnosis]:
    """Return the diagnosis of each kernel of a profile, by name.

    `threads` and `precision` are options of the compilation.
    """
    target = program.target
    cores = min(threads, target.n_cores)
    machine = machine_of(target).of_cores(cores)
    inside = Counter(k.inside for k in program.kernels)
    return {
        k.name: diagnose(
            Facts(
                k,
                kernel_times(profile, k.name),
                profile.predicted.get(k.name),
                work_of(k.loops, target) if k.loops is not None else None,
                machine,
                cores,
                target.n_cores,
                precision,
                inside[k.name],
            )
        )
        for k in program.kernels
        if k.name in profile
    }
