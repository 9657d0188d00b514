"""Seeded random planning problems that resemble traces of programs."""

from __future__ import annotations

import random
from collections.abc import Iterator

from compiler.memory.buffer import Buffer


def training_trace(n_buffers: int, seed: int) -> list[Buffer]:
    """Return buffers as in a training step: nested lifetimes of layers, and short lifetimes.

    Most buffers are temporaries of a few steps. Some live within a layer, some from the forward to
    the backward pass of their layer, and a few (states, gradients) for a tenth or more of all
    steps.
    """
    chance = random.Random(seed)
    sizes = _sizes(chance)
    buffers: list[Buffer] = []
    for i in range(n_buffers):
        kind = chance.random()
        start, end = i, i + chance.randint(1, 20)
        if kind > 0.998:
            end = i + chance.randint(n_buffers // 10, n_buffers)
        elif kind > 0.95:
            start = chance.randrange(max(1, n_buffers // 2))
            end = n_buffers - start
        elif kind > 0.8:
            end = i + chance.randint(20, 1500)
        end = max(start + 1, min(end, n_buffers))
        buffers.append(Buffer(f"b{i}", next(sizes), start, end))
    return buffers


def serving_trace(n_buffers: int, seed: int) -> list[Buffer]:
    """Return buffers as in inference with phases, which have different sizes.

    Most buffers of a phase are freed before the next phase. The large buffers of a phase live
    throughout the phase, small buffers for some steps. Some small buffers live into later phases
    and thus fragment memory.
    """
    chance = random.Random(seed)
    buffers: list[Buffer] = []
    phase_steps = max(10, n_buffers // 40)
    sizes = _sizes(chance)
    for i in range(n_buffers):
        if i % phase_steps == 0:
            sizes = _sizes(chance)
        phase_end = (i // phase_steps + 1) * phase_steps
        kind = chance.random()
        end = i + chance.randint(1, 60)
        if kind > 0.99:
            end = phase_end
        elif kind > 0.97:
            end = phase_end + chance.randint(1, 6) * phase_steps
        buffers.append(Buffer(f"b{i}", next(sizes) // (8 if kind > 0.97 else 1) + 1, i, end))
    return buffers


def _sizes(chance: random.Random) -> Iterator[int]:
    """Yield sizes as of tensors: a few dozen distinct sizes, from 64 bytes to some megabytes."""
    shapes = [
        4 * chance.choice([1, 16, 64, 128, 256, 512, 768]) * int(2 ** chance.uniform(4, 12))
        for _ in range(40)
    ]
    while True:
        yield chance.choice(shapes)
