"""Which launches run side by side: chains that do not depend on each other, where that is faster.

Nearly every large kernel is shared by all threads, so there is little to gain from two of them at
once. It pays where kernels are too small to be shared or cannot be: the two directions of a
recurrent net, small branches. What is chosen is a run of neighbouring launches that falls into
chains, each of them in order, by one thread. What a chain makes and needs is kept from the other
chains until they have ended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from itertools import pairwise

from compiler.dataclass import dataclass
from compiler.ir import affine
from compiler.ir.graph import Graph
from compiler.loops.grain import MEETING_STEPS, shared_steps, steps
from compiler.memory.views import Views
from compiler.runtime.works.kernels import listed
from compiler.runtime.works.native import Launchable
from compiler.runtime.works.select import FallbackWork, NativeWork, RegionWork
from compiler.targets.options import CodeOptions

LONGEST = 24
"""So many launches at most run side by side."""

GAIN = 0.9
"""Side by side has to take less than this of the time in turn: both are estimates."""


@dataclass(frozen=True, slots=True)
class Section:
    """Launches `first` to `end` in chains; half cycles in turn, and side by side.

    `after` has by launch those of the section that wait for it, where chains wait for each other;
    `order` the launches as they are to be listed, where that is not the order they have.
    """

    first: int
    end: int
    chains: tuple[tuple[int, ...], ...]
    in_turn: float
    at_once: float
    after: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    order: tuple[int, ...] = ()

    @property
    def until(self) -> dict[int, int]:
        """By launch the last one that may begin before it has ended.

        A launch waits for the one before it in its chain, and for those that it is `after`.
        """
        after = {i: set(self.after.get(i, ())) for i in range(self.first, self.end)}
        for chain in self.chains:
            for a, b in pairwise(chain):
                after[a].add(b)
        later: dict[int, int] = {}  # as the bits of numbers
        found: dict[int, int] = {}
        for i in reversed(range(self.first, self.end)):
            later[i] = 0
            for v in after[i]:
                assert v > i, f"launch {v} is listed before {i}, for which it waits"
                later[i] |= later[v] | 1 << (v - self.first)
            others = ~later[i] & (1 << (self.end - self.first)) - 1
            found[i] = self.first + others.bit_length() - 1
        return found

    def numbered(self, place: Mapping[int, int]) -> Section:
        """The section with its launches, which stay together, under other numbers."""
        first = min(place[i] for i in range(self.first, self.end))
        return replace(
            self,
            first=first,
            end=first + self.end - self.first,
            chains=tuple(tuple(place[i] for i in chain) for chain in self.chains),
            after={place[i]: tuple(place[v] for v in f) for i, f in self.after.items()},
            order=(),
        )

    def words(self, names: Sequence[str]) -> str:
        """What runs side by side, for the notes of a program."""
        shown = " | ".join(", ".join(names[i] for i in chain) for chain in self.chains)
        share = self.at_once / self.in_turn
        return f"side by side, in about {share:.2f} of the time in turn: {shown}"


def sections(
    works: Sequence[Launchable], views: Views, graph: Graph, options: CodeOptions
) -> tuple[Section, ...]:
    """The sections of a program, none of which overlap: those that together save most."""
    if options.threads < 2 or options.forking != "pool" or not works:
        return ()
    before = producers(works, views)
    alone, shared = zip(*(costs(w, graph, options) for w in works), strict=True)
    best: list[tuple[float, tuple[Section, ...]]] = [(0.0, ())] * (len(works) + 1)
    for first in range(len(works)):
        best[first + 1] = max(best[first + 1], best[first], key=lambda b: b[0])
        chains = _Chains(before)
        for end in range(first, min(first + LONGEST, len(works))):
            if isinstance(works[end], FallbackWork):
                break
            chains.add(end)
            found = chains.section(alone, shared, options.threads)
            if found is None:
                continue
            saved = best[first][0] + found.in_turn - found.at_once
            if saved > best[end + 1][0]:
                best[end + 1] = saved, (*best[first][1], found)
    return best[-1][1]


def producers(works: Sequence[Launchable], views: Views) -> list[set[int]]:
    """The launches that make what each one reads."""
    maker: dict[str, int] = {}
    found: list[set[int]] = []
    for number, work in enumerate(works):
        read = work.operands if isinstance(work, RegionWork) else work.node.reads
        roots = (root for v in read for root in views.roots(v))
        found.append({maker[r] for r in roots if r in maker})
        maker.update((v, number) for v in work.node.outputs if v)
    return found


def costs(work: Launchable, graph: Graph, options: CodeOptions) -> tuple[float, float]:
    """Half cycles of a launch on one thread, and shared by all."""
    alone = shared = 0.0
    for one in listed([work], graph):
        if isinstance(one.work, NativeWork):
            kernel = one.work.scheduled.kernel
            given = kernel.body, kernel.buffers, options.target
            alone += one.times * affine.assumed(steps(*given))
            shared += one.times * shared_steps(*given, options.threads)
    return alone, shared


class _Chains:
    """Neighbouring launches, as they are added, in chains that do not depend on each other."""

    def __init__(self, before: Sequence[set[int]]) -> None:
        self.before = before
        self.chains: list[tuple[int, ...]] = []

    def add(self, number: int) -> None:
        """The next launch: it joins all chains that it depends on."""
        joined = [c for c in self.chains if not self.before[number].isdisjoint(c)]
        self.chains = [c for c in self.chains if c not in joined]
        self.chains.append((*sorted(i for c in joined for i in c), number))

    def section(
        self, alone: Sequence[float], shared: Sequence[float], threads: int
    ) -> Section | None:
        """These chains side by side; None where they are one, or that is not clearly faster."""
        if len(self.chains) < 2:
            return None
        every = [i for c in self.chains for i in c]
        in_turn = sum(shared[i] for i in every)
        loads = [0.0] * threads
        desks: list[list[tuple[int, ...]]] = [[] for _ in loads]
        for chain in sorted(self.chains, key=lambda c: -sum(alone[i] for i in c)):
            place = loads.index(min(loads))
            loads[place] += sum(alone[i] for i in chain)
            desks[place].append(chain)
        at_once = max(loads) + MEETING_STEPS
        if at_once >= GAIN * in_turn:
            return None
        chains = tuple(chain for desk in desks for chain in desk)
        return Section(min(every), max(every) + 1, chains, in_turn, at_once)
