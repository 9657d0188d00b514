"""Assignment of launches to cores by a plan: HEFT over regions between bottlenecks.

A bottleneck is a launch that depends on all earlier launches of the program, and on which all later
launches depend. A region ends before a bottleneck, since all threads wait for this launch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from compiler.ir.graph import Graph
from compiler.ir.types import TensorType
from compiler.loops.grain import MEETING_STEPS
from compiler.memory.views import Views
from compiler.place.cores import cores_with_caches
from compiler.place.heft import heft
from compiler.place.problem import Problem
from compiler.place.simulate import Conduct, simulate
from compiler.place.tasks import Datum, Task, TaskGraph
from compiler.runtime.frame import in_memory
from compiler.runtime.thunks.branches import Section, costs, producers
from compiler.runtime.thunks.native import Launchable
from compiler.runtime.thunks.select import FallbackThunk
from compiler.targets.options import CodeOptions

LONGEST = 256
"""Maximum number of launches that are planned together."""

GAIN = 0.95
"""Largest ratio of planned to sequential time at which a plan is used."""

HALF_CYCLES_PER_SECOND = 6e9
"""Half cycles of `loops/grain.py` per second, at a typical clock of 3 GHz."""

HANDOVER_SECONDS = 0.3e-6
"""Delay in seconds until a thread sees that another thread's task has ended."""

HANDOVER_BYTES_PER_SECOND = 50e9
"""Bandwidth in bytes per second, for the additional time of reading another thread's results. A
thread reads 35 GB/s from another core's cache, instead of 110 GB/s from its own core's cache
(docs/threads.md)."""

ON_DEMAND = Conduct(ahead=0, contention=False)
"""Simulated transfers: a thread reads another thread's results on demand, and waits for them."""


def planned_sections(
    thunks: Sequence[Launchable], views: Views, graph: Graph, options: CodeOptions
) -> tuple[Section, ...]:
    """Plan sections of a program in which kernels run concurrently, each on one thread.

    The sections are returned in program order; each is clearly faster than a sequential run.
    """
    if options.threads < 2 or options.forking != "pool" or not thunks:
        return ()
    before = producers(thunks, views)
    seconds = [_seconds(w, graph, options) for w in thunks]
    nbytes = [_made_bytes(w) for w in thunks]
    found = (_section(first, end, before, seconds, nbytes, options.threads)
             for first, end in regions(thunks, before))  # fmt: skip
    return tuple(s for s in found if s is not None)


def _seconds(thunk: Launchable, graph: Graph, options: CodeOptions) -> float:
    """Return a launch's time on one thread: measured, or estimated from its half cycles."""
    for value in thunk.node.outputs:
        if value in options.seconds:
            return options.seconds[value]
    return costs(thunk, graph, options)[0] / HALF_CYCLES_PER_SECOND


def _made_bytes(thunk: Launchable) -> int:
    """Return the bytes of a launch's results."""
    types = (v.type for v in thunk.node.values())
    return sum(t.nbytes for t in types if isinstance(t, TensorType) and in_memory(t))


def regions(thunks: Sequence[Launchable], before: Sequence[set[int]]) -> list[tuple[int, int]]:
    """Return half-open ranges of launches between bottlenecks, without fallbacks."""
    found: list[tuple[int, int]] = []
    first = 0
    for i in range(len(thunks) + 1):
        if i == len(thunks) or isinstance(thunks[i], FallbackThunk):
            found += _cut(first, i, before)
            first = i + 1
    return [(a, b) for a, b in found if b - a > 1]


def _cut(first: int, end: int, before: Sequence[set[int]]) -> Iterator[tuple[int, int]]:
    """Yield regions; each ends before a bottleneck, or after `LONGEST` launches.

    Sets of launches are represented by bits of integers.
    """
    above: list[int] = []
    for i in range(first, end):
        bits = 0
        for u in before[i]:
            if u >= first:
                bits |= above[u - first] | 1 << (u - first)
        above.append(bits)
    below = [0] * (end - first + 1)
    """For each position, the common ancestors of all launches from this position on."""
    below[-1] = (1 << (end - first)) - 1
    for i in range(end - first - 1, -1, -1):
        below[i] = below[i + 1] & (above[i] | 1 << i)
    start = 0
    for i in range(1, end - first):
        is_pinch = above[i] == (1 << i) - 1 and below[i] >> i & 1
        if is_pinch or i - start >= LONGEST:
            yield first + start, first + i
            start = i
    if end > first:
        yield first + start, end


def _section(
    first: int,
    end: int,
    before: Sequence[set[int]],
    seconds: Sequence[float],
    nbytes: Sequence[int],
    threads: int,
) -> Section | None:
    """Return the plan of a region; None if the plan is not clearly faster than sequential runs."""
    inside = range(first, end)
    waits = {i: tuple(u for u in sorted(before[i]) if u >= first) for i in inside}
    platform = cores_with_caches(threads, HANDOVER_SECONDS, HANDOVER_BYTES_PER_SECOND)
    tasks = tuple(
        Task(str(i), reads=tuple(map(str, waits[i])), makes=(str(i),),
             seconds={d.name: seconds[i] for d in platform.devices})
        for i in inside
    )  # fmt: skip
    data = tuple(Datum(str(i), nbytes[i]) for i in inside)
    problem = Problem(TaskGraph("", tasks, data), platform)
    placement = heft.decide(problem, 0.0)
    lanes = tuple(tuple(map(int, tasks)) for tasks in placement.orders.values())
    in_turn = sum(seconds[i] for i in inside) * HALF_CYCLES_PER_SECOND
    run = simulate(problem, placement, ON_DEMAND)
    at_once = run.makespan_seconds * HALF_CYCLES_PER_SECOND + MEETING_STEPS
    if len(lanes) < 2 or at_once >= GAIN * in_turn:
        return None
    # Each task also waits for the previous task of its lane, on any thread. So the end of a value's
    # uses is known early, and the value's memory can be reused.
    for lane in lanes:
        for a, b in pairwise(lane):
            waits[b] = tuple({*waits[b], a})
    after = {u: tuple(i for i in inside if u in waits[i]) for u in inside}
    begins = [
        (s.start, s.end, p.start, p.end) for s, p in zip(run.slots, placement.slots, strict=True)
    ]
    order = tuple(sorted(inside, key=lambda i: begins[i - first]))
    return Section(first, end, lanes, in_turn, at_once, after, order)
