"""Slice bounds per axis as numbers: conversion from and to operands, and composition."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from compiler.dataclass import dataclass
from compiler.ir.operator import Call, Operand, Tensor
from compiler.ir.types import Dim
from compiler.passes.rules.calls import o
from compiler.passes.rules.views.shapes import numbers

FAR = int(np.iinfo(np.int64).max)
"""An end index beyond the size of every axis."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Start, end (None for the end of the axis) and step, with the meaning of Python slices."""

    start: int
    end: int | None
    step: int

    def of(self, size: int) -> range:
        """Return the positions selected on an axis of this size."""
        return range(size)[self.start : self.end : self.step]

    @staticmethod
    def from_range(taken: range, size: int) -> Cut:
        """Return the slice bounds that select these positions on an axis of this size."""
        if taken.step > 0:
            return Cut(taken.start, max(taken.stop, 0), taken.step)
        # A negative end would count from the end of the axis.
        return Cut(taken.start, taken.stop if taken.stop >= 0 else -size - 1, taken.step)

    @property
    def is_all(self) -> bool:
        """Whether the bounds select every position in order for every size."""
        return self.start == 0 and self.step == 1 and (self.end is None or self.end >= FAR)


def cuts(
    rank: int, starts: Tensor, ends: Tensor, axes: Tensor | None, steps: Tensor | None
) -> dict[int, Cut] | None:
    """Return the bounds for each axis that a slice lists, or None if a bound is unknown."""
    lists = [numbers(t) for t in (starts, ends)]
    first, last = lists
    if first is None or last is None:
        return None
    at = list(range(len(first))) if axes is None else numbers(axes)
    by = [1] * len(first) if steps is None else numbers(steps)
    if at is None or by is None or 0 in by:
        return None
    return {a % rank: Cut(s, e, t) for a, s, e, t in zip(at, first, last, by, strict=True)}


def merged_cut(size: Dim, first: Cut, second: Cut) -> Cut | None:
    """Compose two slices of an axis, `second` after `first`; return None if impossible."""
    if isinstance(size, int):
        return Cut.from_range(first.of(size)[second.start : second.end : second.step], size)
    last, beyond = (FAR if c.end is None else c.end for c in (first, second))
    if min(first.start, second.start, last, beyond) < 0 or min(first.step, second.step) < 1:
        return None
    start = first.start + second.start * first.step
    end = min(last, first.start + beyond * first.step)
    return Cut(min(start, FAR), end, first.step * second.step)


def sliced(x: Operand, taken: Mapping[int, Cut]) -> Operand:
    """Slice a tensor; return the tensor itself if the slice selects all of it."""
    kept = {a: c for a, c in sorted(taken.items()) if not c.is_all}
    if not kept:
        return x
    starts = [c.start for c in kept.values()]
    ends = [FAR if c.end is None else c.end for c in kept.values()]
    steps = [c.step for c in kept.values()]
    lists = [starts, ends, list(kept)] + ([steps] if any(s != 1 for s in steps) else [])
    return _slice(x, lists)


def _slice(x: Operand, lists: list[list[int]]) -> Call:
    return o.slice(x, *(np.array(n, np.int64) for n in lists))


def places(rank: int, pads: Tensor, axes: Tensor | None) -> dict[int, tuple[int, int]] | None:
    """Return the pads before and after each axis that a pad lists, or None if they are unknown."""
    amounts = numbers(pads)
    at = list(range(rank)) if axes is None else numbers(axes)
    if amounts is None or at is None:
        return None
    n = len(at)
    return {a % rank: (amounts[i], amounts[i + n]) for i, a in enumerate(at)}
