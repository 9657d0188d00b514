"""Emission of a nest as Loop IR: its loops, and its sums in registers or memory."""

from __future__ import annotations

import itertools
from dataclasses import field

from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.ir.types import DType
from compiler.loops.nodes import Buffer, Statement
from compiler.schedule.language.legal import require_finished, require_legal
from compiler.schedule.limits import MOST_STATEMENTS
from compiler.schedule.nest import Entry, Nest
from compiler.schedule.writing.accumulate import Accumulation, Sums, finished
from compiler.schedule.writing.halo import zero_halo
from compiler.schedule.writing.peel import At, Fixed, loops_over, stored
from compiler.schedule.writing.scratch import Scratch


@dataclass
class Realizer:
    """Emits the nests of one kernel, with a unique name for each accumulator."""

    registers: list[Buffer] = field(default_factory=list)
    blocks: list[Buffer] = field(default_factory=list)
    n_written: int = 0

    def realize(self, nest: Nest) -> tuple[Statement, ...]:
        """Emit a nest as statements. Errors: E-SCHEDULE-MOVE for an unfinished nest."""
        require_finished(nest)
        for e in nest.entries:
            if e.block:
                self._copies(nest, e)
        first = next((i for i, a in enumerate(nest.axes) if a.is_reduction), len(nest.axes))
        halos = (zero_halo(nest, b.target) for b in nest.results if b.zero_halo)
        halo = tuple(itertools.chain.from_iterable(halos))
        if first == len(nest.axes):
            body = loops_over(
                nest,
                nest.axes,
                {},
                {},
                lambda at, cut: self.written(tuple(stored(nest, b, at, cut) for b in nest.results)),
            )
            return (*halo, *body)

        def finish(sums: Sums, at: At, cut: Fixed) -> tuple[Statement, ...]:
            return finished(nest, sums, at, cut)

        in_memory = nest.cached or any(a.kind == "tile" for a in nest.axes)
        kept = Scratch if in_memory else Accumulation
        point = kept(nest, first, self, finish)
        return (*halo, *loops_over(nest, nest.axes[:first], {}, {}, point.statements))

    def written(self, made: tuple[Statement, ...]) -> tuple[Statement, ...]:
        """Count statements and return them. Errors: E-LIMIT-CODE."""
        self.n_written += len(made)
        if self.n_written > MOST_STATEMENTS:
            raise CompileError(
                "E-LIMIT-CODE",
                f"peeling loops would emit more than {MOST_STATEMENTS:,} statements",
            )
        return made

    def block(self, dtype: DType, shape: tuple[int, ...]) -> Buffer:
        """Allocate memory for partial sums."""
        n_before = sum(b.name.startswith("sums'") for b in self.blocks)
        name = f"sums'{n_before or ''}"
        self.blocks.append(Buffer(name, dtype, shape, "temporary"))
        return self.blocks[-1]

    def _copies(self, nest: Nest, e: Entry) -> None:
        name = e.block
        message = f"another nest of {nest.target} already has a copy of {e.tensor}"
        require_legal(all(b.name != name for b in self.blocks), message)
        shape = nest.shapes[name]
        self.blocks.append(Buffer(name, nest.dtype_of(name), shape, "temporary"))

    def register(self, dtype: DType, shape: tuple[int, ...]) -> Buffer:
        """Allocate an accumulator."""
        name = "acc" if not self.registers else f"acc{len(self.registers)}"
        self.registers.append(Buffer(name, dtype, shape, "register"))
        return self.registers[-1]
