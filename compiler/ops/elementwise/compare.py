"""Comparisons and tests with bool results, and the selecting operators where and clip."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

import numpy as np

from compiler.errors import require
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.ir.operator import OnnxCall, Operand, Operator, Tensor, Trait, standard
from compiler.ir.types import DType, TensorType
from compiler.ops.elementwise.arithmetic import with_symbols
from compiler.ops.elementwise.table import (
    SPECIAL,
    attributes_of,
    binary,
    elementwise,
    old_broadcast,
    unary,
    unary_samples,
)
from compiler.ops.type_rules.requirements import broadcast_type, require_elements

_ANY_SIZE = (0, 2**40)
"""The assumed range of a symbolic dimension."""


def _difference(a: Expr, b: Expr) -> affine.Range:
    difference = a - b
    return affine.bounds(difference, dict.fromkeys(affine.symbols(difference), _ANY_SIZE))


def _decided(always: bool, never: bool) -> bool:
    if always or never:
        return always
    raise ValueError("the comparison depends on a symbolic size")


def _is_equal(a: Expr, b: Expr) -> bool:
    low, high = _difference(a, b)
    return _decided(low == high == 0, low > 0 or high < 0)


def _is_less(a: Expr, b: Expr) -> bool:
    low, high = _difference(a, b)
    return _decided(high < 0, low >= 0)


def _comparison(
    name: str,
    words: str,
    numpy: Any,
    symbolic: Callable[[Expr, Expr], bool],
    fn: str,
    onnx: str,
    traits: Collection[Trait] = (),
) -> Operator:
    each = with_symbols(numpy, symbolic)

    def compare(a: Any, b: Any) -> Any:
        return np.asarray(each(a, b)).astype(np.bool_)

    operator = binary(
        name,
        words,
        traits=traits,
        numpy=compare,
        scalar=lambda k, a, b: k.apply(fn, a, b),
        elements="any",
        result=DType.bool,
    )

    @operator.onnx(onnx)
    def _(n: OnnxCall) -> Operand | None:
        if any(o is not None and not _has_numbers(o.dtype) for o in n.operands):
            return None
        return operator(*old_broadcast(n))

    operator.exports_as(onnx)
    return operator


def _has_numbers(dtype: DType) -> bool:
    return dtype.is_float or dtype.is_integer or dtype is DType.bool


equal = _comparison(
    "equal", "Whether two elements are equal; NaN equals nothing.",
    np.equal, _is_equal, "eq", "Equal", ("commutative",),
)  # fmt: skip
less = _comparison(
    "less", "Whether the first element is smaller than the second.",
    np.less, _is_less, "lt", "Less",
)  # fmt: skip
less_equal = _comparison(
    "less_equal", "Whether the first element is smaller than or equal to the second.",
    np.less_equal, lambda a, b: not _is_less(b, a), "le", "LessOrEqual",
)  # fmt: skip
greater = _comparison(
    "greater", "Whether the first element is larger than the second.",
    np.greater, lambda a, b: _is_less(b, a), "gt", "Greater",
)  # fmt: skip
greater_equal = _comparison(
    "greater_equal", "Whether the first element is larger than or equal to the second.",
    np.greater_equal, lambda a, b: not _is_less(a, b), "ge", "GreaterOrEqual",
)  # fmt: skip

isnan = unary(
    "isnan",
    "Whether an element is NaN.",
    numpy=np.isnan,
    scalar=lambda k, x: k.isnan(x),
    onnx="IsNaN",
    result=DType.bool,
    exact=True,
)


def _isinf(x: Any, detect_negative: bool, detect_positive: bool) -> Any:
    return (np.isposinf(x) & detect_positive) | (np.isneginf(x) & detect_negative)


def _isinf_scalar(k: Any, x: Any, detect_negative: bool, detect_positive: bool) -> Any:
    if not (detect_negative or detect_positive):
        return k.number(False, DType.bool)
    if detect_negative and detect_positive:
        return k.isinf(x)
    return k.apply("and", k.isinf(x), k.gt(x, 0.0) if detect_positive else k.lt(x, 0.0))


def _isinf_samples() -> Iterator[tuple[Any, ...]]:
    for negative in (False, True):
        for positive in (False, True):
            attrs = {"detect_negative": negative, "detect_positive": positive}
            for operands, _ in unary_samples("float"):
                yield operands, attrs


@elementwise(numpy=_isinf, scalar=_isinf_scalar, inplace=(), samples=_isinf_samples)
def isinf(x: Tensor, *, detect_negative: bool = True, detect_positive: bool = True) -> TensorType:
    """Return whether an element is infinite; two flags select the signs that count."""
    require_elements("isinf", "float", x)
    return TensorType(DType.bool, x.type.shape)


@isinf.onnx("IsInf")
def _(n: OnnxCall) -> Operand:
    return isinf(n.operand(0), **attributes_of(n, isinf))


isinf.exports_as("IsInf")


def _where_samples() -> Iterator[tuple[Any, ...]]:
    for dtype in ("f32", "i64", "bool", "f16"):
        yield ["bool[2,3,5]", f"{dtype}[2,3,5]", f"{dtype}[2,3,5]"], {}
        yield ["bool[3,1]", f"{dtype}[]", f"{dtype}[2,1,5]"], {}
    yield ["bool[1]", "f32[0,3]", "f32[3]"], {}


@elementwise(
    traits=("integer_preserving",),
    numpy=np.where,
    scalar=lambda k, condition, a, b: k.where(condition, a, b),
    inplace=(1, 2),
    like=1,
    samples=_where_samples,
)
def where(condition: Tensor, a: Tensor, b: Tensor) -> TensorType:
    """Select the element of `a` if the condition is true, else the element of `b`.

    Shapes: the operands broadcast as in numpy.
    """
    require_elements("where", "bool", condition)
    return broadcast_type("where", require_elements("where", "any", a, b), condition, a, b)


@where.onnx("Where")
def _(n: OnnxCall) -> Operand | None:
    a = n.operand(1)
    return where(*n.operands) if a is not None and _has_numbers(a.dtype) else None


where.exports_as("Where")


def _clip(x: Any, lo: Any, hi: Any) -> Any:
    x = x if lo is None else np.maximum(x, lo)
    return x if hi is None else np.minimum(x, hi)


def _clip_scalar(k: Any, x: Any, lo: Any, hi: Any) -> Any:
    x = x if lo is None else k.max(x, lo)
    return x if hi is None else k.min(x, hi)


def _clip_samples() -> Iterator[tuple[Any, ...]]:
    lo, hi = np.float32(-0.5), np.float32(0.75)
    yield ["f32[2,3,5]", np.asarray(lo), np.asarray(hi)], {}
    yield ["f32[2,3,5]", None, np.asarray(hi)], {}
    yield ["f32[2,3,5]", np.asarray([lo])], {}
    yield ["f32[0,3]"], {}
    yield [SPECIAL, np.asarray(lo), np.asarray(hi)], {}
    yield ["i64[2,3]", np.asarray(-2), np.asarray(3)], {}
    yield ["f16[2,3]", "f16[]", "f16[]"], {}
    # The upper bound takes precedence if the bounds cross.
    yield ["f32[2,3]", np.asarray(hi), np.asarray(lo)], {}


@elementwise(
    traits=("increasing", "integer_preserving"),
    numpy=_clip,
    scalar=_clip_scalar,
    flops=2,
    samples=_clip_samples,
)
def clip(x: Tensor, lo: Tensor | None = None, hi: Tensor | None = None) -> TensorType:
    """Clamp every element to the range from `lo` to `hi`; both bounds are optional.

    Shapes: the bounds have one element each.
    Source: ONNX Clip-13.
    """
    require_elements("clip", "number", x, lo, hi)
    for bound in (lo, hi):
        if bound is not None and bound.type.shape is not None:
            fits = all(d == 1 for d in bound.shape) and (
                x.type.shape is None or bound.rank <= x.rank
            )
            require(fits, "E-OP-SHAPE", f"clip needs bounds of one element, got {bound.type}")
    return x.type.logical


@clip.onnx("Clip")
def _(n: OnnxCall) -> Operand:
    """Before opset 11, the bounds were attributes."""
    x = n.operand(0)
    assert x is not None
    if n.opset >= 11:
        return clip(x, n.operand(1), n.operand(2))
    given = (n.attr("min"), n.attr("max"))
    return clip(x, *(None if b is None else np.asarray(b, x.dtype.numpy) for b in given))


@clip.export
def _(x: Tensor, lo: Tensor | None = None, hi: Tensor | None = None) -> Operand:
    return standard("Clip", x, _single(lo), _single(hi))


def _single(bound: Tensor | None) -> Operand:
    """Reshape a bound of one element to rank 0, which ONNX requires."""
    if bound is None or bound.type.shape == ():
        return bound
    if bound.value is not None:
        return bound.known.reshape(())
    return standard("Reshape", bound, np.array([], np.int64))
