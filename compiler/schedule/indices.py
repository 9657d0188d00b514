"""Substitution of loop indices in scalar expressions, simplified by the ranges of the indices."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.compute.scalar import IndexValue, Inside, Read, Reduce, Scalar, rewrite
from compiler.ir import affine
from compiler.ir.affine import Expr, Range


def substitute(
    value: Scalar,
    values: Mapping[str, Expr],
    ranges: Mapping[str, Range],
    reduced: tuple[str, ...] | None = None,
) -> Scalar:
    """Replace indices in a value, simplify, and remove tests that the ranges decide."""

    def index_of(e: Expr) -> Expr:
        return affine.simplify(affine.substitute(e, values), ranges)

    def change(s: Scalar) -> Scalar | None:
        match s:
            case Read(tensor, index, dtype):
                return Read(tensor, tuple(map(index_of, index)), dtype)
            case IndexValue(expr, dtype):
                return IndexValue(index_of(expr), dtype)
            case Inside(tests, then, otherwise):
                return _inside([(index_of(e), n) for e, n in tests], then, otherwise)
            case Reduce(combine, axes, body):
                return Reduce(combine, axes if reduced is None else reduced, rewrite(body, change))
            case _:
                return None

    def _inside(tests: list[tuple[Expr, Expr]], then: Scalar, otherwise: Scalar) -> Scalar:
        open_tests = []
        for e, n in tests:
            low, high = affine.bounds(e, ranges)
            least, most = affine.bounds(n - e, ranges)
            if high < 0 or most < 1:
                return rewrite(otherwise, change)
            if low < 0 or least < 1:
                open_tests.append((e, n))
        if not open_tests:
            return rewrite(then, change)
        return Inside(tuple(open_tests), rewrite(then, change), rewrite(otherwise, change))

    return rewrite(value, change)


def lies_inside(e: Expr, n: Expr, ranges: Mapping[str, Range], extents: Mapping[str, Expr]) -> bool:
    """Return whether `0 <= e < n` for all indices below their extents; extents may be symbolic."""
    if affine.bounds(e, ranges)[0] < 0:
        return False
    if isinstance(n, int) and affine.bounds(e, ranges)[1] < n:
        return True
    if isinstance(e, int):
        return affine.bounds(n - e, {})[0] >= 1
    if any(not isinstance(atom, str) or c < 0 for atom, c in e.terms):
        return False
    last = affine.substitute(e, {v: extent - 1 for v, extent in extents.items()})
    return affine.bounds(n - last, {})[0] >= 1
