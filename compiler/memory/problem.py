"""A planning problem: buffers, their common alignment, and a lower bound of the peak."""

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
    """Buffers to place. Each offset must be a multiple of `alignment_bytes`, a power of two.

    Planners place `blocks`, and `plan` converts offsets of blocks to a plan. Planners may rely on
    the requirements that `check_problem` checks.
    """

    buffers: tuple[Buffer, ...]
    alignment_bytes: int = 1

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """Return the blocks, which are the units of placement; empty blocks may have any offset."""
        return tuple(blocks_of(self.buffers, self.alignment_bytes))

    @cached_property
    def live_bytes(self) -> int:
        """Return the largest number of live bytes at one step."""
        return live_bytes(self.blocks)

    @cached_property
    def lower_bound_bytes(self) -> int:
        """Return a lower bound of the peak, from padded live bytes and from pinned blocks."""
        pins = max((b.pinned + b.size for b in self.blocks if b.pinned >= 0 and b.size), default=0)
        return max(aligned_bytes(self.blocks), pins)

    def plan(self, offsets: Sequence[int]) -> Plan:
        """Return the plan in which each buffer has the offset of its block. Units: bytes."""
        places = [0] * len(self.buffers)
        for block, offset in zip(self.blocks, offsets, strict=True):
            for member in block.members:
                places[member] = int(offset)
        placed = (replace(b, offset=o) for b, o in zip(self.buffers, places, strict=True))
        return Plan(tuple(placed), self.alignment_bytes)


LARGEST = 2**60
"""Largest step, and largest sum of sizes, pins and alignments, so that offsets fit in 64 bits."""


def check_problem(
    buffers: Sequence[Buffer],
    alignment_bytes: int = 1,
    where: Callable[[str], Where | None] = lambda name: None,
) -> None:
    """Check each buffer, the sum of all sizes, and the pins. Errors: E-PLAN-INPUT.

    `where` maps a buffer's name to its position in a file.
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
                f"buffer {b.name!r}: sizes, pins and alignments up to here add up to {total} "
                f"bytes, the limit is {LARGEST}"
            )
            raise CompileError("E-PLAN-INPUT", words, where=where(b.name))
    fault = next(_pin_faults(buffers, alignment_bytes), None)
    if fault is not None:
        name, problem = fault
        raise CompileError("E-PLAN-INPUT", f"buffer {name!r}: {problem}", where=where(name))


def buffer_fault(b: Buffer) -> str:
    """Return the fault of one buffer; "" for a valid buffer."""
    if b.size < 0:
        return f"expected a size of at least 0 bytes, got {b.size}"
    if b.start >= b.end:
        return f"expected a lifetime's end after its start (lower < upper), got {b.start}..{b.end}"
    if b.start < 0:
        return f"expected a lower of at least 0, the first step, got {b.start}..{b.end}"
    if b.end > LARGEST:
        return f"expected an upper of at most {LARGEST}, got {b.end}"
    if not is_power_of_two(b.alignment_bytes):
        return f"expected a power of two as alignment, got {b.alignment_bytes}"
    if b.pinned < -1:
        return f"expected a pin of at least 0, or -1 for none, got {b.pinned}"
    return ""


def is_power_of_two(number: int) -> bool:
    """Return whether a number is a valid alignment."""
    return number > 0 and not number & (number - 1)


def _pin_faults(buffers: Sequence[Buffer], alignment_bytes: int) -> Iterator[tuple[str, str]]:
    """Check that pins agree within a group, are aligned, and do not overlap.

    Yields the name of a buffer, and the fault of its pin.
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
            yield name, f"the buffers that share its memory are pinned to {places}"
        if block.pinned % block.alignment_bytes:
            yield name, f"pinned to {block.pinned}, not a multiple of {block.alignment_bytes}"
        if block.size:
            pinned.append((name, block))
    yield from _pinned_together(pinned)


def _pinned_together(pinned: list[tuple[str, Block]]) -> Iterator[tuple[str, str]]:
    """Yield pinned blocks that overlap, found by a sweep over the steps.

    Each block is compared with its two neighbours among the live blocks ordered by offset. The live
    blocks never overlap each other, because the caller stops at the first fault.
    """
    alive = Taken()
    ends: list[tuple[int, int]] = []
    for name, b in sorted(pinned, key=lambda p: p[1].start):
        while ends and ends[0][0] <= b.start:
            alive.remove(heapq.heappop(ends)[1])
        for _, _, other in alive.meets(b.pinned, b.pinned + b.size):
            yield name, f"pinned to bytes of {other!r}, which is live at the same time"
        alive.add(b.pinned, b.pinned + b.size, name)
        heapq.heappush(ends, (b.end, b.pinned))
