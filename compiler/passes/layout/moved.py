"""Copies without cost, since `fuse_data_movement` merges them with data movement."""

from __future__ import annotations

from compiler.ir.graph import Graph
from compiler.passes.fusion.fuse_data_movement import INJECTIVE
from compiler.passes.layout.units import kind_of


def is_moved(graph: Graph, value: str) -> bool:
    """Whether data movement, possibly before views, computes a value."""
    while _has_one_reader(graph, value):
        node = graph.producers.get(value)
        if node is None or len(node.outputs) != 1:
            return False
        if node.op in INJECTIVE:
            return True
        if kind_of(node) != "view":
            return False
        value = node.inputs[0]
    return False


def moves_on(graph: Graph, value: str) -> bool:
    """Whether data movement, possibly after views, is the only reader of a value."""
    while _has_one_reader(graph, value):
        (node,) = graph.users[value]
        if len(node.outputs) != 1 or node.inputs[0] != value:
            return False
        if node.op in INJECTIVE:
            return True
        if kind_of(node) != "view":
            return False
        value = node.output
    return False


def _has_one_reader(graph: Graph, value: str) -> bool:
    return len(graph.users.get(value, ())) == 1 and value not in graph.result_values
