"""Dependence analysis of loop iterations and statements, by proofs on indices.

Two accesses conflict when one of them stores and both may access the same element. The analysis is
conservative: only proven independence counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import gcd

from compiler.compute.scalar import Fetch, Read, Scalar, walk
from compiler.compute.statements import (
    If,
    Loop,
    ScatterStore,
    Statement,
    Store,
    While,
    stored_buffers,
    values_of,
    walk_statements,
)
from compiler.dataclass import dataclass
from compiler.ir import affine
from compiler.ir.affine import Affine, Expr, Range
from compiler.ir.expressions import of_atom
from compiler.loops.iterations import is_made_before_read, iterations_are_disjoint, touches
from compiler.loops.nodes import Buffer

Ranges = Mapping[str, Range]
"""The ranges of the counters of enclosing loops, both ends included."""


@dataclass(frozen=True, slots=True)
class Access:
    """An access to an element of a buffer; the index depends on `inner` loops and on outer loops.

    `inner` has the ranges of the counters of the loops between the analysed statement and the
    access.
    """

    buffer: str
    index: tuple[Expr, ...]
    stores: bool
    inner: Ranges


def why_dependent(
    loop: Loop,
    buffers: Mapping[str, Buffer],
    outer: Ranges,
    private: frozenset[str] = frozenset(),
) -> str:
    """Return the dependence that prevents parallel iterations of a loop, or "".

    Buffers in `private` are assumed to have a copy per iteration.
    """
    if any(isinstance(s, While | ScatterStore) for s in walk_statements(loop.body)):
        return "the indices of its stores depend on data"
    carried = _carried(loop.body, buffers)
    if carried:
        return f"the register {carried} is carried from iteration to iteration"
    stored = {n for n in stored_buffers(loop.body) if buffers[n].role != "register"}
    if fetched_buffers(loop.body) & stored:
        return "it reads buffers at computed indices and stores to them"
    inner = {loop.var: range_of(loop, outer)}
    accesses = list(_accesses(loop.body, inner, outer))
    for name in sorted(stored - private):
        own = [a for a in accesses if a.buffer == name]
        if not any(a.stores for a in own):
            return f"the indices of its stores to {name} are unknown"
        by_index = _apart_by(loop.var, inner[loop.var], buffers[name], own)
        if not by_index and not (private and iterations_are_disjoint(loop, buffers[name])):
            return f"several iterations may access the same element of {name}"
    return ""


def private_to_turns(
    loop: Loop,
    neighbours: Sequence[Statement],
    body: Sequence[Statement],
    buffers: Mapping[str, Buffer],
) -> frozenset[str]:
    """Return the temporaries of which each iteration of a loop may have a private copy.

    Every iteration must write the elements of such a temporary before it reads them. Every other
    statement that accesses the temporary must also write the elements first. All statements that
    access the temporary must be among `neighbours`, the body that contains the loop. `body` is the
    body of the kernel.
    """
    names = sorted(n for n in stored_buffers((loop,)) if buffers[n].role == "temporary")
    return frozenset(
        n
        for n in names
        if touches(body, n) == touches(neighbours, n)
        and is_made_before_read(neighbours, buffers[n])
    )


def are_apart(
    first: Sequence[Statement],
    second: Sequence[Statement],
    buffers: Mapping[str, Buffer],
    outer: Ranges,
) -> bool:
    """Return whether two sequences of statements are independent, inside the loops of `outer`."""
    both = (*first, *second)
    if any(isinstance(s, While | ScatterStore) for s in walk_statements(both)):
        return False
    stored = {n for n in stored_buffers(both) if buffers[n].role != "register"}
    if fetched_buffers(both) & stored or _carried(first, buffers) or _carried(second, buffers):
        return False
    a, b = (list(_accesses(part, {}, outer)) for part in (first, second))
    if not stored <= {x.buffer for x in (*a, *b) if x.stores}:
        return False
    return all(
        _never_meet(x, y, buffers[x.buffer], outer)
        for x in a
        for y in b
        if x.buffer == y.buffer and (x.stores or y.stores) and buffers[x.buffer].role != "register"
    )


def fetched_buffers(body: Sequence[Statement]) -> set[str]:
    """Return the buffers that statements read at computed indices."""
    values = (v for s in walk_statements(body) for v in values_of(s))
    return {p.tensor for v in values for p in walk(v) if isinstance(p, Fetch)}


def range_of(loop: Loop, outer: Ranges) -> Range:
    """Return the range of a loop's counter."""
    return affine.bounds(loop.start, outer)[0], affine.bounds(loop.stop, outer)[1] - 1


def _carried(body: Sequence[Statement], buffers: Mapping[str, Buffer]) -> str:
    """Return a register that is read before its first store, or ""."""
    begun: set[str] = set()
    for s in walk_statements(body):
        read = {p.tensor for v in values_of(s) for p in walk(v) if isinstance(p, Read)}
        for name in sorted(read - begun):
            if buffers[name].role == "register":
                return name
        if isinstance(s, Store):
            begun.add(s.buffer)
    return ""


def _accesses(body: Sequence[Statement], inner: Ranges, outer: Ranges) -> Iterator[Access]:
    for s in body:
        for value in values_of(s):
            yield from _reads(value, inner)
        match s:
            case Loop():
                own = {**inner, s.var: range_of(s, {**outer, **inner})}
                yield from _accesses(s.body, own, outer)
            case If(_, then):
                yield from _accesses(then, inner, outer)
            case Store(buffer, index):
                yield Access(buffer, index, True, inner)
            case _:
                pass


def _reads(value: Scalar, inner: Ranges) -> Iterator[Access]:
    for part in walk(value):
        if isinstance(part, Read):
            yield Access(part.tensor, part.index, False, inner)


# Iterations of one loop


@dataclass(frozen=True, slots=True)
class _Place:
    """An index split by a loop's counter: `step * counter + fine + coarse + outside`.

    `fine` bounds the sum of terms with coefficients up to `step`. The terms with larger
    coefficients, `coarse`, are multiples of `period` (0 for none). `outside` has the loop-invariant
    terms.
    """

    step: int
    fine: Range
    period: int
    outside: Expr


def _apart_by(var: str, iterations: Range, b: Buffer, accesses: Sequence[Access]) -> bool:
    """Return whether iterations of a loop access disjoint elements.

    The proof uses the index along a single axis, or the address.
    """
    for axis in range(len(b.shape)):
        if _differ(var, iterations, [(a.index[axis], a.inner) for a in accesses]):
            return True
    return _differ(var, iterations, [(_flat(b, a.index), a.inner) for a in accesses])


def _flat(b: Buffer, index: tuple[Expr, ...]) -> Expr:
    total: Expr = 0
    for e, stride in zip(index, b.strides, strict=True):
        total = total + e * stride
    return affine.recombine(total)


def _differ(var: str, iterations: Range, indices: Sequence[tuple[Expr, Ranges]]) -> bool:
    """Return whether accesses in two different iterations of a loop always differ in these indices.

    Each of the two accesses may be in any iteration of the inner loops.

    The indices differ if two conditions hold. Each value of `step * counter + fine` occurs in only
    one iteration. The range of these values is smaller than the greatest common divisor of the
    periods.
    """
    places = [_place(e, var, inner) for e, inner in indices]
    found = [p for p in places if p is not None]
    if len(found) < len(places) or len({(p.step, p.outside) for p in found}) > 1:
        return False
    step = abs(found[0].step)
    low, high = min(p.fine[0] for p in found), max(p.fine[1] for p in found)
    reach = step * (iterations[1] - iterations[0]) + high - low
    periods = [p.period for p in found if p.period]
    return high - low < step and all(reach < gcd(*periods) for _ in periods[:1])


def _place(e: Expr, var: str, inner: Ranges) -> _Place | None:
    """Split an index into the fields of `_Place`; None if the index has no constant step."""
    if not isinstance(e, Affine):
        return None
    step = next((c for atom, c in e.terms if atom == var), 0)
    if not step:
        return None
    low = high = e.constant
    period, outside = 0, affine.sum_of([], 0)
    for atom, c in e.terms:
        if atom == var:
            continue
        term = of_atom(atom) * c
        names = affine.symbols(term)
        if var in names:
            return None
        if names.isdisjoint(inner):
            outside = outside + term
            continue
        if not names <= inner.keys():
            return None
        first, last = affine.bounds(term, inner)
        if abs(c) > abs(step):
            period = gcd(period, c)
        else:
            low, high = low + first, high + last
    return _Place(step, (low, high), period, outside)


# Two statements


def _never_meet(x: Access, y: Access, b: Buffer, outer: Ranges) -> bool:
    """Return whether two accesses never touch the same element in one iteration of outer loops."""
    pairs = [*zip(x.index, y.index, strict=True), (_flat(b, x.index), _flat(b, y.index))]
    return any(_distance_has_sign(p, q, x.inner, y.inner, outer) for p, q in pairs)


def _distance_has_sign(p: Expr, q: Expr, of_p: Ranges, of_q: Ranges, outer: Ranges) -> bool:
    """Return whether `p - q` has the same sign, never 0, in all iterations of their loops."""
    renamed = {v: f"{v}'" for v in of_q}
    moved = affine.substitute(q, {v: affine.symbol(n) for v, n in renamed.items()})
    ranges = {**outer, **of_p, **{renamed[v]: r for v, r in of_q.items()}}
    low, high = affine.bounds(p - moved, ranges)
    return low > 0 or high < 0
