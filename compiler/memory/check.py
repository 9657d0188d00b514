"""Verification of a memory plan, independent of the planner.

`check_plan` checks offsets against lifetimes. `check_steps` does not rely on lifetimes. It follows
the launches and checks at each read that the bytes still belong to the value.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence

from compiler.dataclass import dataclass
from compiler.memory.buffer import Buffer, Plan
from compiler.memory.lifetimes import Step
from compiler.memory.problem import Problem
from compiler.memory.taken import Taken
from compiler.memory.views import NO_VIEWS, Span, Views


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of a plan: the buffers or values involved, and a description."""

    names: tuple[str, ...]
    problem: str

    def __str__(self) -> str:
        return f"{', '.join(self.names)}: {self.problem}"


def check_plan(
    plan: Plan, arena_bytes: int | None = None, problem: Problem | None = None
) -> list[Fault]:
    """Find overlaps of live buffers, misaligned offsets, and offsets outside the arena.

    Buffers that share memory must have the same offset; a pinned buffer must have its pinned
    offset. With `problem`, the plan must have the same buffers, unchanged. The result is empty for
    a correct plan. A wrong plan gives at least one fault, but some overlapping pairs give no fault.
    Units: bytes; without `arena_bytes`, the plan's own peak is the arena.
    """
    limit = plan.peak_bytes if arena_bytes is None else arena_bytes
    faults = [*_misplaced(plan, limit), *_torn(plan.buffers), *_overlaps(plan.buffers)]
    return faults if problem is None else [*_changed(plan, problem), *faults]


def _changed(plan: Plan, problem: Problem) -> Iterator[Fault]:
    """Yield differences between the plan and the problem."""
    if plan.alignment_bytes % problem.alignment_bytes:
        words = f"aligned to {plan.alignment_bytes}, the problem requires {problem.alignment_bytes}"
        yield Fault(("all",), words)
    asked = {b.name: b for b in problem.buffers}
    seen: set[str] = set()
    for b in plan.buffers:
        wanted = asked.get(b.name)
        if wanted is None:
            yield Fault((b.name,), "is not in the problem")
        elif b.name in seen:
            yield Fault((b.name,), "is listed twice")
        elif _facts(b) != _facts(wanted):
            yield Fault((b.name,), f"differs from the problem: {wanted}")
        seen.add(b.name)
    for name in asked.keys() - seen:
        yield Fault((name,), "is missing")


def _facts(b: Buffer) -> tuple[object, ...]:
    return b.size, b.start, b.end, b.alignment_bytes, b.pinned, b.shares


def _misplaced(plan: Plan, limit: int) -> Iterator[Fault]:
    for b in plan.buffers:
        if b.size < 0 or b.start >= b.end:
            words = f"has an invalid size or lifetime: {b.size} bytes, live {b.start}..{b.end}"
            yield Fault((b.name,), words)
        if b.offset < 0:
            yield Fault((b.name,), "has no offset")
        elif b.offset % plan.alignment_bytes:
            yield Fault((b.name,), f"offset {b.offset} is not a multiple of {plan.alignment_bytes}")
        elif b.offset % b.alignment_bytes:
            yield Fault((b.name,), f"offset {b.offset} is not a multiple of {b.alignment_bytes}")
        elif b.size and b.limit > limit:
            yield Fault((b.name,), f"ends at {b.limit}, the arena ends at {limit}")
        if b.pinned not in (-1, b.offset):
            yield Fault((b.name,), f"is pinned to {b.pinned}, but has offset {b.offset}")


def _torn(buffers: Sequence[Buffer]) -> Iterator[Fault]:
    """Yield buffers that should share an offset but have different offsets."""
    first: dict[str, Buffer] = {}
    for b in buffers:
        other = first.setdefault(b.shares, b) if b.shares else b
        if other.offset != b.offset:
            names = (other.name, b.name)
            at = f"{other.offset} and {b.offset}"
            yield Fault(names, f"should share an offset, but have {at}")


Held = tuple[int, int, int, int, str]
"""Occupied memory: start and end step, offset, limit, and the name of a buffer."""


def _held(buffers: Sequence[Buffer]) -> list[Held]:
    """Return the occupied memory; buffers that share memory give one entry for all of them."""
    shared: dict[str, Held] = {}
    held: list[Held] = []
    for b in buffers:
        mine = (b.start, b.end, b.offset, b.limit, b.name)
        if not b.shares:
            held.append(mine)
        elif b.shares in shared:
            start, end, offset, limit, name = shared[b.shares]
            shared[b.shares] = (
                *(min(start, b.start), max(end, b.end)),
                *(min(offset, b.offset), max(limit, b.limit), name),
            )
        else:
            shared[b.shares] = mine
    return [h for h in [*held, *shared.values()] if h[2] < h[3]]


def _overlaps(buffers: Sequence[Buffer]) -> Iterator[Fault]:
    """Yield overlaps of live buffers, found by a sweep over the steps.

    Each buffer is compared with its two neighbours among the live buffers ordered by offset. A
    buffer that overlaps another is not added, so the byte ranges of the live buffers stay disjoint.
    """
    alive = Taken()
    ends: list[tuple[int, int]] = []
    for start, end, offset, limit, name in sorted(_held(buffers)):
        while ends and ends[0][0] <= start:
            alive.remove(heapq.heappop(ends)[1])
        meets = alive.meets(offset, limit)
        for other in meets:
            yield Fault(
                (other[2], name),
                f"both are alive at step {start}, in bytes {other[0]}..{other[1]} and "
                f"{offset}..{limit}",
            )
        if not meets and start < end:
            alive.add(offset, limit, name)
            heapq.heappush(ends, (end, offset))


Place = tuple[int, int]
"""Offset and size in bytes."""


def check_steps(
    steps: Sequence[Step], places: Mapping[str, Place], views: Views = NO_VIEWS
) -> list[Fault]:
    """Follow the launches: check that each read finds the bytes that were written for its value.

    `places` has the offset and size of each value and scratch buffer in the arena. A view without
    an entry is at the place of its source. A slice must be at its offset inside the sliced value. A
    part of a joined value (a concatenation) must be at its offset inside the joined value.
    Together, the parts must fill the joined value. A launch may overwrite only operands that
    `Step.may_overwrite` lists, and only with a result of the same offset and size.
    """
    faults = list(_misshapen(places, views))
    owners: dict[str, Place] = {}
    for number, step in enumerate(steps):
        reads = {r: at for r in step.reads if (at := _place(r, places, views)) is not None}
        homeless = (r for r in step.reads if r not in reads and set(views.roots(r)) & places.keys())
        faults += [Fault((r,), f"is read by step {number}, but has no offset") for r in homeless]
        for value, place in reads.items():
            if not _is_there(value, place, owners, views):
                faults.append(Fault((value,), f"is overwritten before step {number} reads it"))
        written = {w: places[w] for w in (*step.writes, *step.scratch) if w in places}
        faults += _collisions(number, step, reads, written)
        for name, place in written.items():
            owners = {k: v for k, v in owners.items() if not _meet(v, place)}
            owners[name] = place
    return faults


def _place(value: str, places: Mapping[str, Place], views: Views) -> Place | None:
    """Return offset and size of a value in the arena; None for values outside the arena."""
    return places.get(value) or places.get(views.below(value))


def _misshapen(places: Mapping[str, Place], views: Views) -> Iterator[Fault]:
    """Yield faults of views that are not at their source, and of parts at wrong offsets."""
    for view, shown in views.shown.items():
        if view in places and shown in places and places[view] != places[shown]:
            at = f"the view is at {places[view]}, its source at {places[shown]}"
            yield Fault((view, shown), at)
    for name, at in views.cut.items():
        yield from _beside(name, at.start, at.size, at.value, places)
    for whole, parts in views.joined.items():
        end = 0
        for part in parts:
            yield from _beside(part.value, part.start, part.size, whole, places)
            if part.start != end:
                at = f"begins at byte {part.start} of the joined value, not {end}"
                yield Fault((part.value, whole), at)
            end = part.start + part.size
        if whole in places and places[whole][1] != end:
            yield Fault((whole,), f"has {places[whole][1]} bytes, but its parts have {end}")


def _beside(
    name: str, start: int, size: int, whole: str, places: Mapping[str, Place]
) -> Iterator[Fault]:
    """Yield a fault if a slice or part is at the wrong offset, or outside the containing value."""
    if name not in places or whole not in places:
        return
    offset, limit = places[whole][0], places[whole][1]
    if places[name] != (offset + start, size):
        yield Fault((name, whole), f"is at {places[name]}, not {start} bytes after {offset}")
    if start < 0 or start + size > limit:
        words = f"bytes {start} to {start + size} are not inside the {limit} bytes of the second"
        yield Fault((name, whole), f"{words} value")


def _is_there(value: str, place: Place, owners: Mapping[str, Place], views: Views) -> bool:
    """Return whether all bytes written for a value are still present, each at its offset."""
    at, size = place
    pieces = list(views.pieces(value, 0, size))
    for piece in pieces or [Span(root, 0, 0) for root in views.roots(value)]:
        owner = owners.get(piece.value)
        if owner is None or (piece.size and owner[0] + piece.start != at):
            return False
        if piece.start + piece.size > owner[1]:
            return False
        at += piece.size
    return at == place[0] + size


def _collisions(
    number: int, step: Step, reads: Mapping[str, Place], written: Mapping[str, Place]
) -> Iterator[Fault]:
    """Yield the faults of a step: overlapping writes, and forbidden overwrites of operands."""
    names = list(written)
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            if _meet(written[a], written[b]):
                yield Fault((a, b), f"step {number} writes both to the same bytes")
        allowed = step.may_overwrite.get(a, ())
        for value, place in reads.items():
            if not _meet(written[a], place):
                continue
            if value not in allowed:
                yield Fault((a, value), f"step {number} overwrites the second value with the first")
            elif written[a] != place:
                words = f"step {number} overwrites part of the second value with the first"
                yield Fault((a, value), words)


def _meet(a: Place, b: Place) -> bool:
    return a[0] < b[0] + b[1] and b[0] < a[0] + a[1] and a[1] > 0 and b[1] > 0
