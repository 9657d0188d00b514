"""Conditions for lowering units to one kernel: functions return the unmet condition, or "".

A kernel is a single loop nest. It contains one of these groups of nodes:

    elementwise nodes of equal shape
    a contraction, pool or reduction with an epilogue
    a reduction with a prologue that has no other readers
    several reductions of operands of equal shape, over the same axes
"""

from __future__ import annotations

from collections.abc import Iterable

from compiler.ir.graph import Node
from compiler.ir.operator import with_trait
from compiler.ir.types import TensorType
from compiler.passes.fusion.kinds import EXPENSIVE, overlap, share_lanes
from compiler.passes.fusion.separate_loops import (
    why_one_anchor,
    why_separate_loops,
    why_separate_siblings,
)
from compiler.passes.fusion.units import MOST_READERS, Unit, Units

AXIS_REDUCTIONS = with_trait("axis_reduction")


def why_not_into(units: Units, a: Unit, b: Unit, max_nodes: int, *, is_copy: bool = False) -> str:
    """Return the reason that unit `a` cannot be fused into its reader `b`, or "" if it can.

    The kernel must store each value of the two units that is a result of the graph or has other
    readers. With `is_copy` the fused unit is a copy of `a`, whose values have no other readers.
    """
    reason = _never(a, b, max_nodes)
    if reason:
        return reason
    if "other" in (a.kind, b.kind):
        return why_separate_loops(units.made[a.last], units.made[b.last])
    if a.anchors and b.anchors:
        return why_separate_loops(units.made[a.anchors[0]], units.made[b.anchors[0]])
    if a.anchors:
        return _at_results_of(units, a, b)
    stored = _stored_by_both(units, a, b, is_copy)
    return _in_front(units, a, b, stored) if b.anchors else _elementwise(units, a, b, stored)


def why_not_beside(units: Units, a: Unit, b: Unit, max_nodes: int) -> str:
    """Return the reason that two readers of a value cannot share a kernel, or "" if they can."""
    reason = _never(a, b, max_nodes)
    if reason:
        return reason
    if a.kind != b.kind or a.kind not in ("elementwise", "reduction"):
        if a.anchors and b.anchors:
            return why_one_anchor(units.made[a.anchors[0]], units.made[b.anchors[0]])
        return why_separate_siblings(units.made[a.last], units.made[b.last])
    if a.kind == "reduction":
        return _sums(units, a, b)
    return _elementwise(units, a, b, _stored_by_both(units, a, b))


def _never(a: Unit, b: Unit, max_nodes: int) -> str:
    if a.alone or b.alone:
        return a.alone or b.alone
    n = len(a.names) + len(b.names)
    if n <= max_nodes:
        return ""
    return (
        f"the groups that end in {a.last} and {b.last} have {n} nodes together, above the limit "
        f"of {max_nodes}"
    )


def _elementwise(units: Units, a: Unit, b: Unit, stored: list[str]) -> str:
    """Return the reason that two elementwise units cannot share a loop, or "" if they can."""
    first, second = units.made[a.last], units.made[b.last]
    if first.tensor.shape != second.tensor.shape:
        return _shapes(first, second)
    return _lanes(units.made[stored[0]], [units.made[v] for v in stored[1:]]) if stored else ""


def _stored_by_both(units: Units, a: Unit, b: Unit, is_copy: bool = False) -> list[str]:
    """Return the values that a kernel of two units must store."""
    both, results = {*a.names, *b.names}, units.graph.result_values
    names = b.names if is_copy else [*a.names, *b.names]
    return [v for v in names if v in results or not units.users.get(v, {}).keys() <= both]


def _at_results_of(units: Units, a: Unit, b: Unit) -> str:
    """Return the reason that elementwise nodes cannot be the epilogue of an anchor, or ""."""
    anchor = units.made[a.anchors[0]]
    for n in units.nodes(b):
        if n.tensor.shape != anchor.tensor.shape:
            return _shapes(anchor, n)
    return _lanes(anchor, units.nodes(b))


def _in_front(units: Units, a: Unit, b: Unit, stored: list[str]) -> str:
    """Return the reason that an elementwise unit cannot be fused into its anchor, or ""."""
    inside, anchor = {*b.anchors, *b.before}, units.made[b.anchors[0]]
    readers = {u for v in a.names for u in units.users.get(v, ()) if units.unit_of[u] is b}
    if not readers & inside:
        return _at_results_of(units, b, a)
    if b.kind == "contraction":
        return why_separate_loops(units.made[a.last], anchor)
    if readers - inside:
        return f"{a.last} has readers both before and behind {anchor.op} {anchor.output}"
    return _before_sum(units, a, b, stored)


def _before_sum(units: Units, a: Unit, b: Unit, stored: list[str]) -> str:
    """Return the reason that a unit cannot be the prologue of a reduction, or "" if it can."""
    anchor = units.made[b.anchors[0]]
    runs_over = units.types[anchor.inputs[0]]
    for n in units.nodes(a):
        if not isinstance(runs_over, TensorType) or n.tensor.shape != runs_over.shape:
            return f"the shapes differ: {n.output} is {n.type}, but {anchor.op} reads {runs_over}"
        if overlap(anchor) > 1 and n.op in EXPENSIVE:
            times = f"{overlap(anchor):.3g} times per element"
            return f"{n.op} is expensive, and {anchor.op} would compute it {times}"
    for v in (v for v in stored if v in a.names):
        if v in units.graph.result_values:
            return f"{v} is also a result of the graph, and {anchor.op} stores only {anchor.type}"
        if len(units.users[v]) > MOST_READERS:
            return f"{v} has {len(units.users[v])} readers, so it has to be stored"
        others = [u for u in units.users[v] if units.unit_of[u] not in (a, b)]
        shown = ", ".join(others[:3]) + (", ..." if len(others) > 3 else "")
        return f"{v} has other readers ({shown}), and {anchor.op} stores only {anchor.type}"
    return ""


def _sums(units: Units, a: Unit, b: Unit) -> str:
    """Return the reason that two reductions cannot share a loop over their operands, or ""."""
    first, second = units.made[a.anchors[0]], units.made[b.anchors[0]]
    if not {first.op, second.op} <= AXIS_REDUCTIONS:
        return f"{first.op} and {second.op}: only plain reductions share a pass over an operand"
    for word in ("axes", "keepdims"):
        if first.attrs.get(word) != second.attrs.get(word):
            own, other = first.attrs.get(word), second.attrs.get(word)
            return f"{first.output} has {word}={own}, {second.output} has {word}={other}"
    for x, y in ((first.inputs[0], second.inputs[0]), (first.output, second.output)):
        tx, ty = units.types[x], units.types[y]
        assert isinstance(tx, TensorType), f"{x} is {tx}"
        assert isinstance(ty, TensorType), f"{y} is {ty}"
        if tx.shape != ty.shape:
            return f"the shapes differ: {x} is {tx}, {y} is {ty}"
    return _lanes(first, [second])


def _shapes(a: Node, b: Node) -> str:
    return f"the shapes differ: {a.output} is {a.type}, {b.output} is {b.type}"


def _lanes(root: Node, others: Iterable[Node]) -> str:
    """Return the reason if vectors of the root and of other nodes differ in lane count, else ""."""
    for n in others:
        if not share_lanes(n, root):
            return f"the element types differ in size: {root.type} and {n.type}"
    return ""
