"""Reduction of tensor sizes, to judge a rewrite at a fraction of the cost.

If a size occurs only in the shapes of inputs, it is reduced in both graphs of a rewrite. Examples
are the sizes of images and the lengths of sequences. Other numbers in the graphs may depend on a
size indirectly. So a failure is verified with the original sizes before it is reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from compiler.errors import CompileError
from compiler.ir.graph import Graph, Node, Value, all_nodes
from compiler.ir.infer import infer
from compiler.ir.types import TensorType, Type
from compiler.ir.verify import verify

LARGE = 16
"""The largest size that is not reduced."""

FEW_ELEMENTS = 20_000
"""Sizes are reduced only if the inputs have at least this number of elements in total."""


def shrunk(before: Graph, after: Graph) -> tuple[Graph, Graph] | None:
    """Shrink both graphs; return None if no size shrinks or a graph becomes invalid."""
    types = [v.type for g in (before, after) for v in g.inputs]
    if not all(isinstance(t, TensorType) and t.is_static for t in types):
        return None
    shapes = [t.static_shape for t in types if isinstance(t, TensorType)]
    if sum(t.n_elements for t in types if isinstance(t, TensorType)) < FEW_ELEMENTS:
        return None
    mentioned = {n for g in (before, after) for n in _numbers(g)}
    large = sorted({d for s in shapes for d in s if d > LARGE} - mentioned)
    taken = mentioned | {d for s in shapes for d in s}
    small = (n for n in range(5, LARGE + 1) if n not in taken)
    sizes = dict(zip(large, small, strict=False))
    if not sizes:
        return None
    try:
        made = _resized(before, sizes), _resized(after, sizes)
    except CompileError:
        return None
    same = made[0].outputs[0].type == made[1].outputs[0].type
    return made if same else None


def _numbers(graph: Graph) -> Iterator[int]:
    """Yield the integers in a graph: sizes and elements of constants, and attributes."""
    for c in graph.constants.values():
        yield from c.type.static_shape
        if c.type.dtype.is_integer and c.type.n_elements <= LARGE:
            yield from (abs(int(n)) for n in c.array().reshape(-1))
    for node in all_nodes(graph):
        yield from _in_attribute(tuple(node.attrs.values()))
        for region in node.regions.values():
            yield from (n for c in region.constants.values() for n in c.type.static_shape)


def _in_attribute(value: Any) -> Iterator[int]:
    if isinstance(value, tuple):
        for part in value:  # type: ignore[reportUnknownVariableType]
            yield from _in_attribute(part)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield abs(value)


def _resized(graph: Graph, sizes: Mapping[int, int]) -> Graph:
    """Return the graph with replaced sizes and re-inferred types.

    Errors: any error of the type rules.
    """
    inputs = tuple(Value(v.name, _resized_type(v.type, sizes)) for v in graph.inputs)
    nodes = tuple(_untyped(n) for n in graph.nodes)
    made = infer(replace(graph, inputs=inputs, nodes=nodes))[0]
    verify(made)
    return made


def _resized_type(t: Type, sizes: Mapping[int, int]) -> Type:
    assert isinstance(t, TensorType), f"{t} is not a tensor"
    return replace(t, shape=tuple(sizes.get(d, d) for d in t.static_shape))


def _untyped(node: Node) -> Node:
    """Remove recorded sizes, since inference retains each recorded size that it cannot infer."""
    types = tuple(TensorType(t.dtype, None, t.layout) if isinstance(t, TensorType) else t
                  for t in node.types)  # fmt: skip
    return replace(node, types=types)
