"""Merging of units that share a value: a producer and a reader, or two readers."""

from __future__ import annotations

from compiler.passes.fusion.fits import why_not_beside, why_not_into
from compiler.passes.fusion.units import Unit, Units


def try_to_merge(units: Units, a: Unit, b: Unit, max_nodes: int) -> Unit | None:
    """Merge two units if lowering supports the result and no path through a third unit exists."""
    if why_not(units, a, b, max_nodes):
        return None
    way = units.way(a, b)
    return None if way.obstacle else units.merge(a, b, way)


def why_not(units: Units, a: Unit, b: Unit, max_nodes: int) -> str:
    """Return the reason that two units cannot be one kernel, regardless of paths between them."""
    first, second = (a, b) if a.order < b.order else (b, a)
    if first in units.sources(second):
        return why_not_into(units, first, second, max_nodes)
    return why_not_beside(units, first, second, max_nodes)


def shared_bytes(units: Units, a: Unit, b: Unit) -> int:
    """Return the bytes of values that both units read, or that one unit passes to the other."""
    known_a = {*units.operands(a), *a.names}
    known_b = {*units.operands(b), *b.names}
    return sum(map(units.nbytes, known_a & known_b))
