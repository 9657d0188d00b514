"""What of a program is tuned: its different computations, by the time that they take of a run."""

from __future__ import annotations

from compiler.compute.computation import Computation, Routine
from compiler.compute.scalar import fetches
from compiler.dataclass import dataclass
from compiler.machine.database import computation_key
from compiler.runtime.profile import Profile
from compiler.runtime.program import Program
from compiler.runtime.works.kernels import KernelInfo


@dataclass(frozen=True)
class Task:
    """A computation, its constants, the schedule that the policy made, and who runs it.

    `seconds` is what all its launches take of a run together, `share` that as a part of it, and
    `room` what they take more than the roofline asks for, but at least a little: what there is to
    gain. Units: seconds.
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
"""Of a kernel at the roof, so much may still be gained: the roof was measured, too."""


def tasks_of(program: Program, profile: Profile) -> list[Task]:
    """The computations of a program that can be tuned, the longest first."""
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
    """Whether a kernel was made by moves alone, for known sizes, and reads no computed places.

    At computed places it would read outside of its operands where these are random numbers.
    """
    c = k.computation
    if c is None or k.loops is None or k.inside or k.loops.sizes or not k.moves:
        return False
    return not reads_computed_places(c)


def reads_computed_places(c: Computation) -> bool:
    """Whether what it reads, and where, depends on the numbers of its operands."""
    return any(isinstance(s, Routine) or bool(fetches(s.value)) for s in c.stages)
