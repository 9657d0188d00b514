"""Spare blocks: blocks that represent unused memory and fill each step up to the capacity.

Only the number of spare (unused) bytes at each step is known, not their division into blocks. A
spare block adds its size to the spare bytes at its first step, and subtracts it at its end. So the
search looks for sets of changes whose sum is zero. If few sets have this sum by chance, the changes
of a set probably belong to the same blocks. Two changes then belong to one block, three changes to
two blocks. The remaining changes probably belong to blocks with the lifetime of an existing block,
since both blocks may be parts of one original block.

The offsets of spare blocks are unknown, so each spare block is split at all steps of its set. The
module `joining.py` then merges adjacent pieces.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence, Set

from compiler.memory.buffer import Block

MOST_IN_A_SET = 4
"""Maximum number of changes in a set: among larger sets, too many sum to zero by chance."""

MOST_BY_CHANCE = 1.0
"""Limit on the expected number of sets of n > 2 changes that sum to zero by chance. Above it, sets
of n or more changes are not searched."""

MOST_TRIED = 200_000
"""Limit on the number of candidates for sets of n > 2 changes. Above it, sets of n or more changes
are not searched."""

Changes = dict[int, int]
"""Maps each step to the change of the spare bytes at this step."""


def spare_blocks(blocks: Sequence[Block], capacity_bytes: int) -> list[Block]:
    """Return spare blocks that fill each step up to the capacity."""
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
    """Remove and yield sets of changes that sum to zero, smaller sets first.

    `chance` is the probability that a sum of changes is zero by accident.
    """
    n = 2
    while n <= MOST_IN_A_SET:
        tried, accidents = math.comb(len(left), n - 1), math.comb(len(left), n) * chance
        if n > 2 and (tried > MOST_TRIED or accidents > MOST_BY_CHANCE):
            break
        taken = _taken(left, n)
        yield from taken
        # Removing a set may change the remaining sets of the same size.
        n = n if taken else n + 1


def _beside(left: Changes, lifetimes: Set[tuple[int, int]]) -> Block | None:
    """Subtract a block from `left` and return it; its lifetime is the shortest suitable one.

    Return None if no lifetime is suitable.
    """
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
    """Yield sets of n steps whose changes sum to zero, with positive partial sums before the last.

    There is at most one set for each choice of the first n - 1 steps.
    """
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
    """Remove and return sets of n changes; sets that span the fewest steps come first."""
    taken: list[Changes] = []
    for steps in sorted(_sets(left, n), key=lambda steps: steps[-1] - steps[0]):
        if all(step in left for step in steps):
            if _is_spare({step: more for step, more in left.items() if step not in steps}):
                taken.append({step: left.pop(step) for step in steps})
    return taken


def _is_spare(change: Changes) -> bool:
    """Return whether the running sum of changes is never negative."""
    return min(itertools.accumulate(change.values()), default=0) >= 0


def _filled(change: Changes) -> Iterator[Block]:
    """Yield blocks that cause the changes of the spare bytes, split at the steps of `change`.

    A decrease ends an open block of the same size if one exists, else the newest open blocks.
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
