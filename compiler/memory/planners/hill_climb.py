"""Hill climbing over placement orders: small random changes to the current order."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from compiler.memory.buffer import Block
from compiler.memory.planners.examples import FIVE_BUFFERS
from compiler.memory.planners.greedy import QUICK, start_of
from compiler.memory.planners.keys import by
from compiler.memory.planners.native import now
from compiler.memory.planners.place import MANY, place
from compiler.memory.planners.planner import Options, Outcome, placed, planner
from compiler.memory.problem import Problem

ACCEPTED_PERCENT = 50
"""Probability, in percent, that the first attempt accepts a peak that is 1 % higher. The
probability is divided by the increase in percent, and by the number of the attempt."""


@planner(
    searches=True,
    source="Apache TVM, unified static memory planner (USMP), hill climb",
    example=FIVE_BUFFERS,
)
def hill_climb(problem: Problem, options: Options) -> Outcome:
    """Swap two buffers in the placement order, place all buffers again, and keep improvements.

    Both swapped buffers overlap in time with a buffer at the peak, or with a neighbour of that
    buffer. A worse order is sometimes accepted, with decreasing probability.
    """
    if len(problem.blocks) >= MANY:  # one attempt takes longer than most time limits
        return start_of(problem, options)
    deadline, wanted = options.deadline(), options.wanted_bytes(problem)
    best: list[int] = []
    for peak, offsets in climb(problem.blocks, _placing(problem.blocks, options), options.seed):
        best = offsets
        if peak <= wanted or now() >= deadline:
            break
    outcome = placed(problem, best, options)
    return outcome if outcome.stopped != "finished" else replace(outcome, stopped="time")


Placing = Callable[[Sequence[int]], list[int]]
"""Function that places blocks in an order and returns their offsets."""


def climb(blocks: Sequence[Block], put: Placing, seed: int = 0) -> Iterator[tuple[int, list[int]]]:
    """After each attempt, yield the lowest peak so far in bytes, and its offsets; never end."""
    orders = [by(key, blocks) for key, _ in QUICK]
    plans = [put(order) for order in orders]
    start = min(range(len(orders)), key=lambda i: peak_of(blocks, plans[i]))
    order, offsets = orders[start], plans[start]
    best, least = offsets, peak_of(blocks, offsets)
    now, chance = least, random.Random(seed)
    for attempt in itertools.count(1):
        yield least, best
        changed = _swapped(blocks, order, offsets, now, chance)
        found = put(changed)
        peak = peak_of(blocks, found)
        worse = 100 * (peak - now) / max(now, 1)
        if peak <= now or chance.random() * 100 < ACCEPTED_PERCENT / (worse * attempt):
            order, offsets, now = changed, found, peak
        if peak < least:
            best, least = found, peak


def _placing(blocks: Sequence[Block], options: Options) -> Placing:
    """Return a function for first fit, compiled if there is time to load the machine code."""
    if options.time_limit_s < 1 or not blocks:
        return lambda order: place(blocks, order, "first")
    from compiler.memory.planners.windows import Windows

    windows = Windows(blocks)
    return lambda order: windows.place(order, "first")


def peak_of(blocks: Sequence[Block], offsets: Sequence[int]) -> int:
    """Return the arena's size in bytes for blocks at these offsets."""
    return max((o + b.size for b, o in zip(blocks, offsets, strict=True) if b.size), default=0)


def _swapped(
    blocks: Sequence[Block],
    order: Sequence[int],
    offsets: Sequence[int],
    peak: int,
    chance: random.Random,
) -> list[int]:
    """Return the order with two blocks swapped, both alive together with a block at the peak.

    In half of the calls, both are instead alive together with a neighbour of that block: a block
    with an overlapping lifetime.
    """
    tops = [i for i in order if blocks[i].size and offsets[i] + blocks[i].size == peak]
    top = blocks[chance.choice(tops)]
    near = [i for i in order if _meet(blocks[i], top)]
    if chance.random() < 0.5:
        between = blocks[chance.choice(near)]
        near = [i for i in order if _meet(blocks[i], between)]
    turn = {i: n for n, i in enumerate(order)}
    a, b = turn[chance.choice(near)], turn[chance.choice(near)]
    changed = list(order)
    changed[a], changed[b] = changed[b], changed[a]
    return changed


def _meet(a: Block, b: Block) -> bool:
    return a.start < b.end and b.start < a.end
