"""Unrolling of short loops with a known trip count."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.ir.graph import Graph, Node, all_nodes
from compiler.ir.legality import first_illegal
from compiler.ir.types import TensorType, Type
from compiler.ops.control_flow.loop_form import known_steps
from compiler.ops.data_movement.concat import concat
from compiler.ops.data_movement.reshape import unsqueeze
from compiler.passes.control_flow.rebuild import Rebuild
from compiler.passes.engine.declaration import graph_pass
from compiler.trace import Log
from compiler.units import count_text

SMALL = 24
"""Largest number of nodes after unrolling, if the body compiles without unrolling."""

LARGE = 512
"""Largest number of nodes after unrolling, if the body compiles only when unrolled."""


@graph_pass(
    known_as={"LLVM": "LoopUnroll", "XLA": "WhileLoopUnroller"},
    for_code=True,
    needs=["constants"],
    example="""
    graph g(x: f32[2,3]) {
      const n: i64[] = literal(2)
      y: f32[2,3], p: f32[2,2,3] = onnx.Loop(n, _, x, opset=16) {
        body: graph body(i: i64[], on: bool[], s: f32[2,3]) {
          t: f32[2,3] = exp(s)
          u: f32[2,3] = neg(t)
          return on, u, t
        }
      }
      return y, p
    }
    =>
    graph g(x: f32[2,3]) {
      t: f32[2,3] = exp(x)
      u: f32[2,3] = neg(t)
      t_2: f32[2,3] = exp(u) @ t
      u_2: f32[2,3] = neg(t_2) @ u
      y.xs: f32[1,2,3] = unsqueeze(t, axes=[0])
      y.xs_2: f32[1,2,3] = unsqueeze(t_2, axes=[0])
      y_2: f32[2,2,3] = concat(y.xs, y.xs_2, axis=0)
      return y=u_2, p=y_2
    }
    """,
    near_miss="""
    graph g(x: f32[2,3], n: i64[]) {
      y: f32[2,3] = onnx.Loop(n, _, x, opset=16) {
        body: graph body(i: i64[], on: bool[], s: f32[2,3]) {
          t: f32[2,3] = exp(s)
          return on, t
        }
      }
      return y
    }
    """,
)
def unroll_loops(graph: Graph, log: Log) -> Graph:
    """Replace a short loop with a copy of its body for each iteration.

    After unrolling, the iteration number is a constant, so slices that grow with each iteration
    have known sizes and can be compiled. If the body can be compiled without unrolling, the limit
    on nodes is lower. Unrolling saves calls and lets adjacent iterations share a kernel, but
    increases code size.
    """
    if not any(n.op == "onnx.Loop" for n in all_nodes(graph)):
        return graph
    steps = _Steps(graph, None, log)
    after = steps.run()
    return after if steps.n_replaced else graph


class _Steps(Rebuild):
    """A rebuilder that unrolls loops."""

    def rewrite(self, node: Node) -> bool:
        if node.op != "onnx.Loop":
            return False
        known = [self.ed.known(i) if i else None for i in node.inputs]
        n = known_steps(node, known)
        states = [self.ed.type(i) for i in node.inputs[2:]]
        objection = _objection(node, n, states) or self._illegal(node)
        if objection or n is None:
            self.log.declined("unroll_loops", node.output, objection, [node])
            return False
        if not self.log.may("unroll_loops", node.output):
            return False
        n_made = len(self.ed.made)
        values = self._written(node, n)
        self.stand_in(node, values)
        made = self.ed.made[n_made:]
        loop = _iterations(n, node)
        because = f"{loop} {'becomes' if n == 1 else 'become'} {count_text(len(made), 'node')}"
        self.log.applied("unroll_loops", node.output, because, [node], made)
        return True

    def _illegal(self, node: Node) -> str:
        """Return the reason that the body is illegal, or ""; an illegal loop fails at run time."""
        found = first_illegal(node.regions["body"], self.ed.facts)
        return "" if found is None else f"the operands of {found.output} are illegal"

    def _written(self, node: Node, n: int) -> list[str]:
        """Return the values of the outputs after `n` iterations."""
        body, states = node.regions["body"], list(node.inputs[2:])
        going = self._constant(node, np.array(True))
        piles: list[list[str]] = [[] for _ in body.results[1 + len(states) :]]
        for step in range(n):
            counter = self._constant(node, np.array(step, np.int64))
            made = self.put(body, node.origins, (counter, going, *states))[1:]
            for pile, value in zip(piles, made[len(states) :], strict=True):
                pile.append(value)
            states = made[: len(states)]
        return [*states, *(self._pile(node, p) for p in piles)]

    def _constant(self, node: Node, value: np.ndarray) -> str:
        name = self.ed.add_constant(value, f"{node.output}.step", node.origins)
        self.used.add(name)
        return name

    def _pile(self, node: Node, values: list[str]) -> str:
        """Stack a scan output of all iterations along a new first axis."""
        rows = [unsqueeze(self.ed.tensor(v), axes=(0,)) for v in values]
        whole = concat(*rows, axis=0) if len(rows) > 1 else rows[0]
        name = self.ed.build(whole, hint=node.output, origins=node.origins)
        self.used.add(name)
        return name


def _size(node: Node) -> int:
    return sum(1 for _ in all_nodes(node.regions["body"]))


def _objection(node: Node, n: int | None, states: Sequence[Type]) -> str:
    """Return the reason against unrolling a loop, or "" if there is none."""
    if n is None:
        return "the trip count is known only at run time"
    if n == 0:
        return "the trip count is 0"
    types = [t for m in all_nodes(node.regions["body"]) for t in m.types]
    if any(not isinstance(t, TensorType) for t in types):
        return "an iteration computes a value that is not a tensor"
    body = node.regions["body"]
    collected = [body.types.get(r.value) for r in body.results[1 + len(node.inputs[2:]) :]]
    if any(isinstance(t, TensorType) and not t.is_ranked for t in collected):
        return "the loop has scan outputs of unknown rank"
    if any(isinstance(t, TensorType) and not t.is_ranked for t in states):
        return "the loop has initial states of unknown rank"
    is_open = any(isinstance(t, TensorType) and not t.is_static for t in types)
    limit = LARGE if is_open else SMALL
    if n * _size(node) > limit:
        what = "a loop with open sizes" if is_open else "a loop that compiles without unrolling"
        return f"{_iterations(n, node)}: more than {limit} nodes, the limit for {what}"
    return ""


def _iterations(n: int, node: Node) -> str:
    return f"{count_text(n, 'iteration')} of {count_text(_size(node), 'node')}"
