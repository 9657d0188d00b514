"""Features of a schedule for the cost model: loops, register tile, and memory accesses.

Features are computed from the text of a schedule alone, so thousands of candidates are evaluated in
the time of one compilation.
Source: AutoTVM's loop context, touched bytes and reuse at each loop (Chen et al. 2018,
arXiv:1805.08166), without its one-hot annotations for GPUs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from math import log2

from compiler.compute.scalar import Read
from compiler.dataclass import dataclass
from compiler.ir.affine import Expr
from compiler.schedule.language.call import Call
from compiler.schedule.nest import Nest
from compiler.targets.target import Target
from compiler.tuning.space import Point, Space

DEPTH = 8
"""The number of loops that features describe, innermost first; loops further outside rarely
matter."""

N_FEATURES = 11 + 6 * DEPTH
"""The number of features that describe a point."""


def features(space: Space, point: Point, target: Target) -> list[float]:
    """Return the features of a point: the sums of the features of its loop nests.

    The number of features is the same for all computations, so one model learns from all
    computations.
    """
    calls: dict[str, list[Call]] = {}
    for line in space.rendered(point):
        calls.setdefault(line.nest, []).append(line.call)
    total = [0.0] * N_FEATURES
    for name, moves in calls.items():
        if name in space.nests:
            found = _Loops(space.nests[name], moves).described(target)
            total = [a + b for a, b in zip(total, found, strict=True)]
    return total


def _number(n: int) -> float:
    return log2(max(n, 1))


@dataclass
class _Loops:
    """The loops of a nest after its schedule's moves: lengths, order, kinds and original axes."""

    nest: Nest
    calls: Sequence[Call]
    extents: dict[str, int] = field(default_factory=dict)
    origins: dict[str, frozenset[str]] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    n_packed: int = 0
    n_cached: int = 0
    ahead: int = 0
    turn: int = 0

    def __post_init__(self) -> None:
        self.extents = {a.var: a.size for a in self.nest.axes}
        self.origins = {v: frozenset({v}) for v in self.extents}
        self.order = list(self.extents)
        for call in self.calls:
            self._follow(call.move, [str(a) for a in call.arguments])

    def _follow(self, move: str, arguments: list[str]) -> None:
        match move, arguments:
            case "split", [loop, factor, outer, inner]:
                n = self.extents.get(loop, 1)
                self._replace([loop], {outer: -(-n // int(factor)), inner: min(int(factor), n)})
            case "fuse", [outer, inner, loop]:
                n = self.extents.get(outer, 1) * self.extents.get(inner, 1)
                self._replace([outer, inner], {loop: n})
            case "reorder", _:
                self.order = [*arguments, *(v for v in self.order if v not in arguments)]
            case (("unroll" | "vectorize" | "parallel" | "rfactor" | "tensorize"), _):
                self.kinds.update(dict.fromkeys(arguments, move))
            case "pack", _:
                self.n_packed += 1
            case "cache_write", _:
                self.n_cached += 1
            case "prefetch", [_, _, distance, *_]:
                self.ahead = int(distance)
            case "compute_at", [_, _, *places]:
                self.turn = int(places[0]) if places else 1
            case _:
                pass

    def _replace(self, old: list[str], new: Mapping[str, int]) -> None:
        came = frozenset().union(*(self.origins.get(v, frozenset()) for v in old))
        at = self.order.index(old[0]) if old[0] in self.order else len(self.order)
        self.order = [v for v in self.order if v not in old]
        self.order[at:at] = list(new)
        self.extents.update(new)
        self.origins.update(dict.fromkeys(new, came))

    def described(self, target: Target) -> list[float]:
        """Return the features of one loop nest."""
        reduced = {a.var for a in self.nest.reduced}
        tile = [v for v in self.order if self.kinds.get(v) in ("unroll", "vectorize")]
        points = [v for v in tile if not self.origins[v] <= reduced]
        steps = [v for v in tile if self.origins[v] <= reduced]
        n_points, n_steps = self._product(points), self._product(steps)
        lanes = max((self.extents[v] for v in tile if self.kinds[v] == "vectorize"), default=1)
        registers = n_points / max(target.lanes(4), 1)
        whole = self._product([a.var for a in self.nest.axes])
        done = self._product(self.order)
        general = [
            _number(lanes),
            registers / target.n_vector_registers,
            _number(n_steps),
            float(len(self.order)),
            float(self.n_packed),
            float(self.n_cached),
            _number(1 + self.ahead),
            _number(1 + self.turn),
            _number(whole),
            done / max(whole, 1) - 1,  # overhead of rounding up to full tiles
            _number(n_points),
        ]
        return [*general, *self._levels(reduced)]

    def _levels(self, reduced: set[str]) -> list[float]:
        """Return the length, kind, touched bytes and reuse of each loop, innermost loop first."""
        found: list[float] = []
        operands = self.nest.reads()
        inside: list[str] = []
        for v in reversed(self.order[-DEPTH:]):
            inside.append(v)
            touched = sum(self._touched(r, inside) for r in operands)
            kind = self.kinds.get(v, "")
            found += [
                _number(self.extents[v]),
                float(kind == "unroll"),
                float(kind == "vectorize"),
                float(self.origins[v] <= reduced),
                _number(touched),
                _number(self._product(inside) * len(operands)) - _number(touched),
            ]
        return [*found, *[0.0] * (6 * DEPTH - len(found))]

    def _touched(self, read: Read, inside: Sequence[str]) -> int:
        """Return the number of bytes of an operand that are read inside the loops `inside`."""
        spans = {a.var: 1 for a in self.nest.axes}
        for v in inside:
            parts = self.origins[v]
            if len(parts) == 1:
                (origin,) = parts
                spans[origin] *= self.extents[v]
            else:  # Assume that a fused loop reads two values of each original axis.
                for origin in parts:
                    spans[origin] = max(spans[origin], 2)
        total = self.nest.dtype_of(read.tensor).nbytes
        for e in read.index:
            total *= _span(e, spans)
        return total

    def _product(self, loops: Sequence[str]) -> int:
        n = 1
        for v in loops:
            n *= self.extents[v]
        return n


def _span(e: Expr, spans: Mapping[str, int]) -> int:
    """Return the number of values of an index expression, given the range of each symbol."""
    if isinstance(e, int):
        return 1
    reach = 1
    for atom, factor in e.terms:
        if isinstance(atom, str):
            reach += abs(factor) * (spans.get(atom, 1) - 1)
            continue
        n = _span(atom.a, spans)
        if isinstance(atom.b, int) and atom.fn == "floordiv":
            n = -(-n // atom.b)
        elif isinstance(atom.b, int) and atom.fn == "mod":
            n = min(n, atom.b)
        reach += abs(factor) * (n - 1)
    return reach
