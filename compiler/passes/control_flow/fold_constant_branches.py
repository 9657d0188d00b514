"""Folding of branches with known conditions."""

from __future__ import annotations

from compiler.errors import CompileError
from compiler.ir.graph import Graph, Node, all_nodes
from compiler.ir.infer import infer
from compiler.ir.regions import close
from compiler.ops.control_flow.loop_form import is_true
from compiler.passes.control_flow.rebuild import Rebuild
from compiler.passes.engine.declaration import graph_pass
from compiler.trace import Log
from compiler.units import count_text


@graph_pass(
    aliases=("take_branches",),
    known_as={"LLVM": "SCCP, SimplifyCFG", "XLA": "ConditionalSimplifier"},
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
    near_miss="""
    graph g(x: f32[2,3], c: bool[]) {
      y: f32[2,3] = onnx.If(c, opset=16) {
        then_branch: graph then() {
          a: f32[2,3] = exp(x)
          return a
        }
        else_branch: graph otherwise() {
          d: f32[2,3] = abs(x)
          return d
        }
      }
      return y
    }
    """,
)
def fold_constant_branches(graph: Graph, log: Log) -> Graph:
    """Replace an If whose condition is known with the nodes of the branch taken.

    Models often test sizes, which are known once the input shapes are known. The results of the
    branch taken get known sizes, which may decide the next condition. The pass therefore propagates
    types and small values.
    """
    if not any(n.op == "onnx.If" for n in all_nodes(graph)):
        return graph
    walk = _Branches(graph, None, log)
    after = walk.run()
    return after if walk.n_replaced else graph


class _Branches(Rebuild):
    """A rebuilder that folds branches with known conditions."""

    def rewrite(self, node: Node) -> bool:
        if node.op != "onnx.If":
            return False
        condition = self.ed.known(node.inputs[0])
        if condition is None or condition.dtype != bool or condition.size != 1:
            because = f"the value of {node.inputs[0]} is known only at run time"
            self.log.declined("fold_constant_branches", node.output, because, [node])
            return False
        if not self.log.may("fold_constant_branches", node.output):
            return False
        key = "then_branch" if is_true(condition) else "else_branch"
        region = node.regions[key]
        if reason := self._failure(region):
            because = f"{key} has invalid types when it is inlined: {reason}"
            self.log.declined("fold_constant_branches", node.output, because, [node])
            return False
        made_inside = {o for n in region.nodes for o in n.outputs if o}
        wanted: dict[str, str] = {}
        for output, r in zip(node.outputs, region.results, strict=False):
            if output and r.value in made_inside:
                wanted.setdefault(r.value, output)
        n_made = len(self.ed.made)
        self.stand_in(node, self.put(region, node.origins, (), wanted))
        other = next(k for k in node.regions if k != key)
        because = (
            f"{node.inputs[0]} is {key == 'then_branch'}: the pass inlines "
            f"{count_text(len(region.nodes), 'node')} of {key}, and removes "
            f"{count_text(len(node.regions[other].nodes), 'node')} of {other}"
        )
        took = [node, node.inputs[0]] if node.inputs[0] in self.ed.constants else [node]
        self.log.applied(
            "fold_constant_branches", node.output, because, took, self.ed.made[n_made:]
        )
        return True

    def _failure(self, region: Graph) -> str:
        """Return the type error of inlining a branch into the graph, or "" if there is none."""
        known = self.ed.facts.known
        closed = close(region, self.ed.facts.types, self.ed.constants).graph
        try:
            infer(closed, known={v.name: known[v.name] for v in closed.inputs if v.name in known})
        except CompileError as e:
            return e.message
        return ""
