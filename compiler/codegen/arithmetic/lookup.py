"""Lookup tables of 16 or 32 numbers in registers, and piecewise polynomials.

One AVX-512 instruction (vpermps) looks up a number for each lane. The domain of a function is
divided into 16 or 32 pieces, each with a polynomial of low degree. All lanes execute the same
steps, each lane with the coefficients of its piece. Polynomials are fitted on first use, in f64 at
the Chebyshev points of each piece.
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
"""The number of lanes of a lookup."""

_ENTRIES = (16, 32)


def in_sixteens(a: Arithmetic, x: Value, function: Callable[[Value], Value]) -> Value:
    """Apply a function of 16 lanes to a scalar or to a vector of any length."""
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
    """Look up a number for each of 16 lanes by the low bits of its index."""
    assert index.lanes == LANES, f"a lookup has {LANES} lanes, not {index.lanes}"
    assert len(table) in _ENTRIES, f"a table has {_ENTRIES} numbers, not {len(table)}"
    low, *high = (
        constant_lanes(table[start : start + LANES], DType.f32)
        for start in range(0, len(table), LANES)
    )
    if high:
        return a.out.call("llvm.x86.avx512.vpermi2var.ps.512", DType.f32, LANES, low, index, *high)
    return a.out.call("llvm.x86.avx512.permvar.sf.512", DType.f32, LANES, low, index)


@dataclass(frozen=True, slots=True)
class Pieces:
    """Polynomials by index of the piece; their variable is the distance from the piece's centre."""

    centers: tuple[float, ...]
    coefficients: tuple[tuple[float, ...], ...]
    """For each power, highest first: the coefficients of all pieces."""

    def at(self, a: Arithmetic, distance: Value, index: Value, first: Value | None = None) -> Value:
        """Evaluate the polynomial of each lane's piece.

        Lanes in which `first` holds are in the piece around 0. In these lanes, the distance from
        the centre replaces the constant term of the polynomial.
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
    """Fit a function piecewise between edges; the first piece has index `first`.

    If the first centre is 0, the function must be 0 at 0. The polynomial of a piece around 0 has no
    constant term, and approximates f(x) / x minus the given slope.
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
    """Interpolate a function at the Chebyshev points; return coefficients, highest power first."""
    middle, half = (low + high) / 2, (high - low) / 2
    angles = (math.pi * (i + 0.5) / (degree + 1) for i in range(degree + 1))
    points = [middle + half * math.cos(angle) for angle in angles]
    slopes = [function(p) for p in points]  # Newton's divided differences
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
    """Return a shuffle mask of n lanes: `before` undefined lanes, then lanes from `start` on."""
    return [start + i - before if before <= i < before + stop - start else -1 for i in range(n)]
