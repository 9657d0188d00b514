"""Fusions: groups of nodes that become one kernel.

    y: f32[N,8] = fusion(x, w, kind="contraction") {
      body: graph ...
    }

A fusion has an output for each inner value that is read outside. The body's inputs correspond to
the node's operands by position. A body captures nothing: splat constants are copied into the body.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from compiler.dataclass import dataclass
from compiler.errors import CompileError, require
from compiler.ir.constant import Constant
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node, Result, Value, merge_origins
from compiler.ir.infer import Facts, keep_layout, rule_for
from compiler.ir.operator import OPERATORS, Array
from compiler.ir.types import OpaqueType, TensorType, Type, logical


@rule_for("fusion")
def fusion_types(
    node: Node,
    types: Sequence[Type | None],
    known: Sequence[Array | None],
    outer: Mapping[str, Type],
) -> tuple[Type, ...]:
    """Infer the types of a fusion's outputs from its body and operands.

    Errors: E-GRAPH-TYPE if the body does not match the operands, and errors of type rules.
    """
    require("body" in node.regions, "E-GRAPH-TYPE", "a fusion needs a region named body")
    body = node.regions["body"]
    fits = len(body.inputs) == len(types) and not body.free_names
    require(
        fits,
        "E-GRAPH-TYPE",
        f"the body has {len(body.inputs)} inputs, the fusion {len(types)} operands",
    )
    facts = Facts.of_graph(body)
    for v, t, value in zip(body.inputs, types, known, strict=True):
        if t is None or logical(v.type) != logical(t):
            raise CompileError(
                "E-GRAPH-TYPE", f"{v.name!r} is {v.type} inside the fusion, {t} outside"
            )
        if value is not None:
            facts.known[v.name] = value
    for inner in body.nodes:
        inferred = facts.visit(inner)
        for name, recorded, t in zip(inner.outputs, inner.types, inferred, strict=True):
            if name and isinstance(recorded, TensorType):
                facts.types[name] = keep_layout(_closed(recorded, t), recorded)
    return tuple(logical(facts.types[r.value]) for r in body.results)


def _closed(recorded: TensorType, inferred: Type) -> Type:
    """Complete the open parts of an inferred type from the type recorded in the body."""
    from compiler.ir.verify import refines

    same = logical(recorded) == logical(inferred)
    if same or isinstance(inferred, OpaqueType) or refines(recorded, inferred):
        return recorded
    raise CompileError(
        "E-GRAPH-TYPE",
        f"a type inside a fusion is recorded as {recorded}, but inferred as {inferred}",
    )


@dataclass(frozen=True)
class _Around:
    """Queries on the readers of a group's values, for both graphs and editors."""

    graph: Graph | Editor

    def type(self, value: str) -> Type:
        return self.graph.types[value] if isinstance(self.graph, Graph) else self.graph.type(value)

    def constant(self, value: str) -> Constant | None:
        return self.graph.constants.get(value)

    def is_read_outside(self, value: str, group: Collection[str]) -> bool:
        if isinstance(self.graph, Graph):
            users: Sequence[Node] = self.graph.users.get(value, ())
            is_result = value in self.graph.result_values
        else:
            users, is_result = self.graph.users(value), self.graph.is_result(value)
        return is_result or any(n.output not in group for n in users)


def fuse_nodes(graph: Graph | Editor, nodes: Sequence[Node], kind: str) -> Node:
    """Create the fusion node of a group of nodes.

    `nodes` are in topological order; bodies of fusions among them are merged. The fusion node is
    returned, but not inserted into the graph. The fusion's outputs are the values that are read
    outside the group, in order, with their types and layouts. If the group is unread, its last
    value is the output. The fusion's name is that of the node that defines the first output. The
    fusion may replace the group only if no path leaves the group and re-enters it; the caller must
    check this.
    """
    around, group = _Around(graph), {n.output for n in nodes}
    produced = [v for n in nodes for v in n.values()]
    external = [v for v in produced if around.is_read_outside(v.name, group)]
    external = external or produced[-1:]  # a dead group has no readers
    inner, constants = _merged(nodes)
    defined = {o for n in inner for o in n.outputs if o} | set(constants)
    operands: dict[str, None] = {}
    factors = _factors(inner)
    for value in (r for n in inner for r in n.reads):
        if value in defined:
            continue
        c = around.constant(value)
        if c is not None and is_small(c) and value not in factors:
            constants[value] = c
            defined.add(value)
        else:
            operands[value] = None
    inputs = tuple(Value(name, around.type(name)) for name in operands)
    read = {r for n in inner for r in n.reads}
    body = Graph(
        kind,
        inputs,
        tuple(Result(v.name, v.name) for v in external),
        tuple(inner),
        {k: c for k, c in constants.items() if k in read},
    )
    first = next(n for n in nodes if external[0].name in n.outputs)
    return Node(
        "fusion",
        tuple(operands),
        tuple(v.name for v in external),
        tuple(v.type for v in external),
        {"kind": kind},
        first.name,
        merge_origins(*(n.origins for n in nodes)),
        {"body": body},
    )


def is_small(c: Constant) -> bool:
    """Return whether fusions copy a constant into their bodies: a splat, or a single element."""
    return c.is_splat or c.type.n_elements == 1


def _factors(nodes: Sequence[Node]) -> set[str]:
    """Return operands of contractions, which kernels load as tensors even if they are splats."""
    return {
        i
        for n in nodes
        if n.op in OPERATORS and OPERATORS[n.op].kind == "contraction"
        for i in n.inputs
    }


def body_names(node: Node) -> dict[str, str]:
    """Map the names inside a fusion's body to names outside; inputs map to the node's operands.

    Outputs of the body map to the fusion's outputs; other values retain their names.
    """
    body = node.regions["body"]
    names = {v.name: operand for v, operand in zip(body.inputs, node.inputs, strict=True)}
    names.update((r.value, o) for r, o in zip(body.results, node.outputs, strict=True))
    return names


def _merged(nodes: Sequence[Node]) -> tuple[list[Node], dict[str, Constant]]:
    """Inline the bodies of the fusions in a list of nodes; also return the bodies' constants.

    Names inside a body that conflict with outer names or with another body are renamed.
    """
    taken = {name for n in nodes for name in (*n.reads, *filter(None, n.outputs))}
    inner: list[Node] = []
    constants: dict[str, Constant] = {}
    for node in nodes:
        if node.op != "fusion":
            inner.append(node)
            continue
        body, names = node.regions["body"], body_names(node)
        for inside in body.types:
            if inside not in names:
                c = body.constants.get(inside)
                if c is None or constants.get(inside) != c:
                    names[inside] = _untaken(inside, taken)
                taken.add(names.get(inside, inside))
        constants.update((names.get(k, k), c) for k, c in body.constants.items())
        for n in body.nodes:
            outputs = tuple(names.get(o, o) for o in n.outputs)
            inner.append(replace(n.with_inputs(names), outputs=outputs))
    return inner, constants


def _untaken(name: str, taken: Collection[str]) -> str:
    while name in taken:
        name += "'"
    return name
