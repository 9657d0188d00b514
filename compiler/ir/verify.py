"""The graph verifier: structure, names, and every type inferred again. Knows nothing of passes."""

from __future__ import annotations

from collections.abc import Iterable

from compiler.errors import CompileError, Where
from compiler.ir.graph import Graph, Node
from compiler.ir.infer import Facts
from compiler.ir.types import OpaqueType, TensorType, Type, logical


def verify(graph: Graph, outer: Facts | None = None) -> Facts:
    """Check that names are defined once and before use, types are right, and results exist.

    Returns the facts found on the way.
    Errors: E-GRAPH-NAME, E-GRAPH-TYPE, and what type rules raise.
    """
    facts = Facts.of_graph(graph, outer)
    seen: set[str] = set()
    _define(seen, (v.name for v in graph.inputs), graph.name)
    _define(seen, graph.constants, graph.name)
    for node in graph.nodes:
        _check_captures(node, facts)
        inferred = facts.visit(node)
        _define(seen, filter(None, node.outputs), node.name)
        for name, recorded, t in zip(node.outputs, node.types, inferred, strict=True):
            if name:
                _check_type(node, name, recorded, t)
                facts.types[name] = recorded
    names = [r.name for r in graph.results]
    for r in graph.results:
        if r.value not in facts.types:
            raise CompileError("E-GRAPH-NAME", f"the result {r.value!r} is not defined")
    if len(set(names)) != len(names):
        raise CompileError("E-GRAPH-NAME", f"{graph.name} has two results of the same name")
    return facts


def _define(seen: set[str], names: Iterable[str], place: str) -> None:
    for name in names:
        if name in seen:
            raise CompileError(
                "E-GRAPH-NAME", f"{name!r} is defined twice", where=Where(node=place)
            )
        seen.add(name)


def _check_captures(node: Node, facts: Facts) -> None:
    for region in node.regions.values():
        for name in region.free_names:
            if name not in facts.types:
                raise CompileError(
                    "E-GRAPH-NAME",
                    f"{name!r} is used in a region but defined nowhere",
                    where=Where(node=node.name),
                )


def _check_type(node: Node, name: str, recorded: Type, inferred: Type) -> None:
    if logical(recorded) == logical(inferred) or isinstance(inferred, OpaqueType):
        return
    if _refines(recorded, inferred):
        return
    raise CompileError(
        "E-GRAPH-TYPE",
        f"{name!r} is recorded as {recorded}, but {node.op} gives {inferred}",
        where=Where(node=node.name),
    )


def _refines(recorded: Type, inferred: Type) -> bool:
    """Whether the record only closes what inference leaves open (a model may state more)."""
    if not (isinstance(recorded, TensorType) and isinstance(inferred, TensorType)):
        return False
    if recorded.dtype != inferred.dtype:
        return False
    if inferred.shape is None or recorded.shape is None:
        return inferred.shape is None
    return len(recorded.shape) == len(inferred.shape) and all(
        r == i or not isinstance(i, int)
        for r, i in zip(recorded.shape, inferred.shape, strict=True)
    )
