"""Blocks that fit together without a gap, joined to larger ones before anything is searched.

A block of the same size begins where another ends: they take over each other's bytes. Blocks of one
lifetime whose sizes add up to what ends before them, or begins behind them: they lie side by side.
Repeated, that undoes the cuts of a rectangle that was cut up. A plan for the joined blocks is one
for the blocks inside them; that there is none says nothing.

Sums are equal by chance as well, and what is joined wrongly leaves worse plans. So how many
equal ones chance would give is counted, and the pair that is the least likely by chance goes first.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from compiler.dataclass import dataclass
from compiler.memory.buffer import Block

CAREFUL, BOLD = 0.003, 0.3
"""How much chance joining is left to: little that is joined is wrong, or little is left apart."""

FEWER = 0.95
"""Joining was of no use when more than this part of the blocks is left."""

CHANCES = (3e-5, 3e-4, CAREFUL, 0.03, BOLD)
"""How many pairs of sets chance may give where two are joined, the least first."""

MOST_SETS = 2000
"""Sets of blocks of one lifetime whose sums are compared, the smallest sets first."""

MOST_PAIRS = 40
"""Pairs that are kept of two lifetimes, those of the fewest blocks first."""

MOST_EQUAL = 400
"""Pairs among which those are looked for: where all sizes are alike, nearly all sums are equal."""


@dataclass(frozen=True, slots=True, eq=False)
class Joined:
    """A rectangle without gaps: `parts` has the positions of its blocks and their offsets in it."""

    start: int
    end: int
    size: int
    parts: tuple[tuple[int, int], ...]


Side = tuple[Joined, ...]
"""Rectangles of one lifetime."""


class Pair(NamedTuple):
    """Two sides of a step with equal sums, and how many such pairs chance would give."""

    chance: float
    first: Side
    second: Side


def join(blocks: Sequence[Block], most_chance: float = BOLD) -> tuple[Joined, ...]:
    """All blocks in as few rectangles as this finds. Blocks must be free to lie anywhere.

    What was joined last is kept: several planners of a portfolio ask for the same.
    """
    return _join(tuple(blocks), most_chance)


@lru_cache(maxsize=4)
def _join(blocks: tuple[Block, ...], most_chance: float) -> tuple[Joined, ...]:
    pool = {Joined(b.start, b.end, b.size, ((i, 0),)) for i, b in enumerate(blocks) if b.size}
    unit = math.gcd(*(j.size for j in pool))
    known: dict[tuple[Side, Side], list[Pair]] = {}
    while True:
        pairs = sorted(_pairs(pool, unit, known), key=_rank)
        least = pairs[0].chance if pairs else math.inf
        limit = next((c for c in CHANCES if least <= c <= most_chance), None)
        if limit is None:
            return tuple(_in_order(pool))
        for _, first, second in [p for p in pairs if p.chance <= limit]:
            if pool.issuperset(first) and pool.issuperset(second):
                pool -= {*first, *second}
                pool.add(_over(_stacked(first), _stacked(second)))


def whole(blocks: Sequence[Block]) -> list[Block]:
    """The blocks with the bytes behind them that no other can begin in."""
    unit = max((b.alignment_bytes for b in blocks), default=1)
    return [replace(b, size=-(-b.size // unit) * unit) for b in blocks]


def apart(blocks: Sequence[Block]) -> tuple[Joined, ...]:
    """Each block of at least a byte as a rectangle of its own."""
    return tuple(Joined(b.start, b.end, b.size, ((i, 0),)) for i, b in enumerate(blocks) if b.size)


def forms(blocks: Sequence[Block], chances: Sequence[float]) -> Iterator[tuple[Joined, ...]]:
    """The blocks joined with each chance, where that leaves fewer of them; with none, apart."""
    for most_chance in chances:
        rectangles = join(blocks, most_chance) if most_chance else apart(blocks)
        if not most_chance or len(rectangles) <= FEWER * len(blocks):
            yield rectangles


def inside(rectangles: Sequence[Joined], offsets: Sequence[int], n_blocks: int) -> list[int]:
    """From offsets of rectangles to those of the first blocks in them; 0 for empty ones."""
    found = [0] * n_blocks
    for rectangle, offset in zip(rectangles, offsets, strict=True):
        for i, inner in rectangle.parts:
            if i < n_blocks:
                found[i] = offset + inner
    return found


def joinable(blocks: Sequence[Block]) -> bool:
    """Whether every block may lie at every offset that sums of sizes give."""
    unit = max((b.alignment_bytes for b in blocks), default=1)
    return all(b.pinned < 0 and b.size % unit == 0 for b in blocks)


def _rank(pair: Pair) -> tuple[float, int, Sequence[tuple[int, int]]]:
    return pair.chance, pair.first[0].start, pair.first[0].parts


def _pairs(
    pool: set[Joined], unit: int, known: dict[tuple[Side, Side], list[Pair]]
) -> Iterator[Pair]:
    """Sides of all steps with equal sums; `known` keeps those of lifetimes that do not change."""
    alike: dict[tuple[int, int], list[Joined]] = {}
    for j in _in_order(pool):
        alike.setdefault((j.start, j.end), []).append(j)
    behind: dict[int, list[Side]] = {}
    for (start, _), group in alike.items():
        behind.setdefault(start, []).append(tuple(group))
    before: dict[int, int] = {}
    for (_, end), group in alike.items():
        before[end] = before.get(end, 0) + len(group)
    for (_, step), group in alike.items():
        n_behind = sum(map(len, behind.get(step, ())))
        for other in behind.get(step, ()):
            key = (tuple(group), other)
            if key not in known:
                known[key] = _equal_sums(*key, unit)
            for pair in known[key]:
                alone = len(pair.first) == len(pair.second) == 1
                # Single blocks are compared with all on the other side, whatever their lifetimes.
                many = before[step] * n_behind / (len(group) * len(other)) if alone else 1.0
                yield Pair(pair.chance * many, pair.first, pair.second)


def _equal_sums(group: Side, other: Side, unit: int) -> list[Pair]:
    """Sets of both with the same sum of sizes, without those that have smaller ones in them."""
    sums: dict[int, list[Side]] = {}
    for side in _sets(other):
        sums.setdefault(sum(j.size for j in side), []).append(side)
    found: list[Pair] = []
    equal = (
        (first, second)
        for first in _sets(group)
        for second in sums.get(sum(j.size for j in first), ())
    )
    some = itertools.islice(equal, MOST_EQUAL)
    for first, second in heapq.nsmallest(MOST_PAIRS, some, key=lambda p: len(p[0]) + len(p[1])):
        if any({*first, *second}.issuperset((*p.first, *p.second)) for p in found):
            continue
        ways = math.comb(len(group), len(first)) * math.comb(len(other), len(second))
        found.append(Pair(ways * unit / sum(j.size for j in first), first, second))
    return found


def _sets(group: Side) -> Iterator[Side]:
    every = (s for n in range(1, len(group) + 1) for s in itertools.combinations(group, n))
    return itertools.islice(every, MOST_SETS)


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
