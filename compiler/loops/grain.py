"""A rough estimate of the cycles that statements take, for the grain size of parallel loops.

A precision of microseconds suffices. A loop uses several threads only if it takes a few times as
long as waking and joining the threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from compiler.compute.scalar import Apply, Fetch, Read, Scalar, walk
from compiler.compute.statements import (
    If,
    Loop,
    Prefetch,
    ScatterStore,
    Statement,
    Store,
    While,
    values_of,
    walk_statements,
)
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.loops.nodes import Buffer
from compiler.targets.target import Target

FORK_CYCLES = 3000
"""Cycles to start and join a parallel region: 1 us. Measured: 0.3 us with a spinning pool, 0.6 us
with libgomp."""

STEPS_PER_CYCLE = 2
"""A step, the unit of `steps`, is half a cycle: two vector operations or loads issue per cycle."""

MEETING_STEPS = 2 * FORK_CYCLES * STEPS_PER_CYCLE
"""The overhead of a parallel region, in steps: start, join, and transfer of operands from the
caches of other cores."""

_SLOW = {"div": 10, "mod": 20, "fmod": 20, "sqrt": 10, "rsqrt": 20}
_CHEAP = frozenset(
    "add sub mul max min and or xor not shl shr eq ne lt le gt ge neg abs sign floor ceil round"
    " trunc isnan isinf select".split()
)
_FUNCTION = 30
"""Steps of a function that a polynomial approximates, such as exp."""

_STORE = 8
"""Steps to write a vector of results to outer caches, and to read operands from there."""

_TURN = 2
"""Steps of loop overhead per iteration."""


def steps(body: Iterable[Statement], buffers: Mapping[str, Buffer], target: Target) -> Expr:
    """Estimate the steps of statements on one thread, as an expression of open sizes."""
    total: Expr = 0
    for s in body:
        match s:
            case Loop():
                total = total + _loop(s, buffers, target)
            case If(condition, inner) | While(condition, inner):
                total = total + _value(condition, buffers) + steps(inner, buffers, target)
            case Store(name) | ScatterStore(name):
                in_memory = buffers[name].role != "register"
                values = sum(_value(v, buffers) for v in values_of(s))
                total = total + values + (_STORE if in_memory else 0)
            case Prefetch():
                total = total + 1
    return total


def shared_steps(
    body: Iterable[Statement], buffers: Mapping[str, Buffer], target: Target, threads: int
) -> float:
    """Estimate the steps of statements for assumed sizes; the threads share the parallel loops."""
    total = 0.0
    for s in body:
        work = affine.assumed(steps([s], buffers, target))
        if not isinstance(s, Loop) or not _parallel(s):
            total += work
            continue
        n = max(affine.assumed(s.stop - s.start), 1)
        if s.kind == "parallel" and not any(map(_parallel, s.body)):
            work *= -(-n // threads) * threads / n
        total += work / threads + MEETING_STEPS
    return total


def _parallel(s: Statement) -> bool:
    return any(isinstance(x, Loop) and x.kind == "parallel" for x in walk_statements((s,)))


def _loop(loop: Loop, buffers: Mapping[str, Buffer], target: Target) -> Expr:
    inner = steps(loop.body, buffers, target)
    n = loop.stop - loop.start
    if loop.var in affine.symbols(inner):  # the middle iteration represents all
        middle = affine.floordiv(loop.start + loop.stop, 2)
        inner = affine.simplify(affine.substitute(inner, {loop.var: middle}), {})
    if loop.kind != "vector":
        return n * (inner + (0 if loop.kind == "unroll" else _TURN))
    lanes = target.lanes(4)
    return affine.floordiv(n + lanes - 1, lanes) * inner


def _value(value: Scalar, buffers: Mapping[str, Buffer]) -> int:
    return sum(part_steps(p, buffers) for p in walk(value))


def part_steps(part: Scalar, buffers: Mapping[str, Buffer]) -> int:
    """Estimate the steps of one operation of a scalar expression, without its operands."""
    match part:
        case Read(name):
            return int(buffers[name].role != "register")
        case Apply(fn):
            return _SLOW.get(fn, 1 if fn in _CHEAP else _FUNCTION)
        case Fetch():
            return _FUNCTION
        case _:
            return 1


def least_steps(threads: int) -> int:
    """Return the smallest number of steps for which threads save twice the cost of a fork."""
    return 2 * FORK_CYCLES * STEPS_PER_CYCLE * threads // (threads - 1)
