"""Matrix products."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.errors import require
from compiler.ir.affine import Expr
from compiler.ir.operator import Array, Cost, OnnxCall, Operand, Tensor, op, standard
from compiler.ir.types import Dim, TensorType
from compiler.ops.elementwise.arithmetic import add, mul
from compiler.ops.type_rules.dims import same_size
from compiler.ops.type_rules.requirements import (
    broadcast_dims,
    n_elements,
    require_elements,
    require_size,
    rounded,
    traffic,
    wide,
    widened,
)

Dims = tuple[Dim, ...]


def _swapped(dims: Dims, transpose: bool) -> Dims:
    return (*dims[:-2], dims[-1], dims[-2]) if transpose and len(dims) > 1 else dims


@op(kind="contraction", exact=False)
def matmul(
    a: Tensor, b: Tensor, *, transpose_a: bool = False, transpose_b: bool = False
) -> TensorType:
    """Multiply matrices: out[..., m, n] is the sum over k of a[..., m, k] * b[..., k, n].

    A transpose flag exchanges the last two axes of its operand; it has no effect on a vector.
    Shapes: axes before the last two are batch axes and broadcast. A vector is a row on the left and
    a column on the right. The result has no axis for a vector.
    Errors: E-OP-SHAPE if the inner sizes differ, E-OP-DTYPE if the element types differ.
    Source: ONNX MatMul-13, numpy.matmul.
    """
    dtype = require_elements("matmul", "number", a, b)
    if a.type.shape is None or b.type.shape is None:
        return TensorType(dtype, None)
    for x in (a, b):
        require(x.rank > 0, "E-OP-SHAPE", f"matmul takes no scalar, got {a.type} and {b.type}")
    left, right = _swapped(a.shape, transpose_a), _swapped(b.shape, transpose_b)
    inner = right[-2:][0]
    require_size("matmul", "the first axis of b", inner, left[-1])
    batch = broadcast_dims("matmul", left[:-2], right[:-2])
    return TensorType(dtype, (*batch, *left[-2:-1], *(right[-1:] if len(right) > 1 else ())))


@matmul.reference
def _(a: Array, b: Array, *, transpose_a: bool, transpose_b: bool) -> Array:
    left = np.swapaxes(a, -1, -2) if transpose_a and a.ndim > 1 else a
    right = np.swapaxes(b, -1, -2) if transpose_b and b.ndim > 1 else b
    return rounded(np.matmul(widened(left), widened(right)), a)


@matmul.cost
def _(
    a: TensorType, b: TensorType, *, out: TensorType, transpose_a: bool, transpose_b: bool
) -> Cost:
    inner = _swapped(a.static_shape, transpose_a)[-1]
    assert isinstance(inner, int)
    return traffic([a, b], out, 2 * inner * n_elements(out))


@matmul.lower
def _(
    k: Lowering, a: Handle, b: Handle, out: Handle, *, transpose_a: bool, transpose_b: bool
) -> None:
    left, right = _swapped(a.shape, transpose_a), _swapped(b.shape, transpose_b)
    n_batch = out.rank - (a.rank > 1) - (b.rank > 1)
    batch = [k.axis(n, "b") for n in out.shape[:n_batch]]
    rows = [k.axis(n, "m") for n in left[-2:-1]]
    columns = [k.axis(n, "n") for n in right[-1:] if b.rank > 1]
    inner = k.axis(same_size(left[-1], right[-2:][0], "inner sizes differ"), "k")
    x = a[_element(a, batch, [*rows, inner], transpose_a)]
    y = b[_element(b, batch, [inner, *columns], transpose_b)]
    product = k.convert(x, wide(a.dtype)) * k.convert(y, wide(b.dtype))
    k.assign(out[*batch, *rows, *columns], k.convert(k.sum(product, over=inner), out.dtype))


def _element(t: Handle, batch: list[Expr], matrix: list[Expr], transpose: bool) -> list[Expr]:
    """Return the index of a matrix element in a tensor; the batch axes of the tensor broadcast."""
    own = batch[len(batch) - (t.rank - len(matrix)) :]
    sizes = t.shape[: t.rank - len(matrix)]
    outer = [t.repeated(i, n) for i, n in zip(own, sizes, strict=True)]
    return [*outer, *(reversed(matrix) if transpose else matrix)]


@matmul.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[2,3]", "f32[3,5]"], {}
    yield ["f32[3,2]", "f32[5,3]"], {"transpose_a": True, "transpose_b": True}
    yield ["f32[2,1,3,4]", "f32[5,4,2]"], {}
    yield ["f32[7,4,3]", "f32[1,4,2]"], {"transpose_a": True}
    yield ["f32[3]", "f32[3]"], {}
    yield ["f32[3]", "f32[2,3,5]"], {}
    yield ["f32[2,5,3]", "f32[3]"], {"transpose_b": True}
    yield ["f32[2,0]", "f32[0,3]"], {}
    yield ["f32[0,2]", "f32[2,3]"], {}
    yield ["f16[2,3]", "f16[3,5]"], {}
    yield ["i32[2,3]", "i32[3,5]"], {}


@matmul.onnx("MatMul")
def _(n: OnnxCall) -> Operand:
    return matmul(n.operand(0), n.operand(1))


@matmul.onnx("Gemm")
def _(n: OnnxCall) -> Operand:
    """Import Gemm, alpha*a*b + beta*c; terms and factors without effect are omitted."""
    a, b, c = n.operand(0), n.operand(1), n.operand(2)
    assert a is not None
    made = matmul(
        a, b, transpose_a=bool(n.attr("transA", 0)), transpose_b=bool(n.attr("transB", 0))
    )
    made = _scaled(made, n.attr("alpha", 1.0), a)
    beta = n.attr("beta", 1.0)
    if c is None or beta == 0:
        return made
    return add(made, _scaled(c, beta, a))


@matmul.export
def _(a: Tensor, b: Tensor, *, transpose_a: bool, transpose_b: bool) -> Operand | None:
    """Export matrices with transpose flags as Gemm; transpose operands of other ranks first."""
    if not (transpose_a or transpose_b):
        return standard("MatMul", a, b)
    if a.type.shape is None or b.type.shape is None:
        return None
    if a.rank == b.rank == 2:
        return standard("Gemm", a, b, transA=transpose_a, transB=transpose_b)
    return standard("MatMul", _turned(a, transpose_a), _turned(b, transpose_b))


def _turned(x: Tensor, transpose: bool) -> Operand:
    if not transpose or x.rank < 2:
        return x
    return standard("Transpose", x, perm=(*range(x.rank - 2), x.rank - 1, x.rank - 2))


def _scaled(x: Operand, factor: float, like: Tensor) -> Operand:
    return x if factor == 1 else mul(x, np.asarray(factor, like.dtype.numpy))
