"""Single-pass orders of tasks: listed, breadth first, depth first, post-order, by bytes freed."""

from __future__ import annotations

import heapq
from collections import deque

from compiler.memory.lifetimes import Step
from compiler.memory.orders.declare import order_method
from compiler.memory.orders.tasks import Tasks

TWO_CHAINS = Tasks.of(
    [
        Step((), ("big",)),
        Step((), ("wide",)),
        Step(("big",), ("small",)),
        Step(("wide",), ("narrow",)),
        Step(("small", "narrow"), ("sum",)),
    ],
    {"big": 1024, "wide": 512, "small": 64, "narrow": 128, "sum": 64},
    kept=["sum"],
)
"""Two chains of two values each that join in one value; the listed order alternates between
them."""


@order_method("given", example=(TWO_CHAINS, 1024 + 512 + 64))
def given(tasks: Tasks) -> list[int]:
    """Keep the listed order of tasks, which is the order of the model's nodes."""
    return list(range(len(tasks)))


@order_method("breadth_first", example=(TWO_CHAINS, 1024 + 512 + 64))
def breadth_first(tasks: Tasks) -> list[int]:
    """First in, first out: the task that has been ready longest runs next (topological order).

    Source: Kahn 1962, "Topological sorting of large networks".
    """
    missing = [len(b) for b in tasks.before]
    ready = deque(t for t, n in enumerate(missing) if not n)
    order: list[int] = []
    while ready:
        t = ready.popleft()
        order.append(t)
        for u in tasks.after[t]:
            missing[u] -= 1
            if not missing[u]:
                ready.append(u)
    return order


@order_method("depth_first", example=(TWO_CHAINS, 1024 + 64))
def depth_first(tasks: Tasks) -> list[int]:
    """Last in, first out: the task that became ready last runs next, so branches run one by one.

    Results are read while they are still in the caches.
    """
    missing = [len(b) for b in tasks.before]
    ready = [t for t in reversed(range(len(tasks))) if not missing[t]]
    order: list[int] = []
    while ready:
        t = ready.pop()
        order.append(t)
        for u in reversed(tasks.after[t]):
            missing[u] -= 1
            if not missing[u]:
                ready.append(u)
    return order


@order_method("post_order", example=(TWO_CHAINS, 1024 + 64))
def post_order(tasks: Tasks) -> list[int]:
    """Post-order: all tasks that compute one operand run before those that compute the next.

    The operand whose computation needs most memory in addition to its own bytes comes first. This
    order is the best post-order if each value is read once. Source: Liu 1986, "On the storage
    requirement in the out-of-core multifrontal method for sparse factorization".
    """
    above = _needs_above(tasks)
    done = [False] * len(tasks)
    order: list[int] = []
    for root in (t for t in range(len(tasks)) if not tasks.after[t]):
        stack = [root]
        while stack:
            t = stack[-1]
            missing = [b for b in tasks.before[t] if not done[b]]
            if not missing:
                stack.pop()
                if not done[t]:
                    done[t] = True
                    order.append(t)
                continue
            # The task to run first is on top of the stack.
            stack += sorted(missing, key=lambda b: (above[b], -b))
    return order


def _needs_above(tasks: Tasks) -> list[int]:
    """Return, for each task, the peak of a run of its ancestors and itself, minus its results.

    The peak is exact if each value has one reader.
    """
    above: list[int] = []
    for t, before in enumerate(tasks.before):
        held = peak = 0
        for b in sorted(before, key=lambda b: -above[b]):
            left = tasks.defined_bytes[b]
            peak = max(peak, held + left + above[b])
            held += left
        peak = max(peak, tasks.own_bytes(t))
        above.append(peak - tasks.defined_bytes[t])
    return above


@order_method("list", example=(TWO_CHAINS, 1024 + 128 + 64))
def list_order(tasks: Tasks) -> list[int]:
    """List scheduling: the ready task with the largest net release of bytes runs next.

    Ties follow the listed order. Source: the list scheduler of XLA.
    """
    left = [len(r) + (v in tasks.kept) for v, r in enumerate(tasks.readers)]
    missing = [len(b) for b in tasks.before]
    freed = [0] * len(tasks)
    for v, n in enumerate(left):
        if n == 1 and v not in tasks.kept:
            freed[tasks.readers[v][0]] += tasks.sizes[v]
    added = tasks.defined_bytes
    ready = [(added[t] - freed[t], t) for t, n in enumerate(missing) if not n]
    heapq.heapify(ready)
    done = [False] * len(tasks)
    order: list[int] = []
    while ready:
        _, t = heapq.heappop(ready)
        if done[t]:
            continue  # an outdated entry: the task has already run
        done[t] = True
        order.append(t)
        for v in tasks.reads[t]:
            left[v] -= 1
            if left[v] == 1 and v not in tasks.kept:
                last = next(u for u in tasks.readers[v] if not done[u])
                freed[last] += tasks.sizes[v]
                if not missing[last]:
                    heapq.heappush(ready, (added[last] - freed[last], last))
        for u in tasks.after[t]:
            missing[u] -= 1
            if not missing[u]:
                heapq.heappush(ready, (added[u] - freed[u], u))
    return order
