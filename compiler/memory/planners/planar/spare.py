"""Spare memory as blocks of its own, so that every step is full."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.memory.buffer import Block


def spare_blocks(blocks: Sequence[Block], capacity_bytes: int) -> list[Block]:
    """Blocks that fill every step up to the capacity. What is spared last is used up first.

    There are many ways to cut spare memory into blocks. One block for a stretch that begins and
    ends with the same number of bytes is the likely one where little is spare.
    """
    change: dict[int, int] = {}
    for b in blocks:
        change[b.start] = change.get(b.start, 0) - b.size
        change[b.end] = change.get(b.end, 0) + b.size
    steps = sorted(change)
    change[steps[0]] += capacity_bytes
    change[steps[-1]] -= capacity_bytes
    found: list[Block] = []
    open_since: list[tuple[int, int]] = []
    for step in steps:
        more = change[step]
        if more > 0:
            open_since.append((step, more))
        while more < 0:
            same = [i for i, (_, size) in enumerate(open_since) if size == -more]
            start, size = open_since.pop(same[-1] if same else -1)
            used = min(size, -more)
            if used < size:
                open_since.append((start, size - used))
            found.append(Block((), used, start, step, 1))
            more += used
    return found
