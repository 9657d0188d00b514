"""Elementwise arithmetic operators: one table row per operator."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from compiler.compute.numbers import divide, erf, power
from compiler.ir import affine
from compiler.ir.affine import Affine, Expr
from compiler.ir.operator import Call, OnnxCall, Operand, Tensor, standard
from compiler.ir.types import DType, TensorType
from compiler.ops.elementwise.cast import cast
from compiler.ops.elementwise.table import (
    attributes_of,
    binary,
    binary_samples,
    chain,
    elementwise,
    old_broadcast,
    unary,
)
from compiler.ops.type_rules.requirements import broadcast_type, require_elements


def with_symbols(
    numbers: Callable[..., Any], symbolic: Callable[[Expr, Expr], Any]
) -> Callable[[Any, Any], Any]:
    """Combine a function of arrays with a function of symbolic dimensions, applied per element."""
    each = np.frompyfunc(symbolic, 2, 1)

    def apply(a: Any, b: Any) -> Any:
        if np.asarray(a).dtype == np.object_ or np.asarray(b).dtype == np.object_:
            return each(a, b)
        return numbers(a, b)

    return apply


def _symbolic_div(a: Expr, b: Expr) -> Expr:
    """Divide nonnegative sizes; quotients of plain numbers are truncated towards zero."""
    if isinstance(a, Affine) or isinstance(b, Affine):
        return affine.floordiv(a, b)
    quotient = abs(a) // abs(b) if b else 0
    return quotient if (a < 0) == (b < 0) else -quotient


# Two operands

add = binary(
    "add",
    "Add two tensors element by element, under numpy's broadcasting.",
    traits=("commutative", "affine", "increasing", "integer_preserving"),
    numpy=np.add,
    scalar=lambda k, a, b: a + b,
    onnx="Add",
)
sub = binary(
    "sub",
    "Subtract the second tensor from the first, under numpy's broadcasting.",
    traits=("affine", "increasing", "integer_preserving"),
    numpy=np.subtract,
    scalar=lambda k, a, b: a - b,
    onnx="Sub",
)
mul = binary(
    "mul",
    "Multiply two tensors element by element, under numpy's broadcasting.",
    traits=("commutative", "affine", "increasing", "integer_preserving"),
    numpy=np.multiply,
    scalar=lambda k, a, b: a * b,
    onnx="Mul",
)
div = binary(
    "div",
    """Divide the first tensor by the second, under numpy's broadcasting.

    Integer quotients truncate towards zero; dividing an integer by 0 gives 0.
    """,
    traits=("expensive", "affine", "increasing"),
    numpy=with_symbols(divide, _symbolic_div),
    scalar=lambda k, a, b: a / b,
    onnx="Div",
)
max_ = binary(
    "max",
    "The larger of two elements; NaN if at least one is NaN.",
    traits=("commutative", "increasing", "integer_preserving"),
    numpy=with_symbols(np.maximum, affine.maximum),
    scalar=lambda k, a, b: k.max(a, b),
)
min_ = binary(
    "min",
    "The smaller of two elements; NaN if at least one is NaN.",
    traits=("commutative", "increasing", "integer_preserving"),
    numpy=with_symbols(np.minimum, affine.minimum),
    scalar=lambda k, a, b: k.min(a, b),
)


@add.increases_if
def _(b: float) -> bool:
    return math.isfinite(b)


@sub.increases_if
def _(b: float) -> bool:
    return math.isfinite(b)


@mul.increases_if
def _(b: float) -> bool:
    return 0 < b < math.inf


@div.increases_if
def _(b: float) -> bool:
    return 0 < b < math.inf


pow_ = binary(
    "pow",
    """Raise the first tensor to the power of the second, under numpy's broadcasting.

    Powers of integers wrap on overflow; a negative power of an integer other than 1 and
    -1 gives 0.
    """,
    traits=("expensive",),
    numpy=power,
    scalar=lambda k, a, b: k.pow(a, b),
    exact=False,
)


def _mod_samples() -> Iterator[tuple[Any, ...]]:
    for fmod in (False, True):
        for operands, _ in binary_samples("number"):
            yield operands, {"fmod": fmod}


@elementwise(
    traits=("expensive",),
    numpy=lambda a, b, fmod: np.fmod(a, b) if fmod else np.remainder(a, b),
    scalar=lambda k, a, b, fmod: k.fmod(a, b) if fmod else k.mod(a, b),
    samples=_mod_samples,
)
def mod(a: Tensor, b: Tensor, *, fmod: bool = False) -> TensorType:
    """The remainder of a division; it has the sign of the divisor or, with `fmod`, of the dividend.

    Source: ONNX Mod-13.
    """
    return broadcast_type("mod", require_elements("mod", "number", a, b), a, b)


# One operand

neg = unary(
    "neg",
    "Change the sign of every element.",
    traits=("affine", "integer_preserving"),
    numpy=np.negative,
    scalar=lambda k, x: -x,
    onnx="Neg",
    elements="signed",
    exact=True,
)
abs_ = unary(
    "abs",
    "The absolute value of every element.",
    traits=("integer_preserving",),
    value_range=(0.0, math.inf),
    numpy=np.abs,
    scalar=lambda k, x: k.abs(x),
    onnx="Abs",
    elements="number",
    exact=True,
)
sign = unary(
    "sign",
    "-1, 0 or 1 for every element; NaN stays NaN.",
    traits=("increasing", "integral"),
    value_range=(-1.0, 1.0),
    numpy=np.sign,
    scalar=lambda k, x: k.sign(x),
    onnx="Sign",
    elements="number",
    exact=True,
)
reciprocal = unary(
    "reciprocal",
    "1/x for every element.",
    traits=("expensive",),
    numpy=lambda x: 1 / x,
    scalar=lambda k, x: 1.0 / x,
    onnx="Reciprocal",
    exact=True,
)
sqrt = unary(
    "sqrt",
    "The square root; NaN for negative numbers.",
    traits=("expensive",),
    value_range=(0.0, math.inf),
    numpy=np.sqrt,
    scalar=lambda k, x: k.sqrt(x),
    onnx="Sqrt",
    exact=True,
)
floor = unary(
    "floor",
    "Round down to an integer.",
    traits=("increasing", "integral"),
    numpy=np.floor,
    scalar=lambda k, x: k.floor(x),
    onnx="Floor",
    exact=True,
)
ceil = unary(
    "ceil",
    "Round up to an integer.",
    traits=("increasing", "integral"),
    numpy=np.ceil,
    scalar=lambda k, x: k.ceil(x),
    onnx="Ceil",
    exact=True,
)
round_ = unary(
    "round",
    "Round to the nearest integer, halves to even.",
    traits=("increasing", "integral"),
    numpy=np.rint,
    scalar=lambda k, x: k.round(x),
    onnx="Round",
    exact=True,
)
exp = unary(
    "exp",
    "e to the power of x.",
    traits=("expensive", "nearly_increasing"),
    value_range=(0.0, math.inf),
    numpy=np.exp,
    scalar=lambda k, x: k.exp(x),
    onnx="Exp",
)
log = unary(
    "log",
    "The natural logarithm; NaN for negative numbers, -inf for 0.",
    traits=("expensive",),
    numpy=np.log,
    scalar=lambda k, x: k.log(x),
    onnx="Log",
)
erf_ = unary(
    "erf",
    "The error function.",
    traits=("expensive", "nearly_increasing"),
    value_range=(-1.0, 1.0),
    numpy=erf,
    scalar=lambda k, x: k.erf(x),
    onnx="Erf",
)
tanh = unary(
    "tanh",
    "Hyperbolic tangent.",
    traits=("expensive", "nearly_increasing"),
    value_range=(-1.0, 1.0),
    numpy=np.tanh,
    scalar=lambda k, x: k.tanh(x),
    onnx="Tanh",
)
sin = unary(
    "sin",
    "Sine of radians.",
    traits=("expensive",),
    value_range=(-1.0, 1.0),
    numpy=np.sin,
    scalar=lambda k, x: k.sin(x),
    onnx="Sin",
)
cos = unary(
    "cos",
    "Cosine of radians.",
    traits=("expensive",),
    value_range=(-1.0, 1.0),
    numpy=np.cos,
    scalar=lambda k, x: k.cos(x),
    onnx="Cos",
)
tan = unary(
    "tan",
    "Tangent of radians.",
    traits=("expensive",),
    numpy=np.tan,
    scalar=lambda k, x: k.tan(x),
    onnx="Tan",
)
asin = unary(
    "asin",
    "Inverse sine.",
    traits=("expensive",),
    numpy=np.arcsin,
    scalar=lambda k, x: k.asin(x),
    onnx="Asin",
)
acos = unary(
    "acos",
    "Inverse cosine.",
    traits=("expensive",),
    numpy=np.arccos,
    scalar=lambda k, x: k.acos(x),
    onnx="Acos",
)
atan = unary(
    "atan",
    "Inverse tangent.",
    traits=("expensive", "nearly_increasing"),
    numpy=np.arctan,
    scalar=lambda k, x: k.atan(x),
    onnx="Atan",
)
sinh = unary(
    "sinh",
    "Hyperbolic sine.",
    traits=("expensive", "nearly_increasing"),
    numpy=np.sinh,
    scalar=lambda k, x: k.sinh(x),
    onnx="Sinh",
)
cosh = unary(
    "cosh",
    "Hyperbolic cosine.",
    traits=("expensive",),
    numpy=np.cosh,
    scalar=lambda k, x: k.cosh(x),
    onnx="Cosh",
)
asinh = unary(
    "asinh",
    "Inverse hyperbolic sine.",
    traits=("expensive", "nearly_increasing"),
    numpy=np.arcsinh,
    scalar=lambda k, x: k.asinh(x),
    onnx="Asinh",
)
acosh = unary(
    "acosh",
    "Inverse hyperbolic cosine; NaN below 1.",
    traits=("expensive",),
    numpy=np.arccosh,
    scalar=lambda k, x: k.acosh(x),
    onnx="Acosh",
)
atanh = unary(
    "atanh",
    "Inverse hyperbolic tangent; NaN outside [-1, 1].",
    traits=("expensive",),
    numpy=np.arctanh,
    scalar=lambda k, x: k.atanh(x),
    onnx="Atanh",
)


# ONNX


@mod.onnx("Mod")
def _(n: OnnxCall) -> Operand:
    return mod(n.operand(0), n.operand(1), **attributes_of(n, mod))


@mod.export
def _(a: Tensor, b: Tensor, *, fmod: bool) -> Operand:
    """ONNX's float Mod has the dividend's sign, so the divisor is added if the signs differ."""
    if fmod or not a.dtype.is_float:
        return standard("Mod", a, b, fmod=fmod)
    rest, zero = standard("Mod", a, b, fmod=True), np.zeros((), a.dtype.numpy)
    other_sign = standard("Xor", standard("Less", rest, zero), standard("Less", b, zero))
    wrong = standard("And", other_sign, standard("Not", standard("Equal", rest, zero)))
    return standard("Where", wrong, standard("Add", rest, b), rest)


@pow_.onnx("Pow")
def _(n: OnnxCall) -> Operand | None:
    """Import Pow: the result has the base's type; the computation uses the wider operand type."""
    base, power = n.operand(0), n.operand(1)
    if base is None or power is None or base.dtype is power.dtype:
        return pow_(*old_broadcast(n))
    try:
        common = DType.from_numpy(np.result_type(base.dtype.numpy, power.dtype.numpy))
    except TypeError:  # numpy has no wider type for some pairs of short floats and integers
        return None
    made = pow_(cast(base, to=common), cast(power, to=common))
    return made if common is base.dtype else cast(made, to=base.dtype)


pow_.exports_as("Pow")


@max_.onnx("Max")
def _(n: OnnxCall) -> Operand:
    return chain(max_, n.operands)


max_.exports_as("Max")


@min_.onnx("Min")
def _(n: OnnxCall) -> Operand:
    return chain(min_, n.operands)


min_.exports_as("Min")


@add.onnx("Sum")
def _(n: OnnxCall) -> Operand:
    return chain(add, n.operands)


@div.onnx("Mean")
def _(n: OnnxCall) -> Call | Tensor:
    first = n.operand(0)
    assert first is not None
    if len(n.operands) == 1:
        return first
    return div(chain(add, n.operands), np.asarray(len(n.operands), first.dtype.numpy))
