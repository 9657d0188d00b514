"""Rules that fold a negation into weights. Results stay bit-identical."""

from __future__ import annotations

from typing import Any as Anything

import numpy as np

from compiler.ir.constant import Constant
from compiler.ir.operator import Operand, Operator, Tensor
from compiler.passes.engine.cost import TRAFFIC
from compiler.passes.engine.pattern import Any, Const, ConstTensor
from compiler.passes.engine.rule import ROUNDINGS, Because, Rule, rule
from compiler.passes.rules.affine_parts import (
    Objection,
    attributes,
    channels,
    or_skip,
    outputs_of,
    shifted,
)
from compiler.passes.rules.arithmetic import combined
from compiler.passes.rules.calls import o
from compiler.passes.rules.windows import CONV, DECONV
from compiler.units import count_text

X, W, C = Any("x"), Const("w"), Const("c")
BIAS = Const("bias", optional=True)
FLAGS = attributes("transpose_a", "transpose_b")


def negative(c: ConstTensor) -> Constant:
    """Negate a constant; raise Objection if negatives of its type may overflow."""
    if not c.dtype.is_float:
        raise Objection(f"the negative of a {c.dtype} may overflow {c.dtype}")
    return combined(np.negative, c.stored)


@rule(
    o.neg(o.conv(X, W, BIAS, **CONV)),
    single_use=True,
    example="""
    graph g(x: f32[1,1,3]) {
      const w: f32[2,1,2] = literal(1.0,-2.0,3.0,4.0)
      const b: f32[2] = literal(0.5,-1.5)
      y: f32[1,2,2] = conv(x, w, b, strides=[1], pads=[0,0], dilations=[1])
      z: f32[1,2,2] = neg(y)
      return z
    }
    =>
    graph g(x: f32[1,1,3]) {
      const z.w: f32[2,1,2] = literal(-1.0,2.0,-3.0,-4.0)
      const z.b: f32[2] = literal(-0.5,1.5)
      z: f32[1,2,2] = conv(x, z.w, z.b, strides=[1], pads=[0,0], dilations=[1])
      return z
    }
    """,
    near_miss="""
    graph g(x: f32[1,1,3], w: f32[2,1,2]) {
      y: f32[1,2,2] = conv(x, w, strides=[1], pads=[0,0], dilations=[1])
      z: f32[1,2,2] = neg(y)
      return z
    }
    """,
)
@or_skip
def negation_into_conv(
    x: Tensor, w: ConstTensor, bias: ConstTensor | None, **attrs: Anything
) -> Operand:
    """Fold the negation of a convolution into its weights and bias.

    Rounding is symmetric in the sign, so results are bit-identical.
    """
    return _negated(o.conv, x, w, bias, attrs)


@rule(
    o.neg(o.conv_transpose(X, W, BIAS, **DECONV)),
    single_use=True,
    example="""
    graph g(x: f32[1,1,2]) {
      const w: f32[1,2,2] = literal(1.0,-2.0,3.0,4.0)
      y: f32[1,2,3] = conv_transpose(x, w,
        strides=[1], pads=[0,0], output_padding=[0], dilations=[1])
      z: f32[1,2,3] = neg(y)
      return z
    }
    =>
    graph g(x: f32[1,1,2]) {
      const z.w: f32[1,2,2] = literal(-1.0,2.0,-3.0,-4.0)
      z: f32[1,2,3] = conv_transpose(x, z.w,
        strides=[1], pads=[0,0], output_padding=[0], dilations=[1])
      return z
    }
    """,
    near_miss="""
    graph g(x: f32[1,1,2]) {
      const w: f32[1,2,2] = literal(1.0,-2.0,3.0,4.0)
      y: f32[1,2,3] = conv_transpose(x, w,
        strides=[1], pads=[0,0], output_padding=[0], dilations=[1])
      z: f32[1,2,3] = neg(y)
      return z, not_negated=y
    }
    """,
)
@or_skip
def negation_into_conv_transpose(
    x: Tensor, w: ConstTensor, bias: ConstTensor | None, **attrs: Anything
) -> Operand:
    """Fold the negation of a transposed convolution into its weights and bias."""
    return _negated(o.conv_transpose, x, w, bias, attrs)


def _negated(
    operator: Operator,
    x: Tensor,
    w: ConstTensor,
    bias: ConstTensor | None,
    attrs: dict[str, Anything],
) -> Operand:
    if bias is None:
        return operator(x, negative(w), **attrs)
    return operator(x, negative(w), negative(bias), **attrs)


@rule(
    o.neg(o.matmul(X, W, **FLAGS)),
    single_use=True,
    example="""
    graph g(x: f32[3,2]) {
      const w: f32[2,1] = literal(1.0,-3.0)
      y: f32[3,1] = matmul(x, w)
      z: f32[3,1] = neg(y)
      return z
    }
    =>
    graph g(x: f32[3,2]) {
      const z.b: f32[2,1] = literal(-1.0,3.0)
      z: f32[3,1] = matmul(x, z.b)
      return z
    }
    """,
    near_miss="""
    graph g(x: f32[3,2]) {
      const w: f32[2,1] = literal(1.0,-3.0)
      y: f32[3,1] = matmul(x, w)
      z: f32[3,1] = neg(y)
      return z, not_negated=y
    }
    """,
)
@or_skip
def negation_into_matmul(
    x: Tensor, w: ConstTensor, transpose_a: bool, transpose_b: bool
) -> Operand:
    """Fold the negation of a product into its weights."""
    return o.matmul(x, negative(w), transpose_a=transpose_a, transpose_b=transpose_b)


@rule(
    o.sub(C, o.matmul(X, W, **FLAGS)),
    single_use=True,
    example="""
    graph g(x: f32[3,2]) {
      const w: f32[2,1] = literal(1.0,-3.0)
      const c: f32[1] = literal(5.0)
      y: f32[3,1] = matmul(x, w)
      z: f32[3,1] = sub(c, y)
      return z
    }
    =>
    graph g(x: f32[3,2]) {
      const c: f32[1] = literal(5.0)
      const z.a.b: f32[2,1] = literal(-1.0,3.0)
      z.a: f32[3,1] = matmul(x, z.a.b)
      z: f32[3,1] = add(z.a, c)
      return z
    }
    """,
    near_miss="""
    graph g(x: f32[3,2]) {
      const w: f32[2,1] = literal(1.0,-3.0)
      const c: f32[1] = literal(5.0)
      y: f32[3,1] = matmul(x, w)
      the_other_way: f32[3,1] = sub(y, c)
      return the_other_way
    }
    """,
)
@or_skip
def constant_minus_matmul(
    c: ConstTensor, x: Tensor, w: ConstTensor, transpose_a: bool, transpose_b: bool
) -> Operand:
    """Rewrite a constant minus a product as the product with negated weights, plus a bias.

    The rewritten form is not cheaper by itself, but other rules match the bias, and the epilogue
    adds the bias.
    """
    weights = negative(w)
    return o.add(o.matmul(x, weights, transpose_a=transpose_a, transpose_b=transpose_b), c)


@rule(
    o.sub(C, o.conv(X, W, BIAS, **CONV)),
    error=ROUNDINGS,
    single_use=True,
    example="""
    graph g(x: f32[1,1,3]) {
      const w: f32[2,1,2] = literal(1.0,-2.0,3.0,4.0)
      const b: f32[2] = literal(0.5,-1.5)
      const c: f32[2,1] = literal(2.0,10.0)
      y: f32[1,2,2] = conv(x, w, b, strides=[1], pads=[0,0], dilations=[1])
      z: f32[1,2,2] = sub(c, y)
      return z
    }
    =>
    graph g(x: f32[1,1,3]) {
      const z.w: f32[2,1,2] = literal(-1.0,2.0,-3.0,-4.0)
      const z.b: f32[2] = literal(1.5,11.5)
      z: f32[1,2,2] = conv(x, z.w, z.b, strides=[1], pads=[0,0], dilations=[1])
      return z
    }
    """,
    near_miss="""
    graph g(x: f32[1,1,3]) {
      const w: f32[2,1,2] = literal(1.0,-2.0,3.0,4.0)
      const along_the_image: f32[2] = literal(2.0,10.0)
      y: f32[1,2,2] = conv(x, w, strides=[1], pads=[0,0], dilations=[1])
      z: f32[1,2,2] = sub(along_the_image, y)
      return z
    }
    """,
    result="t",
)
@or_skip
def constant_minus_conv(
    c: ConstTensor,
    x: Tensor,
    w: ConstTensor,
    bias: ConstTensor | None,
    t: Anything,
    **attrs: Anything,
) -> Operand:
    """Rewrite a per-channel shift minus a convolution: negate the weights, and add a bias."""
    n = outputs_of(w, attrs["groups"], transposed=False)
    shift = channels(c, w.rank, 1, n)
    made = shifted(None if bias is None else negative(bias), shift)
    return Because(
        o.conv(x, negative(w), made, **attrs),
        f"{count_text(n, 'shift')} stored as the bias; {TRAFFIC}",
    )


SIGN_RULES: list[Rule] = [
    negation_into_conv,
    negation_into_conv_transpose,
    negation_into_matmul,
    constant_minus_matmul,
    constant_minus_conv,
]
"""Rules of `fold_affine` for negations, in the order they are tried."""
