"""Rules that fold scales into the weights of matrix products."""

from __future__ import annotations

import numpy as np

from compiler.ir.constant import Constant
from compiler.ir.operator import Operand, Tensor
from compiler.ir.types import TensorType
from compiler.passes.engine.pattern import Any, Const, ConstTensor
from compiler.passes.engine.rule import ROUNDINGS, Because, Rule, Skip, rule
from compiler.passes.rules.affine_parts import (
    Objection,
    attributes,
    channels,
    or_skip,
    scaled,
    traffic,
)
from compiler.passes.rules.arithmetic import combined, objection_to
from compiler.passes.rules.calls import o

X, W, C = Any("x"), Const("w"), Const("c")
FLAGS = attributes("transpose_a", "transpose_b")


@rule(
    o.mul(o.matmul(X, W, **FLAGS), C),
    error=ROUNDINGS,
    sole=True,
    example="""
    graph g(x: f32[2,3]) {
      const w: f32[2,3] = literal(1.0,2.0,3.0,4.0,5.0,6.0)
      const c: f32[2] = literal(2.0,10.0)
      y: f32[2,2] = matmul(x, w, transpose_b=true)
      z: f32[2,2] = mul(y, c)
      return z
    }
    =>
    graph g(x: f32[2,3]) {
      const z.b: f32[2,3] = literal(2.0,4.0,6.0,40.0,50.0,60.0)
      z: f32[2,2] = matmul(x, z.b, transpose_b=true)
      return z
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const w: f32[2,3] = literal(1.0,2.0,3.0,4.0,5.0,6.0)
      const for_each_row: f32[2,1] = literal(2.0,10.0)
      y: f32[2,2] = matmul(x, w, transpose_b=true)
      z: f32[2,2] = mul(y, for_each_row)
      return z
    }
    """,
    result="t",
)
@or_skip
def scale_into_matmul(
    x: Tensor,
    w: ConstTensor,
    c: ConstTensor,
    transpose_a: bool,
    transpose_b: bool,
    t: TensorType,
) -> Operand:
    """A scale of each column of a product is folded into the matrix of weights."""
    weights, n = _scaled_columns(w, c, transpose_b, t)
    return Because(
        o.matmul(x, weights, transpose_a=transpose_a, transpose_b=transpose_b),
        f"{n} scales go into {w.stored.type.n_elements:,} weights; {traffic(x, t)}",
    )


def _scaled_columns(
    w: ConstTensor, c: ConstTensor, transpose_b: bool, t: TensorType
) -> tuple[Constant, int]:
    if w.rank != 2:
        raise Objection(f"the weights {w.type} are no matrix")
    if not w.dtype.is_float:
        raise Objection(f"products of {w.dtype} may overflow")
    rows, columns = w.stored.type.static_shape
    n = rows if transpose_b else columns
    scale = channels(c, t.rank, t.rank - 1, n)
    shape = (n, 1) if transpose_b else (1, n)
    return scaled(w.stored, scale, shape, (rows, columns)), n


@rule(
    o.mul(o.add(o.matmul(X, W, **FLAGS), Const("shift")), C),
    error=ROUNDINGS,
    sole=True,
    example="""
    graph g(x: f32[2,1]) {
      const w: f32[1,2] = literal(1.0,2.0)
      const b: f32[2] = literal(5.0,7.0)
      const c: f32[2] = literal(2.0,10.0)
      y: f32[2,2] = matmul(x, w)
      s: f32[2,2] = add(y, b)
      z: f32[2,2] = mul(s, c)
      return z
    }
    =>
    graph g(x: f32[2,1]) {
      const z.a.b: f32[1,2] = literal(2.0,20.0)
      const z.b: f32[2] = literal(10.0,70.0)
      z.a: f32[2,2] = matmul(x, z.a.b)
      z: f32[2,2] = add(z.a, z.b)
      return z
    }
    """,
    near_miss="""
    graph g(x: f32[2,1]) {
      const w: f32[1,2] = literal(1.0,2.0)
      const b: f32[2] = literal(5.0,7.0)
      const for_each_row: f32[2,1] = literal(2.0,10.0)
      y: f32[2,2] = matmul(x, w)
      s: f32[2,2] = add(y, b)
      z: f32[2,2] = mul(s, for_each_row)
      return z
    }
    """,
    result="t",
)
@or_skip
def scale_through_bias(
    x: Tensor,
    w: ConstTensor,
    shift: ConstTensor,
    c: ConstTensor,
    transpose_a: bool,
    transpose_b: bool,
    t: TensorType,
) -> Operand:
    """A scale behind a product and its bias is folded into both."""
    weights, n = _scaled_columns(w, c, transpose_b, t)
    bias = combined(np.multiply, shift.stored, c.stored)
    if objection := objection_to(bias, shift.stored, c.stored):
        return Skip(objection)
    product = o.matmul(x, weights, transpose_a=transpose_a, transpose_b=transpose_b)
    return Because(
        o.add(product, bias),
        f"{n} scales go into {w.stored.type.n_elements:,} weights and the bias; {traffic(x, t)}",
    )


@rule(
    o.matmul(o.mul(X, C), W, **FLAGS),
    error=ROUNDINGS,
    sole=True,
    example="""
    graph g(x: f32[3,2]) {
      const c: f32[2] = literal(2.0,10.0)
      const w: f32[2,2] = literal(1.0,2.0,3.0,4.0)
      y: f32[3,2] = mul(x, c)
      z: f32[3,2] = matmul(y, w)
      return z
    }
    =>
    graph g(x: f32[3,2]) {
      const z.b: f32[2,2] = literal(2.0,4.0,30.0,40.0)
      z: f32[3,2] = matmul(x, z.b)
      return z
    }
    """,
    near_miss="""
    graph g(x: f32[2,2]) {
      const for_each_row: f32[2,1] = literal(2.0,10.0)
      const w: f32[2,3] = literal(1.0,2.0,3.0,4.0,5.0,6.0)
      y: f32[2,2] = mul(x, for_each_row)
      z: f32[2,3] = matmul(y, w)
      return z
    }
    """,
)
@or_skip
def scale_before_matmul(
    x: Tensor, c: ConstTensor, w: ConstTensor, transpose_a: bool, transpose_b: bool
) -> Operand:
    """A scale of each column of the left operand is folded into the rows of the weights."""
    if w.rank != 2 or x.rank < 2 or not w.dtype.is_float:
        return Skip(f"{x.type} times {w.type} is no product of floating point matrices")
    rows, columns = w.stored.type.static_shape
    n = columns if transpose_b else rows
    axis = x.rank - 2 if transpose_a else x.rank - 1
    if x.shape[axis] != n:
        return Skip(f"{x.name} is {x.type}; the scaled tensor is larger")
    shape = (1, n) if transpose_b else (n, 1)
    weights = scaled(w.stored, channels(c, x.rank, axis, n), shape, (rows, columns))
    return Because(
        o.matmul(x, weights, transpose_a=transpose_a, transpose_b=transpose_b),
        f"{n} scales go into {w.stored.type.n_elements:,} weights; {traffic(x, x.type)}",
    )


MATMUL_RULES: list[Rule] = [scale_into_matmul, scale_through_bias, scale_before_matmul]
"""Rules of `fold_affine` about matrix products, in the order in which they are tried."""
