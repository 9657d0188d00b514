"""A few nodes of a graph as a graph of their own: what a rewrite took, and what it made of it."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.constant import Constant
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node, Result, Value

RESULT = "result"
"""The public name of the one result of an excerpt."""


def excerpt(ed: Editor, nodes: Sequence[Node], value: str) -> Graph:
    """The graph that computes a value by some of an editor's nodes, read from anything else.

    What they read from outside are inputs; constants, and small values whose elements are known,
    are constants. Nodes that the value does not need are left out.
    """
    makers = {o: n for n in nodes for o in n.outputs if o}
    order: dict[str, Node] = {}
    outside: dict[str, None] = {}
    _gather(value, makers, order, outside)
    inputs: list[Value] = []
    constants: dict[str, Constant] = {}
    for name in outside:
        known = ed.constants.get(name)
        elements = ed.known(name) if known is None else None
        if known is not None:
            constants[name] = known
        elif elements is not None and elements.dtype != object:
            constants[name] = Constant.of(elements)
        else:
            inputs.append(Value(name, ed.type(name)))
    result = (Result(RESULT, value),)
    return Graph("excerpt", tuple(inputs), result, tuple(order.values()), constants)


def _gather(
    value: str, makers: dict[str, Node], order: dict[str, Node], outside: dict[str, None]
) -> None:
    """Nodes behind a value in topological order, and what they read from outside."""
    node = makers.get(value)
    if node is None:
        outside[value] = None
        return
    if node.output in order:
        return
    for i in node.reads:
        _gather(i, makers, order, outside)
    order[node.output] = node
