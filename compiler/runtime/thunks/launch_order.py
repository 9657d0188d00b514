"""The execution order of a program's launches: a legal order that needs little memory.

Concurrent launches stay together. No launch moves across a fallback, so the number of changes
between generated code and the reference implementation does not increase.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from compiler.dataclass import dataclass
from compiler.ir.graph import Graph
from compiler.memory.lifetimes import Step
from compiler.memory.orders import METHODS, Ordered, Tasks, order_tasks
from compiler.runtime.thunks.arrange import Arrangement, Needs, placed
from compiler.runtime.thunks.branches import Section, producers
from compiler.runtime.thunks.native import Launchable
from compiler.runtime.thunks.select import FallbackThunk, Thunk, Unlaunched


@dataclass(frozen=True, slots=True)
class OrderEffect:
    """The effect of an order on memory. Units: bytes, of the planned arenas.

    The orders of the methods `best` and `dp` are used only if their arena is smaller than the arena
    of the listed order.
    """

    found: Ordered
    is_taken: bool
    given_arena_bytes: int
    arena_bytes: int


@dataclass(frozen=True, slots=True)
class LaunchOrder:
    """Implementations in execution order, the places of their values, and concurrent sections.

    `found` is the order of movable units, which are single launches or sections. `effect` also
    describes an order that is not used. `is_changed` states whether the order of launches differs
    from the given order.
    """

    thunks: tuple[Thunk, ...]
    arrangement: Arrangement
    beside: tuple[Section, ...]
    found: Ordered
    is_changed: bool
    effect: OrderEffect

    @property
    def words(self) -> str:
        """Describe the peaks before and after, for the trace."""
        found = self.found
        if not found.is_changed:
            lowest = ", the lowest of all orders" if found.is_lowest else ""
            stay = "concurrent launches are in the planned order, other launches keep their order"
            stay = stay if self.is_changed else "launches keep their order"
            return f"{stay}: {found.given_bytes} bytes live at the peak{lowest}"
        share = f"{found.peak_bytes} bytes live at the peak instead of {found.given_bytes}"
        return f"{METHODS[found.method].title}: {share}"


def ordered_launches(
    thunks: Sequence[Thunk], needs: Needs, beside: Sequence[Section], method: str
) -> LaunchOrder:
    """Reorder launches by one of METHODS if this reduces the size of the arena.

    Concurrent launches with a plan (planned.py) are listed in the order of the plan.
    """
    launches: list[Launchable] = [w for w in thunks if not isinstance(w, Unlaunched)]
    units = _units(len(launches), beside)
    order = [number for unit in units for number in unit]
    is_planned = order != sorted(order)
    if is_planned:
        thunks, needs, beside = _listed(thunks, launches, needs, beside, order)
        launches = [w for w in thunks if not isinstance(w, Unlaunched)]
        units = _units(len(launches), beside)
    found = order_tasks(launch_tasks(launches, units, needs), method)
    given = placed(needs, _until(beside))
    given_bytes = given.plan.peak_bytes
    same = OrderEffect(found, False, given_bytes, given_bytes)
    as_given = LaunchOrder(tuple(thunks), given, tuple(beside), found, is_planned, same)
    if not found.is_changed:
        return as_given
    order = [number for unit in found.order for number in units[unit]]
    thunks, needs, beside = _listed(thunks, launches, needs, beside, order)
    arrangement = placed(needs, _until(beside))
    is_chosen = method not in ("best", "dp")
    arena_bytes = arrangement.plan.peak_bytes
    is_taken = is_chosen or arena_bytes < given_bytes
    effect = OrderEffect(found, is_taken, given_bytes, arena_bytes)
    if not is_taken:
        return replace(as_given, found=_kept(found), effect=effect)
    return LaunchOrder(tuple(thunks), arrangement, tuple(beside), found, True, effect)


def _listed(
    thunks: Sequence[Thunk],
    launches: Sequence[Launchable],
    needs: Needs,
    beside: Sequence[Section],
    order: Sequence[int],
) -> tuple[tuple[Thunk, ...], Needs, list[Section]]:
    """Return implementations, requirements and sections for the launches in another order."""
    place = {number: new for new, number in enumerate(order)}
    moved = sorted((s.numbered(place) for s in beside), key=lambda s: s.first)
    listed = _with_views([launches[number] for number in order], thunks)
    return listed, needs.in_order(order), moved


def _until(beside: Sequence[Section]) -> dict[int, int]:
    return {i: last for s in beside for i, last in s.until.items()}


def thunks_in_order(thunks: Sequence[Thunk], needs: Needs, method: str) -> tuple[Thunk, ...]:
    """Order implementations by one of METHODS, without concurrency and for any size of arena."""
    launches: list[Launchable] = [w for w in thunks if not isinstance(w, Unlaunched)]
    units = _units(len(launches), ())
    order = order_tasks(launch_tasks(launches, units, needs), method).order
    return _with_views([launches[number] for number in order], thunks)


def in_order(graph: Graph, thunks: Sequence[Thunk]) -> Graph:
    """Return the graph with its nodes in the order of their implementations."""
    place = {id(w.node): i for i, w in enumerate(thunks)}
    assert len(place) == len(graph.nodes), "each node has one implementation"
    return replace(graph, nodes=tuple(sorted(graph.nodes, key=lambda n: place[id(n)])))


def _kept(found: Ordered) -> Ordered:
    """Return the result of an order search, with the given order instead of the found order."""
    order = tuple(range(len(found.order)))
    live = found.given_live_bytes
    return replace(found, order=order, live_bytes=live, is_lowest=False, found_by=())


def _units(n_launches: int, beside: Sequence[Section]) -> list[tuple[int, ...]]:
    """Return units of launches by number: sections, and single launches outside of sections."""
    sections = {s.first: s for s in beside}
    units: list[tuple[int, ...]] = []
    number = 0
    while number < n_launches:
        s = sections.get(number)
        units.append((s.order or tuple(range(s.first, s.end))) if s else (number,))
        number += len(units[-1])
    return units


def launch_tasks(
    launches: Sequence[Launchable], units: Sequence[tuple[int, ...]], needs: Needs
) -> Tasks:
    """Return units as tasks; dependences keep each unit on its side of every fallback."""
    unit_of = {number: u for u, unit in enumerate(units) for number in unit}
    waits: dict[int, set[int]] = {}
    for number, made in enumerate(producers(launches, needs.views)):
        u = unit_of[number]
        waits.setdefault(u, set()).update(unit_of[m] for m in made)
    for u, fence in _fences(launches, units).items():
        waits[u].update(fence)
    steps = [_together([needs.steps[number] for number in unit]) for unit in units]
    others = {u: w - {u} for u, w in waits.items()}
    return Tasks.of(steps, needs.sizes, needs.views, others, needs.late)


def _fences(
    launches: Sequence[Launchable], units: Sequence[tuple[int, ...]]
) -> dict[int, Sequence[int]]:
    """Return each unit's additional predecessors.

    A fallback waits for all units since the previous fallback; any other unit waits for the last
    fallback before it.
    """
    falls_back = [isinstance(launches[unit[0]], FallbackThunk) for unit in units]
    last = accumulate((u if f else -1 for u, f in enumerate(falls_back)), max)
    before = [-1, *last]
    return {
        u: range(max(before[u], 0), u) if falls_back[u] else [before[u]]
        for u in range(len(units))
        if falls_back[u] or before[u] >= 0
    }


def _together(steps: Sequence[Step]) -> Step:
    """Merge concurrent launches into one step, without computing in place."""
    if len(steps) == 1:
        return steps[0]
    return Step(
        tuple(dict.fromkeys(r for s in steps for r in s.reads)),
        tuple(w for s in steps for w in s.writes),
        {name: n for s in steps for name, n in s.scratch.items()},
    )


def _with_views(launches: Sequence[Thunk], thunks: Sequence[Thunk]) -> tuple[Thunk, ...]:
    """Return launches and views in order; each view follows as soon as its sources are computed."""
    made = {o for w in thunks for o in w.node.outputs if o}
    shown = [w for w in thunks if isinstance(w, Unlaunched)]
    missing = {id(w): {r for r in w.node.reads if r in made} for w in shown}
    waiting: dict[str, list[Unlaunched]] = {}
    for w in shown:
        for value in missing[id(w)]:
            waiting.setdefault(value, []).append(w)
    found: list[Thunk] = []

    def add(thunk: Thunk) -> None:
        found.append(thunk)
        for value in filter(None, thunk.node.outputs):
            for view in waiting.get(value, ()):
                missing[id(view)].discard(value)
                if not missing[id(view)]:
                    add(view)

    for thunk in [*(w for w in shown if not missing[id(w)]), *launches]:
        add(thunk)
    return tuple(found)
