"""Frames of a memory plan: the buffers, placed one after another.

The order is that of the planner, if placing the buffers in this order gives exactly the plan. The
plan of a search has no such order: then the order is that of the run, by first steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compiler.memory.account import handovers
from compiler.memory.buffer import Buffer, Plan
from compiler.memory.planners.keys import Key, by, by_area, by_lifetime, by_size, by_start
from compiler.memory.planners.place import Fit, place
from compiler.memory.problem import Problem
from course.frames.limits import bounded, left_out

MOST_BUFFERS = 60
"""Maximum number of buffers of a picture."""

IN_THE_RUN = "run"
"""The order in which a run needs the buffers first."""

ORDERS: Mapping[str, Key] = {
    "size": by_size,
    "start": by_start,
    "lifetime": by_lifetime,
    "area": by_area,
}
"""The orders of planners that place one buffer after another."""

_FITS: Sequence[Fit] = ("best", "first")


def order_of(problem: Problem, plan: Plan, *, searched: bool) -> tuple[str, list[int]]:
    """Return an order of placement that gives the plan: its name, and positions of buffers.

    `searched` states that the planner searches, so that no order of `ORDERS` explains its plan.
    """
    for name, key in () if searched else ORDERS.items():
        order = by(key, problem.blocks)
        if any(_same(problem.plan(place(problem.blocks, order, fit)), plan) for fit in _FITS):
            return name, [i for block in order for i in problem.blocks[block].members]
    rows = plan.buffers
    order = sorted(range(len(rows)), key=lambda i: (rows[i].start, rows[i].offset))
    return IN_THE_RUN, order


def _same(a: Plan, b: Plan) -> bool:
    return [x.offset for x in a.buffers] == [x.offset for x in b.buffers]


def placing_frames(problem: Problem, plan: Plan, order: Sequence[int]) -> list[dict[str, Any]]:
    """Return a frame for each buffer, in the order of placement.

    `on` names the placed buffers that end where the buffer begins, and are live at the same time.
    `shares` names the placed buffers with common bytes; they are live at other times.
    """
    frames: list[dict[str, Any]] = []
    placed: list[Buffer] = []
    peak = 0
    for i in order:
        b = plan.buffers[i]
        mask = max(b.alignment_bytes, problem.alignment_bytes) - 1
        below = [p for p in placed if _live_together(p, b) and p.size]
        on = [p.name for p in below if (p.limit + mask) & ~mask == b.offset]
        shares = [p.name for p in placed if p.offset < b.limit and b.offset < p.limit]
        peak = max(peak, b.limit)
        frames.append({"buffer": i, "on": on, "shares": shares, "peak_bytes": peak})
        placed.append(b)
    return frames


def _live_together(a: Buffer, b: Buffer) -> bool:
    return a.start < b.end and b.start < a.end


def placing_picture(problem: Problem, plan: Plan, *, searched: bool) -> dict[str, Any]:
    """Return the moving picture of a plan as data, or the reason why it is left out."""
    n = len(plan.buffers)
    if n > MOST_BUFFERS:
        reason = f"its plan has {n:,} buffers; the limit is {MOST_BUFFERS}"
        return left_out("places", reason)
    name, order = order_of(problem, plan, searched=searched)
    frames = placing_frames(problem, plan, order)
    if name == IN_THE_RUN:
        # In the order of the run, the last owner of the bytes tells more than all earlier ones.
        before: dict[int, list[str]] = {}
        for h in handovers(plan.buffers):
            before.setdefault(h.after, []).append(plan.buffers[h.before].name)
        frames = [{**f, "shares": before.get(f["buffer"], [])} for f in frames]
    return bounded({"kind": "places", "omitted": "", "order": name, "frames": frames})
