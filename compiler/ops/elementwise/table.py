"""Declaration of elementwise operators by two functions, from which all facets are generated.

Each elementwise operator is one table row: a numpy function and a scalar expression. The type rule,
cost, lowering, samples and ONNX facet of an operator are generated in the same way for every row.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.ir.operator import (
    OPERATORS,
    Array,
    Call,
    OnnxCall,
    Operand,
    Operator,
    Tensor,
    Trait,
    op,
)
from compiler.ir.types import DType, TensorType, Type
from compiler.ops.type_rules.requirements import (
    Elements,
    broadcast_type,
    n_elements,
    require_elements,
    rounded,
    traffic,
    wide,
    widened,
)

SPECIAL = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 0.5, -0.5, 2.5, -1.5, 1e30], np.float32)
"""Special numbers in the samples of floating point operators."""


def elementwise(
    *,
    numpy: Callable[..., Any],
    scalar: Callable[..., Any],
    flops: int = 1,
    exact: bool = True,
    inplace: tuple[int, ...] = (0,),
    like: int = 0,
    traits: Collection[Trait] = (),
    value_range: tuple[float, float] | None = None,
    samples: Callable[[], Iterator[tuple[Any, ...]]],
) -> Callable[[Callable[..., Any]], Operator]:
    """Declare an operator by its type rule, a numpy function and a scalar expression.

    `numpy(*arrays, **attrs)` and `scalar(k, *scalars, **attrs)` receive None for omitted operands;
    short floats are widened to f32 first. A numeric result has the element type of the operand at
    position `like`.
    Units: flops per element of the result.
    """

    def declare(rule: Callable[..., Any]) -> Operator:
        operator = op(
            kind="elementwise",
            shape_math=True,
            exact=exact,
            inplace=inplace,
            traits=traits,
            value_range=value_range,
        )(rule)
        n_operands = len(operator.schema.operands)

        @operator.reference
        def _(*arrays: Array | None, **attrs: Any) -> Array:
            given = [*arrays, *[None] * (n_operands - len(arrays))]
            model = given[like]
            assert model is not None
            with np.errstate(all="ignore"):
                made = numpy(*(None if a is None else widened(a) for a in given), **attrs)
            return rounded(made, model)

        @operator.cost
        def _(*operands: Type | None, out: Type, **attrs: Any) -> Any:
            return traffic(operands, out, flops * n_elements(out))

        @operator.lower
        def _(k: Lowering, *tensors: Handle | None, **attrs: Any) -> None:
            *operands, out = tensors
            assert out is not None
            index = k.axes(out.shape)
            values = [
                None if t is None else k.convert(t.broadcast(index), wide(t.dtype))
                for t in operands
            ]
            k.assign(out[index], k.convert(scalar(k, *values, **attrs), out.dtype))

        operator.samples(samples)
        return operator

    return declare


def describe_row(rule: Callable[..., Any], name: str, words: str) -> None:
    """Set a type rule's name, docstring and source location to those of its table row."""
    row = sys._getframe(2)
    rule.__name__, rule.__doc__ = name, words
    rule.__code__ = rule.__code__.replace(
        co_filename=row.f_code.co_filename, co_firstlineno=row.f_lineno
    )


def unary(
    name: str,
    words: str,
    *,
    numpy: Callable[[Any], Any],
    scalar: Callable[[Any, Any], Any],
    onnx: str = "",
    elements: Elements = "float",
    result: DType | None = None,
    flops: int = 1,
    exact: bool = False,
    traits: Collection[Trait] = (),
    value_range: tuple[float, float] | None = None,
) -> Operator:
    """Declare a unary operator; `result` is the result's element type if it differs from x's."""

    def rule(x: Tensor) -> TensorType:
        dtype = require_elements(name, elements, x)
        return TensorType(result or dtype, x.type.shape)

    describe_row(rule, name, words)
    operator = elementwise(
        numpy=numpy,
        scalar=scalar,
        flops=flops,
        exact=exact,
        inplace=() if result else (0,),
        traits=traits,
        value_range=value_range,
        samples=lambda: unary_samples(elements),
    )(rule)
    if onnx:
        operator.onnx(onnx)(lambda n: operator(n.operand(0)))
        operator.exports_as(onnx)
    return operator


def unary_samples(elements: Elements) -> Iterator[tuple[Any, ...]]:
    """Yield operands with odd shapes, empty tensors, scalars and special numbers."""
    for dtype in _dtypes(elements):
        yield [f"{dtype}[2,3,5]"], {}
        yield [f"{dtype}[0,3]"], {}
        yield [f"{dtype}[]"], {}
        if dtype == "f32":
            yield [SPECIAL], {}


def binary(
    name: str,
    words: str,
    *,
    numpy: Callable[[Any, Any], Any],
    scalar: Callable[[Any, Any, Any], Any],
    onnx: str = "",
    elements: Elements = "number",
    result: DType | None = None,
    flops: int = 1,
    exact: bool = True,
    traits: Collection[Trait] = (),
) -> Operator:
    """Declare an operator of two operands with numpy's broadcasting."""

    def rule(a: Tensor, b: Tensor) -> TensorType:
        dtype = require_elements(name, elements, a, b)
        return broadcast_type(name, result or dtype, a, b)

    describe_row(rule, name, words)
    operator = elementwise(
        numpy=numpy,
        scalar=scalar,
        flops=flops,
        exact=exact,
        inplace=() if result else (0, 1),
        traits=traits,
        samples=lambda: binary_samples(elements),
    )(rule)
    if onnx:
        operator.onnx(onnx)(lambda n: operator(*old_broadcast(n)))
        operator.exports_as(onnx)
    return operator


def binary_samples(elements: Elements) -> Iterator[tuple[Any, ...]]:
    """Yield samples: operands of equal and different shapes, empty operands, special numbers."""
    for dtype in _dtypes(elements):
        yield [f"{dtype}[2,3,5]", f"{dtype}[2,3,5]"], {}
        yield [f"{dtype}[2,1,5]", f"{dtype}[3,1]"], {}
        yield [f"{dtype}[]", f"{dtype}[2,3]"], {}
        yield [f"{dtype}[0,3]", f"{dtype}[1]"], {}
        if dtype == "f32":
            yield [SPECIAL[:, None], SPECIAL], {}
        elif dtype[0] in "iu":
            small = np.arange(1, 5).astype(DType.parse(dtype).numpy)
            yield [small[:, None], small[:3]], {}


def _dtypes(elements: Elements) -> Sequence[str]:
    return {
        "float": ["f32", "f16"],
        "number": ["f32", "i64", "u8", "f16"],
        "signed": ["f32", "i32"],
        "integer": ["i64", "u8"],
        "bool": ["bool"],
        "logical": ["bool", "i32", "u8"],
        "any": ["f32", "i64", "bool"],
    }[elements]


# ONNX


def old_broadcast(n: OnnxCall) -> tuple[Operand, Operand]:
    """Return two operands; before opset 7, the attribute `axis` may align the second operand."""
    a, b = n.operand(0), n.operand(1)
    if n.opset >= 7 or not n.attr("broadcast", 0) or a is None or b is None:
        return a, b
    axis = n.attr("axis")
    n_behind = 0 if axis is None else a.rank - (axis % max(a.rank, 1)) - b.rank
    return a, with_trailing_ones(b, n_behind)


def with_trailing_ones(x: Tensor, n: int) -> Operand:
    """Append axes of size 1."""
    if n <= 0:
        return x
    return OPERATORS["unsqueeze"](x, axes=tuple(range(x.rank, x.rank + n)))


def attributes_of(n: OnnxCall, operator: Operator) -> dict[str, Any]:
    """Return the attributes of a node that are also attributes of the operator."""
    kinds = operator.schema.kinds
    found: dict[str, Any] = {}
    for name in operator.schema.attributes:
        if name in n.attrs:
            value = n.attrs[name]
            found[name] = bool(value) if kinds.get(name) is bool else value
    return found


LONGEST_CHAIN = 32


def chain(operator: Operator, operands: Sequence[Operand]) -> Operand:
    """Convert a variadic ONNX operator to binary calls: from left to right, or as a tree if long.

    In a left-to-right chain, thousands of nested calls would exceed Python's recursion limit.
    """
    if len(operands) > LONGEST_CHAIN:
        middle = len(operands) // 2
        return operator(chain(operator, operands[:middle]), chain(operator, operands[middle:]))
    total = operands[0]
    for o in operands[1:]:
        total = operator(total, o)
    return total


__all__ = [
    "SPECIAL",
    "Call",
    "attributes_of",
    "binary",
    "binary_samples",
    "chain",
    "elementwise",
    "old_broadcast",
    "unary",
    "unary_samples",
]
