"""Spare memory as blocks of its own, so that every step is full.

What is known of spare memory is how many bytes of it there are at each step. A block of it adds its
bytes at its first step and takes them back at its end. So changes that sum up to zero belong
together, most likely, where chance gives few sets with such a sum: two of them are a block, three
are two blocks. Of what is left, blocks with the lifetime of another one are likely: it lost bytes
to them, or both were cut from one. How blocks share the steps is not known, so they are cut at each
change of their set: joining (joining.py) puts together what fits to the blocks beside it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence, Set

from compiler.memory.buffer import Block

MOST_IN_A_SET = 4
"""Changes in a set. Of larger ones too many sum up to zero by chance."""

MOST_BY_CHANCE = 1.0
"""Sets of a size are looked for where chance gives so many of them at most."""

MOST_TRIED = 200_000
"""Sets of a size are looked for among so many at most."""

Changes = dict[int, int]
"""By how many bytes spare memory changes at a step."""


def spare_blocks(blocks: Sequence[Block], capacity_bytes: int) -> list[Block]:
    """Blocks that fill every step up to the capacity."""
    left = _changes(blocks, capacity_bytes)
    unit = math.gcd(capacity_bytes, *(b.size for b in blocks))
    lifetimes = {(b.start, b.end) for b in blocks}
    found: list[Block] = []
    while True:
        for change in _sets_out_of(left, unit / capacity_bytes):
            found += _filled(change)
        beside = _beside(left, lifetimes)
        if beside is None:
            return [*found, *_filled(left)]
        found.append(beside)


def _sets_out_of(left: Changes, chance: float) -> Iterator[Changes]:
    """Sets of changes that sum up to zero, smaller ones first, taken out of all that are left.

    With that chance, a sum is a certain one by accident.
    """
    n = 2
    while n <= MOST_IN_A_SET:
        tried, accidents = math.comb(len(left), n - 1), math.comb(len(left), n) * chance
        if n > 2 and (tried > MOST_TRIED or accidents > MOST_BY_CHANCE):
            break
        taken = _taken(left, n)
        yield from taken
        # What is found may hide other sets with its steps.
        n = n if taken else n + 1


def _beside(left: Changes, lifetimes: Set[tuple[int, int]]) -> Block | None:
    """The shortest block that takes one of two changes away and lives as long as another block,
    taken out of the changes that are left."""
    some = [(c - a, a, c) for a, c in lifetimes if left.get(a, 0) > 0 > left.get(c, 0)]
    for _, a, c in sorted(some):
        size = min(left[a], -left[c])
        rest = left | {a: left[a] - size, c: left[c] + size}
        if _is_spare(rest):
            left.update(rest)
            for step in (a, c):
                if not left[step]:
                    del left[step]
            return Block((), size, a, c, 1)
    return None


def _changes(blocks: Sequence[Block], capacity_bytes: int) -> Changes:
    change: Changes = {}
    for b in blocks:
        change[b.start] = change.get(b.start, 0) - b.size
        change[b.end] = change.get(b.end, 0) + b.size
    steps = sorted(change)
    change[steps[0]] += capacity_bytes
    change[steps[-1]] -= capacity_bytes
    return {step: change[step] for step in steps if change[step]}


def _sets(left: Changes, n: int) -> Iterator[tuple[int, ...]]:
    """The steps of n changes that sum up to zero, and before the last of them to more."""
    by_size: dict[int, list[int]] = {}
    for step, size in left.items():
        by_size.setdefault(size, []).append(step)
    for steps in itertools.combinations(left, n - 1):
        sums = list(itertools.accumulate(left[step] for step in steps))
        if min(sums) > 0:
            last = next((step for step in by_size.get(-sums[-1], ()) if step > steps[-1]), None)
            if last is not None:
                yield *steps, last


def _taken(left: Changes, n: int) -> list[Changes]:
    """Sets of n changes, taken out of all that are left, the shortest first."""
    taken: list[Changes] = []
    for steps in sorted(_sets(left, n), key=lambda steps: steps[-1] - steps[0]):
        if all(step in left for step in steps):
            if _is_spare({step: more for step, more in left.items() if step not in steps}):
                taken.append({step: left.pop(step) for step in steps})
    return taken


def _is_spare(change: Changes) -> bool:
    """Whether changes never take back more than there is."""
    return min(itertools.accumulate(change.values()), default=0) >= 0


def _filled(change: Changes) -> Iterator[Block]:
    """Blocks that change as many bytes, each cut at all changes within it.

    One block for what begins and ends with the same number of bytes is the likely one; else what is
    spared last is used up first.
    """
    open_since: list[tuple[int, int]] = []
    for step, more in change.items():
        if more > 0:
            open_since.append((step, more))
        while more < 0:
            same = [i for i, (_, size) in enumerate(open_since) if size == -more]
            start, size = open_since.pop(same[-1] if same else -1)
            used = min(size, -more)
            if used < size:
                open_since.append((start, size - used))
            cuts = (start, *(mark for mark in change if start < mark < step), step)
            yield from (Block((), used, a, b, 1) for a, b in itertools.pairwise(cuts))
            more += used
