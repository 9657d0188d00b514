"""Element types without a kernel in ONNX Runtime's CPU provider, and equivalent nodes.

If a node has no kernel for its element type, ONNX Runtime does not load the model, even if the
standard accepts the type. Rewrites may introduce nodes without a kernel into a loadable model, for
example Relu from Max.
Source: ONNX Runtime 1.31; the slow test `test_samples_load_where_the_peer_has_a_way` runs every
sample in every element type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from compiler.ir.operator import Operand, Standard, standard
from compiler.ir.types import DType


def _types(labels: str) -> frozenset[DType]:
    return frozenset(map(DType.parse, labels.split()))


LACKING: Mapping[str, frozenset[DType]] = {
    **dict.fromkeys(("ArgMax", "ArgMin"), _types("i16 u16 u32 u64")),
    "BitShift": _types("i16 u16"),
    "CumSum": _types("u8 u16 u32 u64"),
    "Einsum": _types("i8 i16 u8 u16 u32 u64"),
    "Gemm": _types("i8 i16 i32 i64 u8 u16 u32 u64"),
    **dict.fromkeys(("Max", "Min", "Pad"), _types("i16 u16")),
    "NonZero": _types("i8 i16 u16 u32 u64 f64"),
    "PRelu": _types("i8 i16 i32 i64 u8 u16 u32 u64 f64"),
    "Pow": _types("i8 i16 u8 u16 u32"),
    # The i64 kernels truncate elements to 32 bits, so no type may be widened to i64.
    **dict.fromkeys(("ReduceMax", "ReduceMin"), _types("u16 u32 u64 i64")),
    "TopK": _types("u16 u32 u64"),
    **dict.fromkeys(
        (
            "ReduceL1", "ReduceL2", "ReduceLogSumExp", "ReduceMean",
            "ReduceProd", "ReduceSum", "ReduceSumSquare",
        ),
        _types("u8 u16 u32 u64"),
    ),
    "Relu": _types("i16 i64"),
    "Resize": _types("i16 u16"),
    "Trilu": _types("i8 i16 u8 u16 u32 u64"),
    "Unique": _types("i16 i32 u8 u16 u32 u64"),
    "Where": _types("i16 u16 bool"),
    **dict.fromkeys(
        (
            "Elu", "HardSigmoid", "HardSwish", "LeakyRelu", "Mish",
            "Selu", "Softplus", "Softsign", "ThresholdedRelu",
        ),
        _types("f64"),
    ),
}  # fmt: skip
"""Maps each operator to the element types without a kernel.

These are types of the result, or of the first operand if no operand shares the type parameter of
the result.
"""


def _relu(s: Standard, number: Callable[[float], Any]) -> Standard:
    return standard("Max", s.args[0], number(0))


def _prelu(s: Standard, number: Callable[[float], Any]) -> Standard:
    x, slope = s.args
    return _where_negative(x, standard("Mul", slope, x), x, number)


def _leaky_relu(s: Standard, number: Callable[[float], Any]) -> Standard:
    x = s.args[0]
    return _where_negative(x, standard("Mul", x, number(s.attrs.get("alpha", 0.01))), x, number)


def _elu(s: Standard, number: Callable[[float], Any]) -> Standard:
    x = s.args[0]
    scaled = standard("Mul", _expm1(x, number), number(s.attrs.get("alpha", 1.0)))
    return _where_negative(x, scaled, x, number)


def _selu(s: Standard, number: Callable[[float], Any]) -> Standard:
    return standard("Mul", _elu(s, number), number(s.attrs["gamma"]))


def _thresholded_relu(s: Standard, number: Callable[[float], Any]) -> Standard:
    x = s.args[0]
    above = standard("Greater", x, number(s.attrs.get("alpha", 1.0)))
    return standard("Where", above, x, number(0))


def _hard_sigmoid(s: Standard, number: Callable[[float], Any]) -> Standard:
    scaled = standard("Mul", s.args[0], number(s.attrs.get("alpha", 0.2)))
    moved = standard("Add", scaled, number(s.attrs.get("beta", 0.5)))
    return standard("Clip", moved, number(0), number(1))


def _softsign(s: Standard, number: Callable[[float], Any]) -> Standard:
    x = s.args[0]
    return standard("Div", x, standard("Add", standard("Abs", x), number(1)))


def _softplus(s: Standard, number: Callable[[float], Any]) -> Standard:
    """Return max(x, 0) + log(1 + exp(-|x|)), which does not overflow."""
    x = s.args[0]
    small = standard("Exp", standard("Neg", standard("Abs", x)))
    log = standard("Log", standard("Add", small, number(1)))
    return standard("Add", standard("Max", x, number(0)), log)


def _hard_swish(s: Standard, number: Callable[[float], Any]) -> Standard:
    x = s.args[0]
    return standard("Mul", x, standard("HardSigmoid", x, alpha=1 / 6, beta=0.5))


def _mish(s: Standard, number: Callable[[float], Any]) -> Standard:
    x = s.args[0]
    return standard("Mul", x, standard("Tanh", standard("Softplus", x)))


def _where_negative(
    x: Operand, then: Operand, otherwise: Operand, number: Callable[[float], Any]
) -> Standard:
    return standard("Where", standard("Less", x, number(0)), then, otherwise)


def _expm1(x: Operand, number: Callable[[float], Any]) -> Standard:
    return standard("Sub", standard("Exp", x), number(1))


def _gemm(s: Standard, number: Callable[[float], Any]) -> Standard:
    """Return the product of two matrices, possibly transposed, without an addition."""
    a, b = s.args
    turned = [
        standard("Transpose", x, perm=(1, 0)) if s.attrs.get(flag) else x
        for x, flag in ((a, "transA"), (b, "transB"))
    ]
    return standard("MatMul", *turned)


INSTEAD: Mapping[str, Callable[[Standard, Callable[[float], Any]], Standard]] = {
    "Elu": _elu,
    "Gemm": _gemm,
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": _hard_swish,
    "LeakyRelu": _leaky_relu,
    "Mish": _mish,
    "PRelu": _prelu,
    "Relu": _relu,
    "Selu": _selu,
    "Softplus": _softplus,
    "Softsign": _softsign,
    "ThresholdedRelu": _thresholded_relu,
}
"""Builders of equivalent nodes that have kernels; arguments are a node and a constructor of
literals."""


def lacks(op_type: str, dtype: DType) -> bool:
    """Return whether ONNX Runtime lacks a kernel for a type that the standard accepts."""
    return dtype in LACKING.get(op_type, ())


def instead(s: Standard, dtype: DType | None) -> Standard | None:
    """Return equivalent nodes with kernels in ONNX Runtime; None if unneeded or unknown."""
    if dtype is None or s.domain or not lacks(s.op_type, dtype) or s.op_type not in INSTEAD:
        return None
    return INSTEAD[s.op_type](s, lambda value: np.asarray(value, dtype.numpy))
