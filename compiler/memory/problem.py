"""A planning problem: buffers, the alignment of all, and what no plan for them can go below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.memory.buffer import Block, Buffer, Plan, blocks_of, live_bytes


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
        return max(_aligned_bytes(self.blocks), pins)

    def plan(self, offsets: Sequence[int]) -> Plan:
        """The plan in which every buffer lies where its block does. Units: bytes."""
        places = [0] * len(self.buffers)
        for block, offset in zip(self.blocks, offsets, strict=True):
            for member in block.members:
                places[member] = int(offset)
        placed = (replace(b, offset=o) for b, o in zip(self.buffers, places, strict=True))
        return Plan(tuple(placed), self.alignment_bytes)


def _aligned_bytes(blocks: Sequence[Block]) -> int:
    """The most bytes that blocks alive at one step take, one behind the other.

    Each but the last ends where the next may begin: at a multiple of the least alignment. Which is
    the last is not known, so the one that would waste the most counts.
    """
    unit = min((b.alignment_bytes for b in blocks if b.size), default=1)
    if unit == 1:
        return live_bytes(blocks)
    whole = [(b, -(-b.size // unit) * unit) for b in blocks if b.size]
    change: dict[int, list[tuple[int, int]]] = {}
    for b, size in whole:
        change.setdefault(b.start, []).append((size, size - b.size))
        change.setdefault(b.end, []).append((-size, size - b.size))
    top = now = 0
    wasted: dict[int, int] = {}
    for step in sorted(change):
        for size, waste in change[step]:
            now += size
            wasted[waste] = wasted.get(waste, 0) + (1 if size > 0 else -1)
            if not wasted[waste]:
                del wasted[waste]
        if now > top:
            top = max(top, now - max(wasted))
    return top


LARGEST = 2**60
"""No step, and no sum of all sizes and pins, may be larger: offsets fit machine words."""


def check_problem(buffers: Sequence[Buffer], alignment_bytes: int = 1) -> None:
    """Errors: E-PLAN-INPUT for buffers that make no sense, alone or together."""
    seen: set[str] = set()
    for row, b in enumerate(buffers, 1):
        problem = buffer_fault(b) or ("the name is used twice" if b.name in seen else "")
        if problem:
            raise CompileError("E-PLAN-INPUT", f"buffer {b.name!r}, number {row}: {problem}")
        seen.add(b.name)
    total = sum(b.size + max(b.pinned, 0) + b.alignment_bytes for b in buffers)
    if total > LARGEST:
        raise CompileError("E-PLAN-INPUT", f"all sizes and pins together are {total} bytes")
    _check_pins(buffers, alignment_bytes)


def buffer_fault(b: Buffer) -> str:
    """What makes no sense about one buffer; nothing when it does."""
    if b.size < 0:
        return f"needed a size of at least 0 bytes, got {b.size}"
    if b.start >= b.end:
        return f"needed a lifetime that ends after it starts, got {b.start}..{b.end}"
    if b.start < 0:
        return f"needed a lifetime from step 0 on, got {b.start}..{b.end}"
    if b.end > LARGEST:
        return f"needed steps of at most {LARGEST}, got {b.end}"
    if not is_power_of_two(b.alignment_bytes):
        return f"needed an alignment that is a power of two, got {b.alignment_bytes}"
    return ""


def is_power_of_two(number: int) -> bool:
    """Whether a number may be an alignment."""
    return number > 0 and not number & (number - 1)


def _check_pins(buffers: Sequence[Buffer], alignment_bytes: int) -> None:
    """Pins must agree within a group, be aligned, and not put two blocks at one place."""
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
            raise _pin_error(name, f"what shares its place is pinned to {places}")
        if block.pinned % block.alignment_bytes:
            raise _pin_error(
                name, f"pinned to {block.pinned}, no multiple of {block.alignment_bytes}"
            )
        if block.size:
            pinned.append((name, block))
    _check_apart(pinned)


def _check_apart(pinned: list[tuple[str, Block]]) -> None:
    alive: list[tuple[str, Block]] = []
    for name, b in sorted(pinned, key=lambda p: p[1].start):
        alive = [p for p in alive if p[1].end > b.start]
        for other, a in alive:
            if a.pinned < b.pinned + b.size and b.pinned < a.pinned + a.size:
                raise _pin_error(name, f"pinned to bytes of {other!r}, which lives at its time")
        alive.append((name, b))


def _pin_error(name: str, problem: str) -> CompileError:
    return CompileError("E-PLAN-INPUT", f"buffer {name!r}: {problem}")
