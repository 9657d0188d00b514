"""Regions of a kernel for a team of threads: their functions and their calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from compiler.codegen.access.indices import Indices
from compiler.codegen.access.params import Param, counter_parameter
from compiler.codegen.threads.forks import Region, declarations, fork_text
from compiler.dataclass import dataclass
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.ir.types import DType
from compiler.loops.grain import least_steps
from compiler.targets.options import Forking


@dataclass
class Team:
    """The team of threads that runs a kernel's regions, and the functions emitted so far."""

    symbol: str
    threads: int
    forking: Forking
    params: tuple[Param, ...]
    texts: list[str] = field(default_factory=list)
    n_regions: int = 0

    def region(self, counters: Sequence[str]) -> Region:
        """Return a new region with the counters of the enclosing loops as parameters."""
        self.n_regions += 1
        params = (*self.params, *(("i64", counter_parameter(v)) for v in counters))
        return Region(f"{self.symbol}.{self.n_regions}", params)

    def write_call(
        self, region: Region, part: str, iterations: Sequence[str], work: Expr, indices: Indices
    ) -> None:
        """Emit the call of a region; for small run-time sizes, the caller runs it without a team.

        `part` is the text of the function for one thread's share; `iterations` are the counters of
        the enclosing loops.
        """
        out = indices.out
        cost = affine.assumed(work)
        self.texts += [part, fork_text(region, self.threads, self.forking, cost)]
        for text in declarations(self.forking):
            out.declare(text)
        values = [*(n for _, n in self.params), *iterations]
        if isinstance(work, int) or not affine.is_simple(work):
            out.line(region.fork(values))
            return
        found, limit = indices.scalar(work), least_steps(self.threads)
        pays = out.op(f"icmp sge i64 {found.ref}, {limit}", DType.bool, 0, found)
        for holds, call in (
            (pays, region.fork(values)),
            (out.negated(pays), region.part(values, "0", "1")),
        ):
            block = out.open_block(holds)
            out.line(call)
            out.close_block(block)
