"""Tests of the checker on 10,000 randomly changed plans, judged by bytes and steps."""

from __future__ import annotations

import random
from dataclasses import replace

from compiler.memory import Buffer, Plan, Problem, check_plan
from compiler.memory.plan import make_problem
from compiler.memory.planners.all import PLANNERS

N_CORRUPTED = 10_000


def random_problem(chance: random.Random) -> Problem:
    """Return a few small buffers; some aligned, some pinned, some sharing an offset."""
    buffers = []
    for i in range(chance.randint(2, 8)):
        start = chance.randint(0, 6)
        size = chance.choice([0, 1, 2, 3, 5, 8])
        extra = chance.random()
        buffers.append(
            Buffer(
                f"b{i}",
                size,
                start,
                start + chance.randint(1, 4),
                alignment_bytes=chance.choice([1, 1, 4]),
                pinned=16 * i if extra < 0.15 else -1,
                shares=chance.choice("ab") if extra > 0.8 else "",
            )
        )
    return make_problem(buffers, chance.choice([1, 2]))


def is_right(plan: Plan, arena_bytes: int, problem: Problem) -> bool:
    """Return whether a plan is valid for the problem, byte by byte and step by step."""
    asked = [replace(b, offset=-1) for b in problem.buffers]
    if sorted(map(str, asked)) != sorted(str(replace(b, offset=-1)) for b in plan.buffers):
        return False
    if plan.alignment_bytes % problem.alignment_bytes:
        return False
    groups: dict[str, list[Buffer]] = {}
    for b in plan.buffers:
        groups.setdefault(f"group {b.shares}" if b.shares else b.name, []).append(b)
    taken: set[tuple[int, int]] = set()
    for members in groups.values():
        steps = range(min(b.start for b in members), max(b.end for b in members))
        length = max(b.size for b in members)
        for b in members:
            aligned = b.offset % plan.alignment_bytes == b.offset % b.alignment_bytes == 0
            if b.offset != members[0].offset or b.offset < 0 or not aligned:
                return False
            if b.pinned not in (-1, b.offset) or (b.size and b.limit > arena_bytes):
                return False
        place = range(members[0].offset, members[0].offset + length)
        cells = {(step, byte) for step in steps for byte in place}
        if taken & cells:
            return False
        taken |= cells
    return True


def changed(plan: Plan, chance: random.Random) -> Plan:
    """Return the plan with one change: of an offset, size, lifetime, requirement, or buffer."""
    rows = list(plan.buffers)
    at = chance.randrange(len(rows))
    b = rows[at]
    other = rows[chance.randrange(len(rows))]
    far = plan.peak_bytes + chance.randint(-2, 9)
    kind = chance.randrange(12)
    if kind == 0:
        del rows[at]
    elif kind == 1:
        rows.append(b)
    elif kind == 2:
        rows[at] = replace(b, name=f"{b.name}x")
    elif kind == 3:
        return replace(plan, alignment_bytes=chance.choice([1, 2, 4]))
    else:
        rows[at] = (
            replace(b, offset=b.offset + chance.randint(-5, 5)),
            replace(b, offset=other.offset),
            replace(b, offset=far),
            replace(b, size=max(0, b.size + chance.randint(-2, 2))),
            replace(b, end=b.end + chance.randint(-2, 2)),
            replace(b, start=max(0, b.start + chance.randint(-2, 2))),
            replace(b, pinned=chance.choice([-1, 0, 16])),
            replace(b, shares=chance.choice(["", "a", "b"]), offset=other.offset),
        )[kind - 4]
    return Plan(tuple(rows), plan.alignment_bytes)


def test_every_corrupted_plan_is_rejected_and_no_right_one() -> None:
    chance = random.Random(11)
    quick = [p for p in PLANNERS.values() if not p.searches]
    n_corrupted = n_right = 0
    while n_corrupted < N_CORRUPTED:
        problem = random_problem(chance)
        plan = chance.choice(quick).plan(problem).plan
        assert plan is not None
        assert is_right(plan, plan.peak_bytes, problem)
        for _ in range(12):
            candidate = changed(plan, chance)
            right = is_right(candidate, plan.peak_bytes, problem)
            faults = check_plan(candidate, plan.peak_bytes, problem)
            assert (not faults) == right, f"{problem}\n{candidate}\n{faults}"
            n_right += right
            n_corrupted += not right
    assert n_right > N_CORRUPTED / 20
