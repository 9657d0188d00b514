"""A numpy oracle for computations: it evaluates each stage over entire grids of index values.

The oracle shares no code with schedules, Loop IR or code generation, so it can test all three. The
oracle is for small tensors only: each subexpression becomes an array over the stage's domain.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from compiler.compute.computation import Computation, Routine, Stage
from compiler.compute.numbers import FUNCTIONS, INDEX_FUNCTIONS, Array, convert, fetched, neutral
from compiler.compute.run_statements import run_statements
from compiler.compute.scalar import (
    Apply,
    Bits,
    Convert,
    Fetch,
    IndexValue,
    Inside,
    Number,
    Read,
    Reduce,
    Scalar,
)
from compiler.dataclass import dataclass
from compiler.ir.affine import Expr
from compiler.ir.types import DType

CHUNK_POINTS = 4_000_000
"""The maximum number of points evaluated at once; larger domains are sliced along the first
axes."""


def evaluate(computation: Computation, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Evaluate the outputs of a computation for these inputs, by tensor name.

    Shapes: `arrays` holds every input with exactly the shape and element type of its tensor.
    Errors: AssertionError for an unguarded out-of-bounds read, or for an input of a different shape
    or type.
    """
    memory: dict[str, Array] = {}
    for name in computation.inputs:
        t, array = computation.tensors[name], arrays[name]
        assert array.shape == t.static_shape, f"{name} is {t}, got the shape {array.shape}"
        assert array.dtype == t.dtype.numpy, f"{name} is {t}, got {array.dtype}"
        memory[name] = array
    for name, t in computation.tensors.items():
        if name not in memory:
            memory[name] = np.zeros(t.static_shape, t.dtype.numpy)
    with np.errstate(all="ignore"):
        for stage in computation.stages:
            if isinstance(stage, Routine):
                run_statements(stage.statements, memory)
                continue
            _run(stage, memory, {a: (0, int(n)) for a, n in stage.extents.items()})
    return {name: memory[name] for name in computation.outputs}


Ranges = dict[str, tuple[int, int]]


def _run(stage: Stage, memory: dict[str, Array], ranges: Ranges) -> None:
    """Run one stage over a box of its domain; split a box that has too many points."""
    sizes = {a: stop - start for a, (start, stop) in ranges.items()}
    widest = max(stage.axes, key=lambda a: sizes[a], default=None)
    if math.prod(sizes.values()) > CHUNK_POINTS and widest is not None and sizes[widest] > 1:
        start, stop = ranges[widest]
        middle = (start + stop) // 2
        _run(stage, memory, {**ranges, widest: (start, middle)})
        _run(stage, memory, {**ranges, widest: (middle, stop)})
        return
    grid = _Grid(ranges, memory)
    if any(sizes[a] == 0 for a in stage.axes):
        return
    value = grid.scalar(stage.value, None)
    target = memory[stage.target]
    index = grid.indices(stage.index, target.shape, None)
    position = {a: d for d, a in enumerate(ranges)}
    # The value has one axis per index symbol; reduced axes have length 1.
    inner = tuple(position[a] for a in stage.reduce_axes)
    shape = [1 if d in inner else n for d, n in enumerate(sizes.values())]
    full = np.broadcast_to(value, shape)
    if index:
        target[tuple(np.broadcast_to(i, shape) for i in index)] = full
    else:
        target[()] = full.reshape(())


@dataclass
class _Grid:
    """The evaluator of expressions over a box; every array has one axis per index symbol."""

    ranges: Ranges
    memory: Mapping[str, Array]

    def index(self, e: Expr) -> Array:
        """Evaluate an integer expression at every point."""
        n_axes = len(self.ranges)
        if isinstance(e, int):
            return np.full((1,) * n_axes, e, np.int64)
        total = np.full((1,) * n_axes, e.constant, np.int64)
        for atom, c in e.terms:
            if isinstance(atom, str):
                start, stop = self.ranges[atom]
                d = list(self.ranges).index(atom)
                shape = [-1 if i == d else 1 for i in range(n_axes)]
                term = np.arange(start, stop, dtype=np.int64).reshape(shape)
            else:
                term = INDEX_FUNCTIONS[atom.fn](self.index(atom.a), self.index(atom.b))
            total = total + c * term
        return total

    def indices(
        self, index: tuple[Expr, ...], shape: tuple[int, ...], mask: Array | None
    ) -> tuple[Array, ...]:
        """Evaluate index arrays; assert bounds where the mask is true, and clamp elsewhere."""
        made: list[Array] = []
        for e, n in zip(index, shape, strict=True):
            i = self.index(e)
            outside = (i < 0) | (i >= n)
            if outside.any():
                reached = outside if mask is None else outside & mask
                assert not reached.any(), f"index {e} is out of bounds of an axis of size {n}"
                i = np.clip(i, 0, max(n - 1, 0))
            made.append(i)
        return tuple(made)

    def scalar(self, s: Scalar, mask: Array | None) -> Array:
        """Evaluate a scalar at every point; where the mask is false, the value is unspecified."""
        match s:
            case Read(tensor, index, _):
                source = self.memory[tensor]
                at = self.indices(index, source.shape, mask)
                if source.size == 0:
                    return np.zeros((1,) * len(self.ranges), source.dtype)
                if not at:
                    return source.reshape((1,) * len(self.ranges))
                return source[at]
            case Fetch(tensor, places, dtype):
                source = self.memory[tensor]
                return fetched(source, [self.scalar(i, mask) for i in places])
            case Number(value, dtype):
                return np.full((1,) * len(self.ranges), value, dtype.numpy)
            case IndexValue(expr, dtype):
                return self.index(expr).astype(dtype.numpy)
            case Apply(fn, args, dtype):
                values = [self.scalar(a, mask) for a in args]
                return np.asarray(FUNCTIONS[fn](*values)).astype(dtype.numpy)
            case Convert(arg, dtype):
                return convert(self.scalar(arg, mask), dtype)
            case Bits(arg, dtype):
                return np.asarray(self.scalar(arg, mask)).view(dtype.numpy)
            case Inside(tests, then, otherwise):
                return self._inside(tests, then, otherwise, mask)
            case Reduce(combine, axes, body):
                return self._reduce(combine, axes, self.scalar(body, mask), body.dtype)
            case _:
                raise TypeError(f"{s} cannot occur in a computation")

    def _inside(
        self,
        tests: tuple[tuple[Expr, Expr], ...],
        then: Scalar,
        otherwise: Scalar,
        mask: Array | None,
    ) -> Array:
        holds = np.ones((1,) * len(self.ranges), np.bool_)
        for e, n in tests:
            i = self.index(e)
            holds = holds & (i >= 0) & (i < int(n))
        reached = holds if mask is None else holds & mask
        missed = ~holds if mask is None else ~holds & mask
        return np.where(holds, self.scalar(then, reached), self.scalar(otherwise, missed))

    def _reduce(self, combine: str, axes: tuple[str, ...], body: Array, dtype: DType) -> Array:
        names = list(self.ranges)
        inner = tuple(names.index(a) for a in axes)
        sizes = [stop - start for start, stop in self.ranges.values()]
        full = [n if d in inner else body.shape[d] for d, n in enumerate(sizes)]
        body = np.broadcast_to(body, full)
        extreme = {"max": np.maximum, "min": np.minimum, "larger": np.fmax}.get(combine)
        if extreme is not None:
            made = extreme.reduce(body, axis=inner, keepdims=True, initial=neutral(combine, dtype))
        else:
            # Sum floats in f64, so that the oracle's own rounding error is negligible.
            wide = np.float64 if dtype.is_float else dtype.numpy
            fn = np.add if combine == "add" else np.multiply
            made = fn.reduce(body, axis=inner, keepdims=True, dtype=wide)
        return made.astype(dtype.numpy)
