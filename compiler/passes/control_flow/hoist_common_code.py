"""Hoisting of nodes that both branches of an If compute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from compiler.ir.constant import Constant
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node, merge_origins
from compiler.ir.infer import Facts
from compiler.ir.legality import is_legal
from compiler.ir.text import attribute
from compiler.ir.types import logical
from compiler.passes.engine.declaration import graph_pass
from compiler.passes.engine.determinism import is_deterministic
from compiler.passes.engine.step_kind import step_kind
from compiler.trace import Log

BRANCHES = ("then_branch", "else_branch")


@graph_pass(
    aliases=("merge_branches",),
    known_as={"LLVM": "SimplifyCFG, GVNHoist", "XLA": "ConditionalCodeMotion"},
    gives=["single uses"],
    example="""
    graph g(x: f32[2,3], c: bool[]) {
      y: f32[2,3], z: f32[2,3] = onnx.If(c, opset=16) {
        then_branch: graph then() {
          a: f32[2,3] = exp(x)
          b: f32[2,3] = neg(a)
          return b, a
        }
        else_branch: graph otherwise() {
          e: f32[2,3] = exp(x)
          d: f32[2,3] = abs(e)
          return d, e
        }
      }
      return y, z
    }
    =>
    graph g(x: f32[2,3], c: bool[]) {
      a_2: f32[2,3] = exp(x)
      y: f32[2,3] = onnx.If(c, opset=16) {
        then_branch: graph then() {
          b: f32[2,3] = neg(a_2)
          return b
        }
        else_branch: graph otherwise() {
          d: f32[2,3] = abs(a_2)
          return d
        }
      }
      return y, z=a_2
    }
    """,
    steps=[
        step_kind(
            "take_out_of_branches",
            "If both branches compute the same node, hoist this node out of the If.",
            near_miss="""
            graph g(x: f32[2,3], c: bool[]) {
              y: f32[2,3] = onnx.If(c, opset=16) {
                then_branch: graph then() {
                  a: f32[2,3] = exp(x)
                  b: f32[2,3] = neg(a)
                  return b
                }
                else_branch: graph otherwise() {
                  e: f32[2,3] = sqrt(x)
                  d: f32[2,3] = abs(e)
                  return d
                }
              }
              return y
            }
            """,
        ),
        step_kind(
            "forward_result",
            "If both branches return the same value, read this value directly.",
            near_miss="""
            graph g(x: f32[2,3], z: f32[2,3], c: bool[]) {
              y: f32[2,3] = onnx.If(c, opset=16) {
                then_branch: graph then() {
                  return x
                }
                else_branch: graph otherwise() {
                  return z
                }
              }
              return y
            }
            """,
        ),
        step_kind(
            "drop_result",
            "If no node reads a result of an If, remove this result and its computation.",
            example="""
            graph g(x: f32[2,3], c: bool[]) {
              y: f32[2,3], z: f32[2,3] = onnx.If(c, opset=16) {
                then_branch: graph then() {
                  a: f32[2,3] = exp(x)
                  b: f32[2,3] = neg(x)
                  return a, b
                }
                else_branch: graph otherwise() {
                  e: f32[2,3] = sqrt(x)
                  d: f32[2,3] = abs(x)
                  return e, d
                }
              }
              return y
            }
            =>
            graph g(x: f32[2,3], c: bool[]) {
              y: f32[2,3] = onnx.If(c, opset=16) {
                then_branch: graph then() {
                  a: f32[2,3] = exp(x)
                  b: f32[2,3] = neg(x)
                  return a
                }
                else_branch: graph otherwise() {
                  e: f32[2,3] = sqrt(x)
                  d: f32[2,3] = abs(x)
                  return e
                }
              }
              return y
            }
            """,
            near_miss="""
            graph g(x: f32[2,3], c: bool[]) {
              y: f32[2,3], z: f32[2,3] = onnx.If(c, opset=16) {
                then_branch: graph then() {
                  a: f32[2,3] = exp(x)
                  b: f32[2,3] = neg(x)
                  return a, b
                }
                else_branch: graph otherwise() {
                  e: f32[2,3] = sqrt(x)
                  d: f32[2,3] = abs(x)
                  return e, d
                }
              }
              return y, z
            }
            """,
        ),
    ],
)
def hoist_common_code(graph: Graph, log: Log) -> Graph:
    """Hoist nodes common to both branches out of an If.

    Nodes common to both branches run for either condition. If a result is the same in both
    branches, its readers read the value outside the If. Results without readers are removed, and so
    is an If with equal branches. Source: XLA's ConditionalSimplifier.
    """
    if not any(n.op == "onnx.If" for n in graph.nodes):
        return graph
    ed = Editor(graph)
    nodes: list[Node] = []
    names: dict[str, str] = {}
    constants = dict(graph.constants)
    changed = False
    for node in graph.nodes:
        now = node.with_inputs(names) if names else node
        if node.op == "onnx.If" and set(now.regions) == set(BRANCHES):
            choice = _Choice(graph, ed, now, log)
            choice.take_out()
            choice.settle(names)
            nodes += choice.common
            constants.update(choice.constants)
            changed |= choice.is_changed
            if choice.left is None:
                continue
            now = choice.left
        nodes.append(now)
    if not changed:
        return graph
    results = tuple(replace(r, value=names.get(r.value, r.value)) for r in graph.results)
    return replace(graph, nodes=tuple(nodes), results=results, constants=constants)


class _Choice:
    """An If, the nodes that its branches share, and the If that remains."""

    def __init__(self, graph: Graph, ed: Editor, node: Node, log: Log) -> None:
        self.graph, self.ed, self.node, self.log = graph, ed, node, log
        self.then, self.other = (node.regions[k] for k in BRANCHES)
        self.left: Node | None = node
        self.common: list[Node] = []
        self.constants: dict[str, Constant] = {}
        self.shared: dict[Any, tuple[str, Constant]] = {}
        """For each constant that a branch returns: its name outside the If, and the constant."""
        self.is_changed = False

    def take_out(self) -> None:
        """Hoist the common nodes before the If, under fresh names."""
        numbers: dict[Any, int] = {}
        of_then, of_other = (_numbered(g, numbers) for g in (self.then, self.other))
        twins = {of_other[n.output]: n for n in self.other.nodes if n.output in of_other}
        in_then: dict[str, str] = {}
        in_other: dict[str, str] = {}
        facts = Facts.of_graph(self.then, self.ed.facts)
        for a in self.then.nodes:
            legal = is_legal(a, facts)
            facts.record(a)
            b = twins.get(of_then.get(a.output, -1))
            if b is None or any(i in self.then.producers and i not in in_then for i in a.inputs):
                continue
            if not legal:
                because = "the operands are illegal, so both branches fail"
                self.log.declined("take_out_of_branches", a.output, because, [a, b])
            elif self.log.may("take_out_of_branches", a.output):
                self.move(a, b, in_then, in_other)
        self.then = _without(self.then, in_then)
        self.other = _without(self.other, in_other)

    def move(self, a: Node, b: Node, in_then: dict[str, str], in_other: dict[str, str]) -> None:
        """Hoist a node that both branches compute."""
        for name in a.inputs:
            if name in self.then.constants and name not in in_then:
                in_then[name] = self.ed.fresh(name)
                self.constants[in_then[name]] = self.then.constants[name]
        made = a.with_inputs(in_then)
        outputs = tuple(self.ed.fresh(out) if out else "" for out in a.outputs)
        made = replace(made, outputs=outputs, origins=merge_origins(a.origins, b.origins))
        self.common.append(made)
        in_then.update((old, new) for old, new in zip(a.outputs, outputs, strict=True) if old)
        in_other.update((old, new) for old, new in zip(b.outputs, outputs, strict=True) if old)
        self.is_changed = True
        because = f"both branches of {self.node.output} compute this {a.op}"
        self.log.applied("take_out_of_branches", a.output, because, [a, b], [made])

    def settle(self, names: dict[str, str]) -> None:
        """Remove results with the same value in both branches, and results without readers."""
        gone: set[int] = set()
        for k, output in enumerate(self.node.outputs):
            one, two = (self.outside(g, k) for g in (self.then, self.other))
            if output and one == two and one is not None and self.fits(one, k):
                if not self.log.may("forward_result", output):
                    continue
                because = f"the result is {one} in both branches"
                self.log.applied("forward_result", output, because, [self.node], [one])
                self.constants.update((n, c) for n, c in self.shared.values() if n == one)
                names[output] = one
                gone.add(k)
            elif not output or not self.is_read(output):
                live = any(o and self.is_read(o) for o in self.node.outputs)
                if live and self.log.may("drop_result", output or f"{self.node.output}#{k}"):
                    because = "this result of the branches has no readers"
                    self.log.applied("drop_result", output, because, [self.node], [])
                    gone.add(k)
        self.is_changed |= bool(gone)
        self.left = self.without(gone)

    def is_read(self, output: str) -> bool:
        return output in self.graph.users or output in self.graph.result_values

    def outside(self, region: Graph, k: int) -> str | None:
        """Return the value outside the If that equals a result of a branch, or None."""
        value = region.results[k].value
        if (c := region.constants.get(value)) is not None:
            key = (c.type, c.storage)
            if key not in self.shared:
                self.shared[key] = (self.ed.fresh(value), c)
            return self.shared[key][0]
        return None if value in region.types else value

    def fits(self, value: str, k: int) -> bool:
        """Whether a value outside the If has exactly the type of the output."""
        made = {v.name: v.type for n in self.common for v in n.values()}
        made.update((n, c.type) for n, c in self.shared.values())
        t = made.get(value) or self.graph.types.get(value)
        return t is not None and logical(t) == logical(self.node.types[k])

    def without(self, gone: set[int]) -> Node | None:
        """Return the If without these results, or None if no result remains."""
        if len(gone) == len(self.node.outputs):
            return None
        then, other = (
            replace(g, results=tuple(r for k, r in enumerate(g.results) if k not in gone))
            for g in (self.then, self.other)
        )
        return replace(
            self.node,
            outputs=tuple(o for k, o in enumerate(self.node.outputs) if k not in gone),
            types=tuple(t for k, t in enumerate(self.node.types) if k not in gone),
            regions=dict(zip(BRANCHES, (then, other), strict=True)),
        )


def _without(region: Graph, names: Mapping[str, str]) -> Graph:
    """Remove the hoisted nodes from a region, which then reads their values from outside."""
    kept = (n for n in region.nodes if n.output not in names)
    results = tuple(replace(r, value=names.get(r.value, r.value)) for r in region.results)
    return replace(region, nodes=tuple(n.with_inputs(names) for n in kept), results=results)


def _numbered(region: Graph, numbers: dict[Any, int]) -> dict[str, int]:
    """Number the values of a region; equal computations get equal numbers.

    Nodes with regions, non-deterministic nodes, and all nodes that depend on them have no number.
    """
    found: dict[str, int] = {}

    def number(key: Any) -> int:
        return numbers.setdefault(key, len(numbers))

    for name, c in region.constants.items():
        found[name] = number((c.type, c.storage))
    for node in region.nodes:
        inputs = [found.get(i, i if i not in region.producers else None) for i in node.inputs]
        if None in inputs or node.regions or not is_deterministic(node):
            continue
        attrs = tuple((k, attribute(v)) for k, v in node.attrs.items())
        left_out = tuple(not out for out in node.outputs)
        key = (node.op, tuple(inputs), attrs, left_out, tuple(map(str, node.types)))
        for k, out in enumerate(node.outputs):
            if out:
                found[out] = number((key, k))
    return found
