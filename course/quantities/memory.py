"""Quantities of the memory that a graph needs: the arena, the buffers and the constants."""

from __future__ import annotations

from compiler.ir.types import TensorType
from compiler.passes.cleanup.fold_constants import held_bytes
from compiler.runtime.thunks.select import Unlaunched
from course.quantities.quantity import quantity
from course.quantities.subject import Subject


@quantity("B")
def peak_bytes(subject: Subject) -> float:
    """The size of the arena in which all intermediate values live."""
    return subject.preview.plan.peak_bytes


@quantity("B")
def live_bytes(subject: Subject) -> float:
    """The most bytes of intermediate values that are live at one step: a bound of every plan."""
    return subject.preview.plan.lower_bound_bytes


@quantity("B")
def listed_live_bytes(subject: Subject) -> float:
    """The most bytes of intermediate values that are live at a node, in the order of the text."""
    graph = subject.graph
    last = {r: i for i, n in enumerate(graph.nodes) for r in n.reads}
    results = {r.value for r in graph.results}
    live = most = 0
    ends: dict[int, int] = {}
    for i, node in enumerate(graph.nodes):
        for v in node.values():
            if v.name in results or not isinstance(v.type, TensorType) or not v.type.is_static:
                continue
            live += v.type.nbytes
            end = last.get(v.name, i)
            ends[end] = ends.get(end, 0) + v.type.nbytes
        most = max(most, live)
        live -= ends.pop(i, 0)
    return most


@quantity("B")
def unshared_bytes(subject: Subject) -> float:
    """The size of an arena in which no two buffers share memory."""
    return subject.preview.plan.unshared_bytes


@quantity("count")
def buffers(subject: Subject) -> float:
    """The number of buffers of intermediate values; values that share their memory have one."""
    return len(subject.preview.plan.buffers)


@quantity("count")
def views(subject: Subject) -> float:
    """The number of nodes without a launch: their results use the memory of other values."""
    return sum(isinstance(thunk, Unlaunched) for thunk in subject.preview.thunks)


@quantity("B")
def weight_bytes(subject: Subject) -> float:
    """The bytes of all constants of the graph."""
    return sum(c.type.nbytes for c in subject.graph.constants.values())


@quantity("B")
def stored_bytes(subject: Subject) -> float:
    """The bytes that a file stores for all constants: one element if all elements are equal."""
    return sum(map(held_bytes, subject.graph.constants.values()))
