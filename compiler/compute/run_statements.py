"""The statement interpreter: the slow oracle for routines, schedules and machine code.

Only vector loops run all iterations at once, with an array per index: their iterations must be
independent, and lanes that store to the same place are an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from compiler.compute.numbers import FUNCTIONS, INDEX_FUNCTIONS, Array, convert, fetched
from compiler.compute.scalar import (
    Apply,
    Bits,
    Convert,
    Fetch,
    IndexValue,
    Inside,
    Number,
    Read,
    Scalar,
)
from compiler.compute.statements import If, Loop, Prefetch, ScatterStore, Statement, Store, While
from compiler.ir.affine import Expr

Index = Any
"""A number, or one number per lane."""


def run_statements(body: Iterable[Statement], memory: Mapping[str, Array]) -> None:
    """Run statements on arrays by buffer name, in place.

    Errors: AssertionError when an index leaves its buffer or lanes collide.
    """
    with np.errstate(all="ignore"):
        _Run(memory).statements(body)


def index_values(e: Expr, env: Mapping[str, Index]) -> Index:
    """Evaluate an index expression, for one or many values of its symbols."""
    if isinstance(e, int):
        return e
    total: Index = e.constant
    for atom, c in e.terms:
        if isinstance(atom, str):
            total = total + c * env[atom]
            continue
        a, b = index_values(atom.a, env), index_values(atom.b, env)
        total = total + c * INDEX_FUNCTIONS[atom.fn](a, b)
    return total


class _Run:
    def __init__(self, memory: Mapping[str, Array]) -> None:
        self.memory = memory
        self.env: dict[str, Index] = {}
        self.n_lanes = 0

    def statements(self, body: Iterable[Statement]) -> None:
        for s in body:
            match s:
                case Loop():
                    self._loop(s)
                case If(condition, inner):
                    if self._holds(condition):
                        self.statements(inner)
                case While(condition, inner):
                    while self._holds(condition):
                        self.statements(inner)
                case Store():
                    self._store(s)
                case ScatterStore():
                    self._scatter_store(s)
                case Prefetch():
                    for e in s.index:
                        self.index(e)

    def _loop(self, loop: Loop) -> None:
        start, stop = int(self.index(loop.start)), int(self.index(loop.stop))
        if loop.kind == "vector":
            if stop > start:
                self.env[loop.var], self.n_lanes = np.arange(start, stop), stop - start
                self.statements(loop.body)
                self.n_lanes = 0
        else:
            for i in range(start, stop):
                self.env[loop.var] = i
                self.statements(loop.body)
        self.env.pop(loop.var, None)

    def _holds(self, condition: Scalar) -> bool:
        assert not self.n_lanes, "a vector loop holds stores only"
        return bool(self.scalar(condition, True))

    def _scatter_store(self, s: ScatterStore) -> None:
        assert not self.n_lanes, "a vector loop holds plain stores only"
        target = self.memory[s.buffer]
        at = tuple(int(self.scalar(i, True)) for i in s.index)
        value = self.scalar(s.value, True)
        if all(0 <= i < n for i, n in zip(at, target.shape, strict=True)):
            target[at] = np.asarray(value).reshape(())

    def _store(self, s: Store) -> None:
        target = self.memory[s.buffer]
        at = self._position(s.buffer, s.index, True)
        value = self.scalar(s.value, True)
        if self.n_lanes:
            flat = np.ravel_multi_index(at, target.shape) if at else np.zeros((), np.int64)
            places = np.broadcast_to(flat, (self.n_lanes,))
            assert len(np.unique(places)) == self.n_lanes, f"lanes collide in {s.buffer}"
        target[at] = value if target[at].shape else np.asarray(value).reshape(())

    def index(self, e: Expr) -> Index:
        """Evaluate an integer expression for every lane."""
        return index_values(e, self.env)

    def _position(self, name: str, index: tuple[Expr, ...], mask: Any) -> tuple[Index, ...]:
        made: list[Index] = []
        for e, n in zip(index, self.memory[name].shape, strict=True):
            i = self.index(e)
            outside = (i < 0) | (i >= n)
            assert not np.any(outside & mask), (
                f"{name}[{e}] is out of bounds of an axis of size {n}"
            )
            made.append(np.where(outside, 0, i) if np.any(outside) else i)
        return tuple(np.broadcast_arrays(*made)) if made else ()

    def scalar(self, s: Scalar, mask: Any) -> Array:
        """Evaluate a scalar for every lane; where the mask is false, the value is unspecified."""
        match s:
            case Read(tensor, index, _):
                source = self.memory[tensor]
                at = self._position(tensor, index, mask)
                if source.size == 0:
                    return np.zeros((), source.dtype)
                return source[at]
            case Fetch(tensor, places, _):
                return fetched(self.memory[tensor], [self.scalar(i, mask) for i in places])
            case Number(value, dtype):
                return np.asarray(value).astype(dtype.numpy)
            case IndexValue(expr, dtype):
                return np.asarray(self.index(expr)).astype(dtype.numpy)
            case Apply(fn, args, dtype):
                values = [self.scalar(a, mask) for a in args]
                return np.asarray(FUNCTIONS[fn](*values)).astype(dtype.numpy)
            case Convert(arg, dtype):
                return convert(self.scalar(arg, mask), dtype)
            case Bits(arg, dtype):
                return np.asarray(self.scalar(arg, mask)).view(dtype.numpy)
            case Inside(tests, then, otherwise):
                holds: Any = True
                for e, n in tests:
                    i = self.index(e)
                    holds = holds & ((i >= 0) & (i < n))
                missed = np.logical_not(holds)
                a, b = self.scalar(then, mask & holds), self.scalar(otherwise, mask & missed)
                return np.where(holds, a, b).astype(s.dtype.numpy)
            case _:
                raise AssertionError(f"{type(s).__name__} cannot occur in a statement")
