"""Division of a task graph into regions, at tasks that have the same position in every order.

Each region is ordered separately.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compiler.dataclass import dataclass
from compiler.memory.orders.tasks import Tasks


@dataclass(frozen=True, slots=True)
class Region:
    """The tasks from `start` to before `end` of an order, and their peak in this order."""

    start: int
    end: int
    peak_bytes: int


def settled(tasks: Tasks, order: Sequence[int]) -> list[int]:
    """Move each task that only frees memory to its earliest position; return the new order."""
    only_free = freeing(tasks)
    if not any(only_free):
        return list(order)
    missing = [len(b) for b in tasks.before]
    found: list[int] = []
    for t in order:
        if only_free[t] and tasks.before[t]:
            continue
        stack = [t]
        while stack:
            found.append(now := stack.pop())
            for u in reversed(tasks.after[now]):
                missing[u] -= 1
                if not missing[u] and only_free[u]:
                    stack.append(u)
    return found


def freeing(tasks: Tasks) -> list[bool]:
    """Return, for each task, whether neither the task nor its successors allocate memory.

    Most of these tasks write results of the program into the caller's arrays.
    """
    found = [False] * len(tasks)
    for t in reversed(range(len(tasks))):
        needs = tasks.writes[t] or tasks.scratch[t]
        found[t] = not needs and all(found[u] for u in tasks.after[t])
    return found


def regions(tasks: Tasks, order: Sequence[int]) -> Iterator[Region]:
    """Yield the regions of an order; each ends at a task that is comparable with all other tasks.

    Two tasks are comparable if one depends on the other. After a task that is comparable with all
    others, every order has the same live values. Tasks that only free memory are ignored, since
    they run as soon as they are ready. The running time is proportional to the number of edges.
    """
    if not order:
        return
    only_free = freeing(tasks)
    place = {t: p for p, t in enumerate(order)}
    n = len(order)
    # Changes of two counts at each position: tasks up to here without a successor up to here, and
    # tasks from here on without a predecessor from here on. If both are 1, the only such task is
    # the one at this position, which is then comparable with all others.
    open_ends, open_starts = [0] * (n + 1), [0] * (n + 1)
    for p, t in enumerate(order):
        if only_free[t]:
            continue
        first = min((place[u] for u in tasks.after[t] if not only_free[u]), default=n)
        open_ends[p] += 1
        open_ends[first] -= 1
        last = max((place[b] for b in tasks.before[t]), default=-1)
        open_starts[last + 1] += 1
        open_starts[p + 1] -= 1
    live = tasks.live_bytes(order)
    start = ends = starts = 0
    for p, t in enumerate(order):
        ends += open_ends[p]
        starts += open_starts[p]
        if (ends == starts == 1 and not only_free[t]) or p == n - 1:
            yield Region(start, p + 1, max(live[start : p + 1]))
            start = p + 1


def floor_bytes(tasks: Tasks) -> int:
    """Return a lower bound of the peaks of all orders.

    For each task, some bytes are live during the task in every order; the bound is the maximum of
    these bytes over the tasks. In every order, a value is live during each task that depends on the
    value's writer and precedes one of its readers. The running time is proportional to the number
    of tasks times the number of values.
    """
    n = len(tasks)
    ancestors, descendants = [0] * n, [0] * n
    for t in range(n):
        for b in tasks.before[t]:
            ancestors[t] |= ancestors[b] | 1 << b
    for t in reversed(range(n)):
        for u in tasks.after[t]:
            descendants[t] |= descendants[u] | 1 << u
    every = (1 << n) - 1
    writer = {v: t for t, values in enumerate(tasks.writes) for v in values}
    total = [tasks.own_bytes(t) for t in range(n)]
    for v, size in enumerate(tasks.sizes):
        behind = descendants[writer[v]] if v in writer else every
        ahead = every if v in tasks.kept else 0
        for r in tasks.readers[v]:
            ahead |= ancestors[r]
            behind &= ~(1 << r)
        meanwhile = behind & ahead
        while meanwhile:
            bit = meanwhile & -meanwhile
            total[bit.bit_length() - 1] += size
            meanwhile ^= bit
    return max(total, default=0)
