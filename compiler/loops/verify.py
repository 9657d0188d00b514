"""The verifier of Loop IR, a static check that depends on neither schedules nor codegen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

from compiler.compute.scalar import (
    COMPARISONS,
    FUNCTIONS,
    Apply,
    Fetch,
    IndexValue,
    Inside,
    Read,
    Scalar,
    children,
)
from compiler.dataclass import dataclass
from compiler.ir import affine
from compiler.ir.affine import Affine, Expr, Range
from compiler.ir.types import DType
from compiler.loops.nodes import (
    Buffer,
    If,
    Kernel,
    Loop,
    Prefetch,
    ScatterStore,
    Statement,
    Store,
    While,
    stored_buffers,
)
from compiler.loops.sizes import sizes_of, with_sizes

SAMPLE_SIZES = (1, 2, 7, 70)
"""The values assumed for a kernel's first size; each further size is larger by 1."""


class BadKernel(AssertionError):
    """Raised for a kernel that violates a rule of Loop IR: always a bug of the compiler."""


def verify_kernel(kernel: Kernel) -> None:
    """Check names, types, bounds of indices, and the rules of vector loops and registers.

    Interval arithmetic over the ranges of the loops must prove that indices are in bounds. Under
    `inside`, the guarded expressions count as in bounds. Errors: BadKernel.
    """
    stray = set(sizes_of(kernel.params)) - set(kernel.sizes)
    _require(not stray, f"{kernel.name} does not declare the sizes {', '.join(sorted(stray))}")
    if kernel.sizes:
        for n in SAMPLE_SIZES:
            verify_kernel(with_sizes(kernel, {s: n + i for i, s in enumerate(kernel.sizes)}))
        return
    names = [b.name for b in (*kernel.params, *kernel.registers)]
    _require(len(set(names)) == len(names), f"{kernel.name} has two buffers of the same name")
    for b in kernel.params:
        _require(b.role != "register", f"the param {b.name} cannot be a register")
    for b in kernel.registers:
        _require(b.role == "register", f"{b.name} is neither a param nor a register")
    _Checker(kernel.buffers).statements(kernel.body)


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise BadKernel(message)


@dataclass(slots=True)
class _Checker:
    buffers: Mapping[str, Buffer]
    ranges: dict[str, Range] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    moved_by: dict[str, frozenset[str]] = field(default_factory=dict)
    """For each counter: its own loop, and the loops on which the bounds of this loop depend."""
    choosing: frozenset[str] = frozenset()
    """Enclosing loops that may be empty: their bounds determine whether a statement runs."""
    excused: frozenset[str] = frozenset()
    """Loops around a condition, which may select a single iteration of these loops."""

    def statements(self, body: Iterable[Statement]) -> None:
        for s in body:
            match s:
                case Loop():
                    self._loop(s)
                case Store():
                    self._store(s)
                case ScatterStore():
                    self._scatter_store(s)
                case If(condition, inner) | While(condition, inner):
                    self._conditional(condition, inner)
                case Prefetch(buffer, index):
                    b = self._buffer(buffer)
                    _require(b.role != "register", f"registers such as {buffer} have no cache line")
                    _require(len(index) == len(b.shape), f"{buffer} has rank {len(b.shape)}")
                    for e in index:
                        self._known(e)

    @property
    def _lane(self) -> str:
        return next((v for v, kind in self.kinds.items() if kind == "vector"), "")

    def _loop(self, loop: Loop) -> None:
        _require(loop.var not in self.ranges, f"two nested loops have the name {loop.var}")
        self._known(loop.start)
        self._known(loop.stop)
        if loop.kind in ("unroll", "dot", "vector", "tile"):
            numbers = isinstance(loop.start, int) and isinstance(loop.stop, int)
            _require(numbers, f"{loop.kind} {loop.var} needs constant bounds")
        if self._lane:
            _require(
                loop.kind in ("unroll", "dot"),
                f"{loop.kind} {loop.var} cannot be inside the vector loop {self._lane}",
            )
        low = affine.bounds(loop.start, self.ranges)[0]
        high = affine.bounds(loop.stop, self.ranges)[1] - 1
        if high < low:
            return
        around = (self.moved_by[v] for e in (loop.start, loop.stop) for v in affine.symbols(e))
        self.moved_by[loop.var] = frozenset({loop.var}).union(*around)
        self.ranges[loop.var], self.kinds[loop.var] = (low, high), loop.kind
        choosing, least = self.choosing, affine.bounds(loop.stop - loop.start, self.ranges)[0]
        if least < 1:
            self.choosing = choosing | {loop.var}
        self.statements(loop.body)
        self.choosing = choosing
        del self.ranges[loop.var], self.kinds[loop.var], self.moved_by[loop.var]

    def _store(self, s: Store) -> None:
        b = self._buffer(s.buffer)
        _require(
            b.role not in ("input", "constant"),
            f"{s.buffer} has the role {b.role}: stores must not change it",
        )
        self._access(b, s.index, ())
        _require(
            s.value.dtype is b.dtype,
            f"{s.buffer} has type {b.dtype}, but {s.value.dtype} is stored",
        )
        lane = self._lane
        if lane:
            own = any(lane in affine.symbols(e) for e in s.index)
            _require(own, f"all lanes of {lane} store to one element of {s.buffer}")
        if b.role != "register":
            self._own_place(s)
        self._scalar(s.value, ())

    def _own_place(self, s: Store) -> None:
        """Check that the stored element depends on every enclosing parallel loop."""
        moved = {by for e in s.index for v in affine.symbols(e) for by in self.moved_by[v]}
        moved |= {by for v in self.choosing for by in self.moved_by[v]}
        for var, kind in self.kinds.items():
            several = self.ranges[var][0] < self.ranges[var][1]
            if kind == "parallel" and several and var not in self.excused:
                _require(
                    var in moved, f"all iterations of {var} store to one element of {s.buffer}"
                )

    def _scatter_store(self, s: ScatterStore) -> None:
        b = self._buffer(s.buffer)
        _require(
            b.role not in ("input", "constant"),
            f"{s.buffer} has the role {b.role}: stores must not change it",
        )
        _require(b.role != "register", f"the register {s.buffer} has a computed index")
        _require(
            s.value.dtype is b.dtype,
            f"{s.buffer} has type {b.dtype}, but {s.value.dtype} is stored",
        )
        _require(not self._lane, f"lanes of {self._lane} would store at computed indices")
        self._computed_index(b, s.index, ())
        self._scalar(s.value, ())

    def _conditional(self, condition: Scalar, body: tuple[Statement, ...]) -> None:
        _require(condition.dtype is DType.bool, f"the condition {condition} is not a bool")
        _require(not self._lane, f"lanes of {self._lane} would take different branches")
        kept = {n for n in stored_buffers(body) if self._buffer(n).role == "register"}
        _require(not kept, f"registers ({', '.join(sorted(kept))}) change under a condition")
        self._scalar(condition, ())
        before, self.excused = self.excused, frozenset(self.ranges)
        self.statements(body)
        self.excused = before

    def _computed_index(
        self, b: Buffer, index: tuple[Scalar, ...], guards: tuple[Guard, ...]
    ) -> None:
        _require(len(index) == len(b.shape), f"{b} has rank {len(b.shape)}, not {len(index)}")
        for i in index:
            _require(i.dtype is DType.i64, f"the computed index {i} of {b.name} is not an i64")
            self._scalar(i, guards)

    def _buffer(self, name: str) -> Buffer:
        _require(name in self.buffers, f"{name} is not a buffer")
        return self.buffers[name]

    def _known(self, e: Expr) -> None:
        stray = affine.symbols(e) - self.ranges.keys()
        _require(not stray, f"{e} uses {', '.join(sorted(stray))}, which no enclosing loop defines")

    def _access(self, b: Buffer, index: tuple[Expr, ...], guards: tuple[Guard, ...]) -> None:
        _require(len(index) == len(b.shape), f"{b} has rank {len(b.shape)}, not {len(index)}")
        for e, n in zip(index, b.shape, strict=True):
            self._known(e)
            low, high = self._bounds(e, guards)
            inside = (low >= 0 and high < n) or any(g.covers(e, int(n)) for g in guards)
            _require(
                inside, f"{b.name}: the index {e} runs from {low} to {high} on an axis of size {n}"
            )
        if b.role == "register":
            self._register(b, index)

    def _bounds(self, e: Expr, guards: tuple[Guard, ...]) -> Range:
        """Return the interval of an expression; guards narrow the ranges of tested symbols."""
        ranges = dict(self.ranges)
        for g in guards:
            g.narrow(ranges)
        return affine.bounds(affine.simplify(e, ranges), ranges)

    def _register(self, b: Buffer, index: tuple[Expr, ...]) -> None:
        for axis, e in enumerate(index):
            for symbol in affine.symbols(e):
                kind = self.kinds[symbol]
                last = axis == len(index) - 1
                _require(
                    kind in ("unroll", "dot") or (kind == "vector" and last),
                    f"register {b.name} is indexed by {symbol}, a {kind} loop",
                )
                if kind == "vector":
                    _require(
                        isinstance(e, Affine) and dict(e.terms).get(symbol) == 1,
                        f"lanes of register {b.name} must be contiguous, not {e}",
                    )

    def _scalar(self, s: Scalar, guards: tuple[Guard, ...]) -> None:
        match s:
            case Read(tensor, index, dtype):
                b = self._buffer(tensor)
                _require(dtype is b.dtype, f"{tensor} has type {b.dtype}, but is read as {dtype}")
                self._access(b, index, guards)
                return
            case Fetch(tensor, index, dtype):
                b = self._buffer(tensor)
                _require(dtype is b.dtype, f"{tensor} has type {b.dtype}, but is read as {dtype}")
                _require(b.role != "register", f"the register {tensor} has a computed index")
                self._computed_index(b, index, guards)
                return
            case IndexValue(expr, _):
                self._known(expr)
            case Inside(tests, then, otherwise):
                for e, _n in tests:
                    self._known(e)
                _require(then.dtype is otherwise.dtype, f"branches differ in type: {s}")
                self._scalar(then, (*guards, *(Guard(e, int(n)) for e, n in tests)))
                outer = guards
                if len(tests) == 1:
                    outer = (*guards, Guard(tests[0][0], int(tests[0][1]), holds=False))
                self._scalar(otherwise, outer)
                return
            case Apply(fn, args, dtype):
                _check_function(fn, args, dtype)
            case _:
                name = type(s).__name__
                _require(name in ("Number", "Convert", "Bits"), f"{name} cannot occur in Loop IR")
        for part in children(s):
            self._scalar(part, guards)


@dataclass(frozen=True, slots=True)
class Guard:
    """The test `0 <= expr < extent`, whose result is `holds`."""

    expr: Expr
    extent: int
    holds: bool = True

    def covers(self, e: Expr, n: int) -> bool:
        """Return whether the guard implies `0 <= e < n`."""
        if not self.holds:
            return False
        shift = e - self.expr
        return isinstance(shift, int) and shift >= 0 and shift + self.extent <= n

    def narrow(self, ranges: dict[str, Range]) -> None:
        """Narrow the range of a symbol that is tested as `symbol + number`."""
        e = self.expr
        if not isinstance(e, Affine) or len(e.terms) != 1:
            return
        symbol, c = e.terms[0]
        if not isinstance(symbol, str) or c != 1 or symbol not in ranges:
            return
        low, high = ranges[symbol]
        first, last = -e.constant, self.extent - 1 - e.constant
        if self.holds:
            narrowed = (max(low, first), min(high, last))
        elif low >= first:
            narrowed = (max(low, last + 1), high)
        elif high <= last:
            narrowed = (low, min(high, first - 1))
        else:
            return
        if narrowed[0] <= narrowed[1]:
            ranges[symbol] = narrowed


def _check_function(fn: str, args: tuple[Scalar, ...], dtype: DType) -> None:
    _require(FUNCTIONS.get(fn) == len(args), f"{fn} does not take {len(args)} operands")
    typed = args[1:] if fn == "select" else args
    if fn == "select":
        _require(args[0].dtype is DType.bool, "the condition of select must be a bool")
    kinds = {a.dtype for a in typed}
    _require(len(kinds) == 1, f"{fn} of {', '.join(sorted(map(str, kinds)))}")
    expected = DType.bool if fn in COMPARISONS else typed[0].dtype
    _require(dtype is expected, f"{fn} gives {expected}, not {dtype}")
