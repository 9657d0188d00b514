"""Canonical names inside kernels, so that equal kernels are compiled once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field, replace

from compiler.compute.scalar import Scalar, substitute
from compiler.dataclass import dataclass
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.loops.nodes import If, Kernel, Loop, Prefetch, ScatterStore, Statement, Store, While


def canonical_text(kernel: Kernel) -> str:
    """Return a text of the kernel; kernels that differ only in names have the same text."""
    return str(renamed(kernel, "kernel"))


def renamed(kernel: Kernel, name: str) -> Kernel:
    """Return the kernel with a new name, and with buffers and loop variables numbered in order."""
    buffers = {p.name: f"b{i}" for i, p in enumerate(kernel.params)}
    buffers.update((r.name, f"r{i}") for i, r in enumerate(kernel.registers))
    sizes = {s: f"N{i}" for i, s in enumerate(kernel.sizes)}
    renamer = _Renamer(buffers, {s: affine.symbol(n) for s, n in sizes.items()})
    return Kernel(
        name,
        tuple(
            replace(p, name=buffers[p.name], shape=renamer.index(p.shape)) for p in kernel.params
        ),
        renamer.body(kernel.body),
        tuple(replace(r, name=buffers[r.name]) for r in kernel.registers),
        tuple(sizes.values()),
    )


@dataclass
class _Renamer:
    buffers: Mapping[str, str]
    variables: dict[str, Expr] = field(default_factory=dict)
    n_variables: int = 0

    def body(self, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return tuple(map(self.statement, body))

    def statement(self, s: Statement) -> Statement:
        match s:
            case Loop(var, start, stop, body, kind):
                # Bounds belong to the scope outside the loop.
                start, stop = self.expression(start), self.expression(stop)
                fresh, before = f"i{self.n_variables}", self.variables.get(var)
                self.n_variables += 1
                self.variables[var] = affine.symbol(fresh)
                inner = self.body(body)
                if before is None:
                    del self.variables[var]
                else:
                    self.variables[var] = before
                return Loop(fresh, start, stop, inner, kind)
            case If(condition, body):
                return If(self.value(condition), self.body(body))
            case While(condition, body):
                return While(self.value(condition), self.body(body))
            case Store(buffer, index, value, stream):
                place = self.index(index)
                return Store(self.buffers[buffer], place, self.value(value), stream)
            case ScatterStore(buffer, place, value):
                return ScatterStore(
                    self.buffers[buffer], tuple(map(self.value, place)), self.value(value)
                )
            case Prefetch(buffer, index):
                return Prefetch(self.buffers[buffer], self.index(index))

    def expression(self, e: Expr) -> Expr:
        return affine.substitute(e, self.variables)

    def index(self, index: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple(map(self.expression, index))

    def value(self, value: Scalar) -> Scalar:
        return substitute(value, self.variables, self.buffers)


LIBRARY = frozenset(
    "acos acosh asin asinh atan atan2 atanh ceil cos cosh erf exp exp2 floor fma fmod log log2"
    " log10 nearbyint pow rint round sin sinh sqrt tan tanh trunc memcpy memmove memset".split()
)
"""C functions that machine code may call; a kernel of the same name would replace the C
function."""


def symbol_name(label: str, taken: set[str]) -> str:
    """Return an unused function name for machine code, readable if possible."""
    base = re.sub(r"\W", "_", label) or "kernel"
    if base in LIBRARY:
        base = f"{base}_kernel"
    name, n = base, 1
    while name in taken:
        n += 1
        name = f"{base}_{n}"
    taken.add(name)
    return name
