"""Carried nodes become operators of ours once what stood in the way is known."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.errors import CompileError
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node
from compiler.ir.operator import ONNX, Call, OnnxCall, Operand, Out
from compiler.ir.types import TensorType, logical
from compiler.ir.verify import refines
from compiler.ops.protos import split_name
from compiler.passes.passes import graph_pass
from compiler.trace import Log


@graph_pass(
    needs=["constants"],
    example="""
    graph g(x: f32[2,3,4]) {
      const axes: i64[1] = literal(1)
      y: f32[2,1,4] = onnx.ReduceSum(x, axes, keepdims=1, opset=18)
      return y
    }
    =>
    graph g(x: f32[2,3,4]) {
      y: f32[2,1,4] = reduce_sum(x, axes=[1], keepdims=true)
      return y
    }
    """,
)
def adopt(graph: Graph, log: Log) -> Graph:
    """Take up ONNX operators that were carried because a parameter of theirs was not known.

    Axes, sizes or pads that a model computes may be found when constants are folded, or when the
    sizes of its inputs are given: the same declarations are then asked again that the importer
    asked.
    """
    ed = Editor(graph)
    n_taken = 0
    for node in graph.nodes:
        domain, op_type = split_name(node.op)
        key = f"{domain}:{op_type}" if domain else op_type
        if not node.op.startswith("onnx.") or node.regions or key not in ONNX:
            continue
        objection = _take(ed, node, key)
        if objection:
            log.declined("adopt", node.output, objection, [node])
            continue
        n_taken += 1
        because = f"its operands say now what {node.op} computes"
        made = [*ed.made, *ed.made_constants]
        log.applied("adopt", node.output, because, [node], made)
    return ed.graph() if n_taken else graph


def _take(ed: Editor, node: Node, key: str) -> str:
    """Put what the operator's declaration makes of a node in its place; why not, else."""
    ed.made.clear()
    ed.made_constants.clear()
    if any(i and not isinstance(ed.type(i), TensorType) for i in node.inputs):
        return "not all of its operands are tensors"
    domain, op_type = split_name(node.op)
    attrs = {k: v for k, v in node.attrs.items() if k != "opset"}
    operands = tuple(ed.tensor(i) if i else None for i in node.inputs)
    opset = int(node.attrs["opset"])
    try:
        made = ONNX[key](OnnxCall(op_type, domain, opset, operands, attrs, len(node.outputs)))
        if made is None:
            return f"{node.op} is left to the reference for these operands"
        parts = _parts(made, len(node.outputs))
        values = [
            ed.build(p, hint=o, origins=node.origins) if o else ""
            for p, o in zip(parts, node.outputs, strict=True)
        ]
    except CompileError as e:
        ed.remove_unused([n.output for n in reversed(ed.made)])
        return e.message
    return _put(ed, node, values)


def _parts(made: Operand | tuple[Operand, ...], n_outputs: int) -> tuple[Operand, ...]:
    """What a declaration makes of a node, one operand per output of it."""
    if isinstance(made, Call):
        return tuple(Out(made, i) for i in range(n_outputs)) if n_outputs > 1 else (made,)
    return made[:n_outputs] if isinstance(made, tuple) else (made,)


def _put(ed: Editor, node: Node, values: Sequence[str]) -> str:
    """Let the values stand for the node's outputs; why not, when their types do not say so."""
    pairs = [(o, v) for o, v in zip(node.outputs, values, strict=True) if o]
    for old, new in pairs:
        a, b = logical(ed.type(old)), logical(ed.type(new))
        if a != b and not (len(pairs) == 1 and refines(a, b)):
            ed.remove_unused([n.output for n in reversed(ed.made)])
            return f"{old} is {a}, in its place would be {b}"
    producer = ed.producer(pairs[0][1])
    if len(pairs) == 1 and producer in ed.made and producer and len(producer.outputs) == 1:
        ed.rename(producer, node)
        return ""
    if any(logical(ed.type(o)) != logical(ed.type(v)) for o, v in pairs):
        return "the sizes of its result stay open"
    for old, new in pairs:
        ed.replace(old, new)
    ed.remove_unused([node.output])
    return ""
