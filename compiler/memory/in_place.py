"""Operands that a kernel may overwrite with its results, derived from the loops.

A result may overwrite an operand if each element of the result is stored exactly once. In addition,
only certain stores may read the operand at an address. These are the store of the result to this
address, and stores directly before it in the same iteration.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from compiler.compute.scalar import fetches, reads
from compiler.dataclass import dataclass
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.loops.nodes import Buffer, If, Kernel, Loop, ScatterStore, Statement, Store, While
from compiler.loops.nodes import walk_statements as walk


@dataclass(frozen=True, slots=True)
class _Stored:
    """A store and its number of executions, `count`, which is None for unknown trip counts.

    `then` has the stores directly after this store in the body of the innermost loop.
    """

    store: Store
    count: Expr | None
    then: tuple[Store, ...]


def overwritable(kernel: Kernel) -> dict[str, tuple[str, ...]]:
    """Return, for each output of a kernel, the inputs that it may overwrite."""
    if any(isinstance(s, ScatterStore | If | While) for s in walk(kernel.body)):
        return {}  # the stored elements and their order depend on data
    stores = list(_stores(kernel.body, 1))
    outputs = [p for p in kernel.params if p.role == "output"]
    inputs = [p for p in kernel.params if p.role == "input"]
    found = {y.name: tuple(x.name for x in inputs if _may(x, y, stores)) for y in outputs}
    return {y: operands for y, operands in found.items() if operands}


def _stores(body: tuple[Statement, ...], count: Expr | None) -> Iterator[_Stored]:
    for number, s in enumerate(body):
        if isinstance(s, Store):
            behind = itertools.takewhile(lambda b: isinstance(b, Store), body[number + 1 :])
            yield _Stored(s, count, tuple(b for b in behind if isinstance(b, Store)))
        elif isinstance(s, Loop):
            n = s.stop - s.start
            n = max(n, 0) if isinstance(n, int) else n
            # A loop with a symbolic start may start after its end, so its trip count is unknown.
            known = isinstance(n, int) or not affine.symbols(s.start)
            inner = count * n if known and count is not None else None
            yield from _stores(s.body, inner)


def _may(x: Buffer, y: Buffer, stores: list[_Stored]) -> bool:
    if (x.dtype, x.n_elements) != (y.dtype, y.n_elements):
        return False
    written = [s for s in stores if s.store.buffer == y.name]
    # The kernel writes every element of the result. With as many stores as elements, it writes no
    # element twice.
    counts = [s.count for s in written if s.count is not None]
    if len(counts) < len(written) or affine.recombine(sum(counts, 0)) != x.n_elements:
        return False
    return all(_reads_in_place(x, y, s) for s in stores)


def _reads_in_place(x: Buffer, y: Buffer, stored: _Stored) -> bool:
    """Return whether a store reads x and y only at the address of the element of y that it writes.

    A store of another result may not read y; it may read x at an address to which a later store of
    the same iteration writes an element of y.
    """
    both, store = {x.name: x, y.name: y}, stored.store
    if any(f.tensor in both for f in fetches(store.value)):
        return False
    places = [_address(both[r.tensor], r.index) for r in reads(store.value) if r.tensor in both]
    if not places:
        return True
    if store.buffer == y.name:
        return all(p == _address(y, store.index) for p in places)
    if any(r.tensor == y.name for r in reads(store.value)):
        return False
    # This store writes another result, so it may read x if a later store of the same iteration
    # overwrites x.
    return any(
        behind.buffer == y.name and all(p == _address(y, behind.index) for p in places)
        for behind in stored.then
    )


def _address(buffer: Buffer, index: tuple[Expr, ...]) -> Expr:
    """Return the linear index of an element in memory."""
    total: Expr = 0
    for i, stride in zip(index, buffer.strides, strict=True):
        total = total + i * stride
    return total
