"""The statement interpreter: the slow oracle for routines, schedules and machine code.

All loops run iteration by iteration, except vector loops: these run all iterations at once, with an
array per index. Iterations of a vector loop must be independent; lanes that store to the same
element are an error. Each statement is compiled to a Python function once, for all iterations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from compiler.compute.calculations import OF_NUMBERS, Calculation, Index, calculation
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
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.ir.types import DType

Act = Callable[[], None]
Value = Callable[[Any], Any]
"""Evaluates a scalar for every lane under a mask; results are unspecified where the mask is
false."""
Place = Callable[[Any], tuple[Any, ...]]
"""Evaluates the position of an element under a mask; always within the bounds of its array."""


def run_statements(body: Iterable[Statement], memory: Mapping[str, Array]) -> None:
    """Run statements on arrays by buffer name, in place.

    Errors: AssertionError when an index is out of bounds, or when several lanes store to the same
    element.
    """
    with np.errstate(all="ignore"):
        _Maker(memory).block(body)()


def index_values(e: Expr, env: Mapping[str, Index]) -> Index:
    """Evaluate an index expression, for one or many values of its symbols."""
    return calculation((e,), env)()[0]


class _Maker:
    """The compiler of statements to functions; `lane` is the index of the enclosing vector loop."""

    def __init__(self, memory: Mapping[str, Array]) -> None:
        self.memory = memory
        self.env: dict[str, Index] = {}
        self.lane: str | None = None
        self.first, self.n_lanes = 0, 0

    # Statements

    def block(self, body: Iterable[Statement]) -> Act:
        """Compile statements to run in order."""
        acts = [self._statement(s) for s in body]
        if len(acts) == 1:
            return acts[0]

        def run() -> None:
            for act in acts:
                act()

        return run

    def _statement(self, s: Statement) -> Act:
        match s:
            case Loop():
                return self._vector_loop(s) if s.kind == "vector" else self._loop(s)
            case If() | While():
                return self._conditional(s)
            case Store():
                return self._store(s)
            case ScatterStore():
                return self._scatter_store(s)
            case Prefetch():
                index = self._index(s.index)

                def ask() -> None:
                    index()

                return ask

    def _loop(self, loop: Loop) -> Act:
        bounds = self._index((loop.start, loop.stop))
        var, env, inner = loop.var, self.env, self.block(loop.body)

        def run() -> None:
            start, stop = bounds()
            for env[var] in range(int(start), int(stop)):
                inner()
            env.pop(var, None)

        return run

    def _vector_loop(self, loop: Loop) -> Act:
        assert self.lane is None, "a vector loop contains no other vector loop"
        bounds = self._index((loop.start, loop.stop))
        self.lane = loop.var
        inner = self.block(loop.body)
        self.lane = None

        def run() -> None:
            start, stop = map(int, bounds())
            if stop > start:
                self.env[loop.var] = np.arange(start, stop)
                self.first, self.n_lanes = start, stop - start
                inner()
            self.env.pop(loop.var, None)

        return run

    def _conditional(self, s: If | While) -> Act:
        assert self.lane is None, "a vector loop contains stores only"
        condition, inner = self.scalar(s.condition), self.block(s.body)

        def run_if() -> None:
            if condition(True):
                inner()

        def run_while() -> None:
            while condition(True):
                inner()

        return run_if if isinstance(s, If) else run_while

    def _scatter_store(self, s: ScatterStore) -> Act:
        assert self.lane is None, "a vector loop contains plain stores only"
        target, value = self.memory[s.buffer], self.scalar(s.value)
        index = [self.scalar(i) for i in s.index]

        def run() -> None:
            at = tuple(int(i(True)) for i in index)
            found = value(True)
            if all(0 <= i < n for i, n in zip(at, target.shape, strict=True)):
                target[at] = found

        return run

    def _store(self, s: Store) -> Act:
        target, value = self.memory[s.buffer], self.scalar(s.value)
        place = self._place(s.buffer, s.index)

        def run() -> None:
            target[place(True)] = value(True)

        def run_lanes() -> None:
            at = place(True)
            found = value(True)
            assert self._are_apart(at, target), f"lanes collide in {s.buffer}"
            target[at] = found if target[at].shape else np.asarray(found).reshape(())

        return run if self.lane is None else run_lanes

    def _are_apart(self, at: tuple[Any, ...], target: Array) -> bool:
        """Whether the lanes store to distinct positions."""
        if any(isinstance(i, slice) for i in at):
            return True
        if not any(isinstance(i, np.ndarray) for i in at):
            return self.n_lanes == 1
        places: Array = np.atleast_1d(np.ravel_multi_index(at, target.shape))
        return len(set(places.tolist())) == self.n_lanes

    # Positions of elements

    def _index(self, index: tuple[Expr, ...]) -> Calculation:
        return calculation(index, self.env, OF_NUMBERS if self.lane is None else INDEX_FUNCTIONS)

    def _place(self, name: str, index: tuple[Expr, ...]) -> Place:
        lane = self.lane
        steps = [0 if lane is None else affine.coefficient(e, lane) for e in index]
        varies = [axis for axis, step in enumerate(steps) if step != 0]
        if not varies:
            return self._same_place(name, index)
        step = steps[varies[0]]
        if len(varies) > 1 or step is None or step < 0:
            return self._places_of_lanes(name, index)
        return self._slice_of_lanes(name, index, varies[0], step)

    def _same_place(self, name: str, index: tuple[Expr, ...]) -> Place:
        """Return the function for a position that all lanes share."""
        shape, calculate = self.memory[name].shape, self._index(index)

        def place(mask: Any) -> tuple[Any, ...]:
            at = calculate()
            for i, n in zip(at, shape, strict=True):
                if not 0 <= i < n:
                    return _brought_inside(name, index, at, shape, mask)
            return at

        return place

    def _slice_of_lanes(self, name: str, index: tuple[Expr, ...], axis: int, step: int) -> Place:
        """Return the function for a slice of lanes that are equally spaced along an axis."""
        assert self.lane is not None, "there are lanes"
        shape, anywhere = self.memory[name].shape, self._places_of_lanes(name, index)
        rest = index[axis] - step * affine.symbol(self.lane)
        calculate = self._index((*index[:axis], rest, *index[axis + 1 :]))

        def place(mask: Any) -> tuple[Any, ...]:
            at = calculate()
            first = at[axis] + step * self.first
            last = first + step * (self.n_lanes - 1)
            if first < 0 or last >= shape[axis]:
                return anywhere(mask)
            found = (*at[:axis], slice(first, last + 1, step), *at[axis + 1 :])
            for k, (i, n) in enumerate(zip(at, shape, strict=True)):
                if k != axis and not 0 <= i < n:
                    return anywhere(mask)
            return found

        return place

    def _places_of_lanes(self, name: str, index: tuple[Expr, ...]) -> Place:
        """Return the function for a separate position per lane."""
        shape, calculate = self.memory[name].shape, self._index(index)
        return lambda mask: tuple(
            np.broadcast_arrays(*_brought_inside(name, index, calculate(), shape, mask))
        )

    # Values

    def scalar(self, s: Scalar) -> Value:
        """Compile a scalar."""
        match s:
            case Read():
                return self._read(s)
            case Fetch(tensor, places, _):
                source, parts = self.memory[tensor], [self.scalar(i) for i in places]
                return lambda mask: fetched(source, [i(mask) for i in parts])
            case Number(value, dtype):
                made = np.asarray(value).astype(dtype.numpy)[()]
                return lambda _: made
            case IndexValue(expr, dtype):
                index, kind = self._index((expr,)), dtype.numpy
                return lambda _: np.asarray(index()[0]).astype(kind)
            case Apply():
                return self._apply(s)
            case Convert(arg, dtype):
                inner = self.scalar(arg)
                return lambda mask: convert(inner(mask), dtype)
            case Bits(arg, dtype):
                inner, kind = self.scalar(arg), dtype.numpy
                return lambda mask: np.asarray(inner(mask)).view(kind)
            case Inside():
                return self._inside(s)
            case _:
                raise AssertionError(f"{type(s).__name__} cannot occur in a statement")

    def _read(self, s: Read) -> Value:
        source, place = self.memory[s.tensor], self._place(s.tensor, s.index)
        if source.size:
            return lambda mask: source[place(mask)]

        def nothing(mask: Any) -> Array:
            place(mask)
            return np.zeros((), source.dtype)

        return nothing

    def _apply(self, s: Apply) -> Value:
        fn, typed, args = FUNCTIONS[s.fn], _typed(s.dtype), [self.scalar(a) for a in s.args]
        if len(args) == 2:
            a, b = args
            return lambda mask: typed(fn(a(mask), b(mask)))
        return lambda mask: typed(fn(*[a(mask) for a in args]))

    def _inside(self, s: Inside) -> Value:
        tests = self._index(tuple(e for test in s.tests for e in test))
        then, otherwise = self.scalar(s.then), self.scalar(s.otherwise)
        typed = _typed(s.dtype)

        def of_one(mask: Any) -> Array:
            numbers = tests()
            for i, n in zip(numbers[::2], numbers[1::2], strict=True):
                if not 0 <= i < n:
                    return typed(otherwise(mask))
            return typed(then(mask))

        def of_lanes(mask: Any) -> Array:
            numbers, holds = tests(), True
            for i, n in zip(numbers[::2], numbers[1::2], strict=True):
                holds = holds & ((i >= 0) & (i < n))
            if np.all(holds):
                return typed(then(mask))
            if not np.any(holds):
                return typed(otherwise(mask))
            missed = np.logical_not(holds)
            return typed(np.where(holds, then(mask & holds), otherwise(mask & missed)))

        return of_one if self.lane is None else of_lanes


def _typed(dtype: DType) -> Callable[[Array], Array]:
    """Return a conversion of numbers to an element type."""
    kind = np.dtype(dtype.numpy)
    return lambda made: made if made.dtype == kind else made.astype(kind)


def _brought_inside(
    name: str,
    index: Sequence[Expr],
    at: Sequence[Index],
    shape: Sequence[int],
    mask: Any,
) -> tuple[Index, ...]:
    """Replace out-of-bounds indices, which are legal where the mask is false, by 0."""
    found: list[Index] = []
    for e, i, n in zip(index, at, shape, strict=True):
        outside = (i < 0) | (i >= n)
        if np.any(outside):
            assert not np.any(outside & mask), (
                f"{name}[{e}] is out of bounds of an axis of size {n}"
            )
            i = np.where(outside, 0, i)
        found.append(i)
    return tuple(found)
