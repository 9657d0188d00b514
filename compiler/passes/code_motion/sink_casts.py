"""Motion of casts across data movement, which then copies fewer bytes."""

from __future__ import annotations

from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node
from compiler.ir.operator import with_trait
from compiler.ir.types import DType, TensorType
from compiler.passes.code_motion.moves import (
    MOVES,
    SELECTS,
    earlier,
    exchange_all,
    grows,
    later,
    makers,
    moves_alone,
    only_reader,
)
from compiler.passes.engine.declaration import graph_pass
from compiler.passes.engine.step_kind import step_kind
from compiler.trace import Log

VIEWS = with_trait("aliasing")
"""Data movement without copies: a cast that a view reads is not moved past the view."""


@graph_pass(
    aliases=("sink_conversions",),
    known_as={"ONNX Runtime": "PropagateCastOps"},
    example="""
    graph g(x: f16[2,3,4], w: f32[5,4]) {
      c: f32[2,3,4] = cast(x, to=f32)
      t: f32[3,4,2] = transpose(c, perm=[1,2,0])
      y: f32[3,4,2] = exp(t)
      u: f32[4,5] = transpose(w, perm=[1,0])
      z: bool[4,5] = cast(u, to=bool)
      return y, z
    }
    =>
    graph g(x: f16[2,3,4], w: f32[5,4]) {
      t.moved: f16[3,4,2] = transpose(x, perm=[1,2,0])
      t: f32[3,4,2] = cast(t.moved, to=f32)
      y: f32[3,4,2] = exp(t)
      z.early: bool[5,4] = cast(w, to=bool)
      z: bool[4,5] = transpose(z.early, perm=[1,0])
      return y, z
    }
    """,
    steps=[
        step_kind(
            "cast_later",
            "Move a cast to a wider type after data movement, which then moves fewer bytes.",
            near_miss="""
            graph g(x: f32[2,3,4]) {
              c: f16[2,3,4] = cast(x, to=f16)
              t: f16[3,4,2] = transpose(c, perm=[1,2,0])
              return t
            }
            """,
        ),
        step_kind(
            "cast_earlier",
            "Move a cast to a narrower type before data movement, which then moves fewer bytes.",
            near_miss="""
            graph g(w: f16[5,4]) {
              u: f16[4,5] = transpose(w, perm=[1,0])
              e: f16[4,5] = exp(u)
              z: f32[4,5] = cast(e, to=f32)
              return z
            }
            """,
        ),
    ],
)
def sink_casts(graph: Graph, log: Log) -> Graph:
    """Move widening casts after data movement, and narrowing casts before it, to copy fewer bytes.

    Data movement never interprets elements, so every element keeps its bits. A cast at the end of a
    chain of data movement often merges with another cast, or fuses with its reader. Source: Glow's
    SinkConversions.
    """
    if not any(n.op == "cast" for n in graph.nodes):
        return graph
    return exchange_all(graph, log, _down, _up)


def _down(ed: Editor, log: Log, value: str) -> bool:
    """Cast the result of data movement instead of the operands."""
    node = ed.producer(value)
    made = None if node is None else makers(ed, node, "cast")
    if node is None or made is None:
        return False
    objection = _objection(ed, node, made)
    if not log.may("cast_later", value, objection, [*made, node]):
        return False
    later(ed, log, "cast_later", node, made)
    return True


def _up(ed: Editor, log: Log, value: str) -> bool:
    """Cast the operand of data movement instead of the result."""
    node, after = ed.producer(value), only_reader(ed, value, "cast")
    if node is None or after is None or node.op not in MOVES:
        return False
    t = ed.type(node.inputs[0])
    objection = _unfit(t) or _unfit(after.type)
    if not objection and isinstance(t, TensorType) and after.tensor.dtype.nbytes >= t.dtype.nbytes:
        objection = f"{after.tensor.dtype} elements are at least as wide as {t.dtype} elements"
    if not objection and not _leads_up(ed, node):
        objection = f"{node.op} copies no elements, and no copy before it benefits"
    if not log.may("cast_earlier", value, objection, [node, after]):
        return False
    earlier(ed, log, "cast_earlier", node, after)
    return True


def _objection(ed: Editor, node: Node, made: list[Node]) -> str:
    """Return the reason that casts stay before data movement, or "" if they may follow it."""
    sources = [ed.type(m.inputs[0]) for m in made]
    for t in (*sources, node.type):
        if reason := _unfit(t):
            return reason
    first = sources[0]
    assert isinstance(first, TensorType)
    if any(not isinstance(t, TensorType) or t.dtype is not first.dtype for t in sources):
        return "the concatenated operands have different types before the casts"
    if any(dict(m.attrs) != dict(made[0].attrs) for m in made):
        return "the casts differ"
    if first.dtype.nbytes >= node.tensor.dtype.nbytes:
        return f"{first.dtype} elements are at least as wide as {node.tensor.dtype} elements"
    if other := next((m for m in made if not moves_alone(ed, m)), None):
        return f"{other.output} has other readers, so it would be cast twice"
    if grows(ed, node):
        return f"{node.output} has more elements than {node.inputs[0]}"
    if not _leads_down(ed, node):
        return f"{node.op} copies no elements, and no copy after it benefits"
    if node.op == "max_pool":
        return "the maximum must compare the numbers after the cast"
    return ""


def _leads_down(ed: Editor, node: Node) -> bool:
    """Whether data movement copies elements, or is a view whose only reader copies elements."""
    while node.op in VIEWS:
        readers = ed.users(node.output)
        if len(readers) != 1 or readers[0].op not in MOVES or ed.is_result(node.output):
            return False
        node = readers[0]
    return True


def _leads_up(ed: Editor, node: Node) -> bool:
    """Whether data movement copies elements, or is a view and the only reader of a copy."""
    while node.op in VIEWS:
        maker = ed.producer(node.inputs[0])
        if maker is None or maker.op not in MOVES - SELECTS - {"concat"}:
            return False
        if len(ed.users(maker.output)) != 1 or ed.is_result(maker.output):
            return False
        node = maker
    return True


def _unfit(t: object) -> str:
    """Return the reason that elements of a type cannot be moved as bytes, or "" if they can."""
    if not isinstance(t, TensorType) or not t.is_ranked:
        return "a rank is not known"
    if not t.layout.is_plain:
        return "layouts are assigned already"
    if t.dtype is DType.string or t.dtype.is_storage:
        return f"elements of {t.dtype} are not whole bytes"
    return ""
