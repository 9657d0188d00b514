"""The work of a kernel's loops by kind, estimated from its Loop IR.

The unit of work is half a cycle, as in `compiler.loops.grain`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from compiler.codegen.arithmetic.math import LIBRARY, WRITTEN_OUT
from compiler.compute.scalar import Apply, Fetch, Read, walk
from compiler.compute.statements import If, Loop, Prefetch, Statement, Store, While, values_of
from compiler.dataclass import dataclass
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.loops.grain import STEPS_PER_CYCLE, part_steps
from compiler.loops.nodes import Buffer, Kernel
from compiler.machine.machine import CYCLES_PER_SECOND
from compiler.targets.target import Target

Kind = Literal["vector", "scalar", "strided", "computed", "function"]
"""Kinds of work: operations on vectors, operations on single elements, vector accesses with a
stride, accesses at computed indices, and functions that polynomials approximate."""

SLOW: tuple[Kind, ...] = ("scalar", "strided", "computed", "function")
"""The kinds whose cost the roofline omits."""


@dataclass(frozen=True, slots=True)
class Work:
    """The estimated steps of a kernel by kind.

    `idle_lanes` is the share of vector lanes without an element, because rows are shorter than
    vectors. `functions` are the names of the functions, most steps first.
    """

    steps: Mapping[Kind, float]
    idle_lanes: float
    functions: tuple[str, ...]

    def seconds(self, *kinds: Kind) -> float:
        """Return the estimated time of these kinds on one core."""
        steps = sum(self.steps.get(k, 0.0) for k in kinds)
        return steps / STEPS_PER_CYCLE / CYCLES_PER_SECOND


def work_of(kernel: Kernel, target: Target) -> Work:
    """Estimate the work of a kernel; open sizes have their assumed values."""
    lanes = target.lanes(4)
    counted: dict[Kind, float] = defaultdict(float)
    functions: dict[str, float] = defaultdict(float)
    slots = elements = 0.0
    for s in _executed(kernel.body, 1.0, None, 1.0, lanes):
        if s.row is not None and isinstance(s.statement, Store):
            slots += s.times * lanes
            elements += s.times * lanes * s.filled
        for kind, name, steps in _parts(s, kernel.buffers, lanes):
            counted[kind] += s.times * steps
            if name:
                functions[name] += s.times * steps
    idle = 1 - elements / slots if slots else 0.0
    return Work(counted, idle, tuple(sorted(functions, key=lambda name: -functions[name])))


@dataclass(frozen=True, slots=True)
class _Executed:
    """A statement with its number of executions; `row` is its vector loop, and `filled` the share
    of that loop's lanes with an element."""

    statement: Statement
    times: float
    row: str | None
    filled: float


def _executed(
    body: Iterable[Statement], times: float, row: str | None, filled: float, lanes: int
) -> Iterator[_Executed]:
    for s in body:
        match s:
            case Loop(var, start, stop, inner, kind):
                n = max(affine.assumed(stop - start), 0)
                if kind == "vector":
                    vectors = -(-n // lanes)
                    share = n / (vectors * lanes) if vectors else 1.0
                    yield from _executed(inner, times * vectors, var, share, lanes)
                else:
                    # A dot step or a tile is one instruction for all iterations.
                    turns = 1 if kind in ("dot", "tile") else n
                    yield from _executed(inner, times * turns, row, filled, lanes)
            case If(_, inner) | While(_, inner):
                yield _Executed(s, times, row, filled)
                yield from _executed(inner, times, row, filled, lanes)
            case Prefetch():
                pass
            case _:
                yield _Executed(s, times, row, filled)


def _parts(
    s: _Executed, buffers: Mapping[str, Buffer], lanes: int
) -> Iterator[tuple[Kind, str, float]]:
    """Yield the kind, the function's name or "", and the steps of each operation of a statement."""
    usual: Kind = "scalar" if s.row is None else "vector"
    for part in (p for value in values_of(s.statement) for p in walk(value)):
        steps = part_steps(part, buffers)
        match part:
            case Fetch():
                yield "computed", "", steps
            case Read(name, index) if s.row and _is_strided(buffers[name], index, s.row):
                yield "strided", "", lanes * steps
            case Apply(fn) if fn in WRITTEN_OUT or fn in LIBRARY:
                yield "function", fn, steps
            case _:
                yield usual, "", steps
    if isinstance(s.statement, Store) and buffers[s.statement.buffer].role != "register":
        strided = s.row and _is_strided(buffers[s.statement.buffer], s.statement.index, s.row)
        yield ("strided" if strided else usual), "", lanes if strided else 1


def _is_strided(b: Buffer, index: tuple[Expr, ...], row: str) -> bool:
    """Return whether consecutive lanes access elements that are not adjacent."""
    place: Expr = 0
    for i, stride in zip(index, b.strides, strict=True):
        place = place + i * stride
    if row not in affine.symbols(place):
        return False
    return affine.coefficient(place, row) not in (1, None)
