"""The task order of lowest peak found in little time; never worse than the listed order.

Independent regions are ordered one by one, the highest peak first. A region keeps its order if its
peak does not exceed the peaks of the regions ordered before. Some searches visit *down-sets*: sets
of finished tasks that contain all predecessors of their tasks.
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
"""Limit on the steps of the search over down-sets, per task of a program."""

MOST_STEPS = 40_000
"""Limit on the steps of the search over down-sets, for a program of any size: about 0.5 s."""

EXACT_STEPS = 1_000_000
"""Limit on the steps of the search over down-sets if the method `dp` is requested."""

WIDTH = 8
"""Beam width: the number of down-sets of each size that the beam search retains."""

QUICK = {"depth_first": depth_first, "post_order": post_order, "list": list_order}
"""Methods tried first in each region, by name."""

WINDOWS = "windows"
"""The name of the method for regions too large for the search over down-sets."""

WINDOWS_WORDS = "A beam search over all tasks, then an exact search in windows of tasks."

WINDOW = 24
"""Number of consecutive tasks in a window of a region that is too large. Windows of half and of
twice this number are tried too."""


@dataclass(frozen=True, slots=True)
class Ordered:
    """An order of task numbers, with its memory requirement. Units: bytes.

    `live_bytes` has the live bytes during each task in this order; `given_live_bytes` has the live
    bytes during each task in the listed order. `is_lowest` states that no order has a lower peak.
    `found_by` names the methods that reordered a region; the method for the region of the highest
    peak is first.
    """

    order: tuple[int, ...]
    live_bytes: tuple[int, ...]
    given_live_bytes: tuple[int, ...]
    is_lowest: bool
    method: str
    found_by: tuple[str, ...] = ()

    @property
    def peak_bytes(self) -> int:
        """Return the maximum of the live bytes over all tasks."""
        return max(self.live_bytes, default=0)

    @property
    def given_bytes(self) -> int:
        """Return the peak of the listed order."""
        return max(self.given_live_bytes, default=0)

    @property
    def is_changed(self) -> bool:
        """Return whether the order differs from the listed order."""
        return any(a != b for a, b in enumerate(self.order))


def order_tasks(tasks: Tasks, method: str = "best") -> Ordered:
    """Order tasks by one of METHODS; return also the live bytes before and after.

    >>> order_tasks(TWO_CHAINS).peak_bytes, order_tasks(TWO_CHAINS).given_bytes
    (1088, 1600)
    """
    found_by = (method,)
    if method == "best":
        order, is_lowest, found_by = _best(tasks, _quick_steps(tasks))
    elif method == "dp":
        order, is_lowest, found_by = _best(tasks, EXACT_STEPS)
    else:
        order, is_lowest = METHODS[method].find(tasks), False
    given_live, live = tasks.live_bytes(range(len(tasks))), tasks.live_bytes(order)
    return Ordered(tuple(order), tuple(live), tuple(given_live), is_lowest, method, found_by)


@order_method("dp", example=(TWO_CHAINS, 1024 + 64))
def dp(tasks: Tasks) -> list[int]:
    """Find the lowest peak of all orders by dynamic programming over sets of finished tasks.

    The tasks are first divided into regions. For a region with too many sets, the best order of the
    faster methods is improved by exact search in windows of consecutive tasks. Source: Serenity,
    "Memory-aware scheduling of irregularly wired neural networks for edge devices", MLSys 2020.
    """
    return _best(tasks, EXACT_STEPS)[0]


@order_method("best", example=(TWO_CHAINS, 1024 + 64))
def best(tasks: Tasks) -> list[int]:
    """Try several methods, and return the order with the lowest peak; on a tie, the listed order.

    Only regions that determine the peak are reordered. Among new orders of equal peak, the
    depth-first order is preferred, because it reads values soon after they are written.
    """
    return _best(tasks, _quick_steps(tasks))[0]


def _quick_steps(tasks: Tasks) -> int:
    return min(STEPS_PER_TASK * len(tasks), MOST_STEPS)


def _best(tasks: Tasks, most_steps: int) -> tuple[list[int], bool, tuple[str, ...]]:
    """Return the best order within a step limit, whether its peak is minimal, and `found_by`."""
    every = list(range(len(tasks)))
    floor = tasks.least_bytes
    if tasks.peak_bytes(every) <= floor:
        return every, True, ()
    order, is_lowest, left = settled(tasks, every), True, most_steps
    found_by: dict[str, None] = {}
    for region in sorted(regions(tasks, order), key=lambda r: -r.peak_bytes):
        if region.peak_bytes <= floor:
            break
        found = _region(tasks, order, region, floor, left)
        order[region.start : region.end] = found.order
        found_by.update({found.by: None} if found.by else {})
        left -= found.n_steps
        is_lowest &= found.is_lowest or found.peak_bytes <= floor
        floor = max(floor, found.peak_bytes)
    if tasks.peak_bytes(order) == tasks.peak_bytes(every):
        return every, is_lowest, ()
    return order, is_lowest, tuple(found_by)


@dataclass(frozen=True, slots=True)
class _Found:
    order: list[int]
    peak_bytes: int
    is_lowest: bool
    n_steps: int
    by: str
    """The name of the method; empty for the original order."""


def _region(
    tasks: Tasks, order: Sequence[int], region: Region, floor: int, most_steps: int
) -> _Found:
    """Return the best order found for a region's tasks; on a tie, the original order."""
    chosen = order[region.start : region.end]
    part = tasks.part(order, region.start, region.end)
    every = list(range(len(part)))
    given = part.peak_bytes(every)
    around = region.peak_bytes - given
    floor = max(floor - around, part.least_bytes)
    if len(part) <= MOST_TASKS and given > floor:
        floor = max(floor, floor_bytes(part))
    found, peak, n_steps, is_lowest, by = every, given, 0, given <= floor, ""
    for name, quick in QUICK.items():
        if peak > floor:
            candidate = quick(part)
            if (now := part.peak_bytes(candidate)) < peak:
                found, peak, by = candidate, now, name
    is_lowest = peak <= floor
    if not is_lowest:
        exact = lowest(part, peak, floor, most_steps)
        n_steps, is_lowest = exact.n_steps, exact.is_complete
        if exact.order is not None:
            found, peak, by = exact.order, part.peak_bytes(exact.order), "dp"
        elif not is_lowest:
            found, n_more = _improved(
                part, found, floor, max(most_steps - n_steps, most_steps // 4)
            )
            n_steps += n_more
            if (now := part.peak_bytes(found)) < peak:
                peak, by = now, WINDOWS
    is_lowest = is_lowest or peak <= floor
    return _Found([chosen[t] for t in found], peak + around, is_lowest, n_steps, by)


def _improved(part: Tasks, order: list[int], floor: int, most_steps: int) -> tuple[list[int], int]:
    """Improve a large region's order in windows around its peak; also count the search steps."""
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
