"""The import of ONNX Runtime's quantized matrix products, as i32 sums that are then scaled.

Source: ContribOperators.md of ONNX Runtime.
"""

from __future__ import annotations

import numpy as np

from compiler.ir.operator import OnnxCall, Operand, Tensor
from compiler.ir.types import DType
from compiler.ops.data_movement.transpose import transpose
from compiler.ops.elementwise.arithmetic import add, div, mul, sub
from compiler.ops.elementwise.cast import cast
from compiler.ops.linear_algebra.matmul import matmul
from compiler.ops.microsoft.attention import of_projection
from compiler.ops.quantization.dynamic_quantize import dynamic_quantize
from compiler.ops.quantization.quantized_matmul import BYTES, matmul_integer
from compiler.ops.quantization.requantize import requantize
from compiler.ops.reductions.reduce import reduce_sum


def _are_bytes(*operands: Tensor | None) -> bool:
    return all(o is not None and o.dtype in BYTES for o in operands)


def _as_floats(sums: Operand, scale: Operand, bias: Operand | None) -> Operand:
    """Dequantize i32 sums."""
    made = mul(cast(sums, to=DType.f32), scale)
    return made if bias is None else add(made, bias)


@matmul_integer.onnx("com.microsoft:DynamicQuantizeMatMul")
def _(n: OnnxCall) -> Operand | None:
    a, b, b_scale, b_zero, bias = (n.operand(i) for i in range(5))
    if a is None or a.dtype is not DType.f32 or not _are_bytes(b):
        return None
    quantized = dynamic_quantize(a)
    sums = matmul_integer(quantized.out(0), b, quantized.out(2), b_zero)
    return _as_floats(sums, mul(quantized.out(1), b_scale), bias)


@matmul_integer.onnx("com.microsoft:MatMulIntegerToFloat")
def _(n: OnnxCall) -> Operand | None:
    a, b, a_scale, b_scale, a_zero, b_zero, bias = (n.operand(i) for i in range(7))
    if not _are_bytes(a, b) or a_scale is None or a_scale.dtype is not DType.f32:
        return None
    return _as_floats(matmul_integer(a, b, a_zero, b_zero), mul(a_scale, b_scale), bias)


@requantize.onnx("com.microsoft:QGemm")
def _(n: OnnxCall) -> Operand | None:
    """Import QGemm: a result without a scale is float; C has the scale of products of A and B."""
    a, a_scale, a_zero, b, b_scale, b_zero, c, y_scale, y_zero = (n.operand(i) for i in range(9))
    if not _are_bytes(a, b):
        return None
    left = transpose(a, perm=(1, 0)) if n.attr("transA", 0) else a
    right = transpose(b, perm=(1, 0)) if n.attr("transB", 0) else b
    sums: Operand = matmul_integer(left, right, a_zero, b_zero)
    sums = sums if c is None else add(sums, c)
    scale: Operand = mul(a_scale, b_scale)
    alpha = float(n.attr("alpha", 1.0))
    scale = scale if alpha == 1 else mul(scale, np.array(alpha, np.float32))
    if y_scale is None:
        return _as_floats(sums, scale, None)
    to = a.dtype if y_zero is None and a is not None else y_zero.dtype if y_zero else DType.u8
    return requantize(sums, div(scale, y_scale), y_zero, to=to)


@matmul_integer.onnx("com.microsoft:QAttention")
def _(n: OnnxCall) -> Operand | tuple[Operand, ...] | None:
    """Import QAttention, in which only the projection to queries, keys and values is quantized."""
    x, w, bias, x_scale, w_scale, mask, x_zero, w_zero, past = (n.operand(i) for i in range(9))
    if x is None or w is None or not _are_bytes(x, w) or x.type.shape is None:
        return None
    sums = matmul_integer(x, w, x_zero, w_zero)
    projected = _as_floats(sums, mul(x_scale, w_scale), bias)
    return of_projection(n, x, w, projected, DType.f32, mask, past, None)


# Integers without quantization


@matmul_integer.onnx("com.microsoft:MatMulInteger16")
def _(n: OnnxCall) -> Operand:
    return matmul(cast(n.operand(0), to=DType.i32), cast(n.operand(1), to=DType.i32))


@mul.onnx("com.microsoft:MulInteger")
def _(n: OnnxCall) -> Operand:
    return mul(_shifted(n, 0), _shifted(n, 2))


def _shifted(n: OnnxCall, at: int) -> Operand:
    x, zero = cast(n.operand(at), to=DType.i32), n.operand(at + 1)
    return x if zero is None else sub(x, cast(zero, to=DType.i32))


@reduce_sum.onnx("com.microsoft:ReduceSumInteger")
def _(n: OnnxCall) -> Operand | None:
    x = n.operand(0)
    if x is None or x.type.shape is None:
        return None
    axes = tuple(a % x.rank for a in n.attr("axes"))
    return reduce_sum(cast(x, to=DType.i32), axes=axes, keepdims=bool(n.attr("keepdims", 1)))
