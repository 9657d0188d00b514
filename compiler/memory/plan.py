"""Offsets in one arena: buffers that are alive together never overlap."""

from __future__ import annotations

import random
import time
from bisect import insort
from collections.abc import Callable, Sequence
from dataclasses import replace

from compiler.errors import CompileError
from compiler.memory.buffer import ALIGNMENT_BYTES, Buffer, Plan, check_problem, live_bytes


def plan_memory(
    buffers: Sequence[Buffer],
    *,
    alignment_bytes: int = ALIGNMENT_BYTES,
    planner: str = "greedy_by_size",
    time_limit_s: float = 1.0,
) -> Plan:
    """Give each buffer an offset so that buffers alive together never overlap.

    Units: sizes, offsets and the peak in bytes; lifetimes in launch steps, half-open [start, end).
    Errors: E-PLAN-INPUT for a problem that makes no sense, E-OPTION-VALUE for another planner.
    Source: greedy by size for offset calculation, Pisarchyk and Lee 2020, arXiv:2001.03288.

    >>> plan_memory([Buffer("a", 64, 0, 2), Buffer("b", 64, 2, 3)]).peak_bytes
    64
    """
    check_problem(buffers)
    if alignment_bytes < 1 or alignment_bytes & (alignment_bytes - 1):
        raise CompileError(
            "E-OPTION-VALUE", f"the alignment must be a power of two, got {alignment_bytes}"
        )
    if planner not in PLANNERS:
        raise CompileError(
            "E-OPTION-VALUE", f"no planner is named {planner!r}; there are: {', '.join(PLANNERS)}"
        )
    return PLANNERS[planner](buffers, alignment_bytes, time_limit_s)


Order = Callable[[Buffer], tuple[float, ...]]

ORDERS: dict[str, Order] = {
    "size": lambda b: (-b.size, b.start, b.end),
    "area": lambda b: (-b.size * (b.end - b.start), b.start),
    "lifetime": lambda b: (b.start - b.end, -b.size, b.start),
    "start": lambda b: (b.start, -b.size),
}
"""In which order buffers are placed; the first one decides the most."""


def _greedy_by_size(buffers: Sequence[Buffer], alignment: int, time_limit_s: float) -> Plan:
    return _place(buffers, sorted(range(len(buffers)), key=_key(buffers, "size")), alignment)


def _greedy(buffers: Sequence[Buffer], alignment: int, time_limit_s: float) -> Plan:
    """The best of a few orders; no worse than by size."""
    best = _greedy_by_size(buffers, alignment, time_limit_s)
    bound = live_bytes(buffers)
    for name in ORDERS:
        # Later orders are tried only while there is something to gain.
        if best.peak_bytes > bound and name != "size":
            order = sorted(range(len(buffers)), key=_key(buffers, name))
            best = min(best, _place(buffers, order, alignment), key=lambda p: p.peak_bytes)
    return best


def _search(buffers: Sequence[Buffer], alignment: int, time_limit_s: float) -> Plan:
    """The best of all orders, then of small changes to the best, until the bound or the time."""
    end = time.monotonic() + time_limit_s
    bound = live_bytes(buffers)
    orders = [sorted(range(len(buffers)), key=_key(buffers, name)) for name in ORDERS]
    plans = [_place(buffers, order, alignment) for order in orders]
    best = min(range(len(orders)), key=lambda i: plans[i].peak_bytes)
    plan, order = plans[best], orders[best]
    chance = random.Random(0)
    while len(buffers) > 1 and plan.peak_bytes > bound and time.monotonic() < end:
        changed = _moved(order, chance)
        candidate = _place(buffers, changed, alignment)
        if candidate.peak_bytes <= plan.peak_bytes:
            plan, order = candidate, changed
    return plan


def _moved(order: Sequence[int], chance: random.Random) -> list[int]:
    """The order with a few elements put elsewhere."""
    changed = list(order)
    for _ in range(chance.randint(1, 3)):
        taken = changed.pop(chance.randrange(len(changed)))
        changed.insert(chance.randrange(len(changed) + 1), taken)
    return changed


PLANNERS: dict[str, Callable[[Sequence[Buffer], int, float], Plan]] = {
    "greedy_by_size": _greedy_by_size,
    "greedy": _greedy,
    "search": _search,
}
"""`greedy` (by size, and where that leaves gaps by other orders too) is what programs use;
`search` spends its time limit on better orders."""


def _key(buffers: Sequence[Buffer], name: str) -> Callable[[int], tuple[float, ...]]:
    order = ORDERS[name]
    return lambda i: (*order(buffers[i]), i)


Placed = list[tuple[int, int, int, int]]
"""(offset, limit, start, end) of the buffers that have a place, by offset."""


def _place(buffers: Sequence[Buffer], order: Sequence[int], alignment: int) -> Plan:
    """Place one after the other, each in the smallest gap that holds it."""
    placed: Placed = []
    offsets = [0] * len(buffers)
    for i in order:
        b = buffers[i]
        if b.size:
            offsets[i] = offset = _best_gap(b, placed, alignment)
            insort(placed, (offset, offset + b.size, b.start, b.end))
    return Plan(
        tuple(replace(b, offset=o) for b, o in zip(buffers, offsets, strict=True)), alignment
    )


def _best_gap(b: Buffer, placed: Placed, alignment: int) -> int:
    best, best_slack, free = -1, 0, 0
    for offset, limit, start, end in placed:
        if start >= b.end or b.start >= end:
            continue
        slack = offset - free - b.size
        if slack >= 0 and (best < 0 or slack < best_slack):
            best, best_slack = free, slack
        free = max(free, -(-limit // alignment) * alignment)
    return best if best >= 0 else free
