"""Removal of expands and fills whose readers broadcast their operands."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

import numpy as np

from compiler.errors import CompileError
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node, merge_origins
from compiler.ir.operator import OPERATORS, Tensor
from compiler.ir.types import TensorType, Type, logical
from compiler.passes.data_movement.orders import POSITIONAL
from compiler.passes.data_movement.parts import all_plain
from compiler.passes.engine.declaration import graph_pass
from compiler.passes.engine.step_kind import step_kind
from compiler.passes.rules.calls import o
from compiler.trace import Log


@graph_pass(
    aliases=("drop_broadcasts",),
    needs=["constants"],
    example="""
    graph g(x: f32[N,1,4], y: f32[N,3,4]) {
      const s: i64[3] = literal(1,3,1)
      t: f32[N,3,4] = expand(x, s)
      a: f32[N,3,4] = exp(t)
      b: f32[N,3,4] = add(a, y)
      n: i64[3] = shape(y)
      f: f32[N,3,4] = fill(n, value=0.5)
      c: f32[N,3,4] = mul(b, f)
      return c
    }
    =>
    graph g(x: f32[N,1,4], y: f32[N,3,4]) {
      const f.value: f32[] = literal(0.5)
      a.x: f32[N,1,4] = exp(x)
      b: f32[N,3,4] = add(a.x, y)
      c: f32[N,3,4] = mul(b, f.value)
      return c
    }
    """,
    steps=[
        step_kind(
            "drop_broadcast",
            "Let the reader of an expand or fill repeat the elements itself.",
            near_miss="""
            graph g(x: f32[1,4]) {
              const s: i64[2] = literal(3,1)
              t: f32[3,4] = expand(x, s)
              return t
            }
            """,
        ),
        step_kind(
            "repeat_result",
            "Compute an elementwise function before its operand is repeated.",
            near_miss="""
            graph g(x: f32[1,4], y: f32[3,4]) {
              const s: i64[2] = literal(3,1)
              t: f32[3,4] = expand(x, s)
              a: f32[4] = reduce_sum(t, axes=[0], keepdims=false)
              return a
            }
            """,
        ),
    ],
)
def remove_redundant_broadcasts(graph: Graph, log: Log) -> Graph:
    """Remove broadcasts whose readers broadcast their operands.

    An expand or a fill stores many copies of few elements. If a reader broadcasts its operands and
    another operand determines the shape, the reader reads the original elements. If all operands of
    an operator are repeated, the operator runs before the repetition.
    """
    if not any(n.op in ("expand", "fill") for n in graph.nodes):
        return graph
    ed, n_done = Editor(graph), 0
    pending = deque(n.output for n in graph.nodes if n.op in ("expand", "fill"))
    while pending:
        node = ed.producer(pending.popleft())
        if node is None or not all_plain(ed, node):
            continue
        n_done += _into_readers(ed, node, log)
        moved = _behind_reader(ed, node, log) if node.op == "expand" else ""
        if moved:
            n_done += 1
            pending.append(moved)
    return ed.graph() if n_done else graph


def _into_readers(ed: Editor, node: Node, log: Log) -> int:
    """Redirect readers to the unrepeated elements, if the result types of readers stay the same."""
    n_done = 0
    for user in ed.users(node.output):
        changed = _reading_few(ed, node, user)
        if isinstance(changed, str):
            log.declined("drop_broadcast", user.output, changed, [node, user])
            continue
        if not log.may("drop_broadcast", user.output):
            continue
        few = _few(ed, node)
        inputs = {node.output: few}
        origins = merge_origins(node.origins, user.origins)
        ed.update(user, replace(user.with_inputs(inputs), origins=origins))
        gone = ed.remove_unused([node.output])
        because = f"{user.op} broadcasts {few} itself; saves writing {_bytes(node)}"
        made = [user.output, few] if node.op == "fill" else [user.output]
        log.applied("drop_broadcast", user.output, because, [user, *gone], made)
        n_done += 1
    return n_done


def _few(ed: Editor, node: Node) -> str:
    """Return the value whose elements a node repeats; for a fill, a new constant."""
    if node.op == "expand":
        return node.inputs[0]
    number = np.array(node.attrs["value"]).astype(node.attrs["dtype"].numpy)
    same = f"{node.output}.value"
    c = ed.constant(same)
    if (
        c is not None
        and c.type.dtype is node.attrs["dtype"]
        and c.array().tobytes() == (number.tobytes())
    ):
        return same
    return ed.add_constant(number, same, node.origins)


def _reading_few(ed: Editor, node: Node, user: Node) -> str | None:
    """Return the reason that a reader needs the repeated elements, or None if it does not."""
    if not _broadcasts(user) or not all_plain(ed, user):
        return f"{user.op} depends on the positions of elements"
    found = _types_with_few(ed, node, user)
    if isinstance(found, str):
        return found
    if found != tuple(map(logical, user.types)):
        return f"{user.output} would be {found[0]} instead of {user.type}"
    return None


def _broadcasts(node: Node) -> bool:
    """Whether a node is elementwise and broadcasts its operands."""
    if node.regions or node.op not in OPERATORS or node.op in POSITIONAL or "axis" in node.attrs:
        return False
    return node.op == "matmul" or OPERATORS[node.op].kind == "elementwise"


def _types_with_few(ed: Editor, node: Node, user: Node) -> tuple[Type, ...] | str:
    """Return the reader's result types for unrepeated elements, or the reason against them."""
    few = ed.tensor(node.inputs[0])
    if node.op == "fill":
        few = Tensor("few", TensorType(node.tensor.dtype, ()))
    operands = [None if not i else few if i == node.output else ed.tensor(i) for i in user.inputs]
    try:
        return tuple(map(logical, OPERATORS[user.op].infer(operands, user.attrs)))
    except CompileError as e:
        return f"{user.op} rejects {few.type} as operand: {e.message}"


def _behind_reader(ed: Editor, node: Node, log: Log) -> str:
    """Move an expand after its only reader, if the reader's other operands are smaller."""
    users = ed.users(node.output)
    if len(users) != 1 or ed.is_result(node.output) or not all_plain(ed, users[0]):
        return ""
    user = users[0]
    if user.op == "matmul" or not _broadcasts(user) or len(user.outputs) != 1:
        return ""
    found = _types_with_few(ed, node, user)
    few = None if isinstance(found, str) else found[0]
    if not isinstance(few, TensorType) or few.dims != ed.tensor(node.inputs[0]).shape:
        return ""
    if not log.may("repeat_result", user.output):
        return ""
    x, shape = node.inputs
    origins = merge_origins(node.origins, user.origins)
    call = OPERATORS[user.op](
        *(None if not i else ed.tensor(x if i == node.output else i) for i in user.inputs),
        **user.attrs,
    )
    ed.made.clear()
    inner = ed.build(call, hint=f"{user.output}.x", origins=user.origins, name=user.name)
    outer = ed.producer(ed.build(o.expand(ed.tensor(inner), ed.tensor(shape)), origins=origins))
    assert outer is not None, "an expand is a node"
    if logical(outer.type) != logical(user.type):
        ed.remove_unused([outer.output])
        return ""
    ed.rename(outer, user)
    ed.remove_unused([node.output])
    because = f"{user.op} runs on {few}, and an expand repeats its result to {user.type}"
    log.applied("repeat_result", user.output, because, [node, user], ed.made)
    return user.output


def _bytes(node: Node) -> str:
    t = node.tensor
    return f"{t.nbytes:,} bytes" if t.is_static else f"the elements of {t}"
