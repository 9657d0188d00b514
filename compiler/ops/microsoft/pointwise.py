"""Pointwise operators of ONNX Runtime; most are fusions of two or three ONNX operators.

Source: ONNX Runtime, docs/ContribOperators.md.
"""

from __future__ import annotations

import numpy as np

from compiler.ir.operator import OnnxCall, Operand, Tensor
from compiler.ir.types import DType
from compiler.ops.data_movement.gather import gather_nd
from compiler.ops.data_movement.pad import pad
from compiler.ops.data_movement.reshape import reshape, unsqueeze
from compiler.ops.data_movement.shape import fill, range_, shape
from compiler.ops.data_movement.slice import slice_
from compiler.ops.data_movement.trilu import trilu
from compiler.ops.elementwise.activations import gelu, swish
from compiler.ops.elementwise.arithmetic import add, mul
from compiler.ops.images.sampling import grid_sample
from compiler.ops.microsoft.products import as_standard
from compiler.ops.reductions.softmax import softmax


def summed(*operands: Tensor | None) -> Operand:
    """Sum the operands that are not omitted."""
    first, *rest = [o for o in operands if o is not None]
    made: Operand = first
    for o in rest:
        made = add(made, o)
    return made


@gelu.onnx("com.microsoft:Gelu", "com.microsoft:BiasGelu")
def _(n: OnnxCall) -> Operand:
    return gelu(summed(*n.operands))


@gelu.onnx("com.microsoft:FastGelu")
def _(n: OnnxCall) -> Operand:
    return gelu(summed(*n.operands), approximate="tanh")


@swish.onnx("com.microsoft:QuickGelu")
def _(n: OnnxCall) -> Operand:
    return swish(n.operand(0), alpha=float(n.attr("alpha", 1.702)))


@gelu.onnx("com.microsoft:BiasSplitGelu")
def _(n: OnnxCall) -> Operand | None:
    """Import as the product of the first half of the last axis and the gelu of the second half."""
    x = n.operand(0)
    assert x is not None
    if x.type.shape is None or not isinstance(x.shape[-1], int):
        return None
    whole, half, last = summed(*n.operands), x.shape[-1] // 2, np.array([x.rank - 1])
    left = slice_(whole, np.array([0]), np.array([half]), last)
    right = slice_(whole, np.array([half]), np.array([2 * half]), last)
    return mul(left, gelu(right))


@add.onnx("com.microsoft:BiasAdd")
def _(n: OnnxCall) -> Operand:
    return summed(*n.operands)


@add.onnx("com.microsoft:BiasDropout")
def _(n: OnnxCall) -> Operand | tuple[Operand, ...] | None:
    """Import for inference: no element is dropped, and the mask is true everywhere."""
    x, training = n.operand(0), n.operand(4)
    if training is not None and (training.value is None or bool(training.known.any())):
        return None
    made = summed(x, n.operand(1), n.operand(2))
    if n.n_outputs == 1:
        return made
    return made, fill(shape(x), value=True, dtype=DType.bool)


@softmax.onnx("com.microsoft:BiasSoftmax")
def _(n: OnnxCall) -> Operand | None:
    """Import a softmax over the last axis of a sum; a node with more softmax axes stays foreign."""
    x, bias = n.operand(0), n.operand(1)
    assert x is not None
    assert bias is not None
    if x.type.shape is None or bias.type.shape is None:
        return None
    if int(n.attr("axis", 1)) % x.rank != x.rank - 1 or bias.rank > x.rank:
        return None
    return softmax(add(x, bias), axis=x.rank - 1)


# Names with the semantics of ONNX's operators of the same name


@trilu.onnx("com.microsoft:Trilu")
def _(n: OnnxCall) -> Operand | tuple[Operand, ...] | None:
    return as_standard(n, "Trilu", 14)


@gather_nd.onnx("com.microsoft:GatherND")
def _(n: OnnxCall) -> Operand | tuple[Operand, ...] | None:
    return as_standard(n, "GatherND", 13)


@grid_sample.onnx("com.microsoft:GridSample")
def _(n: OnnxCall) -> Operand | tuple[Operand, ...] | None:
    return as_standard(n, "GridSample", 16)


@range_.onnx("com.microsoft:Range")
def _(n: OnnxCall) -> Operand | tuple[Operand, ...] | None:
    """Import Range; an omitted step is 1."""
    start, limit, step = n.operand(0), n.operand(1), n.operand(2)
    assert start is not None
    one = np.asarray(1, start.dtype.numpy)
    return range_(start, limit, one if step is None else step)


@pad.onnx("com.microsoft:Pad")
def _(n: OnnxCall) -> Operand | None:
    """Import Pad; its list of pads may be a matrix of one row."""
    pads = n.operand(1)
    assert pads is not None
    if pads.value is None:
        return None
    value = n.operand(2)
    filled = value if value is None else reshape(value, np.array([], np.int64))
    flat = pads.value.reshape(-1)
    return pad(n.operand(0), flat, filled, mode=str(n.attr("mode", "constant")))


@unsqueeze.onnx("com.microsoft:ExpandDims")
def _(n: OnnxCall) -> Operand | None:
    x, axis = n.operand(0), n.operand(1)
    assert x is not None
    assert axis is not None
    if axis.value is None or x.type.shape is None:
        return None
    return unsqueeze(x, axes=(int(axis.known.reshape(-1)[0]) % (x.rank + 1),))
