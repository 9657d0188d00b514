"""Sinking of nodes into the only branch of an If that reads them."""

from __future__ import annotations

from dataclasses import replace

from compiler.ir.graph import Graph, Node, names_inside
from compiler.ir.operator import OPERATORS
from compiler.ops.control_flow.loop_form import unfit
from compiler.passes.engine.cost import node_cost
from compiler.passes.engine.declaration import graph_pass
from compiler.passes.engine.determinism import is_deterministic
from compiler.trace import Log


@graph_pass(
    known_as={"LLVM": "Sink", "XLA": "ConditionalCodeMotion"},
    example="""
    graph g(x: f32[2,3], w: f32[3,4], c: bool[]) {
      e: f32[2,3] = exp(x)
      m: f32[2,4] = matmul(e, w)
      y: f32[2,4] = onnx.If(c, opset=16) {
        then_branch: graph then() {
          a: f32[2,4] = relu(m)
          return a
        }
        else_branch: graph otherwise() {
          const zero: f32[2,4] = splat(0.0)
          return zero
        }
      }
      return y
    }
    =>
    graph g(x: f32[2,3], w: f32[3,4], c: bool[]) {
      y: f32[2,4] = onnx.If(c, opset=16) {
        then_branch: graph then() {
          e: f32[2,3] = exp(x)
          m: f32[2,4] = matmul(e, w)
          a: f32[2,4] = relu(m)
          return a
        }
        else_branch: graph otherwise() {
          const zero: f32[2,4] = splat(0.0)
          return zero
        }
      }
      return y
    }
    """,
    near_miss="""
    graph g(x: f32[2,3], w: f32[3,4], c: bool[]) {
      m: f32[2,4] = matmul(x, w)
      y: f32[2,4] = onnx.If(c, opset=16) {
        then_branch: graph then() {
          a: f32[2,4] = relu(m)
          return a
        }
        else_branch: graph otherwise() {
          b: f32[2,4] = neg(m)
          return b
        }
      }
      return y
    }
    """,
)
def sink_into_branches(graph: Graph, log: Log) -> Graph:
    """Move nodes into the only branch of an If that reads them.

    Moved nodes do not run if the other branch is taken. Constants that only one branch reads
    move into this branch. Source: XLA's ConditionalSimplifier and conditional code motion.
    """
    if not any(n.op == "onnx.If" for n in graph.nodes):
        return graph
    kept: list[Node] = []
    reader: dict[str, set[str]] = {r.value: {""} for r in graph.results}
    choices: dict[str, Node] = {}
    moved: set[str] = set()
    for node in reversed(graph.nodes):
        place = _place(graph, node, reader, choices, log)
        if place:
            chosen, key = place
            region = choices[chosen].regions[key]
            region = replace(region, nodes=(node, *region.nodes))
            regions = {**choices[chosen].regions, key: region}
            choices[chosen] = replace(choices[chosen], regions=regions)
            moved.add(node.output)
            _read(reader, node, f"{chosen}/{key}")
            continue
        if node.op == "onnx.If":
            choices[node.output] = node
            for name in filter(None, node.inputs):
                reader.setdefault(name, set()).add("")
            for key, region in node.regions.items():
                for name in region.free_names:
                    reader.setdefault(name, set()).add(f"{node.output}/{key}")
        else:
            _read(reader, node, "")
        kept.append(node)
    if not moved:
        return graph
    nodes = tuple(choices.get(n.output, n) for n in reversed(kept))
    return _with_constants(replace(graph, nodes=nodes), reader, moved)


def _read(reader: dict[str, set[str]], node: Node, place: str) -> None:
    for name in node.reads:
        reader.setdefault(name, set()).add(place)


def _place(
    graph: Graph,
    node: Node,
    reader: dict[str, set[str]],
    choices: dict[str, Node],
    log: Log,
) -> tuple[str, str] | None:
    """Return the If and the branch into which a node moves, or None if it stays."""
    places = {p for o in node.outputs if o for p in reader.get(o, ())}
    if len(places) != 1 or "" in places:
        return None
    chosen, key = next(iter(places)).rsplit("/", 1)
    objection = _objection(graph, node, choices[chosen])
    if not log.may("sink_into_branches", node.output, objection, [node]):
        return None
    says = "true" if key == "then_branch" else "false"
    cost = node_cost(node, graph.types.__getitem__)
    saved = "" if cost is None else f"; the other branch saves {cost.flops:,} operations"
    because = (
        f"only {key} of {chosen} reads it, so it is computed only if "
        f"{choices[chosen].inputs[0]} is {says}"
    )
    log.applied("sink_into_branches", node.output, because + saved, [node], [node])
    return chosen, key


def _objection(graph: Graph, node: Node, choice: Node) -> str:
    """Return the reason against moving a node into the only branch that reads it, or ""."""
    operator = OPERATORS.get(node.op)
    if operator is None or (operator.lower_fn is None and operator.decompose_fn is None):
        return f"{node.op} has no generated code: the branch would need a run-time call"
    if not is_deterministic(node):
        return f"{node.op} gives different results on each run"
    if reason := unfit(choice, graph):
        return f"the branches of {choice.output} have no generated code: {reason}"
    inside = {n for region in choice.regions.values() for n in names_inside(region)}
    if taken := inside.intersection(filter(None, node.outputs)):
        return f"{min(taken)} names another value inside the branch"
    return ""


def _with_constants(graph: Graph, reader: dict[str, set[str]], moved: set[str]) -> Graph:
    """Move constants into the only branch that reads them, after nodes have moved there."""
    constants = dict(graph.constants)
    nodes = list(graph.nodes)
    for at, node in enumerate(nodes):
        if node.op != "onnx.If" or not any(
            n.output in moved for region in node.regions.values() for n in region.nodes
        ):
            continue
        regions = dict(node.regions)
        for key, region in regions.items():
            mine = {
                name: constants[name]
                for name in region.free_names
                if name in constants and reader.get(name) == {f"{node.output}/{key}"}
            }
            for name in mine:
                del constants[name]
            regions[key] = replace(region, constants={**mine, **region.constants})
        nodes[at] = replace(node, regions=regions)
    return replace(graph, nodes=tuple(nodes), constants=constants)
