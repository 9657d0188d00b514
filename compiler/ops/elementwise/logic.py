"""Logic on bool and on the bits of integers: one row per operator."""

from __future__ import annotations

import numpy as np

from compiler.ir.operator import OnnxCall, Operand, Tensor, standard
from compiler.ir.types import DType
from compiler.ops.elementwise.table import binary, unary

logical_and = binary(
    "logical_and", "True if both elements are true.",
    traits=("commutative",),
    numpy=np.logical_and, scalar=lambda k, a, b: k.apply("and", a, b), onnx="And", elements="bool",
)  # fmt: skip
logical_or = binary(
    "logical_or", "True if at least one of two elements is true.",
    traits=("commutative",),
    numpy=np.logical_or, scalar=lambda k, a, b: k.apply("or", a, b), onnx="Or", elements="bool",
)  # fmt: skip
logical_xor = binary(
    "logical_xor", "True if exactly one of two elements is true.",
    traits=("commutative",),
    numpy=np.logical_xor, scalar=lambda k, a, b: k.apply("xor", a, b), onnx="Xor", elements="bool",
)  # fmt: skip
logical_not = unary(
    "logical_not", "True if the element is false.",
    numpy=np.logical_not, scalar=lambda k, x: k.apply("not", x), onnx="Not", elements="bool",
    exact=True,
)  # fmt: skip

bit_and = binary(
    "bit_and", "Bitwise and of integers.",
    traits=("commutative",),
    numpy=np.bitwise_and, scalar=lambda k, a, b: k.apply("and", a, b), onnx="BitwiseAnd",
    elements="integer",
)  # fmt: skip
bit_or = binary(
    "bit_or", "Bitwise or of integers.",
    traits=("commutative",),
    numpy=np.bitwise_or, scalar=lambda k, a, b: k.apply("or", a, b), onnx="BitwiseOr",
    elements="integer",
)  # fmt: skip
bit_xor = binary(
    "bit_xor", "Bitwise exclusive or of integers.",
    traits=("commutative",),
    numpy=np.bitwise_xor, scalar=lambda k, a, b: k.apply("xor", a, b), onnx="BitwiseXor",
    elements="integer",
)  # fmt: skip
bit_not = unary(
    "bit_not", "Bitwise complement of an integer.",
    numpy=np.invert, scalar=lambda k, x: k.apply("not", x), onnx="BitwiseNot", elements="integer",
    exact=True,
)  # fmt: skip
shift_left = binary(
    "shift_left", "Shift the bits of an integer left by the second operand.",
    numpy=np.left_shift, scalar=lambda k, a, b: k.apply("shl", a, b), elements="integer",
)  # fmt: skip
shift_right = binary(
    "shift_right", "Shift the bits of an integer right by the second operand.",
    numpy=np.right_shift, scalar=lambda k, a, b: k.apply("shr", a, b), elements="integer",
)  # fmt: skip


@shift_right.export
def _(a: Tensor, b: Tensor) -> Operand:
    """Complement negative numbers before and after the shift, so that 1 bits are shifted in."""
    if not (plain := _unsigned(a.dtype)):
        return standard("BitShift", a, b, direction="RIGHT")
    number = a.dtype.numpy.type
    turn = standard("Where", standard("Less", a, number(0)), number(-1), number(0))
    turned = _as(standard("BitwiseXor", a, turn), plain)
    moved = standard("BitShift", turned, _as(b, plain), direction="RIGHT")
    return standard("BitwiseXor", _as(moved, a.dtype), turn)


def _unsigned(dtype: DType) -> DType | None:
    """Return the unsigned type of a signed type's width; None for an unsigned type."""
    return DType[f"u{dtype.bits}"] if dtype.label[0] == "i" else None


def _as(x: Operand, dtype: DType) -> Operand:
    return standard("Cast", x, to=dtype)


@shift_left.onnx("BitShift")
def _(n: OnnxCall) -> Operand:
    operator = shift_left if n.attr("direction") == "LEFT" else shift_right
    return operator(n.operand(0), n.operand(1))


@shift_left.export
def _(a: Tensor, b: Tensor) -> Operand:
    if not (plain := _unsigned(a.dtype)):
        return standard("BitShift", a, b, direction="LEFT")
    moved = standard("BitShift", _as(a, plain), _as(b, plain), direction="LEFT")
    return _as(moved, a.dtype)
