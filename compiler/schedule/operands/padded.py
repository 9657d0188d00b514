"""Images copied with their padding, so that windows over them need no tests.

A window that leaves the image tests every tap. Few tests are decided before a run where sizes are
open, or where the taps of a large window are a loop. A copy of the image with what lies around it
tests each element once:

    Y[y, x] = max over ky, kx of inside(X[y+ky-1, x+kx-1])

becomes

    P[py, px] = inside(X[py-1, px-1])
    Y[y, x] = max over ky, kx of P[y+ky, x+kx]

The stages then share their loops over images and channels, so the copy is one image of a channel.
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
"""Taps that read an element of the copy: with fewer, testing each tap costs as much."""


@dataclass(frozen=True, slots=True)
class _Axis:
    """An axis of the copy: its name and size, and the index of the image that it stands for.

    `place` is where the window's tap lies in the copy.
    """

    name: str
    size: Expr
    source: Expr
    place: Expr


def with_padding(computation: Computation) -> Computation:
    """The computation with a padded copy before each stage whose windows would be tested."""
    stages: list[Stage | Routine] = []
    tensors = dict(computation.tensors)
    for stage in computation.stages:
        padded = None if isinstance(stage, Routine) else _padded(stage, tensors)
        stages += [stage] if padded is None else padded
    return replace(computation, tensors=tensors, stages=tuple(stages))


def _padded(stage: Stage, tensors: dict[str, TensorType]) -> tuple[Stage, Stage] | None:
    """The copy and the stage that reads it; None where tests are few, decided or of no window."""
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
    tensors[name] = TensorType(window.dtype, tuple(a.size for a in axes))
    tests = tuple((moved[e], n) for e, n in window.tests)
    value = Inside(tests, _at(window.then, moved), window.otherwise)
    names = tuple(affine.symbol(a.name) for a in axes)
    copy = Stage(name, names, value, {a.name: a.size for a in axes})
    element = Read(name, tuple(a.place for a in axes), window.dtype)
    whole = rewrite(stage.value, lambda s: element if s == window else None)
    return copy, replace(stage, value=whole)


def _window(stage: Stage, tensors: Mapping[str, TensorType]) -> Inside | None:
    """The tested element that is all a reduction reads, at one index of plain tensors."""
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
    """Whether only a run decides the tests: of open sizes, or of taps that are not written out."""
    if any(isinstance(s, Fetch | IndexValue | Reduce) for s in walk(window)):
        return False
    n_taps = prod(affine.assumed(stage.extents[a]) for a in stage.reduce_axes)
    return n_taps > UNROLLED_WINDOW or any(not isinstance(n, int) for _, n in window.tests)


def _axes(stage: Stage, index: tuple[Expr, ...]) -> list[_Axis] | None:
    """The axes of the copy; None where an index is no sum of places and taps."""
    if len(set(index)) < len(index):
        return None
    found = [_axis(f"p{d}", e, stage) for d, e in enumerate(index)]
    axes = [a for a in found if a is not None]
    return axes if len(axes) == len(index) else None


def _axis(name: str, e: Expr, stage: Stage) -> _Axis | None:
    """The axis of the copy for an index: of all places that the stage reads along it."""
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
    """Whether enough taps read each element of the copy, for sizes as they are assumed."""
    n_taps = prod(affine.assumed(n) for n in stage.extents.values())
    n_copied = prod(max(affine.assumed(a.size), 1) for a in axes)
    return n_taps >= LEAST_USES * n_copied


def _at(value: Scalar, moved: Mapping[Expr, Expr]) -> Scalar:
    """A value with all reads at the places of the copy."""

    def change(s: Scalar) -> Scalar | None:
        return replace(s, index=tuple(moved[e] for e in s.index)) if isinstance(s, Read) else None

    return rewrite(value, change)
