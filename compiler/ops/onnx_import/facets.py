"""The import of an ONNX node through its operator's `onnx` facet: the call and its nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compiler.errors import CompileError, require
from compiler.ir.editor import Editor
from compiler.ir.graph import Node
from compiler.ir.operator import ONNX, Call, OnnxCall, Operand, Out
from compiler.ir.types import DType, TensorType
from compiler.ops import protos
from compiler.ops.onnx_import.schemas import check_call, kinds_of, schema_of


def facet_key(op_type: str, domain: str) -> str:
    """Return the registry key of an `onnx` facet."""
    return f"{domain}:{op_type}" if domain else op_type


def is_declarable(node: Node) -> bool:
    """Return whether the operator of a foreign node has a declaration."""
    if not node.op.startswith("onnx.") or node.regions:
        return False
    domain, op_type = protos.split_name(node.op)
    return facet_key(op_type, domain) in ONNX


def through_facet(
    editor: Editor,
    op_type: str,
    domain: str,
    opset: int,
    inputs: Sequence[str],
    attrs: Mapping[str, Any],
    outputs: Sequence[str],
    name: str,
    origins: tuple[str, ...],
) -> list[str] | None:
    """Build the call that the facet returns for a node; return the names of its outputs.

    `outputs` are fresh names for the node's outputs. Return None if the operator has no `onnx`
    facet, or if the facet rejects the node.
    Errors: those of the facet and of the type rules; after an error, the editor is unchanged.
    """
    facet = ONNX.get(facet_key(op_type, domain))
    if facet is None or any(i and not isinstance(editor.type(i), TensorType) for i in inputs):
        editor.give_back(outputs)
        return None
    schema = schema_of(op_type, domain, opset)
    if schema is not None:
        check_call(schema, op_type, inputs, len(outputs), kinds_of(schema, attrs))
    operands = tuple(editor.tensor(i) if i else None for i in inputs)
    if any(o is not None and o.dtype is DType.f64 for o in operands):
        attrs = {**protos.float_defaults(op_type, domain, opset), **attrs}
    n_made = len(editor.made)
    try:
        made = facet(OnnxCall(op_type, domain, opset, operands, attrs, len(outputs)))
        if made is None:
            editor.give_back(outputs)
            return None
        return _build(editor, made, outputs, op_type, name, origins)
    except CompileError:
        for n in reversed(editor.made[n_made:]):
            editor.remove(n)
        del editor.made[n_made:]
        editor.give_back(outputs)
        raise


def _build(
    editor: Editor,
    made: Operand | tuple[Operand, ...],
    outputs: Sequence[str],
    op_type: str,
    name: str,
    origins: tuple[str, ...],
) -> list[str]:
    parts = made if isinstance(made, tuple) else (made,)
    if isinstance(made, Call):
        parts = tuple(Out(made, i) for i in range(len(outputs)))
    require(
        len(parts) >= len(outputs),
        "E-OP-OPERANDS",
        f"{op_type} returns {len(parts)} values, but the node names {len(outputs)}",
    )
    whole = _is_whole(parts[: len(outputs)])
    values: list[str] = []
    for part, output in zip(parts, outputs, strict=False):
        if not output:
            values.append("")
            continue
        single = isinstance(part, Call) or (isinstance(part, Out) and part.index == 0)
        own = outputs if whole else [output] if single else None
        values.append(editor.build(part, hint=output, name=name, origins=origins, outputs=own))
    return values


def _is_whole(parts: Sequence[Operand]) -> bool:
    """Return whether the operands are exactly the outputs of one call, in order."""
    return len({id(p.call) for p in parts if isinstance(p, Out)}) == 1 and all(
        isinstance(p, Out) and p.index == i for i, p in enumerate(parts)
    )
