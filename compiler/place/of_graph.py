"""Tasks of an optimised graph: one task for each node or fused group."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from compiler.ir.graph import Graph, Node
from compiler.ir.operator import OPERATORS
from compiler.ir.types import DType, TensorType, Type
from compiler.passes.engine.cost import reported_cost
from compiler.place.tasks import Datum, Task, TaskGraph


def tasks_of(graph: Graph) -> TaskGraph:
    """Return the tasks of a graph in node order, with the costs that the operators declare.

    Views are not tasks: the readers of a view read its underlying value. For each task, the
    constants that no other task reads form a single datum, as packed weights do. Values of open
    sizes count as 0 bytes.
    """
    source = view_sources(graph)
    users: dict[str, int] = {}
    nodes = [n for n in graph.nodes if n.output not in source]
    for node in nodes:
        for r in _reads(node, source):
            users[r] = users.get(r, 0) + 1
    data: dict[str, Datum] = {
        v.name: Datum(v.name, nbytes_of(v.type)) for v in graph.inputs if users.get(v.name)
    }
    tasks: list[Task] = []
    for node in nodes:
        reads, own = list[str](), 0
        for r in _reads(node, source):
            constant = graph.constants.get(r)
            if constant is None:
                reads.append(r)
            elif users[r] > 1:
                data.setdefault(r, Datum(r, nbytes_of(constant.type), is_weight=True))
                reads.append(r)
            else:
                own += nbytes_of(constant.type)
        if own:
            packed = f"{node.output}.weights"
            data[packed] = Datum(packed, own, is_weight=True)
            reads.append(packed)
        made = tuple(v.name for v in node.values())
        data.update((v.name, Datum(v.name, nbytes_of(v.type))) for v in node.values())
        cost = reported_cost(node, graph.types)
        given = (tuple(reads), made, cost, {}, node.origins)
        tasks.append(Task(node.output, operators_of(node), *given))
    for r in graph.results:
        name = source.get(r.value, r.value)
        if name in data:
            data[name] = replace(data[name], is_result=True)
    return TaskGraph(graph.name, tuple(tasks), tuple(data.values()))


def view_sources(graph: Graph) -> dict[str, str]:
    """Map each view to its underlying value, also if the view is a view of a view."""
    found: dict[str, str] = {}
    for node in graph.nodes:
        operator = OPERATORS.get(node.op)
        if operator is None or operator.kind != "view" or len(node.outputs) != 1:
            continue
        before = graph.types.get(node.inputs[0]) if node.inputs else None
        if before is None or node.inputs[0] in graph.constants:
            continue
        if nbytes_of(before) == nbytes_of(node.types[0]) > 0:
            found[node.output] = found.get(node.inputs[0], node.inputs[0])
    return found


def _reads(node: Node, source: dict[str, str]) -> Iterable[str]:
    return dict.fromkeys(source.get(r, r) for r in node.reads)


def operators_of(node: Node) -> tuple[str, ...]:
    """Return the operators that a device must support for a node or a fused group."""
    inner = node.regions["body"].nodes if node.op == "fusion" else (node,)
    return tuple(dict.fromkeys(n.op for n in inner))


def nbytes_of(t: Type) -> int:
    """Return the bytes of a value; 0 if unknown."""
    known = isinstance(t, TensorType) and t.is_static and t.dtype is not DType.string
    return t.nbytes if known and isinstance(t, TensorType) else 0
