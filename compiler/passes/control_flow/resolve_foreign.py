"""Import of foreign nodes as native operators, once their parameters are known."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.errors import CompileError
from compiler.ir.closing import with_closed_types
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node
from compiler.ir.types import logical
from compiler.ir.verify import refines
from compiler.ops.onnx_import.facets import is_declarable
from compiler.passes.control_flow.declare import redeclare
from compiler.passes.engine.declaration import graph_pass
from compiler.trace import Log


@graph_pass(
    aliases=("adopt",),
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
    near_miss="""
    graph g(x: f32[2,3,4], axes: i64[1]) {
      y: f32[A,B,C] = onnx.ReduceSum(x, axes, keepdims=1, opset=18)
      return y
    }
    """,
)
def resolve_foreign(graph: Graph, log: Log) -> Graph:
    """Import operators whose parameters are now known.

    Constant folding or the sizes of inputs may reveal axes, sizes or pads that a model computes.
    For nodes with known parameters, the pass applies the importer's declarations again.
    """
    ed = Editor(graph)
    n_taken = 0
    for old in graph.nodes:
        if not is_declarable(old) or not log.may("resolve_foreign", old.output):
            continue
        node = ed.producer(old.output)
        # The editor's node may already read the replacement of another resolved node.
        assert node is not None, f"{old.output} was removed"
        objection = _take(ed, node)
        if objection:
            log.declined("resolve_foreign", node.output, objection, [node])
            continue
        n_taken += 1
        because = f"the parameters or types on which the import of {node.op} depends are now known"
        made = [*ed.made, *ed.made_constants]
        log.applied("resolve_foreign", node.output, because, [node], made)
    return with_closed_types(ed.graph()) if n_taken else graph


def _take(ed: Editor, node: Node) -> str:
    """Replace a foreign node with native nodes; return the obstacle, or "" on success."""
    ed.made.clear()
    ed.made_constants.clear()
    try:
        values = redeclare(ed, node)
    except CompileError as e:
        return e.message
    if values is None:
        return f"only the reference implementation supports {node.op} with these operands"
    return _put(ed, node, values)


def _put(ed: Editor, node: Node, values: Sequence[str]) -> str:
    """Replace the outputs of a node; return the obstacle if types differ, else ""."""
    pairs = [(o, v) for o, v in zip(node.outputs, values, strict=True) if o]
    for old, new in pairs:
        a, b = logical(ed.type(old)), logical(ed.type(new))
        if a != b and not (len(pairs) == 1 and refines(a, b)):
            ed.remove_unused([n.output for n in reversed(ed.made)])
            return f"{old} is {a}, but its replacement would be {b}"
    producer = ed.producer(pairs[0][1])
    if len(pairs) == 1 and producer in ed.made and producer and len(producer.outputs) == 1:
        ed.rename(producer, node)
        return ""
    if any(logical(ed.type(o)) != logical(ed.type(v)) for o, v in pairs):
        return "the sizes of its result remain open"
    for old, new in pairs:
        ed.replace(old, new)
    ed.remove_unused([node.output])
    return ""
