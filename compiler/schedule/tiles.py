"""Register tiles for contractions: how many rows and vectors one micro-kernel keeps in registers.

Each step of the reduction loads `vectors` vectors and `rows` scalars and does rows x vectors
multiply-adds. Source: the analytical model of Low et al. 2016 (BLIS, "Analytical modeling is enough
for high-performance BLIS"), reduced to issue slots, latency and the level of cache the packed
operand streams from.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.targets.target import Target

FMA_PER_CYCLE = 2
LOADS_PER_CYCLE = 2
FMA_LATENCY_CYCLES = 4
L2_BYTES_PER_CYCLE = 40
L3_BYTES_PER_CYCLE = 8
PEEL_PENALTY = 1.01
"""A shorter last tile is code of its own; taken only when it saves something."""


@dataclass(frozen=True, slots=True)
class Tile:
    """A register tile: scalars broadcast along rows, full vectors along the other side."""

    rows: int
    vectors: int


def choose_tile(n_rows: int, n_vectors: int, depth: int, target: Target) -> Tile:
    """The tile with the fewest estimated cycles for an n_rows x n_vectors x depth product.

    Units: rows in elements, vectors in full vectors, depth in steps of the reduction.
    """
    best, best_cycles = Tile(1, 1), float("inf")
    for vectors in range(1, min(n_vectors, target.n_vector_registers // 2) + 1):
        # One register for the broadcast and one per loaded vector besides the accumulators.
        most_rows = (target.n_vector_registers - vectors - 1) // vectors
        for rows in range(1, min(n_rows, most_rows) + 1):
            cycles = tile_cycles(rows, vectors, n_rows, n_vectors, depth, target)
            if cycles < best_cycles * 0.999:
                best, best_cycles = Tile(rows, vectors), cycles
    return best


def tile_cycles(
    rows: int, vectors: int, n_rows: int, n_vectors: int, depth: int, target: Target
) -> float:
    """Estimated cycles of the whole product with this tile, its shorter ends included."""
    total = 0.0
    n_peeled = 0
    for r, r_count in _parts(n_rows, rows):
        for v, v_count in _parts(n_vectors, vectors):
            total += r_count * v_count * (depth * _step_cycles(r, v, depth, target) + 8)
            n_peeled += 1
    return total * PEEL_PENALTY ** (n_peeled - 1)


def _parts(n: int, size: int) -> list[tuple[int, int]]:
    parts = [(size, n // size)] if n >= size else []
    return [*parts, (n % size, 1)] if n % size else parts


def _step_cycles(rows: int, vectors: int, depth: int, target: Target) -> float:
    compute = max(
        rows * vectors / FMA_PER_CYCLE, (rows + vectors) / LOADS_PER_CYCLE, FMA_LATENCY_CYCLES
    )
    strip_bytes = vectors * target.vector_bytes * depth
    if strip_bytes <= target.l1d_bytes // 2:
        return compute
    rate = L2_BYTES_PER_CYCLE if strip_bytes <= target.l2_bytes * 0.6 else L3_BYTES_PER_CYCLE
    return max(compute, vectors * target.vector_bytes / rate)
