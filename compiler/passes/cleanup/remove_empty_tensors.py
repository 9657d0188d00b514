"""Removal of tensors without elements, and of nodes that only read such tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from compiler.errors import CompileError
from compiler.ir.constant import Constant
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node, merge_origins
from compiler.ir.operator import OPERATORS
from compiler.ir.types import TensorType, Type
from compiler.ops.evaluation.meaning import evaluate_node
from compiler.passes.engine.declaration import graph_pass
from compiler.passes.engine.determinism import is_deterministic
from compiler.trace import Log

LARGEST = 1 << 16
"""Largest size in bytes of a constant that replaces the result of empty operands."""


@graph_pass(
    aliases=("remove_empty",),
    known_as={"XLA": "ZeroSizedHloElimination"},
    gives=["constants"],
    example="""
    graph g(x: f32[2,3], y: f32[2,0], w: f32[0,5]) {
      a: f32[2,3] = concat(x, y, axis=1)
      b: f32[2,5] = matmul(y, w)
      c: f32[2,0] = relu(y)
      d: f32[2,8] = concat(a, b, c, axis=1)
      return d
    }
    =>
    graph g(x: f32[2,3], y: f32[2,0], w: f32[0,5]) {
      const b: f32[2,5] = splat(0.0)
      d: f32[2,8] = concat(x, b, axis=1)
      return d
    }
    """,
    near_miss="""
    graph g(x: f32[2,3], y: f32[2,1]) {
      a: f32[2,4] = concat(x, y, axis=1)
      return a
    }
    """,
)
def remove_empty_tensors(graph: Graph, log: Log) -> Graph:
    """Remove tensors without elements.

    A node with empty results computes nothing, so empty constants replace the results. A node whose
    operands are all empty has a constant result, such as 0 for a sum of no products. An empty
    operand of a concatenation has no effect. Source: ZeroSizedHloElimination of XLA.
    """
    types = [t for n in graph.nodes for t in n.types] + [v.type for v in graph.inputs]
    types += [c.type for c in graph.constants.values()]
    if not any(map(_is_empty, types)):
        return graph
    ed, n_removed = Editor(graph), 0
    for old in graph.nodes:
        node = ed.producer(old.output)
        if node is None or node.regions or node.op == "fusion":
            continue
        n_removed += _settled(ed, node, log) or _shorter(ed, node, log)
    return ed.graph() if n_removed else graph


def _is_empty(t: Type | None) -> bool:
    """Whether a tensor has no elements for all values of its open sizes."""
    return isinstance(t, TensorType) and t.shape is not None and any(d == 0 for d in t.shape)


def _is_plain(t: Type) -> bool:
    return (
        isinstance(t, TensorType)
        and t.is_static
        and t.layout.is_plain
        and t.dtype.label != "string"
    )


def _settled(ed: Editor, node: Node, log: Log) -> bool:
    """Replace a node's results with constants where possible."""
    made = [t for o, t in zip(node.outputs, node.types, strict=True) if o]
    if not made or not all(map(_is_plain, made)):
        return False
    if all(map(_is_empty, made)):
        values: Sequence[Any] = [_nothing(t) for t in node.types]
        because = f"every result is empty: {', '.join(map(str, made))}"
    else:
        found = _of_nothing(ed, node)
        if found is None:
            return False
        values, because = found, "the operands are empty or constant, so the results are known"
    constants = [
        _constant(v, t, node) if o and isinstance(t, TensorType) else None
        for o, t, v in zip(node.outputs, node.types, values, strict=False)
    ]
    if not log.may("remove_empty_tensors", node.output):
        return False
    ed.settle(node, constants)
    log.applied(
        "remove_empty_tensors", node.output, because, [node], [o for o in node.outputs if o]
    )
    return True


def _nothing(t: Type) -> Any:
    return np.empty(t.static_shape, t.dtype.numpy) if isinstance(t, TensorType) else None


def _constant(values: Any, t: TensorType, node: Node) -> Constant:
    """Return an array as a constant; equal elements give a splat."""
    array = np.asarray(values)
    if array.size > 1 and (array == array.reshape(-1)[0]).all():
        return Constant.splat(array.reshape(-1)[0], t, node.origins)
    return Constant.of(array, t.dtype, node.origins)


def _of_nothing(ed: Editor, node: Node) -> Sequence[Any] | None:
    """Evaluate a node on empty tensors and constants; return None if it has other operands."""
    given = [i for i in node.inputs if i]
    empty = [i for i in given if _is_empty(ed.type(i))]
    known = all(i in ed.constants or _is_plain(ed.type(i)) for i in given)
    if not empty or not known or node.op not in OPERATORS or not is_deterministic(node):
        return None
    if any(i not in ed.constants and i not in empty for i in given):
        return None
    size = sum(t.nbytes for t in node.types if isinstance(t, TensorType))
    held = sum(ed.constants[i].type.nbytes for i in given if i in ed.constants)
    if max(size, held) > LARGEST:
        return None
    operands = [
        None if not i else ed.constants[i].array() if i in ed.constants else _nothing(ed.type(i))
        for i in node.inputs
    ]
    try:
        return evaluate_node(node, operands)
    except CompileError:
        return None


def _shorter(ed: Editor, node: Node, log: Log) -> bool:
    """Remove empty operands from a concatenation."""
    if node.op != "concat":
        return False
    kept = [i for i in node.inputs if not _is_empty(ed.type(i))]
    n_empty = len(node.inputs) - len(kept)
    if not kept or not n_empty or not log.may("remove_empty_tensors", node.output):
        return False
    because = f"empty operands: {n_empty} of {len(node.inputs)}"
    if len(kept) > 1:
        ed.update(node, replace(node, inputs=tuple(kept)))
        log.applied("remove_empty_tensors", node.output, because, [node], [node.output])
        return True
    if ed.type(kept[0]) != node.types[0]:
        return False
    ed.replace(node.output, kept[0])
    ed.remove(node)
    whole = ed.producer(kept[0])
    if whole is not None:
        ed.update(whole, replace(whole, origins=merge_origins(whole.origins, node.origins)))
    log.applied(
        "remove_empty_tensors",
        node.output,
        f"{because}; the remaining operand is the result",
        [node],
        kept,
    )
    return True
