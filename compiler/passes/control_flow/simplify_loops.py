"""Removal of loop states that never change, and of results without readers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from compiler.ir.closing import with_closed_types
from compiler.ir.graph import Graph, Node, names_inside
from compiler.ir.types import logical
from compiler.ops.control_flow.control import is_batched, n_scanned
from compiler.passes.engine.declaration import graph_pass
from compiler.passes.engine.step_kind import step_kind
from compiler.trace import Log

T = TypeVar("T")
SAME = ("identity", "onnx.Identity")
PER_RESULT = ("scan_output_axes", "scan_output_directions")
"""Attributes of a Scan with an entry for each scan output."""


@graph_pass(
    known_as={"XLA": "WhileLoopSimplifier"},
    gives=["constants"],
    example="""
    graph g(x: f32[5,3], a: f32[3], b: f32[3]) {
      y: f32[3], same: f32[3], unread: f32[3], z: f32[5,3], w: f32[5,3] = onnx.Scan(a, b, a, x,
          num_scan_inputs=1, opset=16) {
        body: graph step(s: f32[3], t: f32[3], u: f32[3], r: f32[3]) {
          e: f32[3] = mul(s, t)
          d: f32[3] = add(e, r)
          k: f32[3] = exp(u)
          v: f32[3] = neg(d)
          return d, t, k, v, last=d
        }
      }
      return y, same, z
    }
    =>
    graph g(x: f32[5,3], a: f32[3], b: f32[3]) {
      y: f32[3], z: f32[5,3] = onnx.Scan(a, x, num_scan_inputs=1, opset=16) {
        body: graph step(s: f32[3], r: f32[3]) {
          e: f32[3] = mul(s, b)
          d: f32[3] = add(e, r)
          v: f32[3] = neg(d)
          return d, v
        }
      }
      return y, same=b, z
    }
    """,
    steps=[
        step_kind(
            "capture_state",
            "If no iteration changes a state, read its initial value from outside the loop.",
            near_miss="""
            graph g(x: f32[5,3], a: f32[3]) {
              y: f32[3], z: f32[5,3] = onnx.Scan(a, x, num_scan_inputs=1, opset=16) {
                body: graph step(s: f32[3], r: f32[3]) {
                  d: f32[3] = add(s, r)
                  v: f32[3] = neg(d)
                  return d, v
                }
              }
              return y, z
            }
            """,
        ),
        step_kind(
            "drop_state",
            "Remove a state on which no result of the loop depends.",
            near_miss="""
            graph g(x: f32[5,3], a: f32[3]) {
              y: f32[3], u: f32[3] = onnx.Scan(a, a, x, num_scan_inputs=1, opset=16) {
                body: graph step(s: f32[3], t: f32[3], r: f32[3]) {
                  d: f32[3] = add(s, r)
                  k: f32[3] = exp(t)
                  return d, k
                }
              }
              return y, u
            }
            """,
        ),
        step_kind(
            "drop_pieces",
            "Remove a scan output that no node reads.",
            near_miss="""
            graph g(x: f32[5,3], a: f32[3]) {
              y: f32[3], z: f32[5,3] = onnx.Scan(a, x, num_scan_inputs=1, opset=16) {
                body: graph step(s: f32[3], r: f32[3]) {
                  d: f32[3] = add(s, r)
                  v: f32[3] = neg(d)
                  return d, v
                }
              }
              return y, z
            }
            """,
        ),
    ],
)
def simplify_loops(graph: Graph, log: Log) -> Graph:
    """Remove loop states that never change and loop results that nothing reads.

    A state that every iteration returns unchanged equals its initial value. The body captures the
    initial value instead, so nodes that depend only on this value can move before the loop. A state
    is dead if only its own update reads it. A scan output without readers is dead, too. Source:
    XLA's WhileLoopSimplifier and WhileLoopConstantSinking.
    """
    if not any(_is_loop(n) for n in graph.nodes):
        return graph
    nodes: list[Node] = []
    names: dict[str, str] = {}
    changed = False
    for node in graph.nodes:
        now = node.with_inputs(names) if names else node
        if _is_loop(now):
            loop = _Loop(graph, now, log)
            loop.capture(names)
            loop.drop()
            changed |= loop.is_changed
            now = loop.finished()
            if not any(now.outputs):
                continue  # Each result equals an initial value.
        nodes.append(now)
    if not changed:
        return graph
    results = tuple(replace(r, value=names.get(r.value, r.value)) for r in graph.results)
    return with_closed_types(replace(graph, nodes=tuple(nodes), results=results))


def _is_loop(node: Node) -> bool:
    return node.op == "onnx.Loop" or (node.op == "onnx.Scan" and not is_batched(node))


class _Loop:
    """A Loop or Scan, and the result numbers of its removed states and scan outputs."""

    def __init__(self, graph: Graph, node: Node, log: Log) -> None:
        self.graph, self.node, self.log = graph, node, log
        self.body = node.regions["body"]
        is_scan = node.op == "onnx.Scan"
        self.first = 0 if is_scan else 2
        """The index of the first state in the loop's operands, and in the body's inputs."""
        self.first_result = 0 if is_scan else 1
        n_others = n_scanned(node) if is_scan else 2
        self.n_states = max(len(node.inputs) - n_others, 0)
        self.gone: set[int] = set()

    @property
    def is_changed(self) -> bool:
        """Whether any state or scan output is removed."""
        return bool(self.gone)

    def output(self, k: int) -> str:
        """Return the loop's output for a state or scan output, or "" if the output is omitted."""
        return self.node.outputs[k] if k < len(self.node.outputs) else ""

    def label(self, k: int) -> str:
        """Return a name for the ledger: the loop's output, or else the body's value."""
        return self.output(k) or self.body.results[self.first_result + k].name

    def is_read(self, k: int) -> bool:
        """Whether an output has readers."""
        name = self.output(k)
        return bool(name) and (name in self.graph.users or name in self.graph.result_values)

    # Unchanged states

    def capture(self, names: dict[str, str]) -> None:
        """Replace each unchanged state with its initial value, in the body and after the loop."""
        for k in range(self.n_states):
            given = self.body.inputs[self.first + k].name
            if self.handed_on(self.body.results[self.first_result + k].value) != given:
                continue
            objection = self.objection(k)
            if self.log.may("capture_state", self.label(k), objection, [self.node]):
                start = self.node.inputs[self.first + k]
                because = f"every iteration returns this state unchanged, so it is always {start}"
                self.log.applied("capture_state", self.label(k), because, [self.node], [start])
                self.gone.add(k)
                self.body = _reading(self.body, {given: start})
                if self.output(k):
                    names[self.output(k)] = start

    def handed_on(self, value: str) -> str:
        """Skip identities: return the value that they copy."""
        while (node := self.body.producers.get(value)) is not None and node.op in SAME:
            value = node.inputs[0]
        return value

    def objection(self, k: int) -> str:
        start = self.node.inputs[self.first + k]
        given = self.body.inputs[self.first + k].type
        if not start:
            return "the state has no initial value"
        t = self.graph.types[start]
        types = [given, *([self.node.types[k]] if self.output(k) else [])]
        if other := next((o for o in types if logical(o) != logical(t)), None):
            return f"the initial value of the state is {t}, but its type is {other}"
        if start in names_inside(self.body):
            return f"{start} names another value inside the body"
        return ""

    # Values without readers

    def drop(self) -> None:
        """Find states and scan outputs that affect no value with readers."""
        n = len(self.body.results) - self.first_result
        live = [k for k in range(n) if k not in self.gone and self.is_read(k)]
        if not live:
            return  # Either the entire loop is dead, or it has side effects.
        refused: set[int] = set()
        asked: set[int] = set()
        while True:
            unread = self.unread({*live, *refused})
            fresh = unread - asked
            asked |= fresh
            turned_down = {k for k in fresh if not self.log.may(self.rule(k), self.label(k))}
            if not turned_down:
                break
            refused |= turned_down
        for k in sorted(unread):
            kind = "state" if k < self.n_states else "scan output"
            because = f"no value with readers depends on this {kind}"
            self.log.applied(self.rule(k), self.label(k), because, [self.node], [])
        self.gone |= unread

    def rule(self, k: int) -> str:
        return "drop_state" if k < self.n_states else "drop_pieces"

    def unread(self, live: set[int]) -> set[int]:
        """Return the states and scan outputs on which no live output and no condition depends."""
        n = len(self.body.results) - self.first_result
        inputs = {v.name: i - self.first for i, v in enumerate(self.body.inputs)}
        live = set(live)
        done: set[int] = set()
        values = [r.value for r in self.body.results[: self.first_result]]
        while True:
            for value in self.needed(values):
                k = inputs.get(value, -1)
                if 0 <= k < self.n_states and k not in self.gone:
                    live.add(k)
            if live == done:
                return {k for k in range(n) if k not in live and k not in self.gone}
            values = [self.body.results[self.first_result + k].value for k in live - done]
            done = set(live)

    def needed(self, values: Iterable[str]) -> set[str]:
        """Return these values of the body and all values on which they depend."""
        found, pending = set[str](), list(values)
        while pending:
            value = pending.pop()
            if value in found:
                continue
            found.add(value)
            node = self.body.producers.get(value)
            if node is not None:
                pending += node.reads
        return found

    # The loop without removed states and scan outputs

    def finished(self) -> Node:
        """Return the loop without the removed states and the nodes that only these states need."""
        if not self.gone:
            return self.node
        node, body = self.node, self.body
        at_inputs = {self.first + k for k in self.gone if k < self.n_states}
        results = _but(body.results, {self.first_result + k for k in self.gone})
        needed = self.needed(r.value for r in results)
        body = replace(
            body,
            inputs=_but(body.inputs, at_inputs),
            results=results,
            nodes=tuple(n for n in body.nodes if not needed.isdisjoint(n.outputs)),
        )
        attrs = dict(node.attrs)
        for key in PER_RESULT:
            if attrs.get(key):
                attrs[key] = _but(attrs[key], {k - self.n_states for k in self.gone})
        return replace(
            node,
            inputs=_but(node.inputs, at_inputs),
            outputs=_but(node.outputs, self.gone),
            types=_but(node.types, self.gone),
            attrs=attrs,
            regions={"body": body},
        )


def _but(values: tuple[T, ...], places: set[int]) -> tuple[T, ...]:
    """Return the values, without the items at the given positions."""
    return tuple(v for i, v in enumerate(values) if i not in places)


def _reading(body: Graph, names: dict[str, str]) -> Graph:
    """Rename the values that the body's nodes and results read."""
    return replace(
        body,
        nodes=tuple(n.with_inputs(names) for n in body.nodes),
        results=tuple(replace(r, value=names.get(r.value, r.value)) for r in body.results),
    )
