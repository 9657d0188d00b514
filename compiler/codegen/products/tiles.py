"""Emission of runs of tile loops: loads before and between steps, and final stores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from compiler.codegen.access.memory import Memory
from compiler.codegen.products.tile_runs import Block, Run, Step
from compiler.codegen.products.tile_unit import TileUnit
from compiler.codegen.values import Value
from compiler.loops.nodes import Buffer
from compiler.targets.target import Target


class Tiles:
    """The tiles of one function; during a run, each tile loop is one step."""

    def __init__(self, memory: Memory, buffers: Mapping[str, Buffer], target: Target) -> None:
        self.memory = memory
        self.buffers = buffers
        self.unit = TileUnit(memory.out, target)
        self.run: Iterator[Step] | None = None

    def during(self, run: Run, write: Callable[[], None]) -> None:
        """Emit the statements of a run while its sums are in tiles."""
        self.unit.configure(run.config)
        for tile in sorted(run.loaded):
            self._fill(tile, run.sums[tile])
        self.run = iter(run.steps)
        write()
        self.run = None
        for tile, block in run.sums.items():
            self.memory.note_store(self.buffers[block.buffer])
            self.unit.store(tile, self._beginning(block), block.stride)

    def step(self) -> None:
        """Emit the next tile loop of the current run."""
        assert self.run is not None
        step = next(self.run)
        for move in step.loads:
            self._fill(move.tile, move.block)
        if step.kinds is None:
            self.unit.clear(step.total)
        else:
            self.unit.dot(step.total, step.left, step.right, step.kinds)

    def _fill(self, tile: int, block: Block) -> None:
        self.unit.load(tile, self._beginning(block), block.stride)

    def _beginning(self, block: Block) -> Value:
        """Emit the pointer to the first row of a block."""
        m, b = self.memory, self.buffers[block.buffer]
        r = m.indices.resolve(block.first)
        return m.displaced(m.base(b, r), r.constant * b.dtype.nbytes, m.out.level)
