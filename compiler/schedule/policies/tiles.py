"""Register tiles for contractions: the rows and vectors that a micro-kernel keeps in registers.

Each step of the reduction loads `vectors` vectors and `rows` scalars, and executes rows x vectors
multiply-adds. Source: the analytical model of Low et al. 2016 (BLIS, "Analytical modeling is enough
for high-performance BLIS"). The model here covers only issue slots, latency, the cache level of the
packed operand, and the row stride of the other operand.
"""

from __future__ import annotations

from math import gcd

from compiler.dataclass import dataclass
from compiler.targets.target import Target

FMA_PER_CYCLE = 2
LOADS_PER_CYCLE = 2
LATENCY_CYCLES = 5.5
"""Latency of a multiply-add, in cycles: 4 in the manuals, more if loads supply the operands."""

L2_BYTES_PER_CYCLE = 40
L3_BYTES_PER_CYCLE = 8
L2_SHARE = 0.8
"""The share of L2 for a strip of the packed operand that is reused for the next rows."""

EXPOSED = 0.1
"""The share of load and L2 cycles that multiply-adds do not hide."""

N_STREAMS = 8
"""The number of streams that the hardware prefetchers follow; also the number of cache lines that
an L1 set retains."""

STREAM_CYCLES, CONFLICT_CYCLES = 0.1, 0.25
"""Stall cycles per step: for each row beyond `N_STREAMS`, and for each row with conflict misses."""

LINE_BYTES, WAY_BYTES = 64, 4096
"""Bytes of a cache line and of an L1 way; lines that are a multiple of a way apart share a set."""

FEW_REGISTERS = 16
"""The number of registers up to which reduction steps are not unrolled: LLVM would move sums to
other registers between two steps, and spill."""

SPARE_REGISTERS = 1
"""The number of registers left free: LLVM loads the vectors of the next step early, and spills sums
if no register is free. 4 x 3 sums in 16 registers reach 60 % of the speed of 6 x 2 sums (measured
on Zen 3)."""

PEEL_PENALTY = 1.004
"""The cost factor of a shorter last tile, which needs additional code."""


@dataclass(frozen=True, slots=True)
class Tile:
    """A register tile of sums: its rows, and its columns in full vectors.

    A step broadcasts one scalar per row.
    """

    rows: int
    vectors: int


def choose_tile(
    n_rows: int, n_vectors: int, depth: int, target: Target, row_bytes: int = 0
) -> Tile:
    """Choose the tile with the fewest estimated cycles for an n_rows x n_vectors x depth product.

    `depth` is the number of reduction steps, and `row_bytes` the distance in memory between equal
    columns of two adjacent rows.
    """
    best, best_cycles = Tile(1, 1), float("inf")
    for vectors in range(1, min(n_vectors, target.n_vector_registers // 2) + 1):
        # In addition to sums: a register for the broadcast, one per loaded vector, and the spares.
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
    """Estimate the cycles of a reduction step: arithmetic, and loads not hidden by arithmetic."""
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
    """Estimate the stall cycles of a step whose rows are far apart in memory."""
    if row_bytes <= LINE_BYTES or rows <= N_STREAMS:
        return 0.0
    if -(-rows // _sets(row_bytes)) > N_STREAMS:
        return CONFLICT_CYCLES * rows
    return STREAM_CYCLES * (rows - N_STREAMS)


def lines_kept(step_bytes: int) -> int:
    """Return the number of cache lines, `step_bytes` apart, that half of L1 retains."""
    return _sets(step_bytes) * N_STREAMS // 2


def _sets(step_bytes: int) -> int:
    """Return the number of L1 sets that cache lines `step_bytes` apart use."""
    return WAY_BYTES // max(gcd(step_bytes, WAY_BYTES), LINE_BYTES)
