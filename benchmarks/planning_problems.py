"""Planning problems with a seed: planted packings with a known optimum, and traces of programs."""

from __future__ import annotations

import random
from collections.abc import Iterator

from compiler.memory.buffer import Buffer

Box = tuple[int, int, int, int]
"""Start and end in steps, low and high in bytes."""


def planted(n_buffers: int, seed: int, *, steps: int = 0, capacity: int = 1 << 20) -> list[Buffer]:
    """A rectangle of time and memory cut into `n_buffers` pieces: the capacity is the optimum.

    The largest of a few random pieces is cut in two, in time or in memory, until there are enough.
    """
    chance = random.Random(seed)
    steps = steps or max(8, n_buffers // 3)
    pieces: list[Box] = [(0, steps, 0, capacity)]
    while len(pieces) < n_buffers:
        some = [chance.randrange(len(pieces)) for _ in range(4)]
        at = max(some, key=lambda i: _area(pieces[i]))
        halves = _cut(pieces[at], chance)
        if halves is not None:
            pieces[at : at + 1] = halves
    chance.shuffle(pieces)
    return [Buffer(f"b{i}", h - lo, s, e) for i, (s, e, lo, h) in enumerate(pieces)]


def _area(piece: Box) -> int:
    start, end, low, high = piece
    return (end - start) * (high - low)


def _cut(piece: Box, chance: random.Random) -> tuple[Box, Box] | None:
    start, end, low, high = piece
    if chance.random() < 0.5:
        if end - start < 2:
            return None
        at = chance.randint(start + 1, end - 1)
        return (start, at, low, high), (at, end, low, high)
    if high - low < 2:
        return None
    at = low + int((high - low) * chance.uniform(0.15, 0.85)) or low + 1
    return (start, end, low, at), (start, end, at, high)


def pinwheels(n_buffers: int, seed: int, *, capacity: int = 1 << 20) -> list[Buffer]:
    """The same with pieces cut into five that no straight cut separates: a wheel round a middle."""
    chance = random.Random(seed)
    pieces: list[Box] = [(0, max(16, n_buffers), 0, capacity)]
    while len(pieces) < n_buffers:
        some = [chance.randrange(len(pieces)) for _ in range(4)]
        at = max(some, key=lambda i: _area(pieces[i]))
        start, end, low, high = pieces[at]
        wheel = end - start >= 3 and high - low >= 3 and len(pieces) + 4 <= n_buffers
        if not wheel or chance.random() < 0.3:
            halves = _cut(pieces[at], chance)
            if halves is not None:
                pieces[at : at + 1] = halves
            continue
        a, b = sorted(chance.sample(range(start + 1, end), 2))
        y, z = sorted(chance.sample(range(low + 1, high), 2))
        pieces[at : at + 1] = [
            *((start, b, low, y), (b, end, low, z), (a, end, z, high)),
            *((start, a, y, high), (a, b, y, z)),
        ]
    chance.shuffle(pieces)
    return [Buffer(f"b{i}", h - lo, s, e) for i, (s, e, lo, h) in enumerate(pieces)]


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
