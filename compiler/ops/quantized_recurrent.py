"""ONNX Runtime's LSTM with quantized weights, as an LSTM of the numbers that they stand for.

Source: DynamicQuantizeLSTM in ContribOperators.md of ONNX Runtime.
"""

from __future__ import annotations

from compiler.ir.operator import OnnxCall, Operand, Tensor
from compiler.ir.types import DType
from compiler.ops.cast import cast
from compiler.ops.dynamic_quantize import through_bytes
from compiler.ops.elementwise import mul, sub
from compiler.ops.quantize import dequantize
from compiler.ops.recurrent import common_operands, lstm
from compiler.ops.reshape import squeeze, unsqueeze
from compiler.ops.transpose import transpose


@lstm.onnx("com.microsoft:DynamicQuantizeLSTM")
def _(n: OnnxCall) -> Operand | None:
    """The inputs are rounded to 8 bits as one tensor, and so is the state of every step."""
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
    """Weights [D, I, 4H] with a scale per direction, or per direction and column, as [D, 4H, I].

    Those of a single direction are codes that are dequantized, so that they may be multiplied.
    """
    if q.shape[0] == 1:
        scales, zeros = (None if p is None else squeeze(p, axes=(0,)) for p in (scale, zero))
        made = dequantize(q, scales, zeros, to=DType.f32, axis=2)
        return transpose(made, perm=(0, 2, 1))
    axes = (1, 2) if scale.rank == 1 else (1,)
    whole: Operand = cast(q, to=DType.f32)
    if zero is not None:
        whole = sub(whole, cast(unsqueeze(zero, axes=axes), to=DType.f32))
    return transpose(mul(whole, unsqueeze(scale, axes=axes)), perm=(0, 2, 1))
