"""Joining of blocks into rectangles of steps and bytes without gaps, before any search.

If a block begins when another block of the same size ends, it can reuse exactly the same bytes.
Both blocks together form a *rectangle*. Two sets of rectangles are joined in the same way if one
set begins when the other ends, and their sums of sizes are equal. The rectangles of a set have the
same lifetime and are stacked without gaps.

If the blocks were cut from one rectangle, repeated joining undoes the cuts. A plan of the
rectangles is a plan of the blocks, but infeasibility of the rectangles proves nothing.

Sums can be equal by chance (a *chance match*), and wrong joins lead to worse plans. Therefore each
pair of sets has an estimate: the expected number of chance matches. It is computed from the sum,
and from the number of sets with the same number of rectangles. The pair with the smallest expected
number is joined first.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from compiler.dataclass import dataclass
from compiler.memory.buffer import Block

CAREFUL, BOLD, RECKLESS = 0.003, 0.3, 3.0
"""Limits on the expected number of chance matches of a join. CAREFUL gives few wrong joins, BOLD
leaves few blocks unjoined, RECKLESS gives many wrong joins, which may be undone."""

FEWER = 0.95
"""Maximum number of rectangles per block: if more remain, joining has failed."""

CHANCES = (3e-5, 3e-4, CAREFUL, 0.03, BOLD, RECKLESS)
"""Ascending limits on the expected number of chance matches. Each pass selects the lowest limit
that some pair of sets satisfies, and joins all pairs within this limit."""

MOST_SETS = 2000
"""Maximum number of sets of rectangles that are compared for one lifetime; small sets first."""

MOST_PAIRS = 40
"""Maximum number of pairs of sets for two lifetimes; pairs of the smallest sets come first."""

MOST_EQUAL = 400
"""Maximum number of pairs with equal sums that are examined: if all sizes are similar, nearly all
sums are equal."""


@dataclass(frozen=True, slots=True, eq=False)
class Joined:
    """A rectangle without gaps; `parts` has the positions and relative offsets of its blocks.

    The last join has combined the sets `before` and `behind`; both are () for a single block.
    """

    start: int
    end: int
    size: int
    parts: tuple[tuple[int, int], ...]
    before: tuple[Joined, ...] = ()
    behind: tuple[Joined, ...] = ()


Side = tuple[Joined, ...]
"""Rectangles of one lifetime, which all begin or all end at the step of a join."""

Sizes = tuple[int, ...]
"""Sizes of the rectangles of a side. They determine all sums, so they are the cache key: if a join
is undone and created again, the new rectangle has the same size."""

Chosen = tuple[int, ...]
"""A subset of the rectangles of a side, by their positions in it."""

Sums: TypeAlias = "dict[int, list[Chosen]]"
"""Maps each sum of sizes to the subsets of a side with this sum."""


class Equal(NamedTuple):
    """Subsets of two sides with equal sums, and the expected number of chance matches."""

    chance: float
    first: Chosen
    second: Chosen


class Pair(NamedTuple):
    """Two sets to join, with equal sums of sizes, and the expected number of chance matches."""

    chance: float
    first: Side
    second: Side


def join(blocks: Sequence[Block], most_chance: float = BOLD) -> tuple[Joined, ...]:
    """Join unpinned blocks into few rectangles.

    The last results are cached, since several planners of a portfolio use them.
    """
    return _join(tuple(blocks), most_chance)


@lru_cache(maxsize=4)
def _join(blocks: tuple[Block, ...], most_chance: float) -> tuple[Joined, ...]:
    joining = Joining(blocks)
    joining.join(most_chance)
    return joining.rectangles()


class Joining:
    """The current rectangles, by the steps at which they begin and end, with cached equal sums."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.pool: set[Joined] = set()
        self._ending: dict[int, set[Joined]] = {}
        self._beginning: dict[int, set[Joined]] = {}
        self._unit = math.gcd(*(b.size for b in blocks))
        self._full = _full_steps(blocks)
        self._sums: dict[Sizes, Sums] = {}
        self._equal: dict[tuple[Sizes, Sizes], list[Equal]] = {}
        self._known: dict[tuple[Side, Side], list[Pair]] = {}
        self.exchange((), apart(blocks))

    def rectangles(self) -> tuple[Joined, ...]:
        """Return all rectangles, in an order independent of the order of their creation."""
        return tuple(_in_order(self.pool))

    def exchange(self, old: Iterable[Joined], new: Iterable[Joined]) -> None:
        """Replace rectangles by other rectangles of the same blocks."""
        for j in old:
            self.pool.remove(j)
            self._ending[j.end].remove(j)
            self._beginning[j.start].remove(j)
        for j in new:
            self.pool.add(j)
            self._ending.setdefault(j.end, set()).add(j)
            self._beginning.setdefault(j.start, set()).add(j)

    def join(
        self,
        most_chance: float,
        steps: Iterable[int] | None = None,
        blur: Callable[[], float] = lambda: 1.0,
    ) -> None:
        """Continue joining at `steps` (None for all steps), and at steps that new joins affect.

        The expected number of chance matches of each pair of sets is multiplied by a factor that
        `blur` returns. The pair with the smallest product is joined first.
        """
        changed = set(self._ending if steps is None else steps)
        found: dict[int, list[Pair]] = {}
        while True:
            for step in sorted(changed):
                pairs = self._pairs(step)
                found[step] = [p._replace(chance=p.chance * blur()) for p in pairs]
            changed.clear()
            ranked = sorted(itertools.chain(*found.values()), key=_rank)
            least = ranked[0].chance if ranked else math.inf
            limit = next((c for c in CHANCES if least <= c <= most_chance), None)
            if limit is None:
                return
            for chance, first, second in ranked:
                if chance > limit:
                    break
                if self.pool.issuperset(first) and self.pool.issuperset(second):
                    made = over(first, second)
                    self.exchange((*first, *second), (made,))
                    changed |= {made.start, first[0].end, made.end}

    def forget(self, most: int) -> None:
        """Clear caches that exceed `most` entries."""
        if len(self._known) > most:
            self._known.clear()
        if len(self._equal) > most:
            self._equal.clear()
            self._sums.clear()

    def _pairs(self, step: int) -> Iterator[Pair]:
        """Yield pairs of sets with equal sums: one ends at a step, the other begins there."""
        ended = _in_order(self._ending.get(step, ()))
        begun = _in_order(self._beginning.get(step, ()))
        groups = [tuple(g) for _, g in itertools.groupby(ended, lambda j: j.start)]
        behind = [tuple(g) for _, g in itertools.groupby(begun, lambda j: j.end)]
        if step in self._full and len(groups) == len(behind) == 1:
            yield Pair(0.0, groups[0], behind[0])
            return
        for group, other in itertools.product(groups, behind):
            if (group, other) not in self._known:
                self._known[group, other] = self._equal_sides(group, other)
            for pair in self._known[group, other]:
                alone = len(pair.first) == len(pair.second) == 1
                # A single rectangle may match a rectangle of any lifetime at this step, so more
                # chance matches are expected.
                many = len(ended) * len(begun) / (len(group) * len(other)) if alone else 1.0
                yield Pair(pair.chance * many, pair.first, pair.second)

    def _equal_sides(self, group: Side, other: Side) -> list[Pair]:
        sizes, others = (tuple(j.size for j in side) for side in (group, other))
        if (sizes, others) not in self._equal:
            of, of_others = self._sums_of(sizes), self._sums_of(others)
            self._equal[sizes, others] = _equal_sums(sizes, others, of, of_others, self._unit)
        return [
            Pair(chance, tuple(group[i] for i in first), tuple(other[i] for i in second))
            for chance, first, second in self._equal[sizes, others]
        ]

    def _sums_of(self, sizes: Sizes) -> Sums:
        if sizes not in self._sums:
            self._sums[sizes] = _sums(sizes)
        return self._sums[sizes]


def whole(blocks: Sequence[Block]) -> list[Block]:
    """Return the blocks with sizes rounded up to the largest alignment."""
    unit = max((b.alignment_bytes for b in blocks), default=1)
    return [replace(b, size=-(-b.size // unit) * unit) for b in blocks]


def apart(blocks: Sequence[Block]) -> tuple[Joined, ...]:
    """Return each block of at least one byte as a separate rectangle."""
    return tuple(Joined(b.start, b.end, b.size, ((i, 0),)) for i, b in enumerate(blocks) if b.size)


def forms(blocks: Sequence[Block], chances: Sequence[float]) -> Iterator[tuple[Joined, ...]]:
    """For each limit in `chances`, yield the joined rectangles; for the limit 0, single blocks.

    If joining leaves too many rectangles, nothing is yielded for its limit.
    """
    for most_chance in chances:
        rectangles = join(blocks, most_chance) if most_chance else apart(blocks)
        if not most_chance or len(rectangles) <= FEWER * len(blocks):
            yield rectangles


def inside(rectangles: Sequence[Joined], offsets: Sequence[int], n_blocks: int) -> list[int]:
    """Convert offsets of rectangles to offsets of their blocks; 0 for empty blocks."""
    found = [0] * n_blocks
    for rectangle, offset in zip(rectangles, offsets, strict=True):
        for i, inner in rectangle.parts:
            if i < n_blocks:
                found[i] = offset + inner
    return found


def joinable(blocks: Sequence[Block]) -> bool:
    """Return whether every sum of sizes is a valid offset of every block."""
    unit = max((b.alignment_bytes for b in blocks), default=1)
    return all(b.pinned < 0 and b.size % unit == 0 for b in blocks)


def _rank(pair: Pair) -> tuple[float, int, Sequence[tuple[int, int]]]:
    return pair.chance, pair.first[0].start, pair.first[0].parts


def _full_steps(blocks: Sequence[Block]) -> set[int]:
    """Return the steps with the maximum of live bytes both just before and just after the step."""
    change: dict[int, int] = {}
    for b in blocks:
        change[b.start] = change.get(b.start, 0) + b.size
        change[b.end] = change.get(b.end, 0) - b.size
    steps = sorted(change)
    loads = list(itertools.accumulate(change[t] for t in steps))
    most = max(loads, default=0)
    levels = itertools.pairwise(loads)
    return {t for t, level in zip(steps[1:], levels, strict=True) if level == (most, most)}


def _equal_sums(sizes: Sizes, others: Sizes, of: Sums, of_others: Sums, unit: int) -> list[Equal]:
    """Return pairs of subsets with equal sums, one of each side; supersets of pairs are omitted."""
    found: list[Equal] = []
    equal = (
        (len(first) + len(second), total, first, second)
        for total, chosen in of.items()
        if total in of_others
        for first, second in itertools.product(chosen, of_others[total])
    )
    some = itertools.islice(equal, MOST_EQUAL)
    for _, total, first, second in heapq.nsmallest(MOST_PAIRS, some, key=lambda p: p[0]):
        if any({*first}.issuperset(p.first) and {*second}.issuperset(p.second) for p in found):
            continue
        ways = math.comb(len(sizes), len(first)) * math.comb(len(others), len(second))
        found.append(Equal(ways * unit / total, first, second))
    return found


def _sums(sizes: Sizes) -> Sums:
    """Return the subsets of a side with each sum of sizes.

    Subsets with fewer members come first. At most MOST_SETS subsets are listed.
    """
    every = (
        pair
        for n in range(1, len(sizes) + 1)
        for pair in zip(
            map(sum, itertools.combinations(sizes, n)),
            itertools.combinations(range(len(sizes)), n),
            strict=True,
        )
    )
    found: Sums = {}
    for total, chosen in itertools.islice(every, MOST_SETS):
        found.setdefault(total, []).append(chosen)
    return found


def _stacked(side: Side) -> tuple[int, list[tuple[int, int]]]:
    """Return the bytes and parts of stacked rectangles of one lifetime."""
    parts: list[tuple[int, int]] = []
    size = 0
    for j in side:
        parts += [(i, size + offset) for i, offset in j.parts]
        size += j.size
    return size, parts


def over(first: Side, second: Side) -> Joined:
    """Join two sets of rectangles: the second set takes over the bytes of the first set."""
    size, parts = _stacked(first)
    _, others = _stacked(second)
    return Joined(first[0].start, second[0].end, size, (*parts, *others), first, second)


def _in_order(pool: Iterable[Joined]) -> list[Joined]:
    return sorted(pool, key=lambda j: (j.start, j.end, j.parts))
