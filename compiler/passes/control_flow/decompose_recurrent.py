"""Decomposition of recurrent layers, and of scans over any axis, into plain loops."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.errors import CompileError
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node, all_nodes
from compiler.ir.operator import OPERATORS, Operand, Tensor
from compiler.ir.types import logical
from compiler.ops.control_flow.control import is_batched
from compiler.ops.control_flow.plain_scan import is_plain_scan, plain_scan
from compiler.passes.engine.declaration import graph_pass
from compiler.passes.engine.rule import ROUNDINGS
from compiler.trace import Log
from compiler.units import count_text


@graph_pass(
    aliases=("write_out",),
    elsewhere={"layers": False},
    needs=["constants"],
    example="""
    graph g(x: f32[6,2,3], w: f32[1,4,3], r: f32[1,4,4]) {
      y: f32[6,1,2,4] = rnn(x, w, r)
      return y
    }
    =>
    graph g(x: f32[6,2,3], w: f32[1,4,3], r: f32[1,4,4]) {
      const y.x: f32[2,4] = literal(0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0)
      const y.x.x.a.shape: i64[2] = literal(12,3)
      const y.x.shape: i64[3] = literal(6,2,4)
      y.x.x.a: f32[12,3] = reshape(x, y.x.x.a.shape, allowzero=true)
      y.x.x.b: f32[4,3] = squeeze(w, axes=[0])
      y.x.x: f32[12,4] = matmul(y.x.x.a, y.x.x.b, transpose_b=true)
      y.x_2: f32[6,2,4] = reshape(y.x.x, y.x.shape, allowzero=true)
      y.x_3: f32[2,4], y.x_4: f32[6,2,4] =
        onnx.Scan(
          y.x, y.x_2, num_scan_inputs=1, scan_input_directions=[0],
          scan_output_directions=[0], opset=16
        ) {
        body: graph step(y.x.state0: f32[2,4], y.x.inputs: f32[2,4]) {
          y.x.next0.x.a.b: f32[4,4] = squeeze(r, axes=[0])
          y.x.next0.x.a: f32[2,4] = matmul(y.x.state0, y.x.next0.x.a.b, transpose_b=true)
          y.x.next0.x: f32[2,4] = add(y.x.next0.x.a, y.x.inputs)
          y.x.next0: f32[2,4] = tanh(y.x.next0.x)
          return next0=y.x.next0, output=y.x.next0
        }
      }
      y_2: f32[6,1,2,4] = unsqueeze(y.x_4, axes=[1])
      return y=y_2
    }
    """,
    near_miss="""
    graph g(x: f32[2,3], w: f32[3,4], h: f32[2,4], r: f32[4,4]) {
      a: f32[2,4] = matmul(x, w)
      b: f32[2,4] = matmul(h, r)
      c: f32[2,4] = add(a, b)
      y: f32[2,4] = tanh(c)
      return y
    }
    """,
)
def decompose_recurrent(graph: Graph, log: Log, *, layers: bool = True) -> Graph:
    """Decompose recurrent layers into one product for all inputs and a loop over time steps.

    Later passes can optimise the body: gates become a single kernel, weights are split and packed
    at compile time, and loop-invariant nodes leave the loop. Scans over axes other than the first,
    and scans over a batch, become plain scans. Without `layers` the pass decomposes only scans over
    a batch, which the ONNX standard removed.
    """
    is_wanted = _is_layer if layers else _has_batch
    if not any(map(is_wanted, graph.nodes)):
        return graph
    ed = Editor(graph)
    n_written = 0
    for layer in graph.nodes:
        if not is_wanted(layer) or not log.may("decompose_recurrent", layer.output):
            continue
        node = ed.producer(layer.output)
        # The editor's node may already read the replacement of another decomposed layer.
        assert node is not None, f"{layer.output} was removed"
        ed.made.clear()
        ed.made_constants.clear()
        objection = _write(ed, node)
        if objection:
            log.declined("decompose_recurrent", node.output, objection, [node])
            continue
        n_written += 1
        made = [*ed.made, *ed.made_constants]
        n_inner = sum(1 for n in ed.made for g in n.regions.values() for _ in all_nodes(g))
        n_nodes, inside = count_text(len(ed.made), "node"), count_text(n_inner, "node")
        because = f"replaced by {n_nodes}; the bodies of loops have {inside}"
        log.applied("decompose_recurrent", node.output, because, [node], made, error=ROUNDINGS)
    return ed.graph() if n_written else graph


def _is_layer(node: Node) -> bool:
    if node.op == "onnx.Scan":
        return not is_plain_scan(node)
    operator = OPERATORS.get(node.op)
    return operator is not None and operator.kind == "scan" and operator.decompose_fn is not None


def _has_batch(node: Node) -> bool:
    return node.op == "onnx.Scan" and is_batched(node)


def _write(ed: Editor, node: Node) -> str:
    """Replace a layer with its composition; return the obstacle, such as unknown sizes, or ""."""
    try:
        operands = [ed.tensor(i) if i else None for i in node.inputs]
        parts = _parts(node, operands)
    except CompileError as e:
        return e.message
    values = {
        old: ed.build(part, hint=old, origins=node.origins)
        for part, old in zip(parts, node.outputs, strict=False)
        if old
    }
    for old, value in values.items():
        a, b = logical(ed.type(old)), logical(ed.type(value))
        if a != b:
            ed.remove_unused([n.output for n in reversed(ed.made)])
            return f"{old} is {a}, but its replacement would be {b}"
    for old, value in values.items():
        ed.replace(old, value)
    ed.remove_unused([node.output])
    return ""


def _parts(node: Node, operands: Sequence[Tensor | None]) -> tuple[Operand, ...]:
    """Return the value that replaces each output. Errors: any error of the composition."""
    if node.op == "onnx.Scan":
        return plain_scan(node, operands)
    facet = OPERATORS[node.op].decompose_fn
    assert facet is not None, f"{node.op} has no composition"
    made = facet(*operands, **node.attrs)
    return made if isinstance(made, tuple) else (made,)
