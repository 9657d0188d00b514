"""Branches whose condition is known take the place of the node that would have chosen them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compiler.errors import CompileError
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node, Result, all_nodes, merge_origins, names_inside
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
from compiler.ops.control import CONTROL_FLOW
from compiler.ops.facets import through_facet
from compiler.ops.loop_form import is_true
from compiler.ops.protos import split_name
from compiler.passes.declare import is_declarable
from compiler.passes.determinism import is_deterministic
from compiler.passes.passes import graph_pass
from compiler.trace import Log


@graph_pass(
    gives=["constants"],
    example="""
    graph g(x: f32[2,3]) {
      const two: i64[] = literal(2)
      const axis: i64[] = literal(0)
      s: i64[2] = shape(x)
      n: i64[] = gather(s, axis, axis=0)
      c: bool[] = equal(n, two)
      y: f32[2,3] = onnx.If(c, opset=16) {
        then_branch: graph then() {
          a: f32[2,3] = exp(x)
          b: f32[2,3] = neg(a)
          return b
        }
        else_branch: graph otherwise() {
          d: f32[2,3] = abs(x)
          return d
        }
      }
      return y
    }
    =>
    graph g(x: f32[2,3]) {
      const two: i64[] = literal(2)
      const axis: i64[] = literal(0)
      s: i64[2] = shape(x)
      n: i64[] = gather(s, axis, axis=0)
      c: bool[] = equal(n, two)
      a: f32[2,3] = exp(x)
      y: f32[2,3] = neg(a) @ b
      return y
    }
    """,
)
def take_branches(graph: Graph, log: Log) -> Graph:
    """Where it is known which branch of an If is taken, its nodes stand there instead.

    Models ask for sizes and versions that are known once the shapes of the inputs are. What a
    branch gives then has the sizes of that branch alone, which may decide the next condition:
    types and small elements are followed on the way.
    """
    if not any(n.op == "onnx.If" for n in all_nodes(graph)):
        return graph
    walk = _Walk(graph, None, log)
    after = walk.run()
    return after if walk.n_taken else graph


class _Walk:
    """Builds a graph anew, node by node, so that everything before a node is known."""

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
        """What stands for a value that is gone."""
        self.n_taken = 0

    def run(self) -> Graph:
        for node in self.graph.nodes:
            self.visit(node)
        self.ed.results = [
            Result(r.name, self.names.get(r.value, r.value)) for r in self.graph.results
        ]
        return self.ed.graph()

    def visit(self, node: Node) -> None:
        node = node.with_inputs(self.names) if self.names else node
        if node.op == "onnx.If":
            condition = self.ed.known(node.inputs[0])
            if condition is not None and condition.dtype == bool and condition.size == 1:
                return self.take(node, "then_branch" if is_true(condition) else "else_branch")
            self.decline(node)
        if is_declarable(node) and self.declare(node):
            return None
        return self.keep(node)

    def decline(self, node: Node) -> None:
        because = f"what {node.inputs[0]} says is known only when the program runs"
        self.log.declined("take_branches", node.output, because, [node])

    def take(self, node: Node, key: str) -> None:
        """Put the nodes of a branch in the place of the node."""
        region = node.regions[key]
        rename: dict[str, str] = {}
        made_inside = {o for n in region.nodes for o in n.outputs if o}
        for output, r in zip(node.outputs, region.results, strict=False):
            if output and r.value in made_inside and r.value not in rename:
                rename[r.value] = output
        for name in region.types:
            if name not in rename and name in self.used:
                rename[name] = self.ed.fresh(name)
        region = rename_values(region, rename)
        self.used.update(region.types)
        for name, c in region.constants.items():
            self.ed.constants[name] = c
            self.ed.facts.constant(name, c)
        n_made = len(self.ed.made)
        for inner in region.nodes:
            self.visit(replace(inner, origins=merge_origins(inner.origins, node.origins)))
        for output, r in zip(node.outputs, region.results, strict=False):
            value = self.names.get(r.value, r.value)
            if output and output != value:
                self.names[output] = value
        self.n_taken += 1
        other = next(k for k in node.regions if k != key)
        because = (
            f"{node.inputs[0]} is {key == 'then_branch'}: {len(region.nodes)} nodes of {key} stay, "
            f"{len(node.regions[other].nodes)} of {other} go"
        )
        self.log.applied("take_branches", node.output, because, [node], self.ed.made[n_made:])

    def declare(self, node: Node) -> bool:
        """Take up a carried node whose operands are known well enough by now."""
        domain, op_type = split_name(node.op)
        attrs = {k: v for k, v in node.attrs.items() if k != "opset"}
        outputs = [self.ed.fresh(o) if o else "" for o in node.outputs]
        opset = int(node.attrs["opset"])
        try:
            values = through_facet(
                self.ed, op_type, domain, opset, node.inputs, attrs, outputs, node.name,
                node.origins,
            )  # fmt: skip
        except CompileError:
            return False
        if values is None:
            return False
        self.names.update((o, v) for o, v in zip(node.outputs, values, strict=True) if o)
        return True

    def keep(self, node: Node) -> None:
        facts = self.ed.facts
        if node.op in CONTROL_FLOW:
            node = typed_regions(node, facts)
            node = replace(node, regions={k: self.inside(g) for k, g in node.regions.items()})
        found = facts.visit(node)
        types = tuple(
            keep_layout(stated(t, old), old) for t, old in zip(found, node.types, strict=True)
        )
        self.ed.add(replace(node, types=types))
        self.follow(node, types)

    def inside(self, region: Graph) -> Graph:
        walk = _Walk(region, self.ed.facts, self.log)
        after = walk.run()
        self.n_taken += walk.n_taken
        return after if walk.n_taken else region

    def follow(self, node: Node, types: Sequence[object]) -> None:
        """Compute a small node whose operands are known: conditions are no shape arithmetic."""
        operator, facts = OPERATORS.get(node.op), self.ed.facts
        if operator is None or operator.reference_fn is None or node.output in facts.known:
            return
        operands = [facts.known.get(i) for i in node.inputs]
        known = all(not i or k is not None for i, k in zip(node.inputs, operands, strict=True))
        numbers = all(k is None or k.dtype != object for k in operands)
        if not (known and numbers and is_deterministic(node) and all(map(_is_small, types))):
            return
        for name, value in zip(node.outputs, evaluate_known(operator, operands, node.attrs),
                               strict=False):  # fmt: skip
            if name:
                facts.known[name] = value


def _is_small(t: object) -> bool:
    return (
        isinstance(t, TensorType)
        and t.is_static
        and t.n_elements <= KNOWN_LIMIT
        and t.dtype is not DType.string
    )
