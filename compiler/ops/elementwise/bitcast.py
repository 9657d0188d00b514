"""Reinterpretation of bits as another element type."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compiler.compute.builder import Handle, Lowering
from compiler.errors import require
from compiler.ir.operator import Array, Cost, OnnxCall, Operand, Tensor, op
from compiler.ir.types import DType, TensorType, Type
from compiler.ops.type_rules.requirements import traffic

_NO_NUMBERS = (DType.string, DType.c64, DType.c128)


@op(traits=("positional",), kind="elementwise", inplace=(0,))
def bitcast(x: Tensor, *, to: DType) -> TensorType:
    """Reinterpret the bits of every element as another type of the same size.

    Errors: E-OP-DTYPE if the types differ in size, for strings and for complex numbers.
    Source: ONNX BitCast-26.
    """
    require(isinstance(to, DType), "E-OP-ATTRIBUTE", f"bitcast needs an element type, got {to!r}")
    fits = x.dtype.bits == to.bits and x.dtype not in _NO_NUMBERS and to not in _NO_NUMBERS
    require(fits, "E-OP-DTYPE", f"bitcast cannot reinterpret {x.dtype} as {to}")
    return TensorType(to, x.type.shape)


@bitcast.reference
def _(x: Array, *, to: DType) -> Array:
    return x.view(to.numpy)


@bitcast.cost
def _(x: Type, *, out: Type, to: DType) -> Cost:
    return traffic([x], out, 0)


@bitcast.lower
def _(k: Lowering, x: Handle, out: Handle, *, to: DType) -> None:
    i = k.axes(out.shape)
    k.assign(out[i], k.bits(x[i], to))


@bitcast.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[2,3,5]"], {"to": DType.i32}
    yield ["i64[2,3]"], {"to": DType.f64}
    yield ["i16[3,5]"], {"to": DType.bf16}
    yield ["f16[3,5]"], {"to": DType.u16}
    yield ["bool[7]"], {"to": DType.u8}
    yield ["i8[2,3]"], {"to": DType.f8e4m3fn}
    yield ["i4[2,3]"], {"to": DType.u4}
    yield ["f32[]"], {"to": DType.u32}
    yield ["f32[0,3]"], {"to": DType.i32}


@bitcast.onnx("BitCast")
def _(n: OnnxCall) -> Operand | None:
    x, to = n.operand(0), DType.from_onnx(int(n.required("to")))
    if x is None or x.dtype in _NO_NUMBERS or to in _NO_NUMBERS:
        return None
    return bitcast(x, to=to)


bitcast.exports_as("BitCast")
