"""Regions of a graph as egglog terms: the supported operators, and the syntax of calls.

A value from outside the region is `(L "name")`. A call such as `(N2 "add" "" a b)` states the
number of operands, the operator, its non-default attributes, and the operands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cache
from inspect import Parameter
from typing import Any

from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.ir.graph import Graph, Node
from compiler.ir.operator import OPERATORS, Operator, Tensor
from compiler.ir.text import attribute
from compiler.ir.types import TensorType, Type

MAX_OPERANDS = 3
"""Largest number of operands of a term; a call with more operands does not become a term."""

STRUCTURED = frozenset({"matmul", "transpose", "reshape", "concat"})  # Own: those of the axioms.
"""Supported operators besides elementwise operators without attributes."""


@dataclass(frozen=True, slots=True)
class Region:
    """Connected nodes that become terms, in topological order, and the outside values they read."""

    nodes: tuple[Node, ...]
    outputs: tuple[str, ...]


@cache
def is_pointwise(name: str) -> bool:
    """Whether an operator is elementwise without attributes."""
    op = OPERATORS.get(name)
    if op is None or op.kind != "elementwise" or op.schema.attributes:
        return False
    return 0 < len(op.schema.operands) <= MAX_OPERANDS


def takes_part(node: Node, graph: Graph) -> bool:
    """Whether a node becomes a term: supported operator, static tensors, one result."""
    if node.op not in STRUCTURED and not is_pointwise(node.op):
        return False
    if len(node.outputs) != 1 or not all(node.inputs) or len(node.inputs) > MAX_OPERANDS:
        return False
    return all(is_plain_tensor(t) for t in (node.type, *(graph.types[i] for i in node.inputs)))


def is_plain_tensor(t: Type) -> bool:
    """Whether terms support a type: numeric elements, static shape, plain order."""
    if not (isinstance(t, TensorType) and t.is_static and t.layout.is_plain):
        return False
    return t.dtype.label != "string" and not t.dtype.label.startswith("c")


def regions(graph: Graph, max_region: int) -> Iterator[Region]:
    """Yield connected regions of nodes that become terms, each of at most `max_region` nodes."""
    group: dict[str, int] = {}
    members: dict[int, list[Node]] = {}
    for node in graph.nodes:
        if not takes_part(node, graph):
            continue
        near = sorted({group[i] for i in node.inputs if i in group})
        joined = [n for g in near for n in members[g]]
        if not near or len(joined) >= max_region:
            near, joined = [len(graph.nodes) + len(group)], []
        for g in near[1:]:
            members.pop(g)
        members[near[0]] = [*joined, node]
        group.update((n.output, near[0]) for n in members[near[0]])
    order = {n.output: i for i, n in enumerate(graph.nodes)}
    for found in members.values():
        nodes = sorted(found, key=lambda n: order[n.output])
        inside = {id(n) for n in nodes}
        outputs = [n.output for n in nodes if _is_read_outside(n, graph, inside)]
        if len(nodes) > 1 and outputs:
            yield Region(tuple(nodes), tuple(outputs))


def _is_read_outside(node: Node, graph: Graph, inside: set[int]) -> bool:
    users = graph.users.get(node.output, ())
    return node.output in graph.result_values or any(id(u) not in inside for u in users)


@dataclass(slots=True)
class Vocabulary:
    """Attributes and types by their texts in terms."""

    attrs: dict[str, Mapping[str, Any]] = field(default_factory=lambda: {"": {}})
    types: dict[str, TensorType] = field(default_factory=dict)

    def attributes(self, node: Node) -> str:
        """Return the text of a node's attributes; for a reshape, the shape of its result."""
        if node.op == "reshape":
            text = f"shape={attribute(node.tensor.static_shape)}"
            self.attrs.setdefault(text, {"shape": node.tensor.static_shape})
            return text
        operator = OPERATORS[node.op]
        given = dict(node.attrs)
        if node.op == "concat":
            given["axis"] %= node.tensor.rank
        return self.attributes_of(operator, given)

    def attributes_of(self, operator: Operator, given: Mapping[str, Any]) -> str:
        """Return the text of attributes that differ from their defaults."""
        defaults = {k: p.default for k, p in operator.schema.attributes.items()}
        own = {
            k: v
            for k, v in given.items()
            if defaults.get(k, Parameter.empty) is Parameter.empty or defaults[k] != v
        }
        text = ",".join(f"{k}={attribute(v)}" for k, v in own.items())
        self.attrs.setdefault(text, own)
        return text

    def type_text(self, t: TensorType) -> str:
        """Return the text of a type, and record the type under this text."""
        text = str(t)
        self.types.setdefault(text, t)
        return text


def operands_of(node: Node) -> tuple[str, ...]:
    """Return the operands that become terms."""
    return node.inputs[:1] if node.op == "reshape" else node.inputs


def result_type(
    op: str, attrs: Mapping[str, Any], operands: Sequence[TensorType]
) -> TensorType | None:
    """Infer the type of a call by its type rule; return None if the rule rejects the operands."""
    if op == "reshape":
        made = replace(operands[0], shape=attrs["shape"])
        return made if made.n_elements == operands[0].n_elements else None
    operator = OPERATORS[op]
    try:
        (t,) = operator.infer([Tensor("", t) for t in operands], operator.bind(attrs))
    except (CompileError, ValueError):
        return None
    return t if isinstance(t, TensorType) and is_plain_tensor(t) else None


def quoted(text: str) -> str:
    """Quote a text for egglog."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def call(op: str, attrs: str, operands: Sequence[str]) -> str:
    """Format a call as a term."""
    return f"(N{len(operands)} {quoted(op)} {quoted(attrs)} {' '.join(operands)})"
