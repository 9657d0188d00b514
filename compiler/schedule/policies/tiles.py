"""Register tiles for contractions: the rows and vectors that a micro-kernel keeps in registers.

Each step of the reduction loads `vectors` vectors and `rows` scalars and does rows x vectors
multiply-adds. Source: the analytical model of Low et al. 2016 (BLIS, "Analytical modeling is enough
for high-performance BLIS"), reduced to issue slots, latency, the cache level of the packed operand,
and the distance of the other operand's rows in memory.
"""

from __future__ import annotations

from math import gcd

from compiler.dataclass import dataclass
from compiler.targets.target import Target

FMA_PER_CYCLE = 2
LOADS_PER_CYCLE = 2
LATENCY_CYCLES = 5.5
"""Latency of a multiply-add, in cycles: 4 in the manuals, more with operands from loads."""

L2_BYTES_PER_CYCLE = 40
L3_BYTES_PER_CYCLE = 8
L2_SHARE = 0.8
"""The share of L2 for a strip of the packed operand that is reused for the next rows."""

EXPOSED = 0.1
"""The share of load and L2 cycles that multiply-adds do not hide."""

N_STREAMS = 8
"""Streams that prefetchers follow; also the lines of one set that a cache certainly keeps."""

STREAM_CYCLES, CONFLICT_CYCLES = 0.1, 0.25
"""Cycles lost per step for each row beyond the streams, and for each row with conflict misses."""

LINE_BYTES, WAY_BYTES = 64, 4096
"""Bytes of a line and of an L1 way: lines at a multiple of a way share a set."""

FEW_REGISTERS = 16
"""With this many registers or fewer, reduction steps are not unrolled: LLVM moves sums to other
registers between two steps, and spills."""

SPARE_REGISTERS = 1
"""Registers left free: LLVM loads the vectors of the next step early, and spills sums if all are
in use. 4 x 3 sums in 16 registers reach 60 % of the speed of 6 x 2 (measured on Zen 3)."""

PEEL_PENALTY = 1.004
"""The cost factor of a shorter last tile, which needs additional code."""


@dataclass(frozen=True, slots=True)
class Tile:
    """A register tile: one broadcast scalar per row, and full vectors of columns."""

    rows: int
    vectors: int


def choose_tile(
    n_rows: int, n_vectors: int, depth: int, target: Target, row_bytes: int = 0
) -> Tile:
    """Choose the tile with the fewest estimated cycles for an n_rows x n_vectors x depth product.

    Units: rows in elements, vectors in full vectors, depth in reduction steps; `row_bytes` is the
    distance in memory of the scalars of two rows.
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
    """Estimate the cycles of the entire product with this tile, including its remainders."""
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
    """Estimate the cycles of one reduction step: arithmetic and the loads not hidden by it."""
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
    """Estimate the cycles that a step loses to distant rows."""
    if row_bytes <= LINE_BYTES or rows <= N_STREAMS:
        return 0.0
    if -(-rows // _sets(row_bytes)) > N_STREAMS:
        return CONFLICT_CYCLES * rows
    return STREAM_CYCLES * (rows - N_STREAMS)


def lines_kept(step_bytes: int) -> int:
    """Return the number of cache lines at this distance that half of L1 retains."""
    return _sets(step_bytes) * N_STREAMS // 2


def _sets(step_bytes: int) -> int:
    """Return the number of L1 sets that cache lines at this distance use."""
    return WAY_BYTES // max(gcd(step_bytes, WAY_BYTES), LINE_BYTES)
