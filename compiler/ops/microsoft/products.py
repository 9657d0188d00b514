"""The matrix products and convolutions with activations that ONNX Runtime's optimiser creates.

Source: ONNX Runtime, docs/ContribOperators.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from compiler.ir.operator import ONNX, OnnxCall, Operand, Tensor
from compiler.ir.types import DType
from compiler.ops.convolution.conv import conv
from compiler.ops.convolution.conv_transpose import conv_transpose
from compiler.ops.data_movement.reshape import unsqueeze
from compiler.ops.data_movement.transpose import transpose
from compiler.ops.elementwise.activations import (
    gelu,
    hard_sigmoid,
    hard_swish,
    leaky_relu,
    relu,
    sigmoid,
)
from compiler.ops.elementwise.arithmetic import add, mul, sqrt, sub, tanh
from compiler.ops.elementwise.compare import clip
from compiler.ops.linear_algebra.matmul import matmul
from compiler.ops.reductions.reduce import reduce_sum_square

Parameters = Sequence[float]

ACTIVATIONS: Mapping[str, Callable[[Operand, Parameters, DType], Operand]] = {
    "": lambda x, p, dtype: x,
    "Relu": lambda x, p, dtype: relu(x),
    "Tanh": lambda x, p, dtype: tanh(x),
    "Sigmoid": lambda x, p, dtype: sigmoid(x),
    "HardSwish": lambda x, p, dtype: hard_swish(x),
    "LeakyRelu": lambda x, p, dtype: leaky_relu(x, alpha=_at(p, 0, 0.01)),
    "HardSigmoid": lambda x, p, dtype: hard_sigmoid(x, alpha=_at(p, 0, 0.2), beta=_at(p, 1, 0.5)),
    "Clip": lambda x, p, dtype: clip(
        x, np.asarray(_at(p, 0, -np.inf), dtype.numpy), np.asarray(_at(p, 1, np.inf), dtype.numpy)
    ),
}
"""Functions that build an activation from the value, the parameters and the element type."""


def _at(parameters: Parameters, position: int, default: float) -> float:
    return float(parameters[position]) if position < len(parameters) else default


def activated(made: Operand, name: str, parameters: Parameters, dtype: DType) -> Operand | None:
    """Apply an activation; return None for an unknown activation."""
    if made is None or name not in ACTIVATIONS:
        return None
    return ACTIVATIONS[name](made, parameters, dtype)


def as_standard(
    n: OnnxCall, op_type: str, opset: int, n_operands: int = 64, **attrs: Any
) -> Operand | tuple[Operand, ...] | None:
    """Import a node as ONNX's own operator of this name, without the node's activation."""
    extra = {k: v for k, v in n.attrs.items() if not k.startswith("activation")}
    call = replace(
        n,
        op_type=op_type,
        domain="",
        opset=opset,
        operands=n.operands[:n_operands],
        attrs={**extra, **attrs},
    )
    return ONNX[op_type](call)


# Matrices


def _turned(x: Tensor, batch: bool) -> Operand:
    """Move the first axis after the other batch axes, to the third position from the end."""
    if not batch or x.rank < 3:
        return x
    return transpose(x, perm=(*range(1, x.rank - 1), 0, x.rank - 1))


@matmul.onnx(
    "com.microsoft:FusedMatMul",
    "com.microsoft:TransposeMatMul",
    "com.microsoft:FusedMatMulActivation",
)
def _(n: OnnxCall) -> Operand | None:
    a, b = n.operand(0), n.operand(1)
    assert a is not None
    assert b is not None
    if a.type.shape is None or b.type.shape is None:
        return None
    made: Operand = matmul(
        _turned(a, bool(n.attr("transBatchA", 0))),
        _turned(b, bool(n.attr("transBatchB", 0))),
        transpose_a=bool(n.attr("transA", 0)),
        transpose_b=bool(n.attr("transB", 0)),
    )
    alpha = float(n.attr("alpha", 1.0))
    if alpha != 1:
        made = mul(made, np.asarray(alpha, a.dtype.numpy))
    return activated(made, n.attr("activation", ""), _letters(n), a.dtype)


def _letters(n: OnnxCall) -> list[float]:
    """Return the parameters of an activation, from one attribute per parameter."""
    names = ("activation_alpha", "activation_beta", "activation_gamma")
    return [float(n.attr(k)) for k in names if n.attr(k) is not None]


@matmul.onnx("com.microsoft:FusedGemm")
def _(n: OnnxCall) -> Operand | None:
    a = n.operand(0)
    assert a is not None
    made = as_standard(n, "Gemm", 13)
    return activated(made, n.attr("activation", ""), _letters(n), a.dtype)


@matmul.onnx("com.microsoft:GemmFastGelu")
def _(n: OnnxCall) -> Operand:
    made: Operand = matmul(n.operand(0), n.operand(1))
    if n.operand(2) is not None:
        made = add(made, n.operand(2))
    return gelu(made, approximate="tanh")


@matmul.onnx("com.microsoft:CDist")
def _(n: OnnxCall) -> Operand | None:
    """Import CDist by squared differences, which are accurate for nearly equal rows."""
    metric = n.attr("metric", "sqeuclidean")
    if metric not in ("sqeuclidean", "euclidean"):
        return None
    difference = sub(unsqueeze(n.operand(0), axes=(1,)), unsqueeze(n.operand(1), axes=(0,)))
    made = reduce_sum_square(difference, axes=(2,), keepdims=False)
    return made if metric == "sqeuclidean" else sqrt(made)


# Convolutions


@conv.onnx("com.microsoft:FusedConv")
def _(n: OnnxCall) -> Operand | None:
    """Import a convolution with an addition and an activation."""
    x, other = n.operand(0), n.operand(3)
    assert x is not None
    made = as_standard(n, "Conv", 11, n_operands=3)
    if made is not None and other is not None:
        made = add(made, other)
    parameters = n.attr("activation_params") or ()
    return activated(made, n.attr("activation", ""), parameters, x.dtype)


@conv_transpose.onnx("com.microsoft:ConvTransposeWithDynamicPads")
def _(n: OnnxCall) -> Operand | tuple[Operand, ...] | None:
    pads = n.operand(2)
    if pads is not None and pads.value is None:
        return None
    stated: dict[str, Any] = (
        {} if pads is None else {"pads": tuple(int(v) for v in pads.known.reshape(-1))}
    )
    plain = replace(n, operands=(n.operand(0), n.operand(1), n.operand(3)))
    return as_standard(plain, "ConvTranspose", 11, **stated)
