"""Planning problems with a seed that look like traces of programs."""

from __future__ import annotations

import random
from collections.abc import Iterator

from compiler.memory.buffer import Buffer


def training_trace(n_buffers: int, seed: int) -> list[Buffer]:
    """What a compiler's heap sees of a training step: nested lifetimes of layers, and short ones.

    Most buffers are temporaries of a few steps, some live within a layer, some from the forward to
    the backward pass of their layer, and a few (states, gradients) through a tenth or more.
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
    """What is seen of inference in phases: each allocates its own sizes, and frees most of them.

    A phase's large buffers live through it, its small ones for some steps; some small ones live on
    into later phases, which is what splits memory.
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
    """Sizes as tensors have them: a few dozen shapes, from 64 bytes to some megabytes."""
    shapes = [
        4 * chance.choice([1, 16, 64, 128, 256, 512, 768]) * int(2 ** chance.uniform(4, 12))
        for _ in range(40)
    ]
    while True:
        yield chance.choice(shapes)
