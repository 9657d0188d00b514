"""Privatisation: each thread has a private copy of a temporary that all iterations of a loop use.

    for band in 0..14 { V[..] = ...; P[..] = ... V[..]; Y[band, ..] = ... P[..] }

becomes, if an iteration computes all elements of V and P that it reads,

    parallel team in 0..2 {
      for band in 14*team//2..(14*team+14)//2 {
        V[team, ..] = ...; P[team, ..] = ... V[team, ..]; Y[band, ..] = ... P[team, ..] } }

The result is plain Loop IR: the copies are an axis of the temporary, so memory planning and
execution need no special case. Source: array privatisation, Tu and Padua 1993.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from compiler.compute.scalar import Read, Scalar, rewrite
from compiler.compute.statements import (
    If,
    Loop,
    Prefetch,
    Statement,
    Store,
    While,
    stored_buffers,
    walk_statements,
)
from compiler.dataclass import dataclass
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.loops.grain import STEPS_PER_CYCLE, least_steps, steps
from compiler.loops.independence import Ranges, private_to_turns, range_of, why_dependent
from compiler.loops.nodes import Buffer, Kernel
from compiler.targets.options import CodeOptions

MEETING_CYCLES = 10_000
"""The cycles to divide an inner loop among threads, including reads from other cores' caches."""

CACHE_LINE = 128
"""The unit of false sharing, in bytes: a cache line, and the adjacent line fetched with it."""


def with_copies(kernel: Kernel, options: CodeOptions) -> Kernel:
    """Divide loops with private temporaries among threads if this is faster than other choices."""
    if kernel.sizes:
        return kernel
    work = _Copies(kernel, options)
    body = work.statements(kernel.body, {})
    params = tuple(
        replace(b, shape=(options.threads, *_lines(b))) if b.name in work.copied else b
        for b in kernel.params
    )
    return replace(kernel, params=params, body=work.at_first_copy(body))


def _lines(b: Buffer) -> tuple[Expr, ...]:
    """Return the shape of a copy; padding rows to full cache lines prevents false sharing."""
    if not b.shape or any(n != 1 for n in b.shape[:-1]) or not isinstance(b.shape[-1], int):
        return b.shape
    line = max(CACHE_LINE // b.dtype.nbytes, 1)
    return (*b.shape[:-1], -(-b.shape[-1] // line) * line)


@dataclass(slots=True)
class _Copies:
    """The transformation of one kernel, with the temporaries copied so far."""

    kernel: Kernel
    options: CodeOptions
    buffers: Mapping[str, Buffer] = field(init=False)
    copied: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.buffers = self.kernel.buffers

    def statements(self, body: Sequence[Statement], outer: Ranges) -> tuple[Statement, ...]:
        return tuple(self._statement(s, body, outer) for s in body)

    def _statement(self, s: Statement, body: Sequence[Statement], outer: Ranges) -> Statement:
        if not isinstance(s, Loop) or s.kind != "for" or not self._has_temporaries(s):
            return s
        if self._steps([s]) < least_steps(self.options.threads):
            return s
        if not why_dependent(s, self.buffers, outer):
            return s
        private = private_to_turns(s, body, self.kernel.body, self.buffers)
        if private and self._pays(s, private):
            if not why_dependent(s, self.buffers, outer, private):
                self.copied |= private
                return self._shared(s, private)
        return replace(s, body=self.statements(s.body, {**outer, s.var: range_of(s, outer)}))

    def _has_temporaries(self, loop: Loop) -> bool:
        return any(self.buffers[n].role == "temporary" for n in stored_buffers((loop,)))

    def _steps(self, body: Sequence[Statement]) -> int:
        return affine.assumed(steps(body, self.buffers, self.options.target))

    def _pays(self, loop: Loop, private: frozenset[str]) -> bool:
        """Return whether dividing this loop among threads is faster than dividing inner loops."""
        if not (isinstance(loop.start, int) and isinstance(loop.stop, int)):
            return False
        n, threads = loop.extent, self.options.threads
        work = self._steps([loop])
        if n < 2:
            return False
        middle = loop.start + n // 2
        iteration = replace(loop, start=middle, stop=middle + 1)
        inner = [s for s in loop.body if isinstance(s, Loop) and s.kind == "for"]
        found = [self._steps([replace(iteration, body=(s,))]) for s in inner]
        large = [n_steps for n_steps in found if n_steps >= least_steps(threads)]
        alone = max(work - n * sum(large), 0)
        inside = n * len(large) * MEETING_CYCLES * STEPS_PER_CYCLE
        return work * -(-n // threads) / n < alone + (work - alone) / threads + inside

    def _shared(self, loop: Loop, private: frozenset[str]) -> Loop:
        """Divide the iterations into one contiguous range per thread."""
        assert isinstance(loop.start, int), "asked before"
        threads, n = self.options.threads, loop.extent
        var = self._fresh("team")
        team = affine.symbol(var)
        first, end = (loop.start + affine.floordiv(n * t, threads) for t in (team, team + 1))
        body = _indexed((loop,), private, team)
        (inner,) = body
        assert isinstance(inner, Loop), "the rewritten statement is a loop"
        return Loop(var, 0, threads, (replace(inner, start=first, stop=end),), "parallel")

    def _fresh(self, name: str) -> str:
        taken = {s.var for s in walk_statements(self.kernel.body) if isinstance(s, Loop)}
        while name in taken:
            name += "_"
        return name

    def at_first_copy(self, body: Sequence[Statement]) -> tuple[Statement, ...]:
        """Rewrite a body so that loops without copies use the first copy."""
        names = frozenset(self.copied)
        ranks = {n: len(self.buffers[n].shape) for n in names}
        return _indexed(body, names, 0, ranks) if names else tuple(body)


def _indexed(
    body: Sequence[Statement],
    names: frozenset[str],
    copy: Expr,
    ranks: Mapping[str, int] | None = None,
) -> tuple[Statement, ...]:
    """Prepend an index to accesses of the buffers `names`.

    With `ranks`, accesses that have more indices than the rank stay unchanged.
    """

    def place(name: str, index: tuple[Expr, ...]) -> tuple[Expr, ...]:
        if name not in names or (ranks is not None and len(index) > ranks[name]):
            return index
        return (copy, *index)

    def change(part: Scalar) -> Scalar | None:
        if isinstance(part, Read) and part.tensor in names:
            return replace(part, index=place(part.tensor, part.index))
        return None

    made: list[Statement] = []
    for s in body:
        match s:
            case Loop():
                s = replace(s, body=_indexed(s.body, names, copy, ranks))
            case If(condition, inner) | While(condition, inner):
                inner = _indexed(inner, names, copy, ranks)
                s = replace(s, condition=rewrite(condition, change), body=inner)
            case Store():
                index = place(s.buffer, s.index)
                s = replace(s, index=index, value=rewrite(s.value, change))
            case Prefetch():
                s = replace(s, index=place(s.buffer, s.index))
            case _:
                pass
        made.append(s)
    return tuple(made)
