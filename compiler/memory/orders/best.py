"""The order with the lowest peak that is found in little time, region by region; never a worse one.

Regions are independent: only those are put in order anew whose peak is above what another region
needs anyway. All others keep the order that they have.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.dataclass import dataclass
from compiler.memory.orders.declare import METHODS, order_method
from compiler.memory.orders.downsets import MOST_TASKS, beam, lowest
from compiler.memory.orders.greedy import TWO_CHAINS, depth_first, list_order, post_order
from compiler.memory.orders.regions import Region, floor_bytes, regions, settled
from compiler.memory.orders.tasks import Tasks

STEPS_PER_TASK = 150
"""So many steps for each task of a program the search over down-sets looks at, at most."""

MOST_STEPS = 40_000
"""And so many for a program of any size: about half a second."""

EXACT_STEPS = 1_000_000
"""The same where the lowest peak is asked for, whatever the time."""

WIDTH = 8
"""Sets of each size that are followed where there are too many."""

WINDOW = 24
"""Neighbouring tasks that are put in order among themselves where a region is too large."""


@dataclass(frozen=True, slots=True)
class Ordered:
    """An order of tasks by number. Units: bytes.

    `given_bytes` is the peak of the order in which they were listed. `is_lowest` says that no order
    has a lower peak.
    """

    order: tuple[int, ...]
    peak_bytes: int
    given_bytes: int
    is_lowest: bool
    method: str

    @property
    def is_changed(self) -> bool:
        """Whether the order is another than the one that was given."""
        return any(a != b for a, b in enumerate(self.order))


def order_tasks(tasks: Tasks, method: str = "best") -> Ordered:
    """An order by one of METHODS, with its peak before and after.

    >>> order_tasks(TWO_CHAINS).peak_bytes, order_tasks(TWO_CHAINS).given_bytes
    (1088, 1600)
    """
    every = range(len(tasks))
    if method == "best":
        order, is_lowest = _best(tasks, _quick_steps(tasks))
    elif method == "dp":
        order, is_lowest = _best(tasks, EXACT_STEPS)
    else:
        order, is_lowest = METHODS[method].find(tasks), False
    given_bytes, peak_bytes = tasks.peak_bytes(every), tasks.peak_bytes(order)
    return Ordered(tuple(order), peak_bytes, given_bytes, is_lowest, method)


@order_method("dp", example=(TWO_CHAINS, 1024 + 64))
def dp(tasks: Tasks) -> list[int]:
    """The lowest peak of all orders, by dynamic programming over the sets of tasks done so far.

    The tasks are cut into regions first. A region with too many such sets gets the best order of
    the other methods, with windows of its tasks put in order exactly. Source: Serenity, "Memory-
    aware scheduling of irregularly wired neural networks for edge devices", MLSys 2020.
    """
    return _best(tasks, EXACT_STEPS)[0]


@order_method("best", example=(TWO_CHAINS, 1024 + 64))
def best(tasks: Tasks) -> list[int]:
    """The lowest peak that the other methods find in little time; the given order if none is lower.

    Only the regions that make the peak are put in another order, and among orders with equal
    peaks the one comes first that reads what was just written.
    """
    return _best(tasks, _quick_steps(tasks))[0]


def _quick_steps(tasks: Tasks) -> int:
    return min(STEPS_PER_TASK * len(tasks), MOST_STEPS)


def _best(tasks: Tasks, most_steps: int) -> tuple[list[int], bool]:
    """The best order in so many steps, and whether it has the lowest peak of all."""
    every = list(range(len(tasks)))
    floor = tasks.least_bytes
    if tasks.peak_bytes(every) <= floor:
        return every, True
    order, is_lowest, left = settled(tasks, every), True, most_steps
    for region in sorted(regions(tasks, order), key=lambda r: -r.peak_bytes):
        if region.peak_bytes <= floor:
            break
        found = _region(tasks, order, region, floor, left)
        order[region.start : region.end] = found.order
        left -= found.n_steps
        is_lowest &= found.is_lowest or found.peak_bytes <= floor
        floor = max(floor, found.peak_bytes)
    if tasks.peak_bytes(order) == tasks.peak_bytes(every):
        return every, is_lowest
    return order, is_lowest


@dataclass(frozen=True, slots=True)
class _Found:
    order: list[int]
    peak_bytes: int
    is_lowest: bool
    n_steps: int


def _region(
    tasks: Tasks, order: Sequence[int], region: Region, floor: int, most_steps: int
) -> _Found:
    """The tasks of a region in the best order found; as they are where nothing is better."""
    chosen = order[region.start : region.end]
    part = tasks.part(order, region.start, region.end)
    every = list(range(len(part)))
    given = part.peak_bytes(every)
    around = region.peak_bytes - given
    floor = max(floor - around, part.least_bytes)
    if len(part) <= MOST_TASKS and given > floor:
        floor = max(floor, floor_bytes(part))
    found, peak, n_steps, is_lowest = every, given, 0, given <= floor
    for quick in (depth_first, post_order, list_order):
        if peak > floor:
            candidate = quick(part)
            if (now := part.peak_bytes(candidate)) < peak:
                found, peak = candidate, now
    is_lowest = peak <= floor
    if not is_lowest:
        exact = lowest(part, peak, floor, most_steps)
        n_steps, is_lowest = exact.n_steps, exact.is_complete
        if exact.order is not None:
            found, peak = exact.order, part.peak_bytes(exact.order)
        elif not is_lowest:
            found, n_more = _improved(
                part, found, floor, max(most_steps - n_steps, most_steps // 4)
            )
            n_steps += n_more
            peak = part.peak_bytes(found)
    return _Found([chosen[t] for t in found], peak + around, is_lowest or peak <= floor, n_steps)


def _improved(part: Tasks, order: list[int], floor: int, most_steps: int) -> tuple[list[int], int]:
    """A large region's order with better ones in windows around its peak, and the steps taken."""
    found = beam(part, part.peak_bytes(order), floor, WIDTH)
    order, n_steps = list(found or order), 0
    tried: set[tuple[int, ...]] = set()
    while n_steps < most_steps:
        live = part.live_bytes(order)
        peak = max(live)
        at = live.index(peak)
        for size in (WINDOW // 2, WINDOW, 2 * WINDOW):
            for start in (at - size // 2, at - size + 1, at):
                start, end = max(start, 0), min(max(start, 0) + size, len(order))
                window = tuple(order[start:end])
                if window in tried:
                    continue
                tried.add(window)
                inner = part.part(order, start, end)
                around = max(live[start:end]) - inner.peak_bytes(range(len(inner)))
                better = lowest(inner, peak - around, 0, most_steps - n_steps)
                n_steps += better.n_steps
                if better.order is not None:
                    order[start:end] = [window[t] for t in better.order]
                    break
            else:
                continue
            break
        else:
            break
    return order, n_steps
