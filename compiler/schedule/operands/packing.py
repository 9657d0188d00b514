"""Packing: reorder constant operands at compile time into the order in which loops read them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from compiler.compute.numbers import convert
from compiler.dataclass import dataclass
from compiler.ir.affine import Expr
from compiler.ir.constant import Array
from compiler.ir.types import DType

PIECE_BYTES = 1 << 18
"""The number of bytes packed at once: these bytes and their source fit the cache."""

PRODUCTS = 1 << 18
"""The maximum number of multiplications in one numpy matrix product. For larger products, numpy's
BLAS starts threads, which are slow on a busy machine."""


@dataclass(frozen=True, slots=True)
class Packing:
    """Pad each axis with zeros, split each axis into factors, and permute all factors.

    `taken` selects elements along each axis: the first index, the step and the count. A `transform`
    M replaces the last two axes of weights w with a new first axis over the elements of M w M'. The
    product is computed in f64 and rounded once. With `parts`, a new first axis contains the bf16
    parts of an f32 constant, in the order of `parts`. Part 0 is the upper part, part 1 the lower
    part.
    Shapes: `padded` has the rank of the constant; `split` lists the factors of all axes in order;
    `order` permutes these factors. The shape of the result is `shape`.
    """

    padded: tuple[int, ...]
    split: tuple[int, ...]
    order: tuple[int, ...]
    transform: tuple[tuple[float, ...], ...] = ()
    taken: tuple[tuple[int, int, int], ...] = ()
    parts: tuple[int, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the packed constant."""
        return tuple(self.split[i] for i in self.order)

    def apply(self, array: Array) -> Array:
        """Return the packed elements, contiguous."""
        packed: Array = np.empty(self.shape, self.dtype_of(array.dtype))
        self.write(array, packed)
        return packed

    def dtype_of(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        """Return the type of the packed elements, given the type of the constant."""
        return np.dtype(DType.bf16.numpy) if self.parts else dtype

    def write(self, array: Array, packed: Array) -> None:
        """Write the packed elements to a contiguous array of the packed type and size.

        Padding and transforming proceed in slices that fit the cache.
        """
        if self.parts:
            array = _in_parts(array)[[*self.parts]]
        if self.taken:
            array = array[tuple(slice(a, a + n * step, step) for a, step, n in self.taken)]
        if not packed.size:
            return
        if not array.size:
            packed[...] = 0
            return
        places = packed.reshape(self.shape).transpose(np.argsort(self.order))
        if not self.transform and array.shape == self.padded:
            places[...] = array.reshape(self.split)
            return
        axis = 1 if self.transform else next((i for i, n in enumerate(self.padded) if n > 1), 0)
        at, step = self._outermost(axis)
        n_steps = self.padded[axis] // step
        piece_bytes = math.prod(self.padded) // n_steps * array.dtype.itemsize
        each = max(1, PIECE_BYTES // max(piece_bytes, 1))
        for begin in range(0, n_steps, each):
            end = min(begin + each, n_steps)
            piece = _slice(array, 0 if self.transform else axis, begin * step, end * step)
            if self.transform:
                piece = _transformed(piece, np.array(self.transform))
            shape = (*self.padded[:axis], (end - begin) * step, *self.padded[axis + 1 :])
            target = _slice(places, at, begin, end)
            target[...] = _grown(piece, shape).reshape(target.shape)

    def _outermost(self, axis: int) -> tuple[int, int]:
        """Return the position of an axis's first factor other than 1, and the factor's stride."""
        before, at = math.prod(self.padded[:axis]), 0
        while math.prod(self.split[:at]) < before or self.split[at] == 1:
            at += 1
        return at, self.padded[axis] // self.split[at]

    def __str__(self) -> str:
        factors = "x".join(map(str, self.split))
        first = "transform, pad" if self.transform else "pad"
        if self.taken:
            parts = (f"{n} from {a}" + f" by {step}" * (step > 1) for a, step, n in self.taken)
            first = f"take {', '.join(parts)}, {first}"
        return f"{first} to {list(self.padded)}, split into {factors}, order {list(self.order)}"


def _slice(array: Array, axis: int, begin: int, end: int) -> Array:
    return array[(*(slice(None),) * axis, slice(begin, end))]


def _grown(array: Array, shape: tuple[int, ...]) -> Array:
    """Pad each axis of an array with zeros at the end."""
    if array.shape == shape:
        return array
    grown: Array = np.zeros(shape, array.dtype)
    grown[tuple(slice(0, n) for n in array.shape)] = array
    return grown


def _transformed(weights: Array, matrix: Array) -> Array:
    """Compute M w M' of weights [O, I, k, k], as [elements of M w M', O, I]."""
    outputs, inputs, *kernel = weights.shape
    both = np.kron(matrix, matrix)
    places, taps = both.shape
    assert taps == math.prod(kernel), f"a transform of {kernel}"
    rows = weights.reshape(outputs * inputs, taps)
    made: Array = np.empty((places, len(rows)), weights.dtype)
    each = PRODUCTS // both.size
    for begin in range(0, len(rows), each):
        piece = rows[begin : begin + each].astype(np.float64)
        made[:, begin : begin + each] = both @ piece.T
    return made.reshape(places, outputs, inputs)


def _in_parts(array: Array) -> Array:
    """Split an array of f32 into upper and lower parts in bf16."""
    upper = convert(array, DType.bf16)
    lower = convert(array - upper.astype(np.float32), DType.bf16)
    return np.stack([upper, lower])


def packing_for(
    index: Sequence[Expr], shape: Sequence[Expr], extents: Mapping[str, Expr]
) -> tuple[Packing | None, tuple[str, ...]]:
    """Return the packing in loop order, and the loops that index it; None if no packing exists.

    `extents` maps loops to trip counts, outermost first.
    """
    sizes = {var: n for var, n in extents.items() if isinstance(n, int)}
    padded: list[int] = []
    split: list[int] = []
    factors: list[str] = []
    taken: list[tuple[int, int, int]] = []
    for e, n in zip(index, shape, strict=True):
        start = e if isinstance(e, int) else e.constant
        terms = [] if isinstance(e, int) else list(e.terms)
        # A loop of one iteration has the stride of the enclosing loop.
        terms.sort(key=lambda t: (-t[1], -sizes.get(str(t[0]), 0)))
        apart = step = terms[-1][1] if terms else 1
        for atom, c in reversed(terms):
            if not isinstance(atom, str) or c != step or atom in factors or atom not in sizes:
                return None, ()
            step *= sizes[atom]
        if not isinstance(n, int) or start < 0 or apart < 1:
            return None, ()
        length = step // apart
        taken.append((start, apart, min(length, -(-(n - start) // apart))))
        padded.append(length)
        split += [sizes[str(atom)] for atom, _ in terms] or [1]
        factors += [str(atom) for atom, _ in terms] or [""]
    places = {var: i for i, var in enumerate(extents)}
    order = sorted(range(len(factors)), key=lambda i: places.get(factors[i], -1))
    used = tuple(i for i in order if factors[i])
    rest = tuple(i for i in order if not factors[i])
    if rest:
        split = [s for s, f in zip(split, factors, strict=True) if f]
    whole = all(t == (0, 1, n) for t, n in zip(taken, shape, strict=True))
    packing = Packing(
        tuple(padded),
        tuple(split),
        _renumber(used) if rest else used,
        taken=() if whole else tuple(taken),
    )
    return packing, tuple(factors[i] for i in used)


def _renumber(kept: tuple[int, ...]) -> tuple[int, ...]:
    rank = {old: new for new, old in enumerate(sorted(kept))}
    return tuple(rank[i] for i in kept)
