"""Padded copies of images: windows over a copy need no bounds checks.

A window that extends beyond the image checks the bounds of every tap. With open sizes, or with taps
in a loop over a large window, few checks fold at compile time. A padded copy of the image checks
each element once:

    Y[y, x] = max over ky, kx of inside(X[y+ky-1, x+kx-1])

becomes

    P[py, px] = inside(X[py-1, px-1])
    Y[y, x] = max over ky, kx of P[y+ky, x+kx]

The stages then share their loops over images and channels: the copy contains one channel of one
image.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

from compiler.compute.computation import Computation, Routine, Stage
from compiler.compute.scalar import (
    Fetch,
    IndexValue,
    Inside,
    Read,
    Reduce,
    Scalar,
    reads,
    rewrite,
    walk,
)
from compiler.dataclass import dataclass
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.ir.types import TensorType
from compiler.schedule.policies.reduction import UNROLLED_WINDOW

LEAST_USES = 2
"""The minimum number of reads per copied element; with fewer reads, bounds checks cost less than
the copy."""


@dataclass(frozen=True, slots=True)
class _Axis:
    """An axis of the copy: its name, its size, and the corresponding image index (`source`).

    `place` is the index in the copy that a tap of the window reads.
    """

    name: str
    size: Expr
    source: Expr
    place: Expr


def with_padding(computation: Computation) -> Computation:
    """Add a padded copy before each stage whose windows need bounds checks at run time."""
    stages: list[Stage | Routine] = []
    tensors = dict(computation.tensors)
    for stage in computation.stages:
        padded = None if isinstance(stage, Routine) else _padded(stage, tensors)
        if padded is None:
            stages.append(stage)
            continue
        tensors[padded.copy.target] = padded.type
        stages += [padded.copy, padded.reader]
    return replace(computation, tensors=tensors, stages=tuple(stages))


@dataclass(frozen=True, slots=True)
class _Padded:
    """The stage that writes a padded copy, the type of the copy, and the stage that reads it."""

    copy: Stage
    type: TensorType
    reader: Stage


def _padded(stage: Stage, tensors: Mapping[str, TensorType]) -> _Padded | None:
    """Return the copy and its reader; None if the copy saves too few checks."""
    window = _window(stage, tensors)
    if window is None:
        return None
    index = next(r.index for r in reads(window.then))
    axes = _axes(stage, index)
    if axes is None or not _pays(stage, axes):
        return None
    moved = {e: a.source for e, a in zip(index, axes, strict=True)}
    name = "PADDED"
    while name in tensors:
        name += "_"
    tests = tuple((moved[e], n) for e, n in window.tests)
    value = Inside(tests, _at(window.then, moved), window.otherwise)
    names = tuple(affine.symbol(a.name) for a in axes)
    copy = Stage(name, names, value, {a.name: a.size for a in axes})
    element = Read(name, tuple(a.place for a in axes), window.dtype)
    whole = rewrite(stage.value, lambda s: element if s == window else None)
    copied = TensorType(window.dtype, tuple(a.size for a in axes))
    return _Padded(copy, copied, replace(stage, value=whole))


def _window(stage: Stage, tensors: Mapping[str, TensorType]) -> Inside | None:
    """Return a reduction's bounds-checked value; None if other reads or non-plain layouts exist."""
    if stage.reduce is None or not tensors[stage.target].layout.is_plain:
        return None
    found = {s for s in walk(stage.reduce.body) if isinstance(s, Inside)}
    if len(found) != 1:
        return None
    (window,) = found
    read = reads(stage.reduce.body)
    indices = {r.index for r in read}
    if len(indices) != 1 or not {e for e, _ in window.tests} <= {*next(iter(indices))}:
        return None
    plain = all(tensors[r.tensor].layout.is_plain for r in read)
    alone = set(read) == set(reads(window)) and _is_undecided(window, stage)
    return window if plain and alone else None


def _is_undecided(window: Inside, stage: Stage) -> bool:
    """Return whether bounds checks remain at run time: sizes are open, or taps not unrolled."""
    if any(isinstance(s, Fetch | IndexValue | Reduce) for s in walk(window)):
        return False
    n_taps = prod(affine.assumed(stage.extents[a]) for a in stage.reduce_axes)
    return n_taps > UNROLLED_WINDOW or any(not isinstance(n, int) for _, n in window.tests)


def _axes(stage: Stage, index: tuple[Expr, ...]) -> list[_Axis] | None:
    """Return the axes of the copy; None unless indices are sums of window positions and taps."""
    if len(set(index)) < len(index):
        return None
    found = [_axis(f"p{d}", e, stage) for d, e in enumerate(index)]
    axes = [a for a in found if a is not None]
    return axes if len(axes) == len(index) else None


def _axis(name: str, e: Expr, stage: Stage) -> _Axis | None:
    """Return the axis of the copy for an image index; the axis covers the range of indices read."""
    steps = {v: affine.coefficient(e, v) for v in affine.symbols(e) & stage.extents.keys()}
    place: Expr = 0
    last: Expr = 0
    for v, step in steps.items():
        if step is None or step < 0:
            return None
        place = place + affine.symbol(v) * step
        last = last + (stage.extents[v] - 1) * step
    return _Axis(name, last + 1, affine.symbol(name) + (e - place), place)


def _pays(stage: Stage, axes: list[_Axis]) -> bool:
    """Return whether the stage reads each copied element often enough, for the assumed sizes."""
    n_taps = prod(affine.assumed(n) for n in stage.extents.values())
    n_copied = prod(max(affine.assumed(a.size), 1) for a in axes)
    return n_taps >= LEAST_USES * n_copied


def _at(value: Scalar, moved: Mapping[Expr, Expr]) -> Scalar:
    """Replace the indices of all reads in a value."""

    def change(s: Scalar) -> Scalar | None:
        return replace(s, index=tuple(moved[e] for e in s.index)) if isinstance(s, Read) else None

    return rewrite(value, change)
