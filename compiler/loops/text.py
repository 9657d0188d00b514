"""The parser of kernels; the inverse of `str` of a `Kernel`."""

from __future__ import annotations

from typing import get_args

from compiler.compute.text import Cursor
from compiler.ir.types import open_symbols
from compiler.loops.nodes import Buffer, Kernel, Role, Statement

_ROLES = tuple(r for r in get_args(Role) if r != "register")


def parse_kernel(text: str) -> Kernel:
    """Parse a kernel; `//` begins a comment. Errors: E-TEXT-SYNTAX."""
    reader = _Reader(text)
    kernel = reader.kernel()
    reader.end()
    return kernel


class _Reader(Cursor):
    """Reads kernels."""

    sizes: tuple[str, ...] = ()

    def kernel(self) -> Kernel:
        self.expect("kernel")
        name = self.name()
        sizes = self.sizes = self.items("]", self.name) if self.take("[") else ()
        self.expect("(")
        params = self.items(")", self._param)
        self.expect("{")
        registers: list[Buffer] = []
        while self.word("register"):
            registers.append(self._buffer("register"))
        body: list[Statement] = []
        while not self.take("}"):
            body.append(self.statement())
        return Kernel(name, params, tuple(body), tuple(registers), sizes)

    def _param(self) -> Buffer:
        b = self._buffer("input")
        for role in _ROLES:
            if self.word(role):
                return Buffer(b.name, b.dtype, b.shape, role)
        raise self.fail(f"one of {', '.join(_ROLES)}")

    def _buffer(self, role: Role) -> Buffer:
        before = self.at
        name, t = self.declaration()
        if not open_symbols([t]) <= set(self.sizes):
            raise self.fail("a type whose only open dimensions are the kernel's sizes", before)
        return Buffer(name, t.dtype, t.dims, role)
