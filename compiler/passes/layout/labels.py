"""Labelling of kernels at minimum cost: an energy, minimised by moves that are minimum cuts.

The energy is a sum of two kinds of terms: the cost of each kernel for its label, and the cost of
copies. A copy of a value serves the readers that have one of its labels. The copy is needed if such
a reader exists and the producer of the value has none of these labels. Readers share the copy.

With two labels a single minimum cut finds the global minimum. With three labels, moves towards each
label alternate until no move lowers the energy (alpha-expansion). Each move selects the best of
exponentially many changes of labels. If all copies of a value have equal cost, the result costs at
most twice the optimum. Source: Boykov, Veksler and Zabih 2001, "Fast approximate energy
minimization via graph cuts".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from itertools import pairwise

from compiler.dataclass import dataclass
from compiler.passes.layout.cut import ENDLESS, Cut

Labels = frozenset[int]


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of a value for readers with one of these labels.

    The copy is not needed if `maker`, the kernel that computes the value, also has one of `labels`.
    `maker` is None if no kernel computes the value.
    """

    maker: int | None
    labels: Labels
    cost: int
    readers: tuple[int, ...]


@dataclass(slots=True)
class Energy:
    """The cost of each kernel for each of its labels, and the cost of each copy between labels."""

    kernels: list[dict[int, int]] = field(default_factory=list)
    copies: list[Copy] = field(default_factory=list)

    def of(self, chosen: Sequence[int]) -> int:
        """Return the total cost of a choice of labels."""
        alone = sum(costs[label] for costs, label in zip(self.kernels, chosen, strict=True))
        return alone + sum(c.cost for c in self.copies if is_needed(c, chosen))

    def best(self, labels: Sequence[int]) -> list[int]:
        """Return the labels of minimum cost; initially every kernel has the first label."""
        chosen = [labels[0]] * len(self.kernels)
        lowest, in_vain, turn = self.of(chosen), 0, 1
        while in_vain < len(labels) - 1:
            moved = self._move(chosen, labels[turn % len(labels)])
            cost = self.of(moved)
            in_vain += 1
            if cost < lowest:
                chosen, lowest, in_vain = moved, cost, 0
            if len(labels) == 2:
                break
            turn += 1
        return chosen

    def _move(self, chosen: list[int], label: int) -> list[int]:
        """Return the best choice in which each kernel keeps its label or changes to `label`."""
        return _Move(self, chosen, label).best()


def is_needed(copy: Copy, chosen: Sequence[int] | Mapping[int, int]) -> bool:
    """Whether a choice of labels, given by kernel, needs a copy."""
    if copy.maker is not None and chosen[copy.maker] in copy.labels:
        return False
    return any(chosen[r] in copy.labels for r in copy.readers)


class _Move:
    """An expansion move as a network: a cut gives the new label to kernels on the sink's side."""

    def __init__(self, energy: Energy, chosen: list[int], label: int) -> None:
        self.chosen, self.label = chosen, label
        self.cut = Cut()
        self.at = {
            i: self.cut.vertex()
            for i, costs in enumerate(energy.kernels)
            if label in costs and chosen[i] != label
        }
        stays: dict[int, int] = {}
        """For each kernel: the cost of its current label minus the cost of the new label."""
        for i in self.at:
            stays[i] = energy.kernels[i][chosen[i]] - energy.kernels[i][label]
        for c in energy.copies:
            self._add(c, stays)
        for i, extra in stays.items():
            self.cut.arc(self.at[i], 1, extra)
            self.cut.arc(0, self.at[i], -extra)

    def best(self) -> list[int]:
        side = self.cut.sink_side()
        found = list(self.chosen)
        for i, v in self.at.items():
            if side[v]:
                found[i] = self.label
        return found

    def _add(self, c: Copy, stays: dict[int, int]) -> None:
        """Add a copy to the network; add a cost that depends only on the maker to `stays`."""
        spared = c.maker is not None and self.chosen[c.maker] in c.labels
        maker = None if c.maker is None else self.at.get(c.maker)
        wanting = [r for r in c.readers if self.chosen[r] in c.labels]
        if self.label in c.labels:
            if spared:
                return
            if wanting:  # The copy exists: only a move of the maker avoids it.
                if maker is not None and c.maker is not None:
                    stays[c.maker] += c.cost
                return
            movers = [self.at[r] for r in c.readers if r in self.at]
            self._when_any_moves(0 if maker is None else maker, movers, c.cost)
            return
        if not wanting or (spared and maker is None):
            return
        if any(r not in self.at for r in wanting):
            if spared and c.maker is not None:  # The copy is needed if the maker moves.
                stays[c.maker] -= c.cost
            return
        leavers = [self.at[r] for r in wanting]
        self._unless_all_move(leavers, maker if spared and maker is not None else 1, c.cost)

    def _when_any_moves(self, maker: int, readers: list[int], cost: int) -> None:
        """Add a cost if any reader moves and the maker stays; maker 0, the source, always stays."""
        if len(readers) == 1:
            self.cut.arc(maker, readers[0], cost)
        elif readers:
            hub = self.cut.vertex()
            self.cut.arc(maker, hub, cost)
            for r in readers:
                self.cut.arc(hub, r, ENDLESS)

    def _unless_all_move(self, readers: list[int], maker: int, cost: int) -> None:
        """Add a cost if any reader stays and the maker moves; maker 1, the sink, always moves."""
        if len(readers) == 1:
            self.cut.arc(readers[0], maker, cost)
            return
        hub = self.cut.vertex()
        self.cut.arc(hub, maker, cost)
        for r in readers:
            self.cut.arc(r, hub, ENDLESS)


def components(energy: Energy, chosen: Sequence[int]) -> list[list[int]]:
    """Return groups of connected kernels with equal labels, in the order of their first kernels."""
    parent = list(range(len(energy.kernels)))

    def find(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for c in energy.copies:
        together = [r for r in c.readers if chosen[r] in c.labels]
        if c.maker is not None and chosen[c.maker] in c.labels:
            together.append(c.maker)
        for a, b in pairwise(together):
            if chosen[a] == chosen[b]:
                parent[max(find(a), find(b))] = min(find(a), find(b))
    found: dict[int, list[int]] = {}
    for i in range(len(parent)):
        found.setdefault(find(i), []).append(i)
    return list(found.values())


def by_kernel(copies: Iterable[Copy]) -> Mapping[int, list[Copy]]:
    """Map each kernel to the copies of which it is the maker or a reader."""
    found: dict[int, list[Copy]] = {}
    for c in copies:
        for i in {*c.readers, *(() if c.maker is None else (c.maker,))}:
            found.setdefault(i, []).append(c)
    return found
