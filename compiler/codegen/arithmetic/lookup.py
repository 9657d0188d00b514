"""Tables of 16 or 32 numbers that stand in registers, and functions as polynomials by pieces.

AVX-512 picks a number for each lane by one instruction. So a range is cut into 16 or 32 pieces, and
each lane evaluates the polynomial of the piece that it is in: a short one, the same steps for all.
Polynomials are fitted when they are first needed, in f64 at Chebyshev's points of each piece.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from compiler.codegen.values import Value, constant_lanes
from compiler.dataclass import dataclass
from compiler.ir.types import DType

if TYPE_CHECKING:
    from compiler.codegen.arithmetic.functions import Arithmetic

LANES = 16
"""Lanes of the vectors that numbers are picked for."""

_ENTRIES = (16, 32)


def in_sixteens(a: Arithmetic, x: Value, function: Callable[[Value], Value]) -> Value:
    """A function of vectors of 16 lanes, of a number or of a vector of any length."""
    if x.lanes == LANES:
        return function(x)
    if not x.lanes:
        first = a.out.insert(Value("poison", x.dtype, LANES), x, 0)
        return a.out.extract(function(first), 0)
    parts = [
        function(a.out.shuffle(x, None, _span(start, x.lanes)))
        for start in range(0, x.lanes, LANES)
    ]
    total = parts[0]
    for i, part in enumerate(parts[1:], 1):
        wider = a.out.shuffle(part, None, _span(0, LANES, i * LANES))
        n = i * LANES
        total = a.out.shuffle(a.out.shuffle(total, None, _span(0, n, 0, n + LANES)), wider,
                              [*range(n), *range(2 * n + LANES, 2 * (n + LANES))])  # fmt: skip
    return total if total.lanes == x.lanes else a.out.shuffle(total, None, list(range(x.lanes)))


def picked(a: Arithmetic, table: Sequence[float], index: Value) -> Value:
    """For each of 16 lanes the number that the lowest bits of its index name."""
    assert index.lanes == LANES, f"{len(table)} numbers for {index.lanes} lanes"
    assert len(table) in _ENTRIES, f"{len(table)} numbers do not fill registers"
    low, *high = (
        constant_lanes(table[start : start + LANES], DType.f32)
        for start in range(0, len(table), LANES)
    )
    if high:
        return a.out.call("llvm.x86.avx512.vpermi2var.ps.512", DType.f32, LANES, low, index, *high)
    return a.out.call("llvm.x86.avx512.permvar.sf.512", DType.f32, LANES, low, index)


@dataclass(frozen=True, slots=True)
class Pieces:
    """Polynomials in the distance from the centre of a piece; tables in the order of indices."""

    centers: tuple[float, ...]
    coefficients: tuple[tuple[float, ...], ...]
    """For each power, the highest first, the factor in every piece."""

    def at(self, a: Arithmetic, distance: Value, index: Value, first: Value | None = None) -> Value:
        """The value of each lane's polynomial.

        Where `first` says that a lane is in the piece around 0, the distance is its constant term.
        """
        total, *rest, last = (picked(a, table, index) for table in self.coefficients)
        if first is not None:
            last = a.out.select(first, distance, last)
        for factor in (*rest, last):
            total = a.fma(total, distance, factor)
        return total


def fitted(
    function: Callable[[float], float],
    edges: Sequence[float],
    centers: Sequence[float],
    degree: int,
    first: int = 0,
    slope: float = 0.0,
) -> Pieces:
    """A function between edges by pieces; the first piece has the index `first`, others follow.

    Where the first centre is 0, so is the function: its piece has no constant term, and the error
    there is one of the function's quotient by x. A slope is taken away from that quotient.
    """
    rows: list[list[float]] = []
    for low, high, center in zip(edges, edges[1:], centers, strict=False):
        if center == 0:
            rows.append(
                [*_interpolated(lambda x: function(x) / x - slope, low, high, 0.0, degree - 1), 0]
            )
        else:
            rows.append(_interpolated(function, low, high, center, degree))
    turned = [(i - first) % len(rows) for i in range(len(rows))]
    return Pieces(
        tuple(centers[i] for i in turned), tuple(zip(*(rows[i] for i in turned), strict=True))
    )


def _interpolated(
    function: Callable[[float], float], low: float, high: float, center: float, degree: int
) -> list[float]:
    """The polynomial through a function at Chebyshev's points, highest power first."""
    middle, half = (low + high) / 2, (high - low) / 2
    angles = (math.pi * (i + 0.5) / (degree + 1) for i in range(degree + 1))
    points = [middle + half * math.cos(angle) for angle in angles]
    slopes = [function(p) for p in points]  # divided differences, after Newton
    for order in range(1, degree + 1):
        for i in range(degree, order - 1, -1):
            slopes[i] = (slopes[i] - slopes[i - 1]) / (points[i] - points[i - order])
    total = [slopes[degree]]
    for point, slope in zip(points[degree - 1 :: -1], slopes[degree - 1 :: -1], strict=True):
        away = point - center
        raised, lowered = [*total, 0.0], [0.0, *(away * c for c in total)]
        total = [up - down for up, down in zip(raised, lowered, strict=True)]
        total[-1] += slope
    return total


def _span(start: int, stop: int, before: int = 0, n: int = LANES) -> list[int]:
    """Picks of lanes from a start on, behind some undefined ones, n in all."""
    return [start + i - before if before <= i < before + stop - start else -1 for i in range(n)]
