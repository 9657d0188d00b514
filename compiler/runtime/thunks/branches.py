"""Concurrent launches: independent chains of kernels where the cost model predicts a gain.

Nearly all large kernels use all threads, so running two kernels at once gains little. Concurrency
pays off for kernels on one thread: small branches, or the two directions of a recurrent network. A
section is a sequence of adjacent launches that splits into chains; one thread runs each chain in
order. No chain overwrites the memory of another chain's operands and results before both chains
have ended.
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
from compiler.runtime.thunks.kernels import listed
from compiler.runtime.thunks.native import Launchable
from compiler.runtime.thunks.select import FallbackThunk, NativeThunk, RegionThunk
from compiler.targets.options import CodeOptions

LONGEST = 24
"""Maximum number of launches in a section."""

GAIN = 0.9
"""Upper limit on the estimated parallel time of a section, as a fraction of the sequential time."""


@dataclass(frozen=True, slots=True)
class Section:
    """Launches `first` to `end - 1`, divided into chains that run concurrently.

    `in_turn` is the sequential time, `at_once` the parallel time, in half cycles. `after` has, for
    each launch, the launches of other chains that wait for the launch. `order` lists the launches
    if their order differs from the order in the program.
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
        """Return, by launch, the last launch that may start before this launch has ended.

        A launch L waits for its predecessor in the chain, and for each launch M with L in
        `after[M]`.
        """
        after = {i: set(self.after.get(i, ())) for i in range(self.first, self.end)}
        for chain in self.chains:
            for a, b in pairwise(chain):
                after[a].add(b)
        later: dict[int, int] = {}  # sets of launches as bits of integers
        found: dict[int, int] = {}
        for i in reversed(range(self.first, self.end)):
            later[i] = 0
            for v in after[i]:
                assert v > i, f"launch {v} is listed before its predecessor {i}"
                later[i] |= later[v] | 1 << (v - self.first)
            others = ~later[i] & (1 << (self.end - self.first)) - 1
            found[i] = self.first + others.bit_length() - 1
        return found

    def numbered(self, place: Mapping[int, int]) -> Section:
        """Return the section with new launch numbers; the launches stay adjacent."""
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
        """Describe the concurrent launches for the notes of a program."""
        shown = " | ".join(", ".join(names[i] for i in chain) for chain in self.chains)
        share = self.at_once / self.in_turn
        return f"in parallel, in about {share:.2f} of the sequential time: {shown}"


def sections(
    thunks: Sequence[Launchable], views: Views, graph: Graph, options: CodeOptions
) -> tuple[Section, ...]:
    """Return disjoint sections of a program that together save the most time."""
    if options.threads < 2 or options.forking != "pool" or not thunks:
        return ()
    before = producers(thunks, views)
    alone, shared = zip(*(costs(w, graph, options) for w in thunks), strict=True)
    best: list[tuple[float, tuple[Section, ...]]] = [(0.0, ())] * (len(thunks) + 1)
    for first in range(len(thunks)):
        best[first + 1] = max(best[first + 1], best[first], key=lambda b: b[0])
        chains = _Chains(before)
        for end in range(first, min(first + LONGEST, len(thunks))):
            if isinstance(thunks[end], FallbackThunk):
                break
            chains.add(end)
            found = chains.section(alone, shared, options.threads)
            if found is None:
                continue
            saved = best[first][0] + found.in_turn - found.at_once
            if saved > best[end + 1][0]:
                best[end + 1] = saved, (*best[first][1], found)
    return best[-1][1]


def producers(thunks: Sequence[Launchable], views: Views) -> list[set[int]]:
    """Return, by launch, the launches that produce its operands."""
    maker: dict[str, int] = {}
    found: list[set[int]] = []
    for number, thunk in enumerate(thunks):
        read = thunk.operands if isinstance(thunk, RegionThunk) else thunk.node.reads
        roots = (root for v in read for root in views.roots(v))
        found.append({maker[r] for r in roots if r in maker})
        maker.update((v, number) for v in thunk.node.outputs if v)
    return found


def costs(thunk: Launchable, graph: Graph, options: CodeOptions) -> tuple[float, float]:
    """Return the estimated half cycles of a launch on one thread, and on all threads."""
    alone = shared = 0.0
    for one in listed([thunk], graph):
        if isinstance(one.thunk, NativeThunk):
            kernel = one.thunk.scheduled.kernel
            given = kernel.body, kernel.buffers, options.target
            alone += one.times * affine.assumed(steps(*given))
            shared += one.times * shared_steps(*given, options.threads)
    return alone, shared


class _Chains:
    """A partition of adjacent launches into independent chains, extended launch by launch."""

    def __init__(self, before: Sequence[set[int]]) -> None:
        self.before = before
        self.chains: list[tuple[int, ...]] = []

    def add(self, number: int) -> None:
        """Add the next launch, and merge all chains on which this launch depends."""
        joined = [c for c in self.chains if not self.before[number].isdisjoint(c)]
        self.chains = [c for c in self.chains if c not in joined]
        self.chains.append((*sorted(i for c in joined for i in c), number))

    def section(
        self, alone: Sequence[float], shared: Sequence[float], threads: int
    ) -> Section | None:
        """Return the chains as a section; None for a single chain, or a time ratio above `GAIN`."""
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
