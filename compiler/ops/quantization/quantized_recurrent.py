"""The import of ONNX Runtime's LSTM with quantized weights, as an LSTM of dequantized weights.

Source: DynamicQuantizeLSTM in ContribOperators.md of ONNX Runtime.
"""

from __future__ import annotations

from compiler.errors import CompileError
from compiler.ir.operator import OnnxCall, Operand, Tensor
from compiler.ir.types import DType
from compiler.ops.data_movement.reshape import squeeze, unsqueeze
from compiler.ops.data_movement.transpose import transpose
from compiler.ops.quantization.dynamic_quantize import through_bytes
from compiler.ops.quantization.quantize import dequantize
from compiler.ops.recurrent.layers import common_operands, lstm


@lstm.onnx("com.microsoft:DynamicQuantizeLSTM")
def _(n: OnnxCall) -> Operand | None:
    """Import DynamicQuantizeLSTM: fake-quantize the input, as one tensor, and each state."""
    given, attrs = common_operands(n, 8)
    operands: list[Operand] = list(given)
    x, w, r = operands[:3]
    parameters = [n.operand(i) for i in range(8, 12)]
    if x is None or w is None or r is None or x.dtype is not DType.f32:
        return None
    w_scale, w_zero, r_scale, r_zero = parameters
    if w_scale is None or r_scale is None:
        return None
    operands[0] = through_bytes(x)
    operands[1] = _weights(w, w_scale, w_zero)
    operands[2] = _weights(r, r_scale, r_zero)
    forget = bool(n.attr("input_forget", 0))
    return lstm(*operands, **attrs, input_forget=forget, rounded_states=True)


def _weights(q: Tensor, scale: Tensor, zero: Tensor | None) -> Operand:
    """Dequantize weights [D, I, 4H], scaled per direction or column, and transpose to [D, 4H, I].

    A product of dequantized operands can be computed in integers. One scale per column is expressed
    as a scale per block, with blocks as long as the reduced axis.
    """
    points: list[Operand] = [scale, zero]
    if scale.rank == 1:
        made = dequantize(q, *points, to=DType.f32, axis=0)
    elif q.shape[0] == 1:
        single = (None if p is None else squeeze(p, axes=(0,)) for p in points)
        made = dequantize(q, *single, to=DType.f32, axis=2)
    else:
        blocks = (None if p is None else unsqueeze(p, axes=(1,)) for p in points)
        size = q.shape[1]
        if not isinstance(size, int):
            raise CompileError(
                "E-SHAPE-OPEN", "the size of the reduced axis is known only at run time"
            )
        made = dequantize(q, *blocks, to=DType.f32, axis=1, block_size=size)
    return transpose(made, perm=(0, 2, 1))
