"""Frames of the loops of a kernel: the elements of matrices that each iteration reads and writes.

A frame is an iteration of the innermost loop that is neither unrolled nor a vector loop. So a
register tile is one frame. Statements that access registers only make no frame.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import groupby
from math import prod
from typing import Any, Literal

from compiler.compute.scalar import Fetch, Inside, Read, Scalar, children
from compiler.compute.statements import Loop, Prefetch, Statement, Store
from compiler.dataclass import dataclass
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.loops.nodes import Kernel
from course.frames.limits import MOST_FRAMES, LeftOut, bounded, left_out

MOST_ELEMENTS = 1_500
"""Maximum number of elements of all matrices together."""
MOST_ACCESSES = 40_000
"""Maximum number of accesses of all frames."""

STRAIGHT = ("unroll", "vector", "dot")
"""The kinds of loops that are part of a frame."""

Use = Literal["read", "write", "sum"]
"""The use of elements: a frame with sums adds to registers that are stored there later."""
Element = tuple[int, ...]
Touched = dict[str, dict[Element, None]]
"""Elements by the name of their buffer, in the order of their first access."""


@dataclass
class Frame:
    """The accesses of one frame, and the registers that it stores and reads."""

    at: dict[str, int]
    read: Touched = field(default_factory=dict)
    written: Touched = field(default_factory=dict)
    sums: Touched = field(default_factory=dict)
    stored: set[str] = field(default_factory=set)
    loaded: set[str] = field(default_factory=set)


def walk_frames(kernel: Kernel) -> list[Frame]:
    """Return the frames of a kernel's loops, in order. Errors: LeftOut."""
    n_elements = 0
    for b in kernel.params:
        n = b.n_elements
        if not isinstance(n, int):
            raise LeftOut(f"the size of {b.name} is not known before the run")
        n_elements += n
    if n_elements > MOST_ELEMENTS:
        reason = f"its matrices have {n_elements:,} elements; the limit is {MOST_ELEMENTS:,}"
        raise LeftOut(reason)
    walk = _Walk(kernel)
    walk.run(kernel.body, {})
    _find_sums(walk.frames)
    return walk.frames


def walk_picture(kernel: Kernel) -> dict[str, Any]:
    """Return the moving picture of a kernel's loops as data, or the reason why it is left out."""
    try:
        frames = walk_frames(kernel)
    except LeftOut as e:
        return left_out("walk", str(e))
    number = {b.name: i for i, b in enumerate(kernel.params)}
    matrices = [
        {
            "name": b.name,
            "shape": list(b.shape),
            "rows": prod(_known(n) for n in b.shape[:-1]),
            "columns": _known(b.shape[-1]) if b.shape else 1,
            "role": b.role,
        }
        for b in kernel.params
    ]

    def boxes(touched: Touched, use: Use) -> Iterator[tuple[int, Use, int, int, int, int]]:
        for name, elements in touched.items():
            for box in _boxes(elements, kernel.buffers[name].shape):
                yield number[name], use, *box

    shown = [
        {
            "at": ", ".join(f"{var}={i}" for var, i in f.at.items()),
            "reads": _words(f.read),
            "writes": _words(f.written),
            "sums": _words(f.sums),
            "cells": [*boxes(f.read, "read"), *boxes(f.written, "write"), *boxes(f.sums, "sum")],
        }
        for f in frames
    ]
    return bounded({"kind": "walk", "omitted": "", "matrices": matrices, "frames": shown})


class _Walk:
    """A walk through the iterations of a kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self.frames: list[Frame] = []
        self.memory = {b.name for b in kernel.params}
        self.n_accesses = 0

    def run(self, body: Iterable[Statement], env: Mapping[str, int]) -> None:
        """Run statements: neighbours without a loop that jumps are one frame."""
        for straight, group in groupby(body, _is_straight):
            if straight:
                self.add([*group], env)
                continue
            for s in group:
                if not isinstance(s, Loop):
                    raise LeftOut("its loops have conditions or computed addresses")
                for i in range(_value(s.start, env), _value(s.stop, env)):
                    self.run(s.body, {**env, s.var: i})

    def add(self, body: Sequence[Statement], env: Mapping[str, int]) -> None:
        """Add the frame of straight statements, unless all their accesses are to registers."""
        frame = Frame(dict(env))
        self.visit(body, env, frame)
        if frame.read or frame.written:
            self.frames.append(frame)
        if len(self.frames) > MOST_FRAMES:
            reason = f"its loops have more than {MOST_FRAMES} iterations, and each is a frame"
            raise LeftOut(reason)

    def visit(self, body: Iterable[Statement], env: Mapping[str, int], frame: Frame) -> None:
        """Record the accesses of straight statements in a frame."""
        for s in body:
            if isinstance(s, Loop):
                for i in range(_value(s.start, env), _value(s.stop, env)):
                    self.visit(s.body, {**env, s.var: i}, frame)
            elif isinstance(s, Store):
                self.read(s.value, env, frame)
                self.touch(s.buffer, s.index, env, frame.written, frame.stored)

    def read(self, value: Scalar, env: Mapping[str, int], frame: Frame) -> None:
        """Record the reads of a scalar; a read under a condition counts where it happens."""
        if isinstance(value, Fetch):
            raise LeftOut("its loops have computed addresses")
        if isinstance(value, Inside):
            tests = ((_value(e, env), _value(n, env)) for e, n in value.tests)
            is_inside = all(0 <= at < extent for at, extent in tests)
            self.read(value.then if is_inside else value.otherwise, env, frame)
            return
        if isinstance(value, Read):
            self.touch(value.tensor, value.index, env, frame.read, frame.loaded)
        for part in children(value):
            self.read(part, env, frame)

    def touch(
        self,
        name: str,
        index: Sequence[Expr],
        env: Mapping[str, int],
        touched: Touched,
        registers: set[str],
    ) -> None:
        """Record an access to memory in `touched`, or to a register in `registers`."""
        if name not in self.memory:
            registers.add(name)
            return
        self.n_accesses += 1
        if self.n_accesses > MOST_ACCESSES:
            raise LeftOut(f"its loops have more than {MOST_ACCESSES:,} accesses")
        touched.setdefault(name, {})[tuple(_value(e, env) for e in index)] = None


def _is_straight(s: Statement) -> bool:
    if isinstance(s, Loop):
        return s.kind in STRAIGHT and all(map(_is_straight, s.body))
    return isinstance(s, Store | Prefetch)


def _value(e: Expr, env: Mapping[str, int]) -> int:
    found = affine.substitute(e, env)
    if not isinstance(found, int):
        raise LeftOut(f"{found} is not known before the run")
    return found


def _find_sums(frames: Sequence[Frame]) -> None:
    """Give each frame that stores to registers the elements to which these registers go next."""
    following: Frame | None = None
    for frame in reversed(frames):
        if frame.written:
            following = frame
        elif following is not None and frame.stored & following.loaded:
            frame.sums = following.written


def _known(n: Expr) -> int:
    assert isinstance(n, int), "checked by walk_frames"
    return n


def _boxes(
    elements: Iterable[Element], shape: Sequence[Expr]
) -> Iterator[tuple[int, int, int, int]]:
    """Yield elements as rectangles of a matrix, whose last axis has the columns.

    A rectangle is the first row, the first column, and the numbers of rows and columns.
    """
    rows: dict[int, list[int]] = {}
    for element in elements:
        row = 0
        for at, n in zip(element[:-1], shape[:-1], strict=True):
            row = row * _known(n) + at
        rows.setdefault(row, []).append(element[-1] if element else 0)
    runs = {row: [*_runs(columns)] for row, columns in rows.items()}
    for first, n in _runs(runs):
        # Rows with the same runs are one box for each run.
        for same, group in groupby(range(first, first + n), lambda row: runs[row]):
            height = [*group]
            for column, n_columns in same:
                yield height[0], column, len(height), n_columns


def _runs(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield the first number and the length of each run of consecutive numbers."""
    start, n = 0, 0
    for number in sorted(numbers):
        if n and number == start + n:
            n += 1
            continue
        if n:
            yield start, n
        start, n = number, 1
    if n:
        yield start, n


def _words(touched: Touched) -> str:
    """Return elements as text: `A[2, 5], B[5, 0..16]`, with the end of a range excluded."""
    return ", ".join(f"{name}[{_place([*elements])}]" if _is_box(elements) else
                     f"{len(elements)} elements of {name}"
                     for name, elements in touched.items())  # fmt: skip


def _axes(elements: Iterable[Element]) -> list[list[int]]:
    return [sorted(set(axis)) for axis in zip(*elements, strict=True)]


def _is_box(elements: Iterable[Element]) -> bool:
    found = [*elements]
    axes = _axes(found)
    are_ranges = all(axis[-1] - axis[0] + 1 == len(axis) for axis in axes)
    return are_ranges and prod(map(len, axes)) == len(found)


def _place(elements: Sequence[Element]) -> str:
    return ", ".join(
        str(axis[0]) if len(axis) == 1 else f"{axis[0]}..{axis[-1] + 1}" for axis in _axes(elements)
    )
