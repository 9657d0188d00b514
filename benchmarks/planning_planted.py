"""Planning problems cut from a rectangle of time and memory; the rectangle's height is the optimum.

Each family is a cutting method with a seed. If pieces are later removed or shrunk, the pieces of
one step are preserved: this step remains full, so the height of the rectangle remains the optimum.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from compiler.memory.buffer import Buffer

CAPACITY = 1 << 20

Box = tuple[int, int, int, int]
"""A piece: start and end in steps, lowest offset and limit in bytes."""


@dataclass(frozen=True)
class Planted:
    """Buffers, their common alignment, and the peak of an optimal plan. Units: bytes."""

    buffers: Sequence[Buffer]
    optimum_bytes: int = CAPACITY
    alignment_bytes: int = 1


def planted(n_buffers: int, seed: int, *, steps: int = 0, capacity: int = CAPACITY) -> list[Buffer]:
    """Cut a rectangle of time and memory into `n_buffers` pieces: the capacity is the optimum.

    The largest of a few random pieces is cut in two, in time or in memory, until the number of
    pieces is reached.
    """
    chance = random.Random(seed)
    steps = steps or max(8, n_buffers // 3)
    return _buffers(_guillotine([(0, steps, 0, capacity)], n_buffers, chance), chance)


def pinwheels(
    n_buffers: int, seed: int, *, steps: int = 0, capacity: int = CAPACITY
) -> list[Buffer]:
    """Cut as `planted`, but into pinwheels: four pieces around a fifth, without guillotine cuts."""
    chance = random.Random(seed)
    steps = steps or max(16, n_buffers)
    return _buffers(_wheels([(0, steps, 0, capacity)], n_buffers, chance), chance)


def _guillotine(
    pieces: Sequence[Box], n_pieces: int, chance: random.Random, unit: int = 1
) -> list[Box]:
    """Make guillotine cuts, in memory at multiples of a unit, until there are `n_pieces` pieces."""
    pieces = list(pieces)
    while len(pieces) < n_pieces:
        at = _large(pieces, chance)
        halves = _cut(pieces[at], chance, unit)
        if halves is not None:
            pieces[at : at + 1] = halves
    return pieces


def _wheels(
    pieces: Sequence[Box], n_pieces: int, chance: random.Random, unit: int = 1
) -> list[Box]:
    pieces = list(pieces)
    while len(pieces) < n_pieces:
        at = _large(pieces, chance)
        start, end, low, high = pieces[at]
        room = end - start >= 3 and high - low >= 3 * unit and len(pieces) + 4 <= n_pieces
        if not room or chance.random() < 0.3:
            halves = _cut(pieces[at], chance, unit)
            if halves is not None:
                pieces[at : at + 1] = halves
            continue
        a, b = sorted(chance.sample(range(start + 1, end), 2))
        y, z = sorted(chance.sample(range(low + unit, high, unit), 2))
        pieces[at : at + 1] = [
            *((start, b, low, y), (b, end, low, z), (a, end, z, high)),
            *((start, a, y, high), (a, b, y, z)),
        ]
    return pieces


def _large(pieces: Sequence[Box], chance: random.Random) -> int:
    """Return the position of the largest of four random pieces."""
    some = [chance.randrange(len(pieces)) for _ in range(4)]
    return max(some, key=lambda i: _area(pieces[i]))


def _area(piece: Box) -> int:
    start, end, low, high = piece
    return (end - start) * (high - low)


def _cut(piece: Box, chance: random.Random, unit: int) -> tuple[Box, Box] | None:
    start, end, low, high = piece
    if chance.random() < 0.5:
        if end - start < 2:
            return None
        at = chance.randint(start + 1, end - 1)
        return (start, at, low, high), (at, end, low, high)
    if high - low < 2 * unit:
        return None
    part = int((high - low) * chance.uniform(0.15, 0.85)) // unit * unit or unit
    return (start, end, low, low + part), (start, end, low + part, high)


def _columns(n_buffers: int, chance: random.Random) -> list[Box]:
    """Return consecutive time ranges that share only a few buffers at the bottom."""
    steps = max(40, n_buffers)
    bottom = CAPACITY // 8
    marks = sorted({0, steps, *chance.sample(range(1, steps), max(2, n_buffers // 40))})
    wide = _guillotine([(0, steps, 0, bottom)], max(1, n_buffers // 20), chance)
    columns = [(a, b, bottom, CAPACITY) for a, b in itertools.pairwise(marks)]
    return [*wide, *_guillotine(columns, n_buffers - len(wide), chance)]


def _strips(n_buffers: int, chance: random.Random) -> list[Box]:
    """Return rows of memory, each cut in time at independent random steps."""
    n_rows = max(4, n_buffers // 15)
    steps = max(30, n_buffers // 4)
    marks = sorted({0, CAPACITY, *chance.sample(range(1, CAPACITY), n_rows - 1)})
    pieces: list[Box] = [(0, steps, a, b) for a, b in itertools.pairwise(marks)]
    while len(pieces) < n_buffers:
        at = _large(pieces, chance)
        start, end, low, high = pieces[at]
        if end - start > 1:
            middle = chance.randint(start + 1, end - 1)
            pieces[at : at + 1] = [(start, middle, low, high), (middle, end, low, high)]
    return pieces


def _short_and_long(n_buffers: int, chance: random.Random) -> list[Box]:
    """Fill half of the memory with long-lived pieces, the other half with pieces of one step."""
    steps = max(8, n_buffers // 12)
    lying = _guillotine([(0, steps, 0, CAPACITY // 2)], n_buffers // 4, chance)
    single = [(t, t + 1, CAPACITY // 2, CAPACITY) for t in range(steps)]
    return [*lying, *_guillotine(single, n_buffers - len(lying), chance)]


def _halves(n_buffers: int, chance: random.Random) -> list[Box]:
    """Cut in the middle only: sizes and lifetimes are powers of two, and often equal."""
    pieces: list[Box] = [(0, 256, 0, CAPACITY)]
    while len(pieces) < n_buffers:
        at = _large(pieces, chance)
        start, end, low, high = pieces[at]
        middle, half = (start + end) // 2, (low + high) // 2
        if chance.random() < 0.5 and end - start > 1:
            pieces[at : at + 1] = [(start, middle, low, high), (middle, end, low, high)]
        elif high - low > 1:
            pieces[at : at + 1] = [(start, end, low, half), (start, end, half, high)]
    return pieces


def _thinned(pieces: Sequence[Box], chance: random.Random, part: float) -> list[Box]:
    """Remove a fraction of the pieces, except pieces that are alive at one chosen step."""
    spared = chance.randrange(max(end for _, end, _, _ in pieces))
    return [p for p in pieces if p[0] <= spared < p[1] or chance.random() > part]


def _shrunk(pieces: Sequence[Box], chance: random.Random, part: float) -> list[Box]:
    """Shrink a fraction of the pieces, except pieces that are alive at one chosen step."""
    spared = chance.randrange(max(end for _, end, _, _ in pieces))
    found: list[Box] = []
    for start, end, low, high in pieces:
        if not start <= spared < end and chance.random() < part:
            if chance.random() < 0.5 or end - start < 2:
                high = low + max(1, int((high - low) * chance.uniform(0.5, 1)))
            else:
                end = chance.randint(start + 1, end - 1)
        found.append((start, end, low, high))
    return found


def _buffers(pieces: Sequence[Box], chance: random.Random, waste: int = 0) -> list[Buffer]:
    """Return the pieces as buffers in random order, reduced by up to `waste` bytes if larger."""
    mixed = list(pieces)
    chance.shuffle(mixed)
    found: list[Buffer] = []
    for i, (start, end, low, high) in enumerate(mixed):
        size = high - low - (chance.randint(0, waste) if chance.random() < 0.5 else 0)
        found.append(Buffer(f"b{i}", size, start, end))
    return found


def _whole(n_buffers: int) -> Box:
    return (0, max(8, n_buffers // 3), 0, CAPACITY)


def _few(n_buffers: int) -> Box:
    return (0, max(8, n_buffers // 10), 0, CAPACITY)


Cutter = Callable[[int, random.Random], Sequence[Box]]

CUTTERS: Mapping[str, Cutter] = {
    "cuts": lambda n, c: _guillotine([_whole(n)], n, c),
    "pinwheels": lambda n, c: _wheels([(0, max(16, n), 0, CAPACITY)], n, c),
    "few steps": lambda n, c: _guillotine([_few(n)], n, c),
    "16 steps": lambda n, c: _guillotine([(0, 16, 0, CAPACITY)], n, c),
    "pinwheels, few steps": lambda n, c: _wheels([_few(n)], n, c),
    "few units": lambda n, c: _guillotine([(0, 100, 0, CAPACITY)], n, c, CAPACITY // 1024),
    "grid": lambda n, c: _guillotine([(0, 64, 0, CAPACITY)], n, c, CAPACITY // 256),
    "grid of pinwheels": lambda n, c: _wheels([(0, 128, 0, CAPACITY)], n, c, CAPACITY // 512),
    "halves": _halves,
    "columns": _columns,
    "strips": _strips,
    "short and long": _short_and_long,
    "holes": lambda n, c: _thinned(_guillotine([_whole(n)], n, c), c, 0.05),
    "holes, few steps": lambda n, c: _thinned(_guillotine([_few(n)], n, c), c, 0.05),
    "many holes": lambda n, c: _thinned(_wheels([_whole(n)], n, c), c, 0.2),
    "shrunk": lambda n, c: _shrunk(_guillotine([_whole(n)], n, c), c, 0.1),
    "shrunk, few steps": lambda n, c: _shrunk(_wheels([_few(n)], n, c), c, 0.2),
}
"""Cutting methods by name of the family."""

LINE = 64
"""Bytes of a cache line: the alignment of the family `lines`."""


def cut_up(name: str, n_buffers: int, seed: int) -> Planted:
    """Return a problem of a family; families with holes give slightly fewer buffers."""
    chance = random.Random(f"{name} {n_buffers} {seed}")
    if name == "lines":
        pieces = _guillotine([_whole(n_buffers)], n_buffers, chance, LINE)
        return Planted(_buffers(pieces, chance, LINE - 1), CAPACITY, LINE)
    return Planted(_buffers(CUTTERS[name](n_buffers, chance), chance))


FAMILIES = (*CUTTERS, "lines")
