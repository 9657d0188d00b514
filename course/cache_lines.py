"""Cache misses of a kernel: a simulation of one small cache.

The cache is fully associative and replaces the least recently used line. Real caches have sets,
levels and a prefetcher; this one shows the order of accesses alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from compiler.compute.numbers import Array
from compiler.compute.scalar import fetches, reads
from compiler.compute.statements import Loop, Prefetch, Statement, Store, values_of
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.loops.nodes import Buffer, Kernel

LINE_BYTES = 64
"""The size of a cache line, as on most processors."""
MOST_ACCESSES = 2_000_000
"""Maximum number of accesses that are simulated."""


class Cache:
    """A fully associative cache with replacement of the least recently used line."""

    def __init__(self, nbytes: int) -> None:
        self.n_lines = max(nbytes // LINE_BYTES, 1)
        self.lines: dict[int, None] = {}
        self.misses = 0

    def touch(self, line: int) -> None:
        """Access a line, and load it if it is absent."""
        lines = self.lines
        if line in lines:
            del lines[line]
        else:
            self.misses += 1
            if len(lines) >= self.n_lines:
                del lines[next(iter(lines))]
        lines[line] = None


def misses(kernel: Kernel, cache_bytes: int) -> int | None:
    """Return the number of lines that a kernel loads into a cache of this size.

    Registers are no memory. Buffers begin at addresses that are multiples of a line.
    The result is None for a kernel with conditions, with computed addresses, or with more than
    `MOST_ACCESSES` accesses.
    """
    walk = _Walk(kernel, Cache(cache_bytes))
    if _n_accesses(kernel.body) > MOST_ACCESSES:
        return None
    try:
        for statement in kernel.body:
            walk.run(statement, {})
    except _Unknown:
        return None
    return walk.cache.misses


def _n_accesses(body: Iterable[Statement]) -> int:
    """Count the accesses of statements, including those to registers; loops have known bounds."""
    found = 0
    for s in body:
        if isinstance(s, Loop):
            extent = s.extent if isinstance(s.start, int) and isinstance(s.stop, int) else 1
            found += extent * _n_accesses(s.body)
        elif isinstance(s, Store):
            found += sum(1 for _ in _accesses([s]))
    return found


class _Unknown(Exception):
    """The accesses of a kernel are not simulated."""


class _Walk:
    """A walk through the iterations of a kernel."""

    def __init__(self, kernel: Kernel, cache: Cache) -> None:
        self.cache = cache
        self.addresses: dict[int, list[Expr]] = {}
        """The addresses of the accesses of statements, by the first of these statements."""
        self.base: dict[str, int] = {}
        self.buffers: dict[str, Buffer] = {}
        start = 0
        for b in kernel.params:
            if b.role != "register" and isinstance(b.nbytes, int):
                self.base[b.name], self.buffers[b.name] = start, b
                start += -(-b.nbytes // LINE_BYTES) * LINE_BYTES
        self.registers = {b.name for b in kernel.registers}

    def run(self, s: Statement, env: Mapping[str, int]) -> None:
        """Run a statement: touch the lines that it accesses, in order."""
        if isinstance(s, Prefetch):
            return
        if isinstance(s, Store):
            self._touch([s], env, None)
            return
        if not isinstance(s, Loop):
            raise _Unknown
        start, stop = _value(s.start, env), _value(s.stop, env)
        inner = [t for t in s.body if isinstance(t, Store)]
        if len(inner) == len(s.body):
            self._touch(inner, env, (s.var, np.arange(start, stop)))
            return
        for i in range(start, stop):
            for t in s.body:
                self.run(t, {**env, s.var: i})

    def _addresses(self, stores: list[Store]) -> Iterator[Expr]:
        """Yield the address of each access to memory, in bytes."""
        for name, index in _accesses(stores):
            if name in self.registers:
                continue
            buffer = self.buffers.get(name)
            if buffer is None:
                raise _Unknown
            offset: Expr = 0
            for e, stride in zip(index, buffer.strides, strict=True):
                offset = offset + e * stride
            yield self.base[name] + offset * buffer.dtype.nbytes

    def _touch(
        self, stores: list[Store], env: Mapping[str, int], loop: tuple[str, Array] | None
    ) -> None:
        """Touch the lines of stores, once or in each iteration of a loop around them."""
        n = 1 if loop is None else len(loop[1])
        addresses = self.addresses.get(id(stores[0]))
        if addresses is None:
            addresses = [*self._addresses(stores)]
            self.addresses[id(stores[0])] = addresses
        if not addresses:
            return
        columns = [np.broadcast_to(_lines(e, env, loop), (n,)) for e in addresses]
        rows = np.stack(columns, axis=1)
        if len(columns) <= self.cache.n_lines:
            # The same lines in the same order as just before: all are present, their order stays.
            is_new = np.any(rows[1:] != rows[:-1], axis=1)
            rows = rows[np.concatenate(([True], is_new))]
        touch = self.cache.touch
        for line in rows.ravel().tolist():
            touch(line)


def _accesses(stores: list[Store]) -> Iterator[tuple[str, tuple[Expr, ...]]]:
    for s in stores:
        for value in values_of(s):
            if fetches(value):
                raise _Unknown
            yield from ((r.tensor, r.index) for r in reads(value))
        yield s.buffer, s.index


def _lines(address: Expr, env: Mapping[str, int], loop: tuple[str, Array] | None) -> Array:
    """Return the line of an address, for each iteration of a loop."""
    known = affine.substitute(address, env)
    if isinstance(known, int):
        return np.array([known // LINE_BYTES])
    if loop is None:
        raise _Unknown
    var, values = loop
    factor = affine.coefficient(known, var)
    first = affine.substitute(known, {var: 0})
    if factor is not None and isinstance(first, int):
        return (first + factor * values) // LINE_BYTES
    return np.array([_value(known, {var: int(v)}) // LINE_BYTES for v in values])


def _value(e: Expr, env: Mapping[str, int]) -> int:
    found = affine.substitute(e, env)
    if not isinstance(found, int):
        raise _Unknown
    return found
