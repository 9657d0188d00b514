"""Reads the text of a kernel back; the inverse of `str` of a `Kernel`."""

from __future__ import annotations

from typing import get_args

from compiler.compute.text import Cursor
from compiler.loops.nodes import Buffer, Kernel, Loop, LoopKind, Prefetch, Role, Statement, Store

_KINDS = get_args(LoopKind)
_ROLES = tuple(r for r in get_args(Role) if r != "register")


def parse_kernel(text: str) -> Kernel:
    """The kernel that prints as this text; `//` begins a comment. Errors: E-TEXT-SYNTAX."""
    reader = _Reader(text)
    kernel = reader.kernel()
    reader.end()
    return kernel


class _Reader(Cursor):
    """Reads statements."""

    def kernel(self) -> Kernel:
        self.expect("kernel")
        name = self.name()
        self.expect("(")
        params = self.items(")", self._param)
        self.expect("{")
        registers: list[Buffer] = []
        while self.word("register"):
            registers.append(self._buffer("register"))
        return Kernel(name, params, self._body(), tuple(registers))

    def _param(self) -> Buffer:
        b = self._buffer("input")
        for role in _ROLES:
            if self.word(role):
                return Buffer(b.name, b.dtype, b.shape, role)
        raise self.fail(f"one of {', '.join(_ROLES)}")

    def _buffer(self, role: Role) -> Buffer:
        name, t = self.declaration()
        return Buffer(name, t.dtype, t.static_shape, role)

    def _body(self) -> tuple[Statement, ...]:
        """Statements up to the closing brace."""
        found: list[Statement] = []
        while not self.take("}"):
            found.append(self._statement())
        return tuple(found)

    def _statement(self) -> Statement:
        for kind in _KINDS:
            if self.word(kind):
                return self._loop(kind)
        if self.word("prefetch"):
            name = self._known()
            return Prefetch(name, self.index())
        name = self._known()
        index = self.index()
        self.expect("=")
        return Store(name, index, self.scalar())

    def _known(self) -> str:
        before = self.at
        name = self.name()
        if name not in self.dtypes:
            raise self.fail("a buffer or a loop", before)
        return name

    def _loop(self, kind: LoopKind) -> Loop:
        self._depth += 1
        if self._depth > 100:
            raise self.fail("loops nested at most 100 deep")
        var = self.name()
        self.expect("in")
        start = self.expr("..")
        self.expect("..")
        stop = self.expr("{")
        self.expect("{")
        body = self._body()
        self._depth -= 1
        return Loop(var, start, stop, body, kind)
