"""Constant operands repacked at compile time into the very order in which the loops read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler.ir.affine import Expr
from compiler.ir.constant import Array


@dataclass(frozen=True, slots=True)
class Packing:
    """Pad each axis with zeros, split it into factors, and put all factors in a new order.

    With a `transform` M the constant is weights w, of which M w M' over the last two axes is
    packed, its places as the first axis; computed in f64 and rounded once.
    Shapes: `padded` has the rank of the constant; `split` lists the factors of all axes in turn;
    `order` permutes them. The result's shape is `shape`.
    """

    padded: tuple[int, ...]
    split: tuple[int, ...]
    order: tuple[int, ...]
    transform: tuple[tuple[float, ...], ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the packed constant."""
        return tuple(self.split[i] for i in self.order)

    def apply(self, array: Array) -> Array:
        """The packed elements, contiguous; a splat that needs no padding stays a view of one."""
        if self.transform:
            array = _transformed(array, np.array(self.transform))
        if array.shape != self.padded:
            grown: Array = np.zeros(self.padded, array.dtype)
            grown[tuple(slice(0, n) for n in array.shape)] = array
            array = grown
        result: np.ndarray[Any, Any] = array.reshape(self.split).transpose(self.order)
        return np.ascontiguousarray(result).reshape(self.shape)

    def __str__(self) -> str:
        factors = "x".join(map(str, self.split))
        first = "transform, pad" if self.transform else "pad"
        return f"{first} to {list(self.padded)}, split into {factors}, order {list(self.order)}"


def _transformed(weights: Array, matrix: Array) -> Array:
    """M w M' of weights [O, I, k, k], as [places, O, I]."""
    outputs, inputs, *kernel = weights.shape
    flat = np.kron(matrix, matrix) @ weights.reshape(outputs * inputs, -1).T.astype(np.float64)
    assert matrix.shape[1] ** 2 == np.prod(kernel), f"a transform of {kernel}"
    return flat.reshape(-1, outputs, inputs).astype(weights.dtype)


def packing_for(
    index: Sequence[Expr], shape: Sequence[Expr], extents: Mapping[str, Expr]
) -> tuple[Packing | None, tuple[str, ...]]:
    """The packing that makes `index` follow the loops, and the loops; None if there is none.

    `extents` has the loops in order, outermost first.
    """
    sizes = {var: n for var, n in extents.items() if isinstance(n, int)}
    padded: list[int] = []
    split: list[int] = []
    factors: list[str] = []
    for e, n in zip(index, shape, strict=True):
        terms = [] if isinstance(e, int) else list(e.terms)
        if (isinstance(e, int) and e) or (not isinstance(e, int) and e.constant):
            return None, ()
        # A loop that runs once has the step of the one around it.
        terms.sort(key=lambda t: (-t[1], -sizes.get(str(t[0]), 0)))
        step = 1
        for atom, c in reversed(terms):
            if not isinstance(atom, str) or c != step or atom in factors or atom not in sizes:
                return None, ()
            step *= sizes[atom]
        if step < n:
            return None, ()
        padded.append(step)
        split += [sizes[str(atom)] for atom, _ in terms] or [1]
        factors += [str(atom) for atom, _ in terms] or [""]
    places = {var: i for i, var in enumerate(extents)}
    order = sorted(range(len(factors)), key=lambda i: places.get(factors[i], -1))
    used = tuple(i for i in order if factors[i])
    rest = tuple(i for i in order if not factors[i])
    packing = Packing(tuple(padded), tuple(split), (*rest, *used))
    if rest:
        packing = Packing(
            packing.padded,
            tuple(s for s, f in zip(split, factors, strict=True) if f),
            _renumber(used),
        )
    return packing, tuple(factors[i] for i in used)


def _renumber(kept: tuple[int, ...]) -> tuple[int, ...]:
    rank = {old: new for new, old in enumerate(sorted(kept))}
    return tuple(rank[i] for i in kept)
