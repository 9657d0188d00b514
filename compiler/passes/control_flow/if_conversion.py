"""If-conversion: a cheap If becomes both branches and a select."""

from __future__ import annotations

from dataclasses import replace

from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node, merge_origins
from compiler.ir.legality import first_illegal
from compiler.ir.operator import OPERATORS
from compiler.ir.types import TensorType, logical
from compiler.passes.engine.cost import CORE, cost_of
from compiler.passes.engine.declaration import graph_pass
from compiler.passes.engine.determinism import is_deterministic
from compiler.passes.rules.calls import o
from compiler.trace import Log

MAY_TRAP = ("div", "mod")
"""Integer operators that trap for a divisor of 0 in other runtimes; generated code returns 0."""


@graph_pass(
    aliases=("select_branches",),
    known_as={"LLVM": "SimplifyCFG", "XLA": "ConditionalToSelect"},
    example="""
    graph g(x: f32[2,3], c: bool[]) {
      y: f32[2,3] = onnx.If(c, opset=16) {
        then_branch: graph then() {
          a: f32[2,3] = neg(x)
          return a
        }
        else_branch: graph otherwise() {
          const two: f32[] = literal(2.0)
          b: f32[2,3] = mul(x, two)
          return b
        }
      }
      return y
    }
    =>
    graph g(x: f32[2,3], c: bool[]) {
      const two_2: f32[] = literal(2.0)
      a_2: f32[2,3] = neg(x)
      b_2: f32[2,3] = mul(x, two_2)
      y: f32[2,3] = where(c, a_2, b_2)
      return y
    }
    """,
    near_miss="""
    graph g(x: f32[200,300], w: f32[300,400], v: f32[200,400], c: bool[]) {
      y: f32[200,400] = onnx.If(c, opset=16) {
        then_branch: graph then() {
          a: f32[200,400] = matmul(x, w)
          return a
        }
        else_branch: graph otherwise() {
          return v
        }
      }
      return y
    }
    """,
)
def if_conversion(graph: Graph, log: Log) -> Graph:
    """Replace an If with both branches and a select if these cost less than a branch.

    The branches may contain only elementwise operators. Such operators cannot fail, and can fuse
    with nodes around the If. The select copies the bits of the chosen results. Source: XLA's
    ConditionalToSelect.
    """
    if not any(n.op == "onnx.If" for n in graph.nodes):
        return graph
    ed = Editor(graph)
    n_done = 0
    for old in graph.nodes:
        node = ed.producer(old.output)
        if node is None or node.op != "onnx.If":
            continue
        objection = _objection(ed, node)
        if log.may("if_conversion", node.output, objection, [node]):
            _select(ed, node, log)
            n_done += 1
    return ed.graph() if n_done else graph


def _objection(ed: Editor, node: Node) -> str:
    """Return the reason for keeping an If, or "" if both branches may be computed."""
    condition = ed.type(node.inputs[0])
    if not isinstance(condition, TensorType) or condition.shape not in ((), (1,)):
        return f"the condition {node.inputs[0]} is {condition}"
    if node.inputs[0] in ed.constants:
        return "the condition is constant: `fold_constant_branches` folds the If instead"
    for region in node.regions.values():
        for inner in region.nodes:
            if reason := _obstacle(inner):
                return reason
        if (illegal := first_illegal(region, ed.facts)) is not None:
            return f"the operands of {illegal.output} are illegal, and its branch may never run"
        for r, t in zip(region.results, node.types, strict=True):
            made = region.types.get(r.value) or ed.type(r.value)
            if logical(made) != logical(t) or not isinstance(made, TensorType):
                return f"{r.value} is {made}, but the result of the If is {t}"
            if not made.is_static or not made.layout.is_plain:
                return f"the size of {r.value} is not known"
    return _price(ed, node)


def _obstacle(node: Node) -> str:
    """Return the reason against computing a node of the branch not taken, or ""."""
    operator = OPERATORS.get(node.op)
    plain = (
        operator is not None and operator.kind == "elementwise" and operator.lower_fn is not None
    )
    t = node.types[0]
    if not plain or len(node.outputs) != 1 or not is_deterministic(node):
        return f"{node.op} is not elementwise"
    if not isinstance(t, TensorType) or not t.is_static:
        return f"the size of {node.output} is not known"
    if node.op in MAY_TRAP and not t.dtype.is_float:
        return f"{node.op} of {t.dtype} may trap on operands of the branch not taken"
    return ""


def _price(ed: Editor, node: Node) -> str:
    """Return the reason that computing both branches is unprofitable, or ""."""
    seconds: list[float] = []
    for region in node.regions.values():
        facts = {**{n: ed.type(n) for n in region.free_names}, **region.types}
        cost = cost_of(region.nodes, facts.__getitem__)
        if cost is None:
            return "the cost of the branches is not known"
        seconds.append(CORE.seconds(cost, 0))
    saved = CORE.seconds_per_kernel
    if min(seconds) > saved:
        return (
            f"the branch not taken would cost at least {min(seconds) * 1e6:.1f} us, branching "
            f"costs {saved * 1e6:.1f} us"
        )
    return ""


def _select(ed: Editor, node: Node, log: Log) -> None:
    """Add the nodes of both branches, and a select in place of each output."""
    ed.made.clear()
    ed.made_constants.clear()
    values = [_put(ed, node, node.regions[k]) for k in ("then_branch", "else_branch")]
    condition = ed.tensor(node.inputs[0])
    if condition.rank:
        flag = o.squeeze(condition, axes=(0,))
        condition = ed.tensor(ed.build(flag, hint=condition.name, origins=node.origins))
    for output, one, two in zip(node.outputs, *values, strict=True):
        if not output:
            continue
        choice = o.where(condition, ed.tensor(one), ed.tensor(two))
        made = ed.build(choice, hint=output, origins=node.origins)
        if len(node.outputs) > 1:
            ed.replace(output, made)
        elif (maker := ed.producer(made)) is not None:
            ed.rename(maker, node)
    n = sum(len(g.nodes) for g in node.regions.values())
    if len(node.outputs) > 1:
        ed.remove_unused([node.output])
    because = f"the {n} elementwise nodes of both branches cost less than a branch"
    log.applied("if_conversion", node.output, because, [node], [*ed.made, *ed.made_constants])


def _put(ed: Editor, choice: Node, region: Graph) -> list[str]:
    """Add the nodes of a branch under fresh names; return the values of its results."""
    names = {name: ed.add_constant(c, name) for name, c in region.constants.items()}
    names.update((n, ed.fresh(n)) for n in region.producers)
    for inner in region.nodes:
        moved = inner.with_inputs(names)
        outputs = tuple(names[out] for out in inner.outputs)
        origins = merge_origins(inner.origins, choice.origins)
        ed.add(replace(moved, outputs=outputs, origins=origins))
    return [names.get(r.value, r.value) for r in region.results]
