"""Register tiles for contractions: how many rows and vectors one micro-kernel keeps in registers.

Each step of the reduction loads `vectors` vectors and `rows` scalars and does rows x vectors
multiply-adds. Source: the analytical model of Low et al. 2016 (BLIS, "Analytical modeling is enough
for high-performance BLIS"), reduced to issue slots, latency, the level of cache the packed operand
streams from, and how the rows of the other one lie in memory.
"""

from __future__ import annotations

from math import gcd

from compiler.dataclass import dataclass
from compiler.targets.target import Target

FMA_PER_CYCLE = 2
LOADS_PER_CYCLE = 2
LATENCY_CYCLES = 5.5
"""Between two multiply-adds into one register: 4 as manuals say, more where they wait for loads."""

L2_BYTES_PER_CYCLE = 40
L3_BYTES_PER_CYCLE = 8
L2_SHARE = 0.8
"""How much of it a strip of the packed operand may fill and still be there for the next rows."""

EXPOSED = 0.1
"""Of loads and of what comes from L2, the part that multiply-adds do not hide."""

N_STREAMS = 8
"""Rows apart in memory that caches follow; also how many lines of one set they hold for sure."""

STREAM_CYCLES, CONFLICT_CYCLES = 0.1, 0.25
"""What a step loses for each row too many, and for each row when lines drive each other out."""

LINE_BYTES, WAY_BYTES = 64, 4096
"""Lines that are a multiple of a way apart share a set of the first cache."""

FEW_REGISTERS = 16
"""With no more of them, steps of the reduction are not written out one behind the other: LLVM moves
sums to other registers between two steps, and spills."""

SPARE_REGISTERS = 1
"""LLVM loads the vectors of the next step early. With all registers in use it then spills sums:
4 x 3 sums in 16 registers reach 60 % of the speed of 6 x 2 (measured on Zen 3)."""

PEEL_PENALTY = 1.004
"""A shorter last tile is code of its own; taken only when it saves something."""


@dataclass(frozen=True, slots=True)
class Tile:
    """A register tile: scalars broadcast along rows, full vectors along the other side."""

    rows: int
    vectors: int


def choose_tile(
    n_rows: int, n_vectors: int, depth: int, target: Target, row_bytes: int = 0
) -> Tile:
    """The tile with the fewest estimated cycles for an n_rows x n_vectors x depth product.

    Units: rows in elements, vectors in full vectors, depth in steps of the reduction; `row_bytes`
    is how far the scalars of two rows lie apart in memory.
    """
    best, best_cycles = Tile(1, 1), float("inf")
    for vectors in range(1, min(n_vectors, target.n_vector_registers // 2) + 1):
        # Besides the sums: one register for the broadcast, one per loaded vector, and the spare.
        most_rows = (target.n_vector_registers - vectors - 1 - SPARE_REGISTERS) // vectors
        for rows in range(1, min(n_rows, most_rows) + 1):
            tile = Tile(rows, vectors)
            cycles = tile_cycles(tile, n_rows, n_vectors, depth, target, row_bytes)
            if cycles < best_cycles * 0.999:
                best, best_cycles = tile, cycles
    return best


def tile_cycles(
    tile: Tile, n_rows: int, n_vectors: int, depth: int, target: Target, row_bytes: int = 0
) -> float:
    """Estimated cycles of the whole product with this tile, its shorter ends included."""
    total = 0.0
    n_peeled = 0
    for r, r_count in _parts(n_rows, tile.rows):
        for v, v_count in _parts(n_vectors, tile.vectors):
            step = _step_cycles(Tile(r, v), depth, target) + _row_cycles(r, row_bytes)
            total += r_count * v_count * (depth * step + 8)
            n_peeled += 1
    return total * PEEL_PENALTY ** (n_peeled - 1)


def _parts(n: int, size: int) -> list[tuple[int, int]]:
    parts = [(size, n // size)] if n >= size else []
    return [*parts, (n % size, 1)] if n % size else parts


def _step_cycles(tile: Tile, depth: int, target: Target) -> float:
    """One step of the reduction: what is computed, and what hides behind it or does not."""
    loads = (tile.rows + tile.vectors) / LOADS_PER_CYCLE
    compute = max(tile.rows * tile.vectors / FMA_PER_CYCLE, loads, LATENCY_CYCLES)
    strip_bytes = tile.vectors * target.vector_bytes * depth
    stream = 0.0
    if strip_bytes > target.l1d_bytes // 2:
        in_l2 = strip_bytes <= target.l2_bytes * L2_SHARE
        rate = L2_BYTES_PER_CYCLE if in_l2 else L3_BYTES_PER_CYCLE
        stream = tile.vectors * target.vector_bytes / rate
    return max(compute, stream) + EXPOSED * (loads + stream)


def _row_cycles(rows: int, row_bytes: int) -> float:
    """What a step loses because its rows lie apart."""
    if row_bytes <= LINE_BYTES or rows <= N_STREAMS:
        return 0.0
    if -(-rows // _sets(row_bytes)) > N_STREAMS:
        return CONFLICT_CYCLES * rows
    return STREAM_CYCLES * (rows - N_STREAMS)


def lines_kept(step_bytes: int) -> int:
    """How many lines so far apart half of the first cache holds."""
    return _sets(step_bytes) * N_STREAMS // 2


def _sets(step_bytes: int) -> int:
    """In how many sets of the first cache lines lie that are so far apart."""
    return WAY_BYTES // max(gcd(step_bytes, WAY_BYTES), LINE_BYTES)
