"""Checks of a memory plan that know nothing of how it was made.

`check_plan` looks at lifetimes and offsets only. `check_steps` does not even believe the lifetimes:
it follows the launches and asks, at every read, whether the bytes still are the value's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from compiler.memory.buffer import Buffer, Plan
from compiler.memory.lifetimes import Step, root_of


@dataclass(frozen=True, slots=True)
class Fault:
    """Something wrong with a plan: which buffers or values, and what."""

    names: tuple[str, ...]
    problem: str

    def __str__(self) -> str:
        return f"{', '.join(self.names)}: {self.problem}"


def check_plan(plan: Plan, arena_bytes: int | None = None) -> list[Fault]:
    """Every overlap of buffers that are alive together, misalignment, and place outside the arena.

    Units: bytes; without `arena_bytes` the plan's own peak is the arena.
    """
    limit = plan.peak_bytes if arena_bytes is None else arena_bytes
    return [*_misplaced(plan, limit), *_overlaps(plan.buffers)]


def _misplaced(plan: Plan, limit: int) -> Iterator[Fault]:
    for b in plan.buffers:
        if b.offset < 0:
            yield Fault((b.name,), "has no place")
        elif b.offset % plan.alignment_bytes:
            yield Fault((b.name,), f"offset {b.offset} is no multiple of {plan.alignment_bytes}")
        elif b.size and b.limit > limit:
            yield Fault((b.name,), f"ends at {b.limit}, the arena at {limit}")


def _overlaps(buffers: Sequence[Buffer]) -> Iterator[Fault]:
    """Sweep over the steps; only buffers alive together are compared."""
    alive: list[Buffer] = []
    for b in sorted(buffers, key=lambda b: b.start):
        if not b.size:
            continue
        alive = [a for a in alive if a.end > b.start]
        for a in alive:
            if a.offset < b.limit and b.offset < a.limit:
                yield Fault(
                    (a.name, b.name),
                    f"both are alive at step {b.start}, at {a.offset}..{a.limit} "
                    f"and {b.offset}..{b.limit}",
                )
        alive.append(b)


Place = tuple[int, int]
"""Offset and size in bytes."""


def check_steps(
    steps: Sequence[Step],
    places: Mapping[str, Place],
    views: Mapping[str, str],
) -> list[Fault]:
    """Follow the launches: every read must find the bytes that were written for that value.

    `places` has every value and scratch buffer in the arena; a view lies where its root lies.
    Writing over an operand of the same launch needs a declaration (`Step.may_overwrite`) and the
    same bytes.
    """
    faults: list[Fault] = []
    owners: dict[str, Place] = {}
    for number, step in enumerate(steps):
        reads = {r: root_of(r, views) for r in step.reads if root_of(r, views) in places}
        for value, root in reads.items():
            if owners.get(root) != places[root]:
                faults.append(Fault((value,), f"step {number} reads it after it was overwritten"))
        written = {w: places[w] for w in (*step.writes, *step.scratch) if w in places}
        faults += _collisions(number, step, reads, written, places, views)
        for name, place in written.items():
            owners = {k: v for k, v in owners.items() if not _meet(v, place)}
            owners[name] = place
    return faults


def _collisions(
    number: int,
    step: Step,
    reads: Mapping[str, str],
    written: Mapping[str, Place],
    places: Mapping[str, Place],
    views: Mapping[str, str],
) -> Iterator[Fault]:
    """Writes of one step that meet each other, or an operand without permission."""
    names = list(written)
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            if _meet(written[a], written[b]):
                yield Fault((a, b), f"step {number} writes both to the same bytes")
        allowed = {root_of(v, views) for v in step.may_overwrite.get(a, ())}
        for value, root in reads.items():
            if not _meet(written[a], places[root]):
                continue
            if root not in allowed:
                yield Fault((a, value), f"step {number} writes the one over the other")
            elif written[a] != places[root]:
                yield Fault((a, value), f"step {number} writes the one over part of the other")


def _meet(a: Place, b: Place) -> bool:
    return a[0] < b[0] + b[1] and b[0] < a[0] + a[1] and a[1] > 0 and b[1] > 0
