"""Statements, the ordered operations of Loop IR and routines.

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
    """A loop over `start <= var < stop`.

    `unroll` and `dot` loops have constant bounds. A vector loop has a constant start; its end may
    be known only at run time. A vector loop contains only unrolled loops and dot steps, and no
    other vector loop. In each lane, a `dot` loop sums products of consecutive elements of a small
    type. On targets with a dot-product instruction, a `dot` loop is one instruction. A `tile` loop
    runs over the rows of a block of sums. A `tile` loop contains a loop of reduction steps, the
    vector loop and a dot step. On targets with matrix tiles, a `tile` loop is one instruction.
    """

    var: str
    start: Expr
    stop: Expr
    body: tuple[Statement, ...]
    kind: LoopKind = "for"

    @property
    def extent(self) -> int:
        """The trip count, which must be a constant."""
        n = self.stop - self.start
        assert isinstance(n, int), f"the extent of {self.var} is not a number"
        return n


@dataclass(frozen=True, slots=True)
class Store:
    """`buffer[index] = value`; `stream` makes stores of whole cache lines non-temporal.

    Streaming suits results larger than the caches: the processor does not fetch a cache line before
    it stores the line. For streaming, the buffer must be aligned to cache lines.
    """

    buffer: str
    index: tuple[Expr, ...]
    value: Scalar
    stream: bool = False


@dataclass(frozen=True, slots=True)
class ScatterStore:
    """A store at a computed index, one i64 per axis; out-of-bounds stores are ignored."""

    buffer: str
    index: tuple[Scalar, ...]
    value: Scalar


@dataclass(frozen=True, slots=True)
class If:
    """A conditional block."""

    condition: Scalar
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class While:
    """A loop whose condition is tested before each iteration."""

    condition: Scalar
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Prefetch:
    """A prefetch of an element's cache line; it never faults, even out of bounds."""

    buffer: str
    index: tuple[Expr, ...]


Statement = Loop | Store | ScatterStore | If | While | Prefetch


def statement_lines(s: Statement) -> Iterator[str]:
    """Yield the text of one statement."""
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
    """Yield every statement in pre-order."""
    pending = [*body][::-1]
    while pending:
        s = pending.pop()
        yield s
        if isinstance(s, _WITH_BODY):
            pending.extend(reversed(s.body))


def values_of(s: Statement) -> tuple[Scalar, ...]:
    """Return the scalars of one statement, without nested statements."""
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
    """Return the buffers that statements store to."""
    return {s.buffer for s in walk_statements(body) if isinstance(s, Store | ScatterStore)}


def read_buffers(body: Iterable[Statement]) -> set[str]:
    """Return the buffers that statements read."""
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
    """Rewrite every bound and index, every scalar and every buffer name in statements."""

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
    """Substitute index symbols in statements."""
    return rewrite_statements(
        body, lambda e: affine.substitute(e, values), lambda s: substitute(s, values)
    )


def rename_buffers(body: Iterable[Statement], names: Mapping[str, str]) -> tuple[Statement, ...]:
    """Rename buffers in statements."""
    return rewrite_statements(
        body,
        lambda e: e,
        lambda s: renamed_tensors(s, names),
        lambda name: names.get(name, name),
    )
