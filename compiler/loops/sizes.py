"""Substitution of numbers for the sizes of a kernel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from compiler.compute.scalar import IndexValue, Inside, Read, walk
from compiler.compute.statements import (
    Loop,
    Prefetch,
    Statement,
    Store,
    substitute_statements,
    values_of,
    walk_statements,
)
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.loops.nodes import Buffer, Kernel


def sizes_of(params: tuple[Buffer, ...], body: tuple[Statement, ...] = ()) -> tuple[str, ...]:
    """Return the symbols in shapes and statements, in order of appearance."""
    found: dict[str, None] = {}
    for b in params:
        for n in b.shape:
            found.update(dict.fromkeys(sorted(affine.symbols(n))))
    counted: set[str] = set()
    for s in walk_statements(body):
        if isinstance(s, Loop):
            counted.add(s.var)
        for e in _expressions(s):
            found.update(dict.fromkeys(sorted(affine.symbols(e))))
    return tuple(n for n in found if n not in counted)


def _expressions(s: Statement) -> Iterator[Expr]:
    """Yield the integer expressions of one statement, without nested statements."""
    match s:
        case Loop(_, start, stop):
            yield from (start, stop)
        case Store(_, index) | Prefetch(_, index):
            yield from index
        case _:
            pass
    for value in values_of(s):
        for part in walk(value):
            match part:
                case Read(_, index):
                    yield from index
                case IndexValue(expr):
                    yield expr
                case Inside(tests):
                    yield from (e for test in tests for e in test)
                case _:
                    pass


def with_sizes(kernel: Kernel, values: Mapping[str, int]) -> Kernel:
    """Substitute numbers for all sizes of a kernel in shapes, bounds and indices."""
    if not kernel.sizes:
        return kernel
    params = tuple(
        replace(b, shape=tuple(affine.substitute(n, values) for n in b.shape))
        for b in kernel.params
    )
    body = substitute_statements(kernel.body, values)
    return Kernel(kernel.name, params, body, kernel.registers)
