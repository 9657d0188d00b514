"""Comparison of two results: bitwise, or within an error budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from compiler.check.margins import Expected, number, tiny
from compiler.dataclass import dataclass
from compiler.ir.graph import Graph, all_nodes
from compiler.ir.operator import OPERATORS, Array

_SUMS = ("contraction", "reduction", "scan", "opaque")


@dataclass(frozen=True, slots=True)
class Verdict:
    """A description of the difference between results ("" for none), and the relative error.

    The error is relative to the scale of the result.
    """

    objection: str = ""
    error: float = 0.0


FINE = Verdict()


def keeps_bits(graph: Graph) -> bool:
    """Return whether all correct computations of a graph give bit-identical results.

    Sums depend on the order of their terms. Results of library functions depend on the alignment of
    elements.
    """
    for node in all_nodes(graph):
        operator = OPERATORS.get(node.op)
        if node.op != "fusion" and (operator is None or not operator.exact):
            return False
    return True


def adds_up(graph: Graph) -> bool:
    """Return whether the graph has inexact sums, whose overflow depends on the order of terms."""
    return any(
        (o := OPERATORS.get(n.op)) is None or (o.kind in _SUMS and not o.exact)
        for n in all_nodes(graph)
        if n.op != "fusion"
    )


def may_underflow(graph: Graph) -> bool:
    """Return whether the graph has a logarithm, which is infinite if its operand underflows."""
    return any(n.op == "log" for n in all_nodes(graph))


def same_bits(a: Any, b: Any) -> bool:
    """Return whether type, shape and elements are equal; zeros of both signs count as equal.

    Two NaN values also count as equal.
    """
    if isinstance(a, list | tuple) or isinstance(b, list | tuple):
        both = isinstance(a, list | tuple) and isinstance(b, list | tuple)
        return both and len(a) == len(b) and all(map(same_bits, a, b))
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        return bool(a is b or a == b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return bool(_same(a, b).all())


def judge(
    made: Any,
    own: Any,
    expected: Callable[[], Expected],
    *,
    budget: float = 0.0,
    bits: bool = False,
    loose_infinities: bool = False,
    underflow: bool = False,
    extreme: bool = False,
    made_wide: Callable[[], Any] = lambda: None,
) -> Verdict:
    """Compare a result with the original (`own`) and, where they differ, with the f64 result.

    `bits` requires equal bits. `budget` is the allowed error relative to the result's scale, in
    addition to the effect of noise. With `loose_infinities`, every result is correct where the
    original is not finite. The following options apply only to a budget above 0. `made_wide`
    computes the same result in f64. If this f64 result is correct, an overflow of the result counts
    as rounding. With `extreme` inputs, every difference then counts as rounding. With `underflow`,
    an infinity of the original may be the logarithm of an underflowed number. A result in place of
    this infinity is correct if its magnitude is at least -log(smallest normal number).
    """
    if same_bits(made, own):
        return FINE
    if not isinstance(made, np.ndarray) or not isinstance(own, np.ndarray) or own.dtype == object:
        return Verdict("another value", np.inf)
    if (made.dtype, made.shape) != (own.dtype, own.shape):
        text = f"{made.dtype}{list(made.shape)} instead of {own.dtype}{list(own.shape)}"
        return Verdict(text, np.inf)
    same = _same(made, own)
    if bits:
        return _verdict(made, own, ~same, own, 0.0)
    e = expected()
    if not e.certain.shape == own.shape:
        return _verdict(made, own, ~same, own, 0.0)
    if own.dtype.kind in "biu":
        return _verdict(made, own, ~same & e.certain, own, 0.0)
    fine = _near(made, own, same, e, budget)
    if loose_infinities:
        fine |= ~np.isfinite(number(own))
    if underflow and budget:
        fine |= np.isinf(number(own)) & (np.abs(number(made)) >= -np.log(tiny(own.dtype)))
    if budget and not fine.all() and (extreme or not np.isfinite(number(made)[~fine]).all()):
        meant = _near(np.asarray(made_wide()), own, same, e, budget)
        fine |= meant & (extreme | ~np.isfinite(number(made)))
    return _verdict(made, e.wide, ~fine, e.wide, scale_of(e.wide))


def _near(made: Array, own: Array, same: Array, e: Expected, budget: float) -> Array:
    """Return a mask of the elements that are correct up to rounding and the budget."""
    if made.shape != own.shape:
        return np.zeros(own.shape, bool)
    a, b, w = number(made), number(own), e.wide
    with np.errstate(all="ignore"):
        allowed = e.margin + budget * scale_of(w)
        near = (np.abs(a - w) <= allowed) | (np.abs(a - b) <= allowed)
        return np.asarray(same | near | _same(a, w) | ~e.certain)


def scale_of(values: Array) -> float:
    """Return the largest finite magnitude of the values."""
    finite = np.abs(values[np.isfinite(values)])
    return float(finite.max(initial=0.0))


def _same(a: Array, b: Array) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray((a == b) | ((a != a) & (b != b)))


def _verdict(made: Array, wanted: Array, wrong: Array, wide: Array, scale: float) -> Verdict:
    if not wrong.any():
        return FINE
    place = tuple(int(i) for i in np.argwhere(wrong)[0])
    with np.errstate(all="ignore"):
        errors = np.abs(number(made)[wrong] - number(wide)[wrong])
    scale = scale or scale_of(number(wide))
    worst = float(np.nan_to_num(errors, nan=np.inf, posinf=np.inf).max())
    return Verdict(
        f"{int(wrong.sum())} of {wrong.size} elements differ, first at {list(place)}: "
        f"{made[place]!s} instead of {wanted[place]!s}",
        worst / scale if scale and np.isfinite(worst) else worst,
    )


def judge_all(
    made: Mapping[str, Any], own: Mapping[str, Any], one: Callable[[str], Verdict]
) -> tuple[str, Verdict]:
    """Return the name of the first wrong result and the verdict on it; "" if all are correct."""
    for name in own:
        if name not in made:
            return name, Verdict("missing", np.inf)
        verdict = one(name)
        if verdict.objection:
            return name, verdict
    return "", FINE
