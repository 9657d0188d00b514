"""All generated traces by name: training, serving, both concurrently, and allocators."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace

from benchmarks.planning_serving import SERVING
from benchmarks.planning_training import TRAINING
from compiler.memory.buffer import Buffer


def mixed(n_buffers: int, chance: random.Random) -> list[Buffer]:
    """Run training and a server concurrently in one arena."""
    sources = [chance.choice([*TRAINING.values()]), chance.choice([*SERVING.values()])]
    found: list[Buffer] = []
    for source in sources:
        rows = source(n_buffers // 2, chance)
        stride = max(1, 2 * n_buffers // max(b.end for b in rows))
        found += [
            replace(b, name=f"{len(found)}.{b.name}", start=b.start * stride, end=b.end * stride)
            for b in rows
        ]
    return found


def phases(n_buffers: int, chance: random.Random) -> list[Buffer]:
    """Run four programs in one arena, one after another."""
    found: list[Buffer] = []
    step = 0
    for number in range(4):
        rows = chance.choice([*TRAINING.values(), *SERVING.values()])(n_buffers // 4, chance)
        found += [
            replace(b, name=f"{number}.{b.name}", start=b.start + step, end=b.end + step)
            for b in rows
        ]
        step = max(b.end for b in found)
    return found


TRACES: Mapping[str, Callable[[int, random.Random], list[Buffer]]] = {
    **TRAINING,
    **SERVING,
    "mixed": mixed,
    "phases": phases,
}
"""Functions that generate a trace with approximately a given number of buffers."""


def trace(name: str, seed: int) -> list[Buffer]:
    """Return a trace of 20,000 to 60,000 buffers."""
    chance = random.Random(f"{name} {seed}")
    return TRACES[name](chance.randint(20_000, 55_000), chance)
