"""Segments: handovers of bytes at one step, from ending blocks to starting blocks of equal sum.

A plan without gaps dissects a rectangle of steps and bytes into blocks. A *segment* is a line of
this dissection at one step, with blocks of equal sum on both sides. A *division* of a step divides
its ending and starting blocks among segments. The blocks, and ranges of unused (spare) memory, are
the leaves of a PQ-tree. Sets of leaves are integers, with one bit per leaf.
Source: Brooks, Smith, Stone and Tutte 1940.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple, TypeAlias

from compiler.dataclass import dataclass
from compiler.memory.planners.research.planar.pq_tree import (
    LEAF,
    Q,
    Tree,
    any_order,
    leaf,
    replaced,
)

MOST_SETS = 3000
"""Maximum number of sets listed on each side of a step, smallest first."""

MOST_PAIRS = 300
"""Maximum number of pairs of sets with equal sums that are examined, the least likely chance
matches first."""

MOST_CHOICES = 500
"""Maximum number of partial and complete divisions of a step that are tried."""

MOST_SPARE = 12
"""Maximum number of spare leaves that are tried for reuse at a step. If two segments leave spare
memory, the limit also applies to the sets of ending leaves that are tried for the first segment."""

MOST_SPLIT = 6
"""If two segments leave spare memory: the maximum number of starting leaves that are tried in the
first segment."""

UNLIKELY = 4.0
"""Penalty for an unnecessary change of spare memory, added to the logarithm `chance`."""

Numbers: TypeAlias = tuple[int, ...]
Segment: TypeAlias = tuple[Tree, Numbers, Numbers]
"""The tree before the handover, the leaves that end, and the leaves that take over their bytes."""


class Pair(NamedTuple):
    """Sets of leaves on both sides of a step, as bits, with equal sums.

    `chance` is the logarithm of the expected number of chance matches.
    """

    some: int
    other: int
    chance: float


Fits: TypeAlias = dict[int, list[tuple[int, Pair]]]
"""Maps each leaf to the pairs that contain it. Each pair is preceded by the set of all its leaves,
as bits."""


@dataclass(frozen=True, slots=True)
class Division:
    """A division of a step into segments, and the resulting tree.

    `chance` is the logarithm of the number of equally good divisions expected by chance. The
    division with the smallest value is the most plausible.
    """

    tree: Tree
    segments: tuple[Segment, ...]
    chance: float


class Way(NamedTuple):
    """A candidate division: `pairs` are segments, and the leaves `rest` form the last segment.

    `chance` is as in `Division`.
    """

    chance: float
    pairs: Sequence[Pair]
    rest: int


NewLeaf: TypeAlias = Callable[[int], int]
"""Function that returns a new leaf for a number of unused bytes."""


class Step:
    """The leaves that end and begin at a step, and the sums of sets of beginning leaves.

    `begun` has the beginning leaves in groups. The leaves of a group end at the same step, and are
    therefore probably adjacent. `sizes` has the size of each leaf in bytes.
    """

    def __init__(
        self, ended: Sequence[int], begun: Sequence[Sequence[int]], sizes: Sequence[int]
    ) -> None:
        self.sizes = sizes
        self.sums: dict[int, int] = {}
        self.ended, self.begun = bits(ended), bits([i for group in begun for i in group])
        items = [sizes[i] for i in numbers(self.ended | self.begun)]
        self.spread = math.log(sum(items) / len(items) / math.gcd(*items))
        self.more = self.sum(self.ended) - self.sum(self.begun)
        self.plain = len(ended) == 1 or self.begun.bit_count() == 1
        self.groups = begun

    @cached_property
    def behind(self) -> dict[int, dict[int, float]]:
        """Map each sum to the sets of beginning leaves with this sum.

        Each set is stored with the logarithm of the number of sets of the same number of leaves (or
        groups).
        """
        sums: dict[int, dict[int, float]] = {}
        _add_sums(sums, [(1 << i, self.sizes[i]) for group in self.groups for i in group])
        _add_sums(sums, [(bits(g), sum(self.sizes[i] for i in g)) for g in self.groups])
        return sums

    def sum(self, some: int) -> int:
        """Return the bytes of a set of leaves."""
        if some not in self.sums:
            self.sums[some] = sum(self.sizes[i] for i in numbers(some))
        return self.sums[some]

    def ways(self, tree: Tree, spare: int) -> Iterator[Way]:
        """Yield candidate divisions of the step: disjoint pairs of sets, and the remaining leaves.

        The remaining leaves form the last segment. `spare` are leaves of unused memory.
        """
        plain = self.plain and (not self.more or not spare)
        pairs = [] if plain else self._pairs(tree, spare if self.more else 0)
        of: Fits = {i: [] for i in numbers(self.ended | self.begun)}
        for pair in pairs:
            leaves = pair.some | pair.other
            for i in numbers(leaves):
                if i in of:
                    of[i].append((leaves, pair))
        seen: set[frozenset[tuple[int, int]]] = set()
        for chosen, rest in _covers(of, self.ended | self.begun, spare):
            key = frozenset((pair.some, pair.other) for pair in chosen)
            if key not in seen:
                seen.add(key)
                yield Way(_chance(chosen, rest), chosen, rest)

    def division(self, tree: Tree, way: Way, spare: int, new_leaf: NewLeaf) -> Division | None:
        """Divide the step as `way` describes; None if the tree does not permit this division.

        A division may use up leaves of spare memory; bytes that no buffer takes become new leaves.
        """
        for pair in way.pairs:
            spare &= ~pair.some
        for last in self._rests(tree, way.rest, spare, new_leaf):
            division = _divided(tree, [*way.pairs, *last])
            if division is not None:
                return division
        return None

    def _rests(
        self, tree: Tree, rest: int, spare: int, new_leaf: NewLeaf
    ) -> Iterator[tuple[Pair, ...]]:
        """Yield the possible last segments, which use up or create spare memory if necessary."""
        some, other = rest & self.ended, rest & self.begun
        more = self.sum(some) - self.sum(other)
        if not rest:
            yield ()
        elif not more:
            yield (Pair(some, other, 0.0),)
        elif more > 0:
            yield (Pair(some, other | 1 << new_leaf(more), 0.0),)
            yield from self._two_rests(tree, some, other, new_leaf)
        elif self.sum(spare) == -more:
            yield (Pair(some | spare, other, 0.0),)
        else:
            for n in (1, 2):
                for used in itertools.combinations(numbers(spare)[-MOST_SPARE:], n):
                    left = sum(self.sizes[i] for i in used) + more
                    if left >= 0:
                        behind = other | (1 << new_leaf(left) if left else 0)
                        yield (Pair(some | bits(used), behind, n * UNLIKELY),)

    def _two_rests(
        self, tree: Tree, some: int, other: int, new_leaf: NewLeaf
    ) -> Iterator[tuple[Pair, ...]]:
        """Yield divisions of the last segment into two segments that both leave spare bytes."""
        few = numbers(other)[:MOST_SPLIT]
        heads = [bits(h) for n in range(3) for h in itertools.combinations(few, n)]
        for first in itertools.islice(Together(some).sets(tree), MOST_SPARE):
            for head in heads:
                over = self.sum(first) - self.sum(head)
                under = self.sum(some & ~first) - self.sum(other & ~head)
                if over > 0 and under > 0:
                    yield (
                        Pair(first, head | 1 << new_leaf(over), UNLIKELY),
                        Pair(some & ~first, other & ~head | 1 << new_leaf(under), UNLIKELY),
                    )

    def _pairs(self, tree: Tree, spare: int) -> list[Pair]:
        """Return pairs of equal sums that the tree permits, least likely chance matches first."""
        before = [
            some
            for some in Together(self.ended | spare).sets(tree)
            if (some & spare).bit_count() <= 2 and some != spare
        ]
        alike = Counter(some.bit_count() for some in before)
        pairs = (
            Pair(some, other, math.log(alike[some.bit_count()]) + ways - self.spread)
            for some in before
            for other, ways in self.behind.get(self.sum(some), {}).items()
            if some != self.ended or other != self.begun
        )
        return heapq.nsmallest(MOST_PAIRS, pairs, key=lambda p: p.chance)


def _covers(of: Fits, whole: int, spare: int) -> Iterator[tuple[list[Pair], int]]:
    """Yield choices of disjoint pairs, each with the leaves of the step that no pair covers."""
    choices = itertools.count()

    def more(
        of: Fits, chosen: list[Pair], free: int, rest: int
    ) -> Iterator[tuple[list[Pair], int]]:
        """Extend a choice of pairs; `free` leaves are undecided, `rest` leaves remain uncovered."""
        if next(choices) > MOST_CHOICES:
            return
        left: Fits = {}
        options: list[tuple[int, Pair]] = []
        scarce = 0
        for i in numbers(free & whole):
            taken = ~free
            fits = left[i] = [p for p in of[i] if not p[0] & taken]
            if not fits:
                free, rest = free & ~(1 << i), rest | 1 << i
            elif not options or len(fits) < len(options):
                options, scarce = fits, i
        if not free & whole:
            yield chosen, rest
            return
        for leaves, pair in options:
            yield from more(left, [*chosen, pair], free & ~leaves, rest)
        yield from more(left, chosen, free & ~(1 << scarce), rest | 1 << scarce)

    yield from more(of, [], whole | spare, 0)


def _divided(tree: Tree, pairs: Sequence[Pair]) -> Division | None:
    """Return the division into given pairs; None if the tree does not permit all of them."""
    segments: list[Segment] = []
    for pair in pairs:
        if not pair.some or not pair.other:
            return None
        behind = numbers(pair.other)
        made = replaced(tree, pair.some, any_order([leaf(i) for i in behind]))
        if made is None:
            return None
        segments.append((tree, numbers(pair.some), behind))
        tree = made
    return Division(tree, tuple(segments), _chance(pairs, 0))


def _chance(pairs: Sequence[Pair], rest: int) -> float:
    """Return the logarithm of the number of equally good divisions expected by chance.

    One of the equal sums follows from the others. So the segment with most leaves does not count,
    whether it is one of the pairs or `rest`.
    """
    if not pairs:
        return 0.0
    total = sum(p.chance for p in pairs)
    largest = max(pairs, key=lambda p: (p.some | p.other).bit_count())
    if (largest.some | largest.other).bit_count() >= rest.bit_count():
        total -= largest.chance
    return total


def _add_sums(sums: dict[int, dict[int, float]], items: Sequence[tuple[int, int]]) -> None:
    """Add sets of items to `sums`, by the sum of their sizes, smallest sets first, up to a limit.

    An item has its leaves as bits, and its size in bytes. Each set is stored with the logarithm of
    the number of sets of the same number of items.
    """
    n_found = 0
    for n in range(1, len(items) + 1):
        ways = math.log(math.comb(len(items), n))
        for some in itertools.islice(itertools.combinations(items, n), MOST_SETS):
            key, total = sum(i for i, _ in some), sum(size for _, size in some)
            alike = sums.setdefault(total, {})
            alike[key] = min(ways, alike.get(key, ways))
            n_found += 1
        if n_found > MOST_SETS:
            break


class Together:
    """An enumeration of subsets of the leaves `some` that can be contiguous in a tree's order.

    A child of a tree is *full* if all its leaves are in `some`, and *partial* if only some are. All
    lists of subsets have a limited length.
    """

    def __init__(self, some: int) -> None:
        self.some = some

    def sets(self, tree: Tree) -> dict[int, None]:
        """Return the subsets that can be contiguous at any position of an order."""
        leaves, kind, children = tree
        if not leaves & self.some:
            return {}
        if kind == LEAF:
            return {leaves: None}
        found: dict[int, None] = {}
        for child in children:
            found.update(self.sets(child))
        if len(found) < MOST_SETS:
            mine = self._runs(children) if kind == Q else self._heaps(children)
            found.update(dict.fromkeys(itertools.islice(mine, MOST_SETS)))
        return found

    def _runs(self, children: Sequence[Tree]) -> Iterator[int]:
        """Yield the subsets for a Q node: ends of two children, and all full children between."""
        ends = [self.ends(child) for child in children]
        for first in range(len(children) - 1):
            whole = 0
            for last in range(first + 1, len(children)):
                for head, tail in itertools.product(ends[first], ends[last]):
                    yield head | whole | tail
                if children[last][0] & ~self.some:
                    break
                whole |= children[last][0]

    def _heaps(self, children: Sequence[Tree]) -> Iterator[int]:
        """Yield the subsets for a P node: full children, and ends of up to two partial children."""
        whole, parted = self._whole_and_parted(children)
        ends = [self.ends(child) for child in parted]
        heaps = _unions(whole)
        yield from heaps
        for heap, tails in itertools.product([0, *heaps], ends):
            yield from (heap | tail for tail in tails)
        for one, two in itertools.combinations(ends, 2):
            for heap, head, tail in itertools.product([0, *heaps], one, two):
                yield heap | head | tail

    def ends(self, tree: Tree) -> list[int]:
        """Return the subsets that can be contiguous at an end of an order."""
        return list(itertools.islice(self._ends(tree), MOST_SETS))

    def _ends(self, tree: Tree) -> Iterator[int]:
        leaves, kind, children = tree
        if not leaves & ~self.some:
            yield leaves
        elif leaves & self.some and kind == Q:
            yield from self._tails(children)
            yield from self._tails(children[::-1])
        elif leaves & self.some:
            whole, parted = self._whole_and_parted(children)
            heaps = _unions(whole)
            yield from heaps
            for heap, child in itertools.product([0, *heaps], parted):
                yield from (heap | end for end in self._ends(child))

    def _tails(self, children: Sequence[Tree]) -> Iterator[int]:
        whole = 0
        for child in children:
            yield from (whole | end for end in self._ends(child))
            if child[0] & ~self.some:
                return
            whole |= child[0]

    def _whole_and_parted(self, children: Sequence[Tree]) -> tuple[list[int], list[Tree]]:
        """Return the leaves of each full child as bits, and the partial children."""
        whole = [child[0] for child in children if not child[0] & ~self.some]
        parted = [c for c in children if c[0] & self.some and c[0] & ~self.some]
        return whole, parted


def _unions(items: Sequence[int]) -> list[int]:
    """Return unions of items, smallest first, up to a limit, and the union of all items."""
    found: list[int] = []
    for n in range(1, len(items) + 1):
        if len(found) < MOST_SETS or n == len(items):
            found += map(sum, itertools.islice(itertools.combinations(items, n), MOST_SETS))
    return found


def bits(of: Sequence[int]) -> int:
    """Return a set of numbers as bits."""
    some = 0
    for i in of:
        some |= 1 << i
    return some


@lru_cache(maxsize=1 << 16)
def numbers(some: int) -> Numbers:
    """Return the numbers of a set of bits."""
    found: list[int] = []
    while some:
        low = some & -some
        found.append(low.bit_length() - 1)
        some ^= low
    return tuple(found)
