"""Blocks that fit together without a gap, joined to larger ones before anything is searched.

A block of the same size begins where another ends: they take over each other's bytes. Blocks of one
lifetime whose sizes add up to what ends before them, or begins behind them: they lie side by side.
Repeated, that undoes the cuts of a rectangle that was cut up. A plan for the joined blocks is one
for the blocks inside them; that there is none says nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from compiler.dataclass import dataclass
from compiler.memory.buffer import Block

MOST_PARTS = (10, 7, 5)
"""Of how many blocks, on both sides of a step, sums of sizes are compared. Of many blocks, sums are
equal by chance, and few leave much apart: each number is worth a try."""

MOST_ALIKE = 12
"""Of so many blocks of one lifetime, the sums are too many to try."""


@dataclass(frozen=True, slots=True, eq=False)
class Joined:
    """A rectangle without gaps: `parts` has the positions of its blocks and their offsets in it."""

    start: int
    end: int
    size: int
    parts: tuple[tuple[int, int], ...]


Side = tuple[Joined, ...]
"""Rectangles of one lifetime."""


def join(blocks: Sequence[Block], most_parts: int = MOST_PARTS[0]) -> list[Joined]:
    """All blocks in as few rectangles as this finds. Blocks must be free to lie anywhere."""
    pool = {Joined(b.start, b.end, b.size, ((i, 0),)) for i, b in enumerate(blocks) if b.size}
    changed = True
    while changed:
        changed = _chain(pool)
        for n_parts in range(3, most_parts + 1):
            if changed:
                break
            changed = _match(pool, n_parts)
    return sorted(pool, key=lambda j: (j.start, j.end, j.parts))


def joinable(blocks: Sequence[Block]) -> bool:
    """Whether every block may lie at every offset that sums of sizes give."""
    unit = max((b.alignment_bytes for b in blocks), default=1)
    return all(b.pinned < 0 and b.size % unit == 0 for b in blocks)


def _chain(pool: set[Joined]) -> bool:
    """Join what follows one another with the same size; the same for what comes of it."""
    ending = {(j.end, j.size): j for j in _in_order(pool)}
    changed = False
    for j in _in_order(pool):
        before = ending.get((j.start, j.size))
        if before is None or before not in pool or j not in pool:
            continue
        pool -= {before, j}
        both = Joined(before.start, j.end, j.size, before.parts + j.parts)
        pool.add(both)
        ending[both.end, both.size] = both
        changed = True
    return changed


def _match(pool: set[Joined], n_parts: int) -> bool:
    """Where sums on both sides of a step are equal, join either side, and both."""
    alike: dict[tuple[int, int], list[Joined]] = {}
    for j in _in_order(pool):
        alike.setdefault((j.start, j.end), []).append(j)
    behind: dict[int, list[list[Joined]]] = {}
    for (start, _), group in alike.items():
        behind.setdefault(start, []).append(group)
    changed = False
    for (_, step), group in alike.items():
        for other in behind.get(step, ()):
            for first, second in _equal_sums(group, other, n_parts):
                if pool.issuperset(first) and pool.issuperset(second):
                    pool -= {*first, *second}
                    pool.add(_over(_stacked(first), _stacked(second)))
                    changed = True
    return changed


def _equal_sums(
    group: Sequence[Joined], other: Sequence[Joined], n_parts: int
) -> Iterator[tuple[Side, Side]]:
    """Parts of both with the same sum of sizes, `n_parts` in all."""
    if max(len(group), len(other)) > MOST_ALIKE:
        return
    for n in range(1, n_parts):
        if n > len(group) or n_parts - n > len(other):
            continue
        sums = {sum(j.size for j in s): s for s in itertools.combinations(other, n_parts - n)}
        for first in itertools.combinations(group, n):
            second = sums.get(sum(j.size for j in first))
            if second is not None:
                yield first, second


def _stacked(side: Side) -> Joined:
    """Rectangles of one lifetime, one above the other."""
    parts: list[tuple[int, int]] = []
    size = 0
    for j in side:
        parts += [(i, size + offset) for i, offset in j.parts]
        size += j.size
    return Joined(side[0].start, side[0].end, size, tuple(parts))


def _over(first: Joined, second: Joined) -> Joined:
    """The second takes over the bytes of the first."""
    return Joined(first.start, second.end, first.size, first.parts + second.parts)


def _in_order(pool: set[Joined]) -> list[Joined]:
    return sorted(pool, key=lambda j: (j.start, j.end, j.parts))
