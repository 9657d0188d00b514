"""Choice of the loops that threads share: independent iterations, and the least estimated time.

A loop can be shared if its iterations are proven independent. The cost of sharing is the time of
the longest share, plus the time to read the operands that every thread reads in full. Other threads
have written most of these operands. If images are divided by rows, each row stays in the cache of
its writer, but all threads read all weights. If images are divided by channels, each thread reads
its own weights, but all rows. A loop of few iterations is shared together with the loops directly
inside it. A shared loop may be inside other loops that every thread runs.

Reductions are never shared, so results are bit-identical to the results of one thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from compiler.compute.scalar import Read, walk
from compiler.compute.statements import Loop, Statement, Store, values_of, walk_statements
from compiler.dataclass import dataclass
from compiler.ir import affine
from compiler.loops.grain import least_steps, steps
from compiler.loops.independence import Ranges, range_of, why_dependent
from compiler.loops.nodes import Buffer, Kernel
from compiler.loops.sharing import all_apart, has_parallel, pieces
from compiler.schedule.threads.copies import with_copies
from compiler.targets.options import CodeOptions
from compiler.targets.target import Target

EVEN = 0.95
"""The balance (mean share / longest share) below which the loops directly inside a shared loop are
shared too."""

BYTES_PER_STEP = 5
"""The number of bytes per half cycle that a core reads from another core's cache (35 GB/s
measured)."""

INSIDE = 1.002
"""The minimum speedup for sharing the loops inside a loop that every thread runs, since these
shares are shorter."""

IMAGE_RANK = 4
"""The minimum rank of tensors (with batch, channels and rows) that are preferably divided by
rows."""


def in_parallel(kernel: Kernel, options: CodeOptions) -> Kernel:
    """Mark the loops that threads share, instead of the loops marked before."""
    if options.threads < 2:
        return kernel
    kernel = with_copies(replace(kernel, body=_unmarked(kernel.body)), options)
    marker = _Marker(kernel.buffers, options.target, options.threads)
    return replace(kernel, body=marker.statements(kernel.body, {}))


def _unmarked(body: Sequence[Statement]) -> tuple[Statement, ...]:
    """Replace parallel loops by plain loops."""
    return tuple(
        replace(s, body=_unmarked(s.body), kind="for" if s.kind == "parallel" else s.kind)
        if isinstance(s, Loop)
        else s
        for s in body
    )


@dataclass(frozen=True, slots=True)
class _Option:
    """A way to share a statement, and its cost in half cycles of the slowest thread.

    `later` is the additional time of kernels that read the results; it only ranks the options.
    """

    statement: Loop
    cost: float
    later: float


@dataclass(frozen=True, slots=True)
class _Marker:
    """Marks the loops of one kernel that threads share."""

    buffers: Mapping[str, Buffer]
    target: Target
    threads: int

    def statements(self, body: Sequence[Statement], outer: Ranges) -> tuple[Statement, ...]:
        return tuple(self._statement(s, outer) for s in body)

    def _statement(self, s: Statement, outer: Ranges) -> Statement:
        if (
            not isinstance(s, Loop)
            or s.kind != "for"
            or has_parallel(s.body)
            or self._work([s]) < least_steps(self.threads)
        ):
            return s
        best = min(self._options(s, outer), key=lambda o: o.cost + o.later, default=None)
        if best is not None and best.cost < self._work([s]):
            return best.statement
        # Every thread runs the loop, and each iteration shares the statements inside.
        return replace(s, body=self.statements(s.body, {**outer, s.var: range_of(s, outer)}))

    def _work(self, body: Sequence[Statement]) -> int:
        return affine.assumed(steps(body, self.buffers, self.target))

    def _options(self, loop: Loop, outer: Ranges) -> Iterator[_Option]:
        """Yield the options: share the loop, or run the loop in every thread and share its body."""
        if why_dependent(loop, self.buffers, outer):
            return
        shared, iterations = self._shared(loop, outer, 1)
        cost = self._work([loop]) * -(-iterations // self.threads) / iterations
        yield _Option(shared, cost + self._foreign_steps(loop), self._later_steps(loop))
        inside = {**outer, loop.var: range_of(loop, outer)}
        inner = self._inside(loop, inside)
        if inner is not None:
            n = max(affine.assumed(loop.stop - loop.start), 1)
            body, each, foreign, later = inner
            yield _Option(replace(loop, body=body), n * each * INSIDE + foreign, later)

    def _inside(
        self, loop: Loop, inside: Ranges
    ) -> tuple[tuple[Statement, ...], float, float, float] | None:
        """Share loops in a body; return the body, the cost of an iteration, and two further costs.

        The further costs are remote reads in this kernel, and in later kernels.
        """
        body: list[Statement] = []
        total = foreign = later = 0.0
        for s in loop.body:
            work = self._work([s])
            if (
                isinstance(s, Loop)
                and s.kind == "for"
                and not why_dependent(s, self.buffers, inside)
            ):
                shared, iterations = self._shared(s, inside, 1)
                body.append(shared)
                total += work * -(-iterations // self.threads) / iterations
                foreign = max(foreign, self._foreign_steps(s))
                later = max(later, self._later_steps(s))
            else:
                body.append(s)
                total += work
        made = replace(loop, body=tuple(body))
        known = has_parallel(body) and all_apart(pieces(body), self.buffers, inside)
        return (made.body, total, foreign, later) if known else None

    def _shared(self, loop: Loop, outer: Ranges, around: int) -> tuple[Loop, int]:
        """Mark the loop, and inner loops while shares are unbalanced; also count the iterations.

        `around` is the product of the trip counts of the enclosing shared loops.
        """
        iterations = around * max(affine.assumed(loop.stop - loop.start), 1)
        marked = replace(loop, kind="parallel")
        if iterations >= EVEN * self.threads * -(-iterations // self.threads):
            return marked, iterations
        inside = {**outer, loop.var: range_of(loop, outer)}
        body: list[Statement] = []
        most = iterations
        for s in loop.body:
            if (
                isinstance(s, Loop)
                and s.kind == "for"
                and not why_dependent(s, self.buffers, inside)
            ):
                s, inner = self._shared(s, inside, iterations)
                most = max(most, inner)
            body.append(s)
        if not has_parallel(body) or not all_apart(pieces(body), self.buffers, inside):
            return marked, iterations
        return replace(marked, body=tuple(body)), most

    def _foreign_steps(self, loop: Loop) -> float:
        """Estimate the half cycles for reading the operands that every thread reads in full."""
        read = dict.fromkeys(
            p.tensor
            for s in walk_statements(loop.body)
            for v in values_of(s)
            for p in walk(v)
            if isinstance(p, Read) and not any(loop.var in affine.symbols(e) for e in p.index)
        )
        return self._others(sum(self._nbytes(name) for name in read))

    def _later_steps(self, loop: Loop) -> float:
        """Estimate the half cycles for remote reads in a later kernel that is divided by rows."""
        for s in walk_statements(loop.body):
            if isinstance(s, Store) and self._is_cut_across(s, loop):
                return self._others(self._nbytes(s.buffer))
        return 0.0

    def _others(self, nbytes: int) -> float:
        """Estimate the half cycles for reading the other cores' share of `nbytes` bytes."""
        return nbytes * (self.threads - 1) / self.threads / BYTES_PER_STEP

    def _is_cut_across(self, s: Store, loop: Loop) -> bool:
        """Return whether a store of an image is divided along an axis other than its rows."""
        if self.buffers[s.buffer].role != "output" or len(s.index) < IMAGE_RANK:
            return False
        return loop.var not in affine.symbols(s.index[2])

    def _nbytes(self, name: str) -> int:
        b = self.buffers[name]
        return 0 if b.role == "register" else affine.assumed(b.nbytes)
