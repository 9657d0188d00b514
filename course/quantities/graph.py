"""Quantities of the work of a graph: its nodes, kernels, operations and traffic."""

from __future__ import annotations

from compiler.ir.graph import all_nodes
from compiler.passes.engine.cost import CORE
from compiler.runtime.thunks.select import inner_thunks
from course.quantities.quantity import quantity
from course.quantities.subject import Subject


@quantity("count")
def nodes(subject: Subject) -> float:
    """The number of nodes of the graph; the nodes inside a fusion count, the fusion does not."""
    return sum(1 for n in all_nodes(subject.graph) if n.op != "fusion")


@quantity("count")
def parameters(subject: Subject) -> float:
    """The number of elements of all floating-point constants; the weights of a model."""
    return sum(c.type.n_elements for c in subject.graph.constants.values() if c.type.dtype.is_float)


@quantity("count")
def kernels(subject: Subject) -> float:
    """The number of launches of one run: generated kernels and fallbacks."""
    return sum(not k.inside for k in subject.preview.kernels)


@quantity("count")
def fallbacks(subject: Subject) -> float:
    """The number of nodes that the reference implementation runs."""
    return len(subject.preview.fallbacks)


@quantity("flop")
def flops(subject: Subject) -> float:
    """The floating-point operations of one run, as the operators declare them."""
    return subject.cost.flops


@quantity("B")
def bytes(subject: Subject) -> float:
    """The bytes that kernels read and write in one run, if every operand comes from memory."""
    return subject.cost.bytes_moved


@quantity("count")
def copies(subject: Subject) -> float:
    """The number of nodes that only copy a value to another memory layout."""
    return sum(n.op == "relayout" for n in all_nodes(subject.graph))


@quantity("flop/B")
def intensity(subject: Subject) -> float:
    """The arithmetic intensity: operations per byte of memory traffic."""
    return subject.cost.flops / max(subject.cost.bytes_moved, 1)


@quantity("count")
def loop_lines(subject: Subject) -> float:
    """The number of lines of the loops of all generated kernels."""
    kernels = (thunk.scheduled.kernel for thunk in inner_thunks(subject.preview.thunks))
    return sum(str(kernel).count("\n") + 1 for kernel in kernels)


@quantity("s")
def modelled_seconds(subject: Subject) -> float:
    """The time of one run by the roofline model of a typical core."""
    return CORE.seconds(subject.cost, int(kernels(subject)))
