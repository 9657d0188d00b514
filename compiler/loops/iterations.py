"""Enumeration of the elements that one iteration of a loop accesses, for known sizes.

Proofs on index expressions fail if bounds of inner loops depend on the iteration. Proofs on index
expressions also cannot show that an iteration itself wrote the value that it reads. Enumerating the
elements, axis by axis, proves that iterations are disjoint, and that writes precede reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from compiler.compute.numbers import Array
from compiler.compute.run_statements import index_values
from compiler.compute.scalar import Fetch, Read, walk
from compiler.compute.statements import (
    If,
    Loop,
    ScatterStore,
    Statement,
    Store,
    While,
    values_of,
    walk_statements,
)
from compiler.dataclass import dataclass
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.loops.nodes import Buffer

MOST_TURNS = 128
"""The maximum number of distinct iterations of an enumerated loop."""

MOST_PLACES = 1 << 20
"""The maximum number of elements of an enumerated buffer, and of combinations of counters."""

Iteration = Mapping[str, int]
"""Maps the counters of enclosing loops to fixed values."""


class _Unknown(Exception):
    """Raised for an index that cannot be enumerated."""


@dataclass(frozen=True, slots=True)
class _Touch:
    """An access to a buffer inside loops; `certain` if no condition guards the access."""

    index: tuple[Expr, ...]
    stores: bool
    loops: tuple[Loop, ...]
    certain: bool


def iterations_are_disjoint(loop: Loop, b: Buffer) -> bool:
    """Return whether iterations of a loop access disjoint elements of a buffer, along one axis."""
    if not (isinstance(loop.start, int) and isinstance(loop.stop, int)):
        return False
    if loop.extent > MOST_TURNS:
        return False
    return any(_apart_along(axis, loop, b.name) for axis in range(len(b.shape)))


def _apart_along(axis: int, loop: Loop, name: str) -> bool:
    seen: set[int] = set()
    try:
        for i in range(loop.start, loop.stop):  # type: ignore[arg-type]
            places = _Places({loop.var: i})
            touches = _touches(name, loop.body, (), True)
            own = {int(n) for t in touches for n in places.of(t.index[axis], t.loops)}
            if own & seen:
                return False
            seen |= own
    except _Unknown:
        return False
    return True


def is_made_before_read(body: Sequence[Statement], b: Buffer) -> bool:
    """Return whether each iteration of a body's loops stores elements of `b` before it reads them.

    Each iteration may then have a private copy of the buffer, with identical results.
    """
    if not isinstance(b.n_elements, int) or b.n_elements > MOST_PLACES:
        return False
    try:
        return all(
            _fills(s.body, b.name, np.zeros(b.shape, np.bool_), iteration)  # type: ignore[arg-type]
            for s in body
            if isinstance(s, Loop)
            for iteration in _iterations(s, b.name, {})
        ) and not any(_touches(b.name, [s], (), True) for s in body if not isinstance(s, Loop))
    except _Unknown:
        return False


def _fills(body: Sequence[Statement], name: str, made: Array, iteration: Iteration) -> bool:
    """Return whether each element read is in `made` or stored earlier; add stores to `made`."""
    places = _Places(iteration)
    for s in body:
        touches = _touches(name, [s], (), True)
        reads = [t for t in touches if not t.stores]
        if not all(made[places.box(t)].all() for t in reads):
            if not isinstance(s, Loop):
                return False
            iterations = _iterations(s, name, iteration)
            if not all(_fills(s.body, name, made.copy(), own) for own in iterations):
                return False
        for t in touches:
            if t.stores and t.certain and _is_full(t):
                made[places.box(t)] = True
    return True


def _iterations(loop: Loop, name: str, iteration: Iteration) -> list[Iteration]:
    """Return the iterations of a loop; only the first if all access the same elements."""
    start, stop = (int(index_values(_settled(e, iteration), {})) for e in (loop.start, loop.stop))
    touches = _touches(name, loop.body, (), True)
    moving = any(
        loop.var in affine.symbols(e)
        for t in touches
        for e in (*t.index, *(b for inner in t.loops for b in (inner.start, inner.stop)))
    )
    if moving and stop - start > MOST_TURNS:
        raise _Unknown
    end = stop if moving else min(stop, start + 1)
    return [{**iteration, loop.var: i} for i in range(start, end)]


def _settled(e: Expr, iteration: Iteration) -> Expr:
    e = affine.substitute(e, {**iteration})
    if affine.symbols(e):
        raise _Unknown
    return e


def _is_full(t: _Touch) -> bool:
    """Return whether no counter occurs twice: the store then covers all combinations of indices."""
    used: list[str] = []
    for e in t.index:
        used += _counters(e, t.loops)
    return len(used) == len(set(used))


def _touches(
    name: str, body: Sequence[Statement], loops: tuple[Loop, ...], certain: bool
) -> list[_Touch]:
    """Return the accesses to a buffer in order. Errors: _Unknown for computed indices."""
    return [*_walk_touches(name, body, loops, certain)]


def _walk_touches(
    name: str, body: Sequence[Statement], loops: tuple[Loop, ...], certain: bool
) -> Iterator[_Touch]:
    for s in body:
        for part in (p for v in values_of(s) for p in walk(v)):
            if isinstance(part, Fetch) and part.tensor == name:
                raise _Unknown
            if isinstance(part, Read) and part.tensor == name:
                yield _Touch(part.index, False, loops, certain)
        match s:
            case Loop():
                yield from _walk_touches(name, s.body, (*loops, s), certain)
            case If(_, inner) | While(_, inner):
                yield from _walk_touches(name, inner, loops, False)
            case Store(buffer, index) if buffer == name:
                yield _Touch(index, True, loops, certain)
            case ScatterStore(buffer) if buffer == name:
                raise _Unknown
            case _:
                pass


def touches(body: Sequence[Statement], name: str) -> int:
    """Count the statements in a body that access a buffer."""
    return sum(
        any(isinstance(p, Read | Fetch) and p.tensor == name for v in values_of(s) for p in walk(v))
        or (isinstance(s, Store | ScatterStore) and s.buffer == name)
        for s in walk_statements(body)
    )


def _counters(e: Expr, loops: Sequence[Loop]) -> list[str]:
    """Return the counters on which an index or the bounds of its loops depend."""
    needed = set(affine.symbols(e))
    found: list[str] = []
    for loop in reversed(loops):
        if loop.var in needed:
            found.append(loop.var)
            needed |= affine.symbols(loop.start) | affine.symbols(loop.stop)
    return found


@dataclass(slots=True)
class _Places:
    """The values that each index takes during an iteration, enumerated once per index."""

    iteration: Iteration
    known: dict[tuple[object, ...], Array] = field(default_factory=dict)

    def box(self, t: _Touch) -> tuple[Any, ...]:
        """Return the elements of an access, as indices along all axes."""
        return np.ix_(*(self.of(e, t.loops) for e in t.index))

    def of(self, e: Expr, loops: tuple[Loop, ...]) -> Array:
        """Return all values of an index: an empty array if an enclosing loop is empty."""
        key = (e, *map(id, loops))
        if key not in self.known:
            self.known[key] = self._listed(e, loops)
        return self.known[key]

    def _listed(self, e: Expr, loops: tuple[Loop, ...]) -> Array:
        counters = set(_counters(e, loops))
        env: dict[str, Any] = {v: np.array([i]) for v, i in self.iteration.items()}
        n = 1
        for loop in loops:
            numbers = isinstance(loop.start, int) and isinstance(loop.stop, int)
            if numbers and loop.var not in counters and loop.extent > 0:
                continue
            unknown = (affine.symbols(loop.start) | affine.symbols(loop.stop)) - env.keys()
            if unknown:
                raise _Unknown
            first = np.broadcast_to(index_values(loop.start, env), (n,))
            lengths = np.maximum(np.broadcast_to(index_values(loop.stop, env), (n,)) - first, 0)
            env = {v: np.repeat(np.broadcast_to(a, (n,)), lengths) for v, a in env.items()}
            begins = np.repeat(np.cumsum(lengths) - lengths, lengths)
            n = int(lengths.sum())
            if n > MOST_PLACES:
                raise _Unknown
            env[loop.var] = np.repeat(first, lengths) + np.arange(n) - begins
        if affine.symbols(e) - env.keys():
            raise _Unknown
        return np.unique(np.broadcast_to(index_values(e, env), (n,)))
