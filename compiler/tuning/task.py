"""Tuning tasks: the distinct computations of a program, with their fractions of the run time."""

from __future__ import annotations

from compiler.compute.computation import Computation, Routine
from compiler.compute.scalar import fetches
from compiler.dataclass import dataclass
from compiler.machine.database import computation_key
from compiler.runtime.profile import Profile
from compiler.runtime.program import Program
from compiler.runtime.thunks.kernels import KernelInfo


@dataclass(frozen=True)
class Task:
    """A computation with its constants, the policy's schedule, and the kernels that implement it.

    `seconds` is the total time of the kernels' launches in a run; `share` is this time as a
    fraction of the run. `room` is the possible gain: the time above the roofline bound, but at
    least a small fraction of `seconds`. Units: seconds.
    """

    key: str
    computation: Computation
    constants: frozenset[str]
    schedule: str
    kernels: tuple[KernelInfo, ...]
    seconds: float
    share: float
    room: float


ALWAYS_ROOM = 0.02
"""The minimum `room` of a kernel, as a fraction of its time; above 0, because the measured roofline
bound is inexact."""


def tasks_of(program: Program, profile: Profile) -> list[Task]:
    """Return the tunable computations of a program, in order of decreasing time."""
    total = max(profile.seconds, 1e-12)
    groups: dict[str, list[KernelInfo]] = {}
    for k in program.kernels:
        if can_be_tuned(k) and k.name in profile:
            assert k.computation is not None
            groups.setdefault(computation_key(k.computation, k.constants), []).append(k)
    made = (_task(key, kernels, profile, total) for key, kernels in groups.items())
    return sorted(made, key=lambda t: -t.seconds)


def _task(key: str, kernels: list[KernelInfo], profile: Profile, total: float) -> Task:
    first = kernels[0]
    assert first.computation is not None
    own = sum(profile[k.name] for k in kernels)
    least = sum(p.seconds for k in kernels if (p := profile.predicted.get(k.name)))
    return Task(
        key,
        first.computation,
        first.constants,
        "".join(f"{move}\n" for move in first.moves),
        tuple(kernels),
        own,
        own / total,
        max(own - least, ALWAYS_ROOM * own),
    )


def can_be_tuned(k: KernelInfo) -> bool:
    """Return whether the kernel has a schedule and known sizes, and no index depends on data.

    With random operands, indices computed from data would be out of bounds.
    """
    c = k.computation
    if c is None or k.loops is None or k.inside or k.loops.sizes or not k.moves:
        return False
    return not reads_computed_places(c)


def reads_computed_places(c: Computation) -> bool:
    """Return whether the elements of operands determine the locations of reads."""
    return any(isinstance(s, Routine) or bool(fetches(s.value)) for s in c.stages)
