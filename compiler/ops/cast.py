"""Changing the element type."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.compute.numbers import convert
from compiler.errors import require
from compiler.ir.operator import Array, Cost, OnnxCall, Operand, Tensor, op
from compiler.ir.types import DType, TensorType, Type
from compiler.ops.requirements import is_one_of, n_elements, traffic

_PLAIN_BITS = (8, 16, 32, 64)


def _is_plain(dtype: DType) -> bool:
    """Whether it converts as in numpy: no strings, complex numbers, floats of 8 bits or less."""
    if dtype.is_float:
        return dtype.bits >= 16
    return dtype is DType.bool or (dtype.is_integer and dtype.bits in _PLAIN_BITS)


@op(kind="elementwise", shape_math=True, inplace=())
def cast(x: Tensor, *, to: DType) -> TensorType:
    """Convert every element to another element type.

    Floats become integers by cutting off the fraction (NaN and numbers that do not fit: undefined);
    to bool, everything but 0 is true.
    Errors: E-OP-DTYPE for strings, complex numbers and floats of 8 bits or less.
    """
    require(isinstance(to, DType), "E-OP-ATTRIBUTE", f"cast needs an element type, got {to!r}")
    for dtype in (x.dtype, to):
        require(_is_plain(dtype), "E-OP-DTYPE", f"cast does not convert {dtype}")
    return TensorType(to, x.type.shape)


@cast.reference
def _(x: Array, *, to: DType) -> Array:
    if x.dtype == np.object_:
        if not is_one_of(to, "integer"):
            raise TypeError("a symbolic size is an integer")
        return x
    with np.errstate(all="ignore"):
        return convert(x, to)


@cast.cost
def _(x: Type, *, out: Type, to: DType) -> Cost:
    return traffic([x], out, n_elements(out))


@cast.lower
def _(k: Lowering, x: Handle, out: Handle, *, to: DType) -> None:
    i = k.axes(out.shape)
    k.assign(out[i], k.convert(x[i], to))


@cast.samples
def _() -> Iterator[tuple[Any, ...]]:
    fractions = np.array([[-2.7, -0.5, 0.0], [0.5, 2.7, 100.9]], np.float32)
    for to in (DType.i64, DType.i8, DType.bool, DType.f64, DType.f16, DType.bf16):
        yield [fractions], {"to": to}
    yield ["i64[2,3,5]"], {"to": DType.f32}
    yield ["bool[5]"], {"to": DType.f32}
    yield ["u8[3,2]"], {"to": DType.i32}
    yield ["f32[0,3]"], {"to": DType.i32}
    yield ["f16[]"], {"to": DType.f32}


@cast.onnx("Cast", "CastLike")
def _(n: OnnxCall) -> Operand | None:
    x, like = n.operand(0), n.operand(1)
    assert x is not None
    to = like.dtype if like is not None else DType.from_onnx(int(n.attr("to")))
    if not (_is_plain(x.dtype) and _is_plain(to)):
        return None
    return x if x.dtype is to and n.op_type == "CastLike" else cast(x, to=to)
