"""The import of ONNX Runtime's operators on quantized tensors, as operators on floats.

Each quantized operator becomes a dequantize node, the operator in f32, and a quantize node. Fusion
combines the three nodes into one kernel if possible.

Source: ContribOperators.md of ONNX Runtime.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compiler.ir.operator import Call, OnnxCall, Operand, Tensor
from compiler.ir.types import DType
from compiler.ops.convolution.window import onnx_window
from compiler.ops.data_movement.concat import concat
from compiler.ops.data_movement.transpose import transpose
from compiler.ops.elementwise.activations import leaky_relu, sigmoid
from compiler.ops.elementwise.arithmetic import add, mul
from compiler.ops.elementwise.compare import where
from compiler.ops.pooling.pool import average_pool, max_pool
from compiler.ops.quantization.quantize import dequantize, quantize
from compiler.ops.quantization.quantized_matmul import BYTES
from compiler.ops.reductions.reduce import reduce_mean
from compiler.ops.reductions.softmax import along_axis, softmax


def _numbers(n: OnnxCall, at: int) -> Call | None:
    """Dequantize a tensor that is given by three operands: elements, scale and zero point."""
    x, scale, zero = (n.operand(at + i) for i in range(3))
    if x is None or scale is None or x.dtype not in BYTES:
        return None
    return dequantize(x, scale, zero, to=DType.f32)


def _steps(x: Operand, scale: Tensor | None, zero: Tensor | None, to: DType) -> Operand | None:
    """Quantize floats to an integer type by a scale and zero point."""
    if scale is None:
        return None
    return quantize(x, scale, zero, to=to, precision=DType.f32)


def _element_type(n: OnnxCall, at: int = 0) -> DType:
    x = n.operand(at)
    return DType.u8 if x is None else x.dtype


@quantize.onnx("com.microsoft:QLinearAdd", "com.microsoft:QLinearMul")
def _(n: OnnxCall) -> Operand | None:
    a, b = _numbers(n, 0), _numbers(n, 3)
    if a is None or b is None:
        return None
    made = (add if n.op_type == "QLinearAdd" else mul)(a, b)
    return _steps(made, n.operand(6), n.operand(7), _element_type(n))


@quantize.onnx("com.microsoft:QLinearSigmoid", "com.microsoft:QLinearLeakyRelu")
def _(n: OnnxCall) -> Operand | None:
    x = _numbers(n, 0)
    if x is None:
        return None
    alpha = float(n.attr("alpha", 0.01))
    made = sigmoid(x) if n.op_type == "QLinearSigmoid" else leaky_relu(x, alpha=alpha)
    return _steps(made, n.operand(3), n.operand(4), _element_type(n))


@quantize.onnx("com.microsoft:QLinearWhere")
def _(n: OnnxCall) -> Operand | None:
    a, b = _numbers(n, 1), _numbers(n, 4)
    if a is None or b is None:
        return None
    return _steps(where(n.operand(0), a, b), n.operand(7), n.operand(8), _element_type(n, 1))


@quantize.onnx("com.microsoft:QLinearConcat")
def _(n: OnnxCall) -> Operand | None:
    parts = [_numbers(n, at) for at in range(2, len(n.operands), 3)]
    if None in parts or not parts:
        return None
    made = concat(*parts, axis=int(n.attr("axis", 0)))
    return _steps(made, n.operand(0), n.operand(1), _element_type(n, 2))


@quantize.onnx("com.microsoft:QLinearSoftmax")
def _(n: OnnxCall) -> Operand | None:
    """Import QLinearSoftmax; its attribute `opset` determines the axes, as in Softmax."""
    scale, zero = n.operand(1), n.operand(2)
    if scale is None or _element_type(n) not in BYTES:
        return None

    def one(x: Operand, *, axis: int) -> Call:
        return softmax(dequantize(x, scale, zero, to=DType.f32), axis=axis)

    opset = int(n.attr("opset", 13))
    plain = OnnxCall("Softmax", "", opset, n.operands[:1], n.attrs, 1)
    made = along_axis(plain, one)
    if made is None:
        return None
    return _steps(made, n.operand(3), n.operand(4), _element_type(n))


@quantize.onnx("com.microsoft:QLinearReduceMean")
def _(n: OnnxCall) -> Operand | None:
    x, given = _numbers(n, 0), n.operand(0)
    if x is None or given is None or given.type.shape is None:
        return None
    axes = tuple(a % given.rank for a in n.attr("axes") or range(given.rank))
    made = reduce_mean(x, axes=axes, keepdims=bool(n.attr("keepdims", 1)))
    return _steps(made, n.operand(3), n.operand(4), _element_type(n))


# Images, possibly with channels last


def _with_channels_first(
    n: OnnxCall, x: Operand, pooled: Callable[[Operand, int], Operand]
) -> Operand | None:
    """Apply `pooled` to a channels-first view of an image, and restore the original axis order."""
    given = n.operand(0)
    if given is None or given.type.shape is None or not 3 <= given.rank <= 5:
        return None
    rank = given.rank
    if not n.attr("channels_last", 0) and n.op_type != "NhwcMaxPool":
        return pooled(x, rank)
    made = pooled(transpose(x, perm=(0, rank - 1, *range(1, rank - 1))), rank)
    return transpose(made, perm=(0, *range(2, rank), 1))


@quantize.onnx("com.microsoft:QLinearGlobalAveragePool")
def _(n: OnnxCall) -> Operand | None:
    x = _numbers(n, 0)
    if x is None:
        return None

    def mean(image: Operand, rank: int) -> Operand:
        return reduce_mean(image, axes=tuple(range(2, rank)), keepdims=True)

    made = _with_channels_first(n, x, mean)
    return made and _steps(made, n.operand(3), n.operand(4), _element_type(n))


@quantize.onnx("com.microsoft:QLinearAveragePool")
def _(n: OnnxCall) -> Operand | None:
    x = _numbers(n, 0)
    if x is None:
        return None
    counted = bool(n.attr("count_include_pad", 0))

    def mean(image: Operand, rank: int) -> Operand:
        return average_pool(image, count_include_pad=counted, **_window(n))

    made = _with_channels_first(n, x, mean)
    return made and _steps(made, n.operand(3), n.operand(4), _element_type(n))


@max_pool.onnx("com.microsoft:NhwcMaxPool")
def _(n: OnnxCall) -> Operand | None:
    return _with_channels_first(n, n.operand(0), lambda x, _: max_pool(x, **_window(n)))


def _window(n: OnnxCall) -> dict[str, Any]:
    kernel = tuple(n.attr("kernel_shape"))
    return {"kernel": kernel, "ceil_mode": bool(n.attr("ceil_mode", 0)), **onnx_window(n, kernel)}
