"""Statements: what is done in a stated order. Loop IR is made of them, and so are routines.

    for i in 0..4 {
      if lt(X[i], f32(0.0)) { N[] = add(N[], i64(1)) }
      scatter Y(to_i64(P[i])) = X[i]
    }

Values are the scalar expressions of `compiler.compute.scalar`, without `Reduce`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal

from compiler.compute.scalar import Fetch, Read, Scalar, renamed_tensors, substitute, walk
from compiler.dataclass import dataclass
from compiler.ir import affine
from compiler.ir.affine import Expr

LoopKind = Literal["for", "unroll", "vector", "parallel", "dot", "tile"]


@dataclass(frozen=True, slots=True)
class Loop:
    """Run the body for `start <= var < stop`.

    `unroll` and `dot` loops have numbers as bounds. A vector loop begins at a number, and may end
    where only a run tells; it holds no other loop than unrolled ones and dot steps, and at most
    one vector loop is open at a time. A `dot` loop
    sums products of a few neighbouring elements of a small type into each lane: one instruction
    where the machine has it. A `tile` loop runs over the rows of a block of sums, with one loop of
    steps, the lanes and a dot step inside: one instruction where the machine has matrix tiles.
    """

    var: str
    start: Expr
    stop: Expr
    body: tuple[Statement, ...]
    kind: LoopKind = "for"

    @property
    def extent(self) -> int:
        """Number of iterations, when the bounds are numbers apart."""
        n = self.stop - self.start
        assert isinstance(n, int), f"the extent of {self.var} is not a number"
        return n


@dataclass(frozen=True, slots=True)
class Store:
    """`buffer[index] = value`; with `stream`, past the caches where lanes fill whole lines.

    That is for results larger than the caches, which nobody reads soon: the lines they lie in are
    not fetched first. Such a buffer begins at a cache line.
    """

    buffer: str
    index: tuple[Expr, ...]
    value: Scalar
    stream: bool = False


@dataclass(frozen=True, slots=True)
class ScatterStore:
    """Store at a computed index, one i64 an axis; nothing is stored when it lies outside."""

    buffer: str
    index: tuple[Scalar, ...]
    value: Scalar


@dataclass(frozen=True, slots=True)
class If:
    """Run the body if the condition holds."""

    condition: Scalar
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class While:
    """Run the body as long as the condition, tested before each iteration, holds."""

    condition: Scalar
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Prefetch:
    """Ask for the cache line of an element; never faults, may lie outside the buffer."""

    buffer: str
    index: tuple[Expr, ...]


Statement = Loop | Store | ScatterStore | If | While | Prefetch


def statement_lines(s: Statement) -> Iterator[str]:
    """The text of one statement."""
    match s:
        case Loop(var, start, stop, body, kind):
            yield from _block(f"{kind} {var} in {start}..{stop}", body)
        case If(condition, body):
            yield from _block(f"if {condition}", body)
        case While(condition, body):
            yield from _block(f"while {condition}", body)
        case Store(buffer, index, value, stream):
            yield f"{'stream ' if stream else ''}{buffer}[{', '.join(map(str, index))}] = {value}"
        case ScatterStore(buffer, place, value):
            yield f"scatter {buffer}({', '.join(map(str, place))}) = {value}"
        case Prefetch(buffer, index):
            yield f"prefetch {buffer}[{', '.join(map(str, index))}]"


def _block(head: str, body: tuple[Statement, ...]) -> Iterator[str]:
    yield f"{head} {{"
    for inner in body:
        yield from (f"  {line}" for line in statement_lines(inner))
    yield "}"


_WITH_BODY = (Loop, If, While)


def walk_statements(body: Iterable[Statement]) -> Iterator[Statement]:
    """Every statement, outer before inner, in order."""
    pending = [*body][::-1]
    while pending:
        s = pending.pop()
        yield s
        if isinstance(s, _WITH_BODY):
            pending.extend(reversed(s.body))


def values_of(s: Statement) -> tuple[Scalar, ...]:
    """The scalars of one statement itself, not of those inside."""
    match s:
        case Store():
            return (s.value,)
        case ScatterStore():
            return (*s.index, s.value)
        case If() | While():
            return (s.condition,)
        case _:
            return ()


def stored_buffers(body: Iterable[Statement]) -> set[str]:
    """The buffers that statements store to."""
    return {s.buffer for s in walk_statements(body) if isinstance(s, Store | ScatterStore)}


def read_buffers(body: Iterable[Statement]) -> set[str]:
    """The buffers that statements read."""
    return {
        part.tensor
        for s in walk_statements(body)
        for value in values_of(s)
        for part in walk(value)
        if isinstance(part, Read | Fetch)
    }


def rewrite_statements(
    body: Iterable[Statement],
    expression: Callable[[Expr], Expr],
    scalar: Callable[[Scalar], Scalar],
    buffer: Callable[[str], str] = str,
) -> tuple[Statement, ...]:
    """The statements with every bound and index, every scalar and every buffer name replaced."""

    def one(s: Statement) -> Statement:
        match s:
            case Loop(var, start, stop, inner, kind):
                return Loop(var, expression(start), expression(stop), many(inner), kind)
            case If(condition, inner):
                return If(scalar(condition), many(inner))
            case While(condition, inner):
                return While(scalar(condition), many(inner))
            case Store(name, index, value, stream):
                return Store(buffer(name), tuple(map(expression, index)), scalar(value), stream)
            case ScatterStore(name, place, value):
                return ScatterStore(buffer(name), tuple(map(scalar, place)), scalar(value))
            case Prefetch(name, index):
                return Prefetch(buffer(name), tuple(map(expression, index)))

    def many(inner: Iterable[Statement]) -> tuple[Statement, ...]:
        return tuple(map(one, inner))

    return many(body)


def substitute_statements(
    body: Iterable[Statement], values: Mapping[str, Expr]
) -> tuple[Statement, ...]:
    """Replace index symbols in statements."""
    return rewrite_statements(
        body, lambda e: affine.substitute(e, values), lambda s: substitute(s, values)
    )


def rename_buffers(body: Iterable[Statement], names: Mapping[str, str]) -> tuple[Statement, ...]:
    """The statements over buffers under other names; those without a new one keep theirs."""
    return rewrite_statements(
        body,
        lambda e: e,
        lambda s: renamed_tensors(s, names),
        lambda name: names.get(name, name),
    )
