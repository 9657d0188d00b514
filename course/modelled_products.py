"""A matrix product with a space of schedules, and the cycles of a schedule by a cost model.

The register tile costs what the compiler's own model says (`compiler/schedule/policies/tiles.py`).
This module adds the costs of choices that the compiler never makes: sums beyond the registers,
blocks of the reduction, and an order of loops that loads an operand again. No program runs, so
all costs are equal on every machine.
"""

from __future__ import annotations

from functools import cached_property

from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.schedule.policies.tiles import (
    L3_BYTES_PER_CYCLE,
    SPARE_REGISTERS,
    Tile,
    tile_cycles,
)
from compiler.tuning.space import Knob, Point, Space
from course.quantities.subject import fixed_target

ROWS = tuple(range(1, 17))
VECTORS = tuple(range(1, 9))
PARTS = (1, 2, 4, 8, 16)
ORDERS = ("rows", "columns")

SPILL_CYCLES = 2.0
"""The cycles of a sum that has no register: a store and a load in each step."""

MOST_SIZE = 10_000


@dataclass(frozen=True)
class Product:
    """A product of a `rows` x `depth` matrix and a `depth` x `columns` matrix of f32."""

    rows: int
    columns: int
    depth: int

    def __post_init__(self) -> None:
        if not all(0 < n <= MOST_SIZE for n in (self.rows, self.columns, self.depth)):
            message = f"the sizes of a product are from 1 to {MOST_SIZE:,}, got {self}"
            raise CompileError("E-ANSWER-FORM", message)

    @cached_property
    def space(self) -> Space:
        """The space: rows and vectors of the tile, parts of the reduction, the outermost loop."""
        knobs = (
            Knob("factor", 0, ROWS, 3),
            Knob("factor", 1, VECTORS, 0),
            Knob("parts", 2, PARTS, 0),
            Knob("order", 3, ORDERS, 0),
        )
        return Space((), knobs)

    def settings(self, point: Point) -> tuple[int, int, int, str]:
        """Return rows and vectors of the tile, parts of the reduction, and the outermost loop.

        Errors: E-ANSWER-FORM for a point outside of the space.
        """
        knobs = self.space.knobs
        if len(point) != len(knobs) or not all(
            type(i) is int and 0 <= i < len(k.settings) for i, k in zip(point, knobs, strict=True)
        ):
            message = f"{point!r:.60} is no point of the space"
            hint = "a point has the index of a setting for each of the four knobs"
            raise CompileError("E-ANSWER-FORM", message, hint=hint)
        rows, vectors, parts, order = (k.settings[i] for i, k in zip(point, knobs, strict=True))
        return rows, vectors, parts, order

    def cycles(self, point: Point) -> float:
        """Estimate the cycles of the product with the schedule of a point."""
        rows, vectors, parts, order = self.settings(point)
        target = fixed_target()
        lanes = target.vector_bytes // 4
        n_vectors = -(-self.columns // lanes)
        depth = -(-self.depth // parts)
        tile = Tile(min(rows, self.rows), min(vectors, n_vectors))
        total = parts * tile_cycles(tile, self.rows, n_vectors, depth, target)
        n_row_tiles, n_column_tiles = -(-self.rows // tile.rows), -(-n_vectors // tile.vectors)
        n_tiles = n_row_tiles * n_column_tiles
        # Besides the sums, a step needs the vectors of a row of B, one number of A, and spares.
        needed = tile.rows * tile.vectors + tile.vectors + 1 + SPARE_REGISTERS
        spilled = max(needed - target.n_vector_registers, 0)
        total += SPILL_CYCLES * spilled * n_tiles * self.depth
        # Each part but the first loads the sums of the last one, and stores them again.
        total += SPILL_CYCLES * (parts - 1) * self.rows * n_vectors
        return total + self._reloaded(order, depth, parts, n_row_tiles, n_column_tiles)

    def _reloaded(
        self, order: str, depth: int, parts: int, n_row_tiles: int, n_column_tiles: int
    ) -> float:
        """Estimate the cycles for an operand that each tile of the outermost loop loads again."""
        inner = self.columns if order == "rows" else self.rows
        times = n_row_tiles if order == "rows" else n_column_tiles
        nbytes = 4 * depth * inner
        kept = nbytes <= fixed_target().l2_bytes // 2
        return parts * nbytes * (1 if kept else times) / L3_BYTES_PER_CYCLE

    def features(self, point: Point) -> list[float]:
        """Return the numbers that a learned model sees: the settings, and those of their sizes.

        They are rows and vectors of the tile, its sums, the steps of a part, and 1 for rows
        outermost.
        """
        rows, vectors, parts, order = self.settings(point)
        return [float(rows), float(vectors), float(rows * vectors), self.depth / parts,
                float(order == "rows")]  # fmt: skip


def wrong_pairs(predicted: list[float], true: list[float]) -> float:
    """Return the share of pairs with different true costs that predictions do not order rightly."""
    n = wrong = 0
    for i, (p, t) in enumerate(zip(predicted, true, strict=True)):
        for q, u in zip(predicted[:i], true[:i], strict=True):
            if t != u:
                n += 1
                wrong += (p - q) * (t - u) <= 0
    return wrong / max(n, 1)
