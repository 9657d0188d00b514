"""The export of unsupported element types by computation in a wider type.

Operators compute short floats in f32 and round once, so casts before and after a node give the same
numbers. The low bits of integer results do not depend on the width.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.export.kernels import lacks
from compiler.ir.operator import Standard
from compiler.ir.types import DType


@dataclass(frozen=True)
class Wide:
    """The types that operands are cast to and that outputs are cast from; None for no cast."""

    inputs: Sequence[DType | None]
    outputs: Sequence[DType | None]


def widened(s: Standard, schema: Any, dtypes: Sequence[DType | None]) -> Wide | None:
    """Return the casts that a node needs, or None.

    A type without a kernel in ONNX Runtime becomes a wider type with a kernel, if possible.
    Errors: E-EXPORT-TYPE if the operator accepts neither the type nor a wider type.
    """
    formals = [_formal(schema.inputs, k) for k in range(len(dtypes))]
    deciding = _deciding(schema)
    to: dict[str, tuple[DType, DType]] = {}
    for dtype, formal in zip(dtypes, formals, strict=True):
        if dtype is None:
            continue
        accepted = _accepted(schema, formal.type_str)
        decides = formal.type_str == deciding
        runnable = frozenset(d for d in accepted if not (decides and lacks(s.op_type, d)))
        if dtype in runnable:
            continue
        wider = _first_wider(dtype, runnable) or _float_of_all(s.op_type, dtype, runnable)
        if wider is None and dtype not in accepted:
            wider = _wider(s.op_type, dtype, accepted)
        if wider is not None:
            to[formal.type_str] = (dtype, wider)
    if not to:
        return None
    outputs = [_formal(schema.outputs, k).type_str for k in range(s.n_outputs)]
    return Wide(
        [to[f.type_str][1] if f.type_str in to else None for f in formals],
        [to[o][0] if o in to else None for o in outputs],
    )


def outputs_as(schema: Any, dtypes: Sequence[DType | None], n_outputs: int) -> list[DType | None]:
    """Return each output's type if an operand has the same type parameter, else None."""
    known = {
        _formal(schema.inputs, k).type_str: dtype
        for k, dtype in enumerate(dtypes)
        if dtype is not None
    }
    return [known.get(_formal(schema.outputs, k).type_str) for k in range(n_outputs)]


def _deciding(schema: Any) -> str:
    """Return the type parameter that selects the kernel.

    The first result's type parameter selects the kernel if an operand shares the parameter, else
    the first operand's type parameter.
    """
    made = [f.type_str for f in schema.outputs[:1]]
    given = [f.type_str for f in schema.inputs]
    return next((t for t in (*made, *given) if t in given), "")


def _formal(formals: Any, position: int) -> Any:
    return formals[min(position, len(formals) - 1)]


def _accepted(schema: Any, type_str: str) -> frozenset[DType]:
    for constraint in schema.type_constraints:
        if constraint.type_param_str == type_str:
            return _dtypes(tuple(constraint.allowed_type_strs))
    return _dtypes((type_str,))


@lru_cache(maxsize=1024)
def _dtypes(allowed: tuple[str, ...]) -> frozenset[DType]:
    return frozenset(d for d in DType if f"tensor({ONNX_NAMES[d]})" in allowed)


def _wider(op_type: str, dtype: DType, accepted: frozenset[DType]) -> DType:
    wider = _first_wider(dtype, accepted)
    if wider is None:
        raise CompileError("E-EXPORT-TYPE", f"{op_type} of ONNX does not accept {dtype}")
    return wider


def _first_wider(dtype: DType, accepted: frozenset[DType]) -> DType | None:
    for candidate in WIDER[_family(dtype)]:
        if candidate in accepted and (candidate.bits > dtype.bits or dtype is DType.bool):
            return candidate
    return None


CHOOSING = frozenset({"MaxPool"})
"""Operators whose results are elements or indices of operands, so that computing in f32 is
exact."""

EXACT_BITS = 16
"""The maximum width in bits of an integer type whose values f32 represents exactly."""


def _float_of_all(op_type: str, dtype: DType, accepted: frozenset[DType]) -> DType | None:
    """Return f32 if the operator only selects elements and f32 represents all of their values."""
    exact = op_type in CHOOSING and dtype.is_integer and dtype.bits <= EXACT_BITS
    return DType.f32 if exact and DType.f32 in accepted else None


def _family(dtype: DType) -> str:
    if dtype.is_float:
        return "float"
    if dtype.is_integer:
        return "signed" if dtype.label[0] == "i" else "unsigned"
    return dtype.label


WIDER: Mapping[str, tuple[DType, ...]] = {
    "float": (DType.f32, DType.f64),
    "signed": (DType.i8, DType.i32, DType.i64),
    "unsigned": (DType.u8, DType.u32, DType.u64, DType.i32, DType.i64),
    "bool": (DType.u8, DType.i32),
    "string": (),
    "c64": (),
    "c128": (),
}


def _names() -> dict[DType, str]:
    words = {
        "bf16": "bfloat16",
        "f8e4m3fn": "float8e4m3fn",
        "f8e4m3fnuz": "float8e4m3fnuz",
        "f8e5m2": "float8e5m2",
        "f8e5m2fnuz": "float8e5m2fnuz",
        "f8e8m0": "float8e8m0",
        "f4e2m1": "float4e2m1",
        "f6e2m3": "float6e2m3",
        "f6e3m2": "float6e3m2",
        "f32": "float",
        "f64": "double",
        "c64": "complex64",
        "c128": "complex128",
    }
    letters = {"f": "float", "i": "int", "u": "uint"}
    return {
        d: words.get(d.label)
        or (d.label if d.label in ("bool", "string") else letters[d.label[0]] + d.label[1:])
        for d in DType
    }


ONNX_NAMES = _names()
"""The names of element types in the standard's signatures."""
