"""Conversion of foreign nodes at run time to declared operators, for known operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.errors import CompileError
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node, Result, Value
from compiler.ir.types import DType, TensorType
from compiler.ops import protos
from compiler.ops.onnx_import.facets import is_declarable, through_facet

PARAMETER = 1024
"""The maximum number of elements of an operand that may be a parameter: shape, axes, pads or
scales."""


def declared_for(node: Node, operands: Sequence[Any]) -> Graph | None:
    """Return a graph of declared operators for a foreign node with these operands.

    The graph's inputs are named by operand position; unnamed results of the node are omitted.
    Return None if the operator's declaration rejects the node.
    """
    arrays = [o for o in operands if o is not None]
    if not is_declarable(node) or not all(isinstance(o, np.ndarray) for o in arrays):
        return None
    editor = Editor(Graph("declared", (), (), ()))
    inputs = [_operand(editor, str(i), o) for i, o in enumerate(operands)]
    domain, op_type = protos.split_name(node.op)
    attrs = {k: v for k, v in node.attrs.items() if k != "opset"}
    opset = int(node.attrs["opset"])
    outputs = [editor.fresh(o) if o else "" for o in node.outputs]
    try:
        made = through_facet(
            editor, op_type, domain, opset, inputs, attrs, outputs, node.name, node.origins
        )
    except CompileError:
        return None  # onnx.reference reports the error
    if made is None:
        return None
    editor.results = [Result(v, v) for v in made]
    return None if any(n.op == node.op for n in editor.nodes()) else editor.graph()


def _operand(editor: Editor, name: str, value: Any) -> str:
    if value is None:
        return ""
    if value.size <= PARAMETER and value.dtype.kind in "biuf":
        return editor.add_constant(value, name)
    editor.add_input(Value(name, TensorType(DType.from_numpy(value.dtype), value.shape)))
    return name
