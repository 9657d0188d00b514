"""Slots instead of offsets: memory managed like a register file."""

from __future__ import annotations

from dataclasses import field

from compiler.dataclass import dataclass
from compiler.memory.buffer import Block
from compiler.memory.planners.keys import by, by_start
from compiler.memory.planners.place import place
from compiler.memory.planners.planner import Options, Outcome, placed, planner
from compiler.memory.problem import Problem


@dataclass(slots=True)
class _Slot:
    """Memory that holds one block at a time; `free` is the step at which its last block ends."""

    size: int
    free: int
    held: list[int] = field(default_factory=list)


@planner(
    source="Poletto and Sarkar 1999, linear scan register allocation; slots that grow, like "
    "the storage tokens of MXNet and TVM and the shared objects of arXiv:2001.03288",
    example="""
    plan 0 bytes, alignment 1 {
      a: 4 bytes, live 0..2
      b: 2 bytes, live 1..3
      c: 3 bytes, live 2..4
      d: 5 bytes, live 3..5
    }
    =>
    plan 9 bytes, alignment 1 {
      a: 4 bytes at 0, live 0..2
      b: 2 bytes at 4, live 1..3
      c: 3 bytes at 0, live 2..4
      d: 5 bytes at 4, live 3..5
    }
    """,
)
def linear_scan(problem: Problem, options: Options) -> Outcome:
    """Assign each buffer to the best-fitting free slot; a slot has one buffer at a time.

    This planner models runtimes that reuse the memory of entire tensors, without splitting or
    joining it. Fast and simple; but a slot has the size of its largest buffer, so small buffers
    waste memory.
    """
    blocks = problem.blocks
    slots: list[_Slot] = []
    for i in by(by_start, blocks):
        b = blocks[i]
        if b.pinned < 0 and b.size:
            slot = _chosen(slots, b)
            slot.size, slot.free = max(slot.size, b.size), b.end
            slot.held.append(i)
    whole = [_block(slot, blocks) for slot in slots]
    pinned = [b for b in blocks if b.pinned >= 0]
    found = place([*pinned, *whole], range(len(pinned), len(pinned) + len(whole)), "first")
    offsets = [max(b.pinned, 0) for b in blocks]
    for slot, offset in zip(slots, found[len(pinned) :], strict=True):
        for i in slot.held:
            offsets[i] = offset
    return placed(problem, offsets, options)


def _chosen(slots: list[_Slot], b: Block) -> _Slot:
    """Return the free slot with least waste, else the largest free slot, else a new slot."""
    free = [s for s in slots if s.free <= b.start]
    if not free:
        slots.append(_Slot(b.size, b.end))
        return slots[-1]
    fitting = [s for s in free if s.size >= b.size]
    return min(fitting, key=lambda s: s.size) if fitting else max(free, key=lambda s: s.size)


def _block(slot: _Slot, blocks: tuple[Block, ...]) -> Block:
    """Return a slot as a block, from the start of its first block to the end of its last block."""
    held = [blocks[i] for i in slot.held]
    alignment_bytes = max(b.alignment_bytes for b in held)
    return Block(tuple(slot.held), slot.size, held[0].start, slot.free, alignment_bytes)
