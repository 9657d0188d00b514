"""A pass that rebuilds a graph node by node, with known facts about all earlier nodes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace

from compiler.errors import CompileError
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node, Result, merge_origins, names_inside
from compiler.ir.infer import (
    KNOWN_LIMIT,
    Facts,
    evaluate_known,
    keep_layout,
    stated,
    typed_regions,
)
from compiler.ir.operator import OPERATORS
from compiler.ir.regions import rename_values
from compiler.ir.types import DType, TensorType
from compiler.ops.control_flow.control import CONTROL_FLOW
from compiler.ops.onnx_import.facets import is_declarable, through_facet
from compiler.ops.protos import split_name
from compiler.passes.engine.determinism import is_deterministic
from compiler.trace import Log


class Rebuild(ABC):
    """A rebuilder of graphs; a subclass replaces nodes with regions.

    The rebuilder propagates types and small values, and resolves foreign nodes as soon as their
    operands are known.
    """

    def __init__(self, graph: Graph, outer: Facts | None, log: Log) -> None:
        self.graph = graph
        self.log = log
        self.ed = Editor(Graph(graph.name, (), (), ()), outer)
        for v in graph.inputs:
            self.ed.add_input(v)
            self.ed.facts.known.pop(v.name, None)
        for name, c in graph.constants.items():
            self.ed.constants[name] = c
            self.ed.facts.constant(name, c)
        self.ed.reserve(names_inside(graph))
        self.used = set(graph.types)
        self.names: dict[str, str] = {}
        """The replacement of each removed value."""
        self.n_replaced = 0

    @abstractmethod
    def rewrite(self, node: Node) -> bool:
        """Replace a node with regions; return False to keep it."""

    def run(self) -> Graph:
        """Rebuild and return the graph."""
        for node in self.graph.nodes:
            self.visit(node)
        self.ed.results = [
            Result(r.name, self.names.get(r.value, r.value)) for r in self.graph.results
        ]
        return self.ed.graph()

    def visit(self, node: Node) -> None:
        """Add a node, or its replacement."""
        node = node.with_inputs(self.names) if self.names else node
        if node.op in CONTROL_FLOW and self.rewrite(node):
            return
        if not (is_declarable(node) and self._declare(node)):
            self._keep(node)

    def put(
        self,
        region: Graph,
        origins: tuple[str, ...],
        given: Sequence[str] = (),
        wanted: Mapping[str, str] | None = None,
    ) -> list[str]:
        """Inline a region with the values `given` for its inputs; return the values of its results.

        `wanted` maps values of the region to new names; other values keep their names if these are
        free.
        """
        rename = dict(zip((v.name for v in region.inputs), given, strict=True))
        rename.update(wanted or {})
        for name in region.types:
            if name not in rename and name in self.used:
                rename[name] = self.ed.fresh(name)
        region = rename_values(self._apart(region), rename)
        self.used.update(region.types)
        for name, c in region.constants.items():
            self.ed.constants[name] = c
            self.ed.facts.constant(name, c)
        for inner in region.nodes:
            self.visit(replace(inner, origins=merge_origins(inner.origins, origins)))
        return [self.names.get(r.value, r.value) for r in region.results]

    def _apart(self, region: Graph) -> Graph:
        """Rename values inside the regions of a region so that no name equals an outer name."""
        nodes: list[Node] = []
        for node in region.nodes:
            if node.op in CONTROL_FLOW:
                inner = {k: self._apart(g) for k, g in node.regions.items()}
                fresh = {
                    k: rename_values(g, {n: self.ed.fresh(n) for n in g.types})
                    for k, g in inner.items()
                }
                node = replace(node, regions=fresh)
            nodes.append(node)
        return replace(region, nodes=tuple(nodes))

    def stand_in(self, node: Node, values: Sequence[str]) -> None:
        """Replace the outputs of a removed node with these values."""
        for output, value in zip(node.outputs, values, strict=False):
            if output and output != value:
                self.names[output] = value
        self.n_replaced += 1

    def _declare(self, node: Node) -> bool:
        """Resolve a foreign node if its operands are known."""
        domain, op_type = split_name(node.op)
        attrs = {k: v for k, v in node.attrs.items() if k != "opset"}
        outputs = [self.ed.fresh(o) if o else "" for o in node.outputs]
        try:
            values = through_facet(
                self.ed,
                op_type,
                domain,
                int(node.attrs["opset"]),
                node.inputs,
                attrs,
                outputs,
                node.name,
                node.origins,
            )
        except CompileError:
            return False
        if values is None:
            return False
        self.names.update((o, v) for o, v in zip(node.outputs, values, strict=True) if o)
        return True

    def _keep(self, node: Node) -> None:
        facts = self.ed.facts
        if node.op in CONTROL_FLOW:
            node = typed_regions(node, facts)
            regions = {k: self._inside(g, (node.output, k)) for k, g in node.regions.items()}
            node = replace(node, regions=regions)
        found = facts.visit(node)
        types = tuple(
            keep_layout(stated(t, old), old) for t, old in zip(found, node.types, strict=True)
        )
        self.ed.add(replace(node, types=types))
        self._follow(node, types)

    def _inside(self, region: Graph, way: tuple[str, str]) -> Graph:
        inner = type(self)(region, self.ed.facts, self.log)
        start = len(self.log.steps)
        after = inner.run()
        steps = self.log.steps[start:]
        self.log.steps[start:] = [replace(s, inside=(way, *s.inside)) for s in steps]
        self.n_replaced += inner.n_replaced
        return after if inner.n_replaced else region

    def _follow(self, node: Node, types: Sequence[object]) -> None:
        """Evaluate a small node with known operands, such as the condition of an If."""
        operator, facts = OPERATORS.get(node.op), self.ed.facts
        if operator is None or operator.reference_fn is None or node.output in facts.known:
            return
        operands = [facts.known.get(i) for i in node.inputs]
        known = all(not i or k is not None for i, k in zip(node.inputs, operands, strict=True))
        numbers = all(k is None or k.dtype != object for k in operands)
        if not (known and numbers and is_deterministic(node) and all(map(_is_small, types))):
            return
        made = evaluate_known(operator, operands, node.attrs)
        facts.known.update((n, v) for n, v in zip(node.outputs, made, strict=False) if n)


def _is_small(t: object) -> bool:
    return (
        isinstance(t, TensorType)
        and t.is_static
        and t.n_elements <= KNOWN_LIMIT
        and t.dtype is not DType.string
    )
