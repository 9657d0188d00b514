"""Schemas of ONNX operators: numbers of operands and outputs, and kinds of attributes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

from compiler.dataclass import dataclass
from compiler.errors import CompileError, require
from compiler.ir.constant import Constant
from compiler.ir.types import Type
from compiler.ops import protos
from compiler.ops.onnx_import import contrib

OF_ANY_OPSET = frozenset({"LayerNormalization", "SimplifiedLayerNormalization"})
"""Operators that the optimiser of ONNX Runtime adds to models in the standard domain, for every
opset."""


@dataclass(frozen=True, slots=True)
class Schema:
    """The schema of an operator: numbers of operands and outputs, and attributes by name.

    Operands at the positions `required`, and all operands from position `rest` on, are required.
    `attributes` maps a name to the attribute's kind, such as INTS, and to whether the attribute is
    required.
    """

    min_inputs: int
    max_inputs: int
    min_outputs: int
    max_outputs: int
    required: tuple[int, ...]
    rest: int | None
    attributes: Mapping[str, tuple[str, bool]]


@lru_cache(maxsize=2048)
def schema_of(op_type: str, domain: str, opset: int) -> Schema | None:
    """Return the schema of an operator; None for an unknown operator."""
    known = protos.schema_of(op_type, domain, opset)
    if known is not None:
        return _of_onnx(known)
    if domain == "com.microsoft" or (not domain and op_type in OF_ANY_OPSET):
        return _contrib().get(op_type)
    return None


def check_call(
    schema: Schema,
    op_type: str,
    inputs: Sequence[object],
    n_outputs: int,
    kinds: Mapping[str, str],
) -> None:
    """Check a call of an operator.

    An element of `inputs` is false for an omitted operand; `kinds` maps attributes to their kinds.
    Errors: E-MODEL-INVALID, E-MODEL-ATTRIBUTE.
    """
    for what, n, low, high in (
        ("operands", len(inputs), schema.min_inputs, schema.max_inputs),
        ("outputs", n_outputs, schema.min_outputs, schema.max_outputs),
    ):
        if not low <= n <= high:
            counts = str(low) if low == high else f"{low} to {high}"
            raise CompileError("E-MODEL-INVALID", f"{op_type} needs {counts} {what}, got {n}")
    places = [*schema.required]
    if schema.rest is not None:
        places += range(schema.rest, len(inputs))
    for place in places:
        if place < len(inputs) and not inputs[place]:
            raise CompileError("E-MODEL-INVALID", f"operand {place} of {op_type} cannot be omitted")
    for key, kind in kinds.items():
        expected = schema.attributes.get(key)
        if expected is None:
            raise CompileError("E-MODEL-ATTRIBUTE", f"{op_type} has no attribute {key!r}")
        require(
            kind == expected[0],
            "E-MODEL-ATTRIBUTE",
            f"{op_type} needs {key!r} as {expected[0]}, got {kind}",
        )
    for key, (_, required) in schema.attributes.items():
        if required and key not in kinds:
            raise CompileError("E-MODEL-ATTRIBUTE", f"{op_type} needs the attribute {key!r}")


def kinds_of(schema: Schema, attrs: Mapping[str, Any]) -> dict[str, str]:
    """Return the ONNX kinds of Python attribute values; ambiguous values get the expected kind."""
    return {k: _kind_of(v, schema.attributes.get(k, ("", False))[0]) for k, v in attrs.items()}


_KINDS: Mapping[Any, tuple[str, ...]] = {
    int: ("INT", "FLOAT"),
    float: ("FLOAT",),
    str: ("STRING",),
    bytes: ("STRING",),
    Constant: ("TENSOR", "SPARSE_TENSOR"),
    Type: ("TYPE_PROTO",),
}


def _kind_of(value: Any, expected: str) -> str:
    if isinstance(value, tuple):
        kinds = {_kind_of(v, expected.removesuffix("S")) + "S" for v in value} or {expected}
        return kinds.pop() if len(kinds) == 1 else "a mixed list"
    for cls, kinds in _KINDS.items():
        if isinstance(value, cls):
            return expected if expected in kinds else kinds[0]
    return type(value).__name__


def _of_onnx(schema: Any) -> Schema:
    inputs = schema.inputs
    return Schema(
        schema.min_input,
        schema.max_input,
        schema.min_output,
        schema.max_output,
        tuple(i for i, formal in enumerate(inputs) if "Single" in str(formal.option)),
        len(inputs) - 1 if inputs and "Variadic" in str(inputs[-1].option) else None,
        {
            k: (str(a.type).rpartition(".")[2], bool(a.required))
            for k, a in schema.attributes.items()
        },
    )


@cache
def _contrib() -> Mapping[str, Schema]:
    rows = re.split(r"\n(?! )", contrib.ROWS.strip())
    return dict(map(_of_row, rows))


ROW = re.compile(r"(\w+)\((.*)\) -> (\d+)(?:\.\.(\d+))?(?: \{(.*)\})?")
MOST_OPERANDS = 1 << 31


def _of_row(row: str) -> tuple[str, Schema]:
    match = ROW.fullmatch(" ".join(row.split()))
    assert match is not None, row
    name, operands, low, high, attributes = match.groups()
    formals = operands.split(", ")
    required = tuple(i for i, f in enumerate(formals) if f[-1] not in "?.")
    rest = len(formals) - 1 if formals[-1].endswith("...") else None
    kinds = {
        key.removesuffix("?"): (kind.upper(), not key.endswith("?"))
        for kind, _, key in (a.partition(" ") for a in (attributes or "").split(", ") if a)
    }
    return name, Schema(
        1 + (max(required) if rest is None else rest),
        len(formals) if rest is None else MOST_OPERANDS,
        int(low),
        int(high or low),
        required,
        rest,
        kinds,
    )
