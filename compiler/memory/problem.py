"""A planning problem: buffers, the alignment of all, and what no plan for them can go below."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from compiler.dataclass import dataclass
from compiler.errors import CompileError, Where
from compiler.memory.buffer import Block, Buffer, Plan, aligned_bytes, blocks_of, live_bytes
from compiler.memory.taken import Taken


@dataclass(frozen=True)
class Problem:
    """What is to be placed. Every offset must be a multiple of `alignment_bytes`, a power of two.

    Planners place `blocks`, and `plan` turns offsets of blocks into a plan.
    Errors: `check_problem` says what a problem must be; a planner may rely on it.
    """

    buffers: tuple[Buffer, ...]
    alignment_bytes: int = 1

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """What is placed as one. Blocks of 0 bytes can lie anywhere."""
        return tuple(blocks_of(self.buffers, self.alignment_bytes))

    @cached_property
    def live_bytes(self) -> int:
        """The most bytes alive at one step."""
        return live_bytes(self.blocks)

    @cached_property
    def lower_bound_bytes(self) -> int:
        """What no plan can go below: live bytes with the gaps that alignment forces, and pins."""
        pins = max((b.pinned + b.size for b in self.blocks if b.pinned >= 0 and b.size), default=0)
        return max(aligned_bytes(self.blocks), pins)

    def plan(self, offsets: Sequence[int]) -> Plan:
        """The plan in which every buffer lies where its block does. Units: bytes."""
        places = [0] * len(self.buffers)
        for block, offset in zip(self.blocks, offsets, strict=True):
            for member in block.members:
                places[member] = int(offset)
        placed = (replace(b, offset=o) for b, o in zip(self.buffers, places, strict=True))
        return Plan(tuple(placed), self.alignment_bytes)


LARGEST = 2**60
"""No step, and no sum of all sizes, pins and alignments, is larger: offsets fit machine words."""


def check_problem(
    buffers: Sequence[Buffer],
    alignment_bytes: int = 1,
    where: Callable[[str], Where | None] = lambda name: None,
) -> None:
    """Errors: E-PLAN-INPUT for buffers that make no sense, alone or together.

    `where` says at which place of a file a buffer stands, by name.
    """
    seen: set[str] = set()
    for row, b in enumerate(buffers, 1):
        problem = buffer_fault(b) or ("the name is used twice" if b.name in seen else "")
        if problem:
            words = f"buffer {b.name!r}, number {row}: {problem}"
            raise CompileError("E-PLAN-INPUT", words, where=where(b.name))
        seen.add(b.name)
    total = 0
    for b in buffers:
        total += b.size + max(b.pinned, 0) + b.alignment_bytes
        if total > LARGEST:
            words = (
                f"buffer {b.name!r}: up to it, sizes, pins and alignments add up to {total} bytes, "
                f"and {LARGEST} are the most"
            )
            raise CompileError("E-PLAN-INPUT", words, where=where(b.name))
    fault = next(_pin_faults(buffers, alignment_bytes), None)
    if fault is not None:
        name, problem = fault
        raise CompileError("E-PLAN-INPUT", f"buffer {name!r}: {problem}", where=where(name))


def buffer_fault(b: Buffer) -> str:
    """What makes no sense about one buffer; nothing when it does."""
    if b.size < 0:
        return f"needed a size of at least 0 bytes, got {b.size}"
    if b.start >= b.end:
        return f"needed lower < upper, a lifetime that ends after it starts, got {b.start}..{b.end}"
    if b.start < 0:
        return f"needed a lower of at least 0, the first step, got {b.start}..{b.end}"
    if b.end > LARGEST:
        return f"needed an upper of at most {LARGEST}, got {b.end}"
    if not is_power_of_two(b.alignment_bytes):
        return f"needed an alignment that is a power of two, got {b.alignment_bytes}"
    if b.pinned < -1:
        return f"needed a pin from byte 0 on, or -1 for none, got {b.pinned}"
    return ""


def is_power_of_two(number: int) -> bool:
    """Whether a number may be an alignment."""
    return number > 0 and not number & (number - 1)


def _pin_faults(buffers: Sequence[Buffer], alignment_bytes: int) -> Iterator[tuple[str, str]]:
    """Pins must agree within a group, be aligned, and not put two blocks at one place.

    The name of a buffer, and what is wrong with its pin.
    """
    if all(b.pinned < 0 for b in buffers):
        return
    pinned: list[tuple[str, Block]] = []
    for block in blocks_of(buffers, alignment_bytes):
        name = buffers[block.members[0]].name
        pins = {buffers[i].pinned for i in block.members} - {-1}
        if not pins:
            continue
        if len(pins) > 1:
            places = " and ".join(map(str, sorted(pins)))
            yield name, f"what shares its place is pinned to {places}"
        if block.pinned % block.alignment_bytes:
            yield name, f"pinned to {block.pinned}, no multiple of {block.alignment_bytes}"
        if block.size:
            pinned.append((name, block))
    yield from _pinned_together(pinned)


def _pinned_together(pinned: list[tuple[str, Block]]) -> Iterator[tuple[str, str]]:
    """Sweep over the steps with what is alive ordered by offset: only neighbours can overlap.

    Nothing in the order overlaps, since what comes after the first fault is not asked for.
    """
    alive = Taken()
    ends: list[tuple[int, int]] = []
    for name, b in sorted(pinned, key=lambda p: p[1].start):
        while ends and ends[0][0] <= b.start:
            alive.remove(heapq.heappop(ends)[1])
        for _, _, other in alive.meets(b.pinned, b.pinned + b.size):
            yield name, f"pinned to bytes of {other!r}, which lives at its time"
        alive.add(b.pinned, b.pinned + b.size, name)
        heapq.heappush(ends, (b.end, b.pinned))
