"""The graph verifier: checks structure and names, and infers every type again."""

from __future__ import annotations

from collections.abc import Iterable

from compiler.dataclass import dataclass
from compiler.errors import CompileError, Where
from compiler.ir.graph import Graph, Node
from compiler.ir.infer import Facts
from compiler.ir.types import (
    OpaqueType,
    OptionalType,
    SequenceType,
    TensorType,
    Type,
    logical,
)


@dataclass(frozen=True, slots=True)
class Checked:
    """A verified graph with its types and known elements, for incremental verification."""

    graph: Graph
    facts: Facts


def verify(graph: Graph, outer: Facts | None = None, *, last: Checked | None = None) -> Facts:
    """Check that names are defined once and before use, types are correct, and results exist.

    Return the facts. `last` makes verification incremental. If a node is the same object and the
    types of its operands are unchanged, its types are not inferred again.
    Errors: E-GRAPH-NAME, E-GRAPH-TYPE, and errors of type rules.
    """
    facts = Facts.of_graph(graph, outer)
    seen: set[str] = set()
    _define(seen, (v.name for v in graph.inputs), graph.name)
    _define(seen, graph.constants, graph.name)
    same = _same_sources(graph, last)
    for node in graph.nodes:
        if last and _is_unchanged(node, last, same):
            _define(seen, filter(None, node.outputs), node.name)
            _copy(node, last.facts, facts)
            same.update(node.outputs)
            continue
        _check_captures(node, facts)
        if node.op != "fusion":  # the type rule of a fusion infers its body
            for region in node.regions.values():
                verify(region, facts)
        inferred = facts.visit(node)
        _define(seen, filter(None, node.outputs), node.name)
        for name, recorded, t in zip(node.outputs, node.types, inferred, strict=True):
            if name:
                _check_type(node, name, recorded, t)
                facts.types[name] = recorded
                if last and _is_same_value(name, last.facts, facts):
                    same.add(name)
    names = [r.name for r in graph.results]
    for r in graph.results:
        if r.value not in facts.types:
            raise CompileError("E-GRAPH-NAME", f"the result {r.value!r} is not defined")
    if len(set(names)) != len(names):
        raise CompileError("E-GRAPH-NAME", f"{graph.name} has two results of the same name")
    return facts


def _same_sources(graph: Graph, last: Checked | None) -> set[str]:
    """Return the inputs and constants that are unchanged since the verification of `last`."""
    if last is None:
        return set()
    inputs = {v.name: v for v in last.graph.inputs}
    same = {v.name for v in graph.inputs if inputs.get(v.name) == v}
    old = last.graph.constants
    return same | {name for name, c in graph.constants.items() if old.get(name) is c}


def _is_unchanged(node: Node, last: Checked, same: set[str]) -> bool:
    return last.graph.producers.get(node.output) is node and all(i in same for i in node.reads)


def _copy(node: Node, old: Facts, new: Facts) -> None:
    for name in filter(None, node.outputs):
        new.types[name] = old.types[name]
        if name in old.known:
            new.known[name] = old.known[name]


def _is_same_value(name: str, old: Facts, new: Facts) -> bool:
    """Return whether a value has the same type and known elements as in the last verification."""
    if old.types.get(name) != new.types[name]:
        return False
    a, b = old.known.get(name), new.known.get(name)
    if a is None or b is None:
        return a is b
    return a.dtype == b.dtype and a.shape == b.shape and bool((a == b).all())


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
    if logical(recorded) == logical(inferred) or refines(recorded, inferred):
        return
    raise CompileError(
        "E-GRAPH-TYPE",
        f"{name!r} is recorded as {recorded}, but {node.op} gives {inferred}",
        where=Where(node=node.name),
    )


def refines(recorded: Type, inferred: Type) -> bool:
    """Return whether the recorded type agrees with all facts that the inferred type states."""
    match recorded, inferred:
        case _, OpaqueType():
            return True
        case (SequenceType(a), SequenceType(b)) | (OptionalType(a), OptionalType(b)):
            return refines(a, b)
        case TensorType(), TensorType():
            return _refines_tensor(recorded, inferred)
        case _:
            return recorded == inferred


def _refines_tensor(recorded: TensorType, inferred: TensorType) -> bool:
    if recorded.dtype != inferred.dtype:
        return False
    if inferred.shape is None or recorded.shape is None:
        return inferred.shape is None
    return len(recorded.shape) == len(inferred.shape) and all(
        r == i or not isinstance(i, int)
        for r, i in zip(recorded.shape, inferred.shape, strict=True)
    )
