"""Counts of a kernel's loops on a target: registers, vector operations, and loads.

The counts follow from the loops alone, by a simple model of code. Statements between two loops form
a block. A block loads each operand once. Sums are in registers from their first use to their last
one. All vectors of a block are in registers at once, and one more register has copies of a single
number. For products in register tiles, LLVM needs as many registers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from compiler.compute.scalar import Read, fetches, reads
from compiler.compute.statements import (
    Loop,
    Prefetch,
    Statement,
    Store,
    read_buffers,
    stored_buffers,
)
from compiler.dataclass import dataclass
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.loops.nodes import Buffer, Kernel
from compiler.targets.target import Target

MOST_STATEMENTS = 20_000
"""Maximum number of statements of all blocks, after unrolling."""

STRAIGHT = ("unroll", "vector")
"""The kinds of loops that leave no jump in the code."""


@dataclass(frozen=True, slots=True)
class LaneCounts:
    """Counts of a kernel on a target.

    `registers` is the number of vector registers that the model needs at once. `operations` counts
    executed statements: a statement in a vector loop counts once for each register of lanes.
    `loads` counts executed loads of vectors and of single numbers from memory.
    """

    registers: int
    operations: int
    loads: int


def lane_counts(kernel: Kernel, target: Target) -> LaneCounts | None:
    """Count a kernel of known sizes; None if it has conditions or computed addresses."""
    walk = _Walk(kernel, target)
    try:
        walk.run(kernel.body, 1, frozenset())
    except _Unknown:
        return None
    return LaneCounts(walk.registers, walk.operations, walk.loads)


class _Unknown(Exception):
    """The counts of a kernel are unknown."""


@dataclass(frozen=True, slots=True)
class _Unrolled:
    """A store after unrolling, with the vector loop around it, if any."""

    store: Store
    values: Mapping[str, Expr]
    lane: Loop | None

    def index(self, read: Read) -> tuple[Expr, ...]:
        """Return the index of a read, with the numbers of unrolled loops."""
        return tuple(affine.substitute(e, self.values) for e in read.index)


class _Walk:
    """A walk through the blocks of a kernel."""

    def __init__(self, kernel: Kernel, target: Target) -> None:
        self.target = target
        self.buffers = kernel.buffers
        self.sums = {b.name: self._registers_of(b) for b in kernel.registers}
        self.registers = self.operations = self.loads = self.n_statements = 0

    def run(self, body: Sequence[Statement], times: int, live: frozenset[str]) -> None:
        """Count statements that execute so many times, while these sums are live around them."""
        alive = self._live(body, live)
        for is_loop, run in groupby(zip(body, alive, strict=True), lambda x: _jumps(x[0])):
            if is_loop:
                for s, names in run:
                    self._loop(s, times, names)
            else:
                statements, names = zip(*run, strict=True)
                most = max(sum(self.sums[n] for n in some) for some in names)
                self._block([*self._unrolled(statements, {}, None)], times, most)

    def _live(self, body: Sequence[Statement], live: frozenset[str]) -> list[frozenset[str]]:
        """Return the sums that are live at each statement.

        A sum that only one loop uses is live inside of this loop, where it has its first use.
        """
        used = [(stored_buffers([s]) | read_buffers([s])) & self.sums.keys() for s in body]
        spans: dict[str, list[int]] = {}
        for i, names in enumerate(used):
            for name in names:
                spans.setdefault(name, []).append(i)
        found = [set(live) for _ in body]
        for name, at in spans.items():
            if len(at) == 1 and _jumps(body[at[0]]):
                continue
            for i in range(at[0], at[-1] + 1):
                found[i].add(name)
        return [frozenset(names) for names in found]

    def _loop(self, s: Statement, times: int, live: frozenset[str]) -> None:
        if not isinstance(s, Loop) or not isinstance(s.stop - s.start, int):
            raise _Unknown
        self.run(s.body, times * s.extent, live)

    def _unrolled(
        self, body: Iterable[Statement], values: Mapping[str, Expr], lane: Loop | None
    ) -> Iterator[_Unrolled]:
        for s in body:
            if isinstance(s, Store):
                self.n_statements += 1
                if self.n_statements > MOST_STATEMENTS:
                    raise _Unknown
                yield _Unrolled(s, values, lane)
            elif isinstance(s, Prefetch):
                continue
            elif not isinstance(s, Loop) or s.kind not in STRAIGHT:
                raise _Unknown
            elif s.kind == "vector":
                if not isinstance(s.stop - s.start, int):
                    raise _Unknown
                yield from self._unrolled(s.body, values, s)
            else:
                assert isinstance(s.start, int), "an unrolled loop has constant bounds"
                for i in range(s.start, s.start + s.extent):
                    yield from self._unrolled(s.body, {**values, s.var: i}, lane)

    def _block(self, stores: list[_Unrolled], times: int, sums: int) -> None:
        """Count a block: its operations, its loads, and the registers of its operands."""
        vectors: dict[object, int] = {}
        singles: set[object] = set()
        for u in stores:
            width = self.buffers[u.store.buffer].dtype.nbytes
            self.operations += times * (self._n_vectors(u.lane.extent, width) if u.lane else 1)
            if fetches(u.store.value):
                raise _Unknown
            for read in reads(u.store.value):
                if read.tensor not in self.sums:
                    self._operand(u, read, vectors, singles)
        n = sum(vectors.values())
        self.loads += times * (n + len(singles))
        self.registers = max(self.registers, sums + n + bool(singles))

    def _operand(
        self, u: _Unrolled, read: Read, vectors: dict[object, int], singles: set[object]
    ) -> None:
        """Add an operand of a block: a vector, or single numbers."""
        index = u.index(read)
        key = read.tensor, index
        if u.lane is None or u.lane.var not in set().union(*map(affine.symbols, index)):
            singles.add(key)
            return
        steps = [affine.coefficient(e, u.lane.var) for e in index]
        if steps[-1] == 1 and not any(steps[:-1]):
            width = self.buffers[read.tensor].dtype.nbytes
            vectors[key, u.lane.extent] = self._n_vectors(u.lane.extent, width)
        else:  # the lanes are apart in memory
            singles.update((key, i) for i in range(u.lane.extent))

    def _n_vectors(self, n: int, element_bytes: int) -> int:
        return -(-n // self.target.lanes(element_bytes))

    def _registers_of(self, b: Buffer) -> int:
        """Return the number of registers that hold a buffer; its last axis is that of lanes."""
        if not all(isinstance(n, int) for n in b.shape):
            return 0
        *outer, last = (int(n) for n in b.shape) if b.shape else (1,)
        rows = 1
        for n in outer:
            rows *= n
        return rows * self._n_vectors(last, b.dtype.nbytes)


def _jumps(s: Statement) -> bool:
    """Whether a statement is a loop with jumps, or contains one."""
    if isinstance(s, Loop) and s.kind in STRAIGHT:
        return any(map(_jumps, s.body))
    return not isinstance(s, Store | Prefetch)
