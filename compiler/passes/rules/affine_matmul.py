"""Rules that fold scales into the weights of matrix products."""

from __future__ import annotations

import numpy as np

from compiler.ir.constant import Constant
from compiler.ir.operator import Operand, Tensor
from compiler.ir.types import TensorType
from compiler.passes.engine.cost import TRAFFIC
from compiler.passes.engine.pattern import Any, Const, ConstTensor
from compiler.passes.engine.rule import ROUNDINGS, Because, Rule, Skip, rule
from compiler.passes.rules.affine_parts import (
    Objection,
    attributes,
    beside,
    channels,
    check_summable,
    or_skip,
    scaled,
    shifted,
    sum_over_rows,
)
from compiler.passes.rules.arithmetic import combined, objection_to
from compiler.passes.rules.calls import o
from compiler.units import count_text

X, W, C = Any("x"), Const("w"), Const("c")
FLAGS = attributes("transpose_a", "transpose_b")


@rule(
    o.mul(o.matmul(X, W, **FLAGS), C),
    error=ROUNDINGS,
    single_use=True,
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
    """Fold a per-column scale of a product into the weights.

    A batch of weight matrices may have a scale per matrix. A weight vector accepts only a single
    scale.
    """
    weights = _scaled_right(x, w, c, transpose_b, t)
    return Because(
        o.matmul(x, weights, transpose_a=transpose_a, transpose_b=transpose_b),
        _reason(c, w, TRAFFIC),
    )


def _reason(c: ConstTensor, w: ConstTensor, saved: str) -> str:
    n, of = c.stored.type.n_elements, w.stored.type.n_elements
    return f"{count_text(n, 'scale')} folded into {of:,} weights; {saved}"


def _need_floats(w: ConstTensor) -> None:
    if not w.dtype.is_float:
        raise Objection(f"products of {w.dtype} may overflow")


def _need_ranks(x: Tensor, t: TensorType) -> None:
    if x.type.shape is None or t.shape is None:
        raise Objection(f"the rank of {x.name} is not known")


def _scaled_right(
    x: Tensor, w: ConstTensor, c: ConstTensor, transpose_b: bool, t: TensorType
) -> Constant:
    _need_floats(w)
    _need_ranks(x, t)
    inner = -1 if w.rank == 1 or transpose_b else -2
    lost = 0 if x.rank == 1 else -1 if w.rank == 1 else -2
    shape = beside(c, t.rank, w, inner=inner, lost=lost)
    return scaled(w.stored, c.stored, shape, w.stored.type.static_shape)


@rule(
    o.mul(o.matmul(W, X, **FLAGS), C),
    error=ROUNDINGS,
    single_use=True,
    example="""
    graph g(x: f32[3,4]) {
      const w: f32[2,3] = literal(1.0,2.0,3.0,4.0,5.0,6.0)
      const c: f32[2,1] = literal(2.0,10.0)
      y: f32[2,4] = matmul(w, x)
      z: f32[2,4] = mul(y, c)
      return z
    }
    =>
    graph g(x: f32[3,4]) {
      const z.a: f32[2,3] = literal(2.0,4.0,6.0,40.0,50.0,60.0)
      z: f32[2,4] = matmul(z.a, x)
      return z
    }
    """,
    near_miss="""
    graph g(x: f32[3,4]) {
      const w: f32[2,3] = literal(1.0,2.0,3.0,4.0,5.0,6.0)
      const for_each_column: f32[4] = literal(2.0,10.0,1.0,3.0)
      y: f32[2,4] = matmul(w, x)
      z: f32[2,4] = mul(y, for_each_column)
      return z
    }
    """,
    result="t",
)
@or_skip
def scale_into_left_matmul(
    w: ConstTensor,
    x: Tensor,
    c: ConstTensor,
    transpose_a: bool,
    transpose_b: bool,
    t: TensorType,
) -> Operand:
    """Fold a per-row scale of a product into the weights, the left operand."""
    _need_floats(w)
    _need_ranks(x, t)
    inner = -2 if transpose_a and w.rank > 1 else -1
    shape = beside(c, t.rank, w, inner=inner, lost=0 if x.rank == 1 else -1)
    weights = scaled(w.stored, c.stored, shape, w.stored.type.static_shape)
    return Because(
        o.matmul(weights, x, transpose_a=transpose_a, transpose_b=transpose_b),
        _reason(c, w, TRAFFIC),
    )


@rule(
    o.mul(o.add(o.matmul(X, W, **FLAGS), Const("shift")), C),
    error=ROUNDINGS,
    single_use=True,
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
    """Fold a scale after a product and its bias into weights and bias: (xw + b)c = x(wc) + bc."""
    weights = _scaled_right(x, w, c, transpose_b, t)
    bias = combined(np.multiply, shift.stored, c.stored)
    if objection := objection_to(bias, shift.stored, c.stored):
        return Skip(objection)
    product = o.matmul(x, weights, transpose_a=transpose_a, transpose_b=transpose_b)
    return Because(
        o.add(product, bias),
        _reason(c, w, f"the bias is scaled too; {TRAFFIC}"),
    )


@rule(
    o.matmul(o.mul(X, C), W, **FLAGS),
    error=ROUNDINGS,
    single_use=True,
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
    """Fold a per-column scale of the left operand into the rows of the weights."""
    scale, rows = _of_columns(x, c, w, transpose_a, transpose_b)
    shape = tuple(scale.type.n_elements if d == rows else 1 for d in range(w.rank))
    weights = scaled(w.stored, scale, shape, w.stored.type.static_shape)
    return Because(
        o.matmul(x, weights, transpose_a=transpose_a, transpose_b=transpose_b),
        _reason(c, w, TRAFFIC),
    )


def _of_columns(
    x: Tensor, c: ConstTensor, w: ConstTensor, transpose_a: bool, transpose_b: bool
) -> tuple[Constant, int]:
    """Return the left operand's per-column constant as a vector, and the matching weight axis."""
    _need_floats(w)
    _need_ranks(x, x.type)
    rows = w.rank - 1 if transpose_b or w.rank == 1 else w.rank - 2
    axis = x.rank - 2 if transpose_a and x.rank > 1 else x.rank - 1
    n = w.stored.type.static_shape[rows]
    return channels(c, x.rank, axis, n, x), rows


@rule(
    o.matmul(W, o.mul(X, C), **FLAGS),
    error=ROUNDINGS,
    single_use=True,
    example="""
    graph g(x: f32[2,4]) {
      const c: f32[2,1] = literal(2.0,10.0)
      const w: f32[3,2] = literal(1.0,2.0,3.0,4.0,5.0,6.0)
      y: f32[2,4] = mul(x, c)
      z: f32[3,4] = matmul(w, y)
      return z
    }
    =>
    graph g(x: f32[2,4]) {
      const z.a: f32[3,2] = literal(2.0,20.0,6.0,40.0,10.0,60.0)
      z: f32[3,4] = matmul(z.a, x)
      return z
    }
    """,
    near_miss="""
    graph g(x: f32[2,4]) {
      const for_each_column: f32[4] = literal(2.0,10.0,1.0,3.0)
      const w: f32[3,2] = literal(1.0,2.0,3.0,4.0,5.0,6.0)
      y: f32[2,4] = mul(x, for_each_column)
      z: f32[3,4] = matmul(w, y)
      return z
    }
    """,
)
@or_skip
def scale_before_right_matmul(
    w: ConstTensor, x: Tensor, c: ConstTensor, transpose_a: bool, transpose_b: bool
) -> Operand:
    """Fold a per-row scale of the right operand into the weights, the left operand."""
    _need_floats(w)
    _need_ranks(x, x.type)
    axis = x.rank - 1 if transpose_b or x.rank == 1 else x.rank - 2
    columns = w.rank - 2 if transpose_a and w.rank > 1 else w.rank - 1
    n = w.stored.type.static_shape[columns]
    scale = channels(c, x.rank, axis, n, x)
    shape = tuple(n if d == columns else 1 for d in range(w.rank))
    weights = scaled(w.stored, scale, shape, w.stored.type.static_shape)
    return Because(
        o.matmul(weights, x, transpose_a=transpose_a, transpose_b=transpose_b),
        _reason(c, w, TRAFFIC),
    )


@rule(
    o.add(o.matmul(o.add(X, C), W, **FLAGS), Const("bias")),
    error=ROUNDINGS,
    single_use=True,
    example="""
    graph g(x: f32[3,2]) {
      const c: f32[2] = literal(2.0,10.0)
      const w: f32[2,2] = literal(1.0,2.0,3.0,4.0)
      const b: f32[2] = literal(0.5,-1.0)
      s: f32[3,2] = add(x, c)
      y: f32[3,2] = matmul(s, w)
      z: f32[3,2] = add(y, b)
      return z
    }
    =>
    graph g(x: f32[3,2]) {
      const w: f32[2,2] = literal(1.0,2.0,3.0,4.0)
      const z.b: f32[2] = literal(32.5,43.0)
      z.a: f32[3,2] = matmul(x, w)
      z: f32[3,2] = add(z.a, z.b)
      return z
    }
    """,
    near_miss="""
    graph g(x: f32[3,2]) {
      const for_each_row: f32[3,1] = literal(2.0,10.0,1.0)
      const w: f32[2,2] = literal(1.0,2.0,3.0,4.0)
      const b: f32[2] = literal(0.5,-1.0)
      s: f32[3,2] = add(x, for_each_row)
      y: f32[3,2] = matmul(s, w)
      z: f32[3,2] = add(y, b)
      return z
    }
    """,
)
@or_skip
def shift_through_matmul(
    x: Tensor,
    c: ConstTensor,
    w: ConstTensor,
    bias: ConstTensor,
    transpose_a: bool,
    transpose_b: bool,
) -> Operand:
    """Fold a shift before a product into the bias of the product: (x+c)w + b = xw + (cw+b)."""
    extra = _shift_behind(x, c, w, transpose_a, transpose_b)
    product = o.matmul(x, w, transpose_a=transpose_a, transpose_b=transpose_b)
    made = shifted(bias.stored, extra)
    return Because(
        o.add(product, made),
        f"{count_text(c.stored.type.n_elements, 'shift')} folded into the bias; {TRAFFIC}",
    )


def _shift_behind(
    x: Tensor, c: ConstTensor, w: ConstTensor, transpose_a: bool, transpose_b: bool
) -> Constant:
    if w.rank != 2:
        raise Objection(f"the weights {w.type} are not a matrix")
    check_summable(w)
    shift, rows = _of_columns(x, c, w, transpose_a, transpose_b)
    return sum_over_rows(w, shift, rows)


@rule(
    o.matmul(o.add(X, C), W, **FLAGS),
    error=ROUNDINGS,
    single_use=True,
    example="""
    graph g(x: f32[3,2]) {
      const c: f32[2] = literal(2.0,10.0)
      const w: f32[2,1] = literal(1.0,3.0)
      s: f32[3,2] = add(x, c)
      y: f32[3,1] = matmul(s, w)
      return y
    }
    =>
    graph g(x: f32[3,2]) {
      const w: f32[2,1] = literal(1.0,3.0)
      const y.b: f32[1] = literal(32.0)
      y.a: f32[3,1] = matmul(x, w)
      y: f32[3,1] = add(y.a, y.b)
      return y
    }
    """,
    near_miss="""
    graph g(x: f32[3,2]) {
      const c: f32[2] = literal(2.0,10.0)
      const makes_more: f32[2,4] = literal(1.0,3.0,2.0,4.0,5.0,7.0,6.0,8.0)
      s: f32[3,2] = add(x, c)
      y: f32[3,4] = matmul(s, makes_more)
      return y
    }
    """,
)
@or_skip
def shift_behind_matmul(
    x: Tensor, c: ConstTensor, w: ConstTensor, transpose_a: bool, transpose_b: bool
) -> Operand:
    """Move a shift after a product with fewer columns: (x+c)w = xw + cw.

    The result has fewer elements than x, and the epilogue of the product can add the shift.
    """
    extra = _shift_behind(x, c, w, transpose_a, transpose_b)
    rows, columns = w.stored.type.static_shape[:: -1 if transpose_b else 1]
    if columns >= rows:
        return Skip(
            f"the product has {columns:,} columns and its operand {rows:,}, so nothing is saved"
        )
    product = o.matmul(x, w, transpose_a=transpose_a, transpose_b=transpose_b)
    return Because(
        o.add(product, extra),
        f"the shift is added to {columns:,} columns of the product instead of {rows:,} of x",
    )


MATMUL_RULES: list[Rule] = [
    scale_into_matmul,
    scale_into_left_matmul,
    scale_through_bias,
    scale_before_matmul,
    scale_before_right_matmul,
    shift_through_matmul,
    shift_behind_matmul,
]
"""Rules of `fold_affine` for matrix products, in the order they are tried."""
