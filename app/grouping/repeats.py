"""Repeated blocks: isomorphic subgraphs that follow each other in a topological order.

A signature is a number that is equal for nodes of one operator, and for isomorphic groups. The
search finds periodic stretches in the sequence of signatures. It cuts each stretch into blocks at
positions that the fewest values cross, and retains only blocks with equal signatures *and* equal
inner edges.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby

LEAST_IN_BLOCK, LEAST_IN_PAIR = 4, 10
"""Minimum number of nodes per block, in general and in a run of only two blocks."""
_LARGE = 0.3
_PERIODS_TRIED = 32
_SEARCHES = 2
"""Number of searches; the second search finds repeats next to those of the first search."""


@dataclass(frozen=True, slots=True)
class Run:
    """`times` equal blocks of `period` items each, starting at `start`."""

    start: int
    period: int
    times: int

    @property
    def end(self) -> int:
        """The position after the last item of the last block."""
        return self.start + self.period * self.times

    @property
    def worth(self) -> float:
        """The number of items that the run hides, reduced for large blocks, which may contain
        repeats."""
        return self.period * (self.times - 1) / self.period**_LARGE

    @property
    def blocks(self) -> list[range]:
        """For each block, the positions of its items."""
        return [range(at, at + self.period) for at in range(self.start, self.end, self.period)]


@dataclass(frozen=True, slots=True)
class Sequenced:
    """Items in topological order: the signature, the node count and the operands of each."""

    signatures: Sequence[int]
    n_nodes: Sequence[int]
    sources: Sequence[Sequence[int]]
    """For each item, the positions of its operands, which all precede the item."""

    def shape(self, block: range) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """Return a key that is equal for isomorphic blocks.

        The key has the signature of each item, and the distances from the item to its operands in
        the block.
        """
        return tuple(
            (self.signatures[i], tuple(i - s for s in self.sources[i] if s >= block.start))
            for i in block
        )


def runs(items: Sequenced) -> list[Run]:
    """Greedily select disjoint runs of repeated blocks, first the runs that hide the most items."""
    found: list[Run] = []
    stretches = [range(len(items.signatures))]
    for _ in range(_SEARCHES):
        chosen = [run for stretch in stretches for run in _apart(_runs_in(items, stretch))]
        stretches = list(_beside(chosen, stretches))
        found += chosen
    return sorted(found, key=lambda run: run.start)


def _apart(candidates: Iterable[Run]) -> list[Run]:
    """Select runs in order of decreasing worth, and skip each run that overlaps a selected run."""
    taken: list[Run] = []
    for run in sorted(candidates, key=lambda r: (-r.worth, r.period, r.start)):
        at = bisect(taken, run.start, key=lambda r: r.start)
        before, after = taken[at - 1 : at] if at else [], taken[at : at + 1]
        if all(r.end <= run.start for r in before) and all(run.end <= r.start for r in after):
            taken.insert(at, run)
    return taken


def _beside(chosen: Iterable[Run], stretches: Iterable[range]) -> Iterator[range]:
    inside = sorted(chosen, key=lambda run: run.start)
    for stretch in stretches:
        at = stretch.start
        for run in inside:
            if run.start in stretch:
                yield range(at, run.start)
                at = run.end
        yield range(at, stretch.stop)


def _runs_in(items: Sequenced, stretch: range) -> Iterator[Run]:
    for period in _likely_periods(items.signatures, stretch):
        periodic = list(_periodic(items.signatures, stretch, period))
        cuts = _cuts(items, stretch, period) if periodic else {}
        for part in periodic:
            yield from _best_phase(items, part, period, cuts)


def _likely_periods(signatures: Sequence[int], stretch: range) -> list[int]:
    """Return the most frequent distances at which a signature, or a triple of signatures,
    recurs."""
    gaps: Counter[int] = Counter()
    for width in (1, 3):
        last: dict[tuple[int, ...], int] = {}
        for i in range(stretch.start, stretch.stop - width + 1):
            word = tuple(signatures[i : i + width])
            if word in last:
                gaps[i - last[word]] += 1
            last[word] = i
    ranked = sorted(gaps, key=lambda gap: (-gaps[gap] * gap, gap))
    return ranked[:_PERIODS_TRIED]


def _periodic(signatures: Sequence[int], stretch: range, period: int) -> Iterator[range]:
    """Yield the maximal stretches with periodic signatures that span at least two periods."""
    start = stretch.start
    for i in range(stretch.start, stretch.stop - period + 1):
        if i < stretch.stop - period and signatures[i] == signatures[i + period]:
            continue
        if i - start >= period:
            yield range(start, i + period)
        start = i + 1


def _cuts(items: Sequenced, stretch: range, period: int) -> dict[int, int]:
    """For each item, return the number of earlier items' values that this or a later item reads."""
    last = {i: i for i in stretch}
    for i in stretch:
        last.update((s, i) for s in items.sources[i] if s in last)
    changes: Counter[int] = Counter()
    for source, reader in last.items():
        changes[source + 1] += 1
        changes[min(reader, source + period) + 1] -= 1
    return dict(zip(stretch, accumulate(changes[i] for i in stretch), strict=True))


def _best_phase(
    items: Sequenced, periodic: range, period: int, cuts: Mapping[int, int]
) -> Iterator[Run]:
    """Yield runs of equal blocks, cut at positions that the fewest values cross."""
    phases = range(periodic.start, min(periodic.start + period, periodic.stop - 2 * period + 1))
    start = min(phases, key=lambda at: (cuts[at + period], at))
    n_blocks = (periodic.stop - start) // period
    blocks = [range(start + k * period, start + (k + 1) * period) for k in range(n_blocks)]
    for _, alike in groupby(blocks, key=items.shape):
        equal = list(alike)
        least = LEAST_IN_BLOCK if len(equal) > 2 else LEAST_IN_PAIR
        if len(equal) > 1 and sum(items.n_nodes[i] for i in equal[0]) >= least:
            yield Run(equal[0].start, period, len(equal))
