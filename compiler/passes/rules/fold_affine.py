"""Rules that turn batch normalisation into scale and shift; the pass folds both into weights."""

from __future__ import annotations

from typing import Any as Anything

import numpy as np

from compiler.ir.operator import Operand, Tensor
from compiler.ir.types import TensorType
from compiler.passes.engine.cost import TRAFFIC
from compiler.passes.engine.declaration import rules_pass
from compiler.passes.engine.pattern import Any, AnyAttr, Const, ConstTensor
from compiler.passes.engine.rule import ROUNDINGS, Because, Rule, Skip, rule
from compiler.passes.rules.affine_conv import CONV_RULES
from compiler.passes.rules.affine_matmul import MATMUL_RULES
from compiler.passes.rules.affine_pad import PAD_RULES
from compiler.passes.rules.affine_signs import SIGN_RULES
from compiler.passes.rules.affine_table import TABLE_RULES
from compiler.passes.rules.arithmetic import combined, is_finite, objection_to, reshaped
from compiler.passes.rules.calls import o
from compiler.passes.rules.negated_constants import subtract_constant
from compiler.passes.rules.quotients import divide_by_constant, divide_by_power_of_two
from compiler.passes.rules.reassociate import merge_additions, merge_multiplications

X, C = Any("x"), Const("c")
INFINITE = "the scale is not finite, so the scaled shift could be NaN"


@rule(
    o.batch_norm(X, Const("s"), Const("b"), Const("m"), Const("v"), epsilon=AnyAttr("epsilon")),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3,4]) {
      const s: f32[3] = literal(1.0,2.0,3.0)
      const b: f32[3] = literal(0.5,1.0,-1.0)
      const m: f32[3] = literal(1.0,0.0,2.0)
      const v: f32[3] = literal(4.0,1.0,0.25)
      y: f32[2,3,4] = batch_norm(x, s, b, m, v, epsilon=0.0)
      return y
    }
    =>
    graph g(x: f32[2,3,4]) {
      const y.a.b: f32[3,1] = literal(0.5,2.0,6.0)
      const y.b: f32[3,1] = literal(0.0,1.0,-13.0)
      y.a: f32[2,3,4] = mul(x, y.a.b)
      y: f32[2,3,4] = add(y.a, y.b)
      return y
    }
    """,
    near_miss="""
    graph g(x: f32[2,3,4], v: f32[3]) {
      const s: f32[3] = literal(1.0,2.0,3.0)
      const b: f32[3] = literal(0.5,1.0,-1.0)
      const m: f32[3] = literal(1.0,0.0,2.0)
      y: f32[2,3,4] = batch_norm(x, s, b, m, v, epsilon=0.0)
      return y
    }
    """,
)
def batch_norm_is_affine(
    x: Tensor,
    s: ConstTensor,
    b: ConstTensor,
    m: ConstTensor,
    v: ConstTensor,
    epsilon: float,
) -> Operand:
    """Rewrite batch normalisation with known statistics as one scale and one shift per channel.

    The scale is scale/sqrt(variance+epsilon), computed at compile time. A preceding convolution can
    absorb the scale and the shift.
    """
    if x.type.shape is None:
        return Skip(f"the rank of {x.name} is not known")
    parts = [p.stored for p in (s, b, m, v)]

    def shift(s: Anything, b: Anything, m: Anything, v: Anything) -> Anything:
        return b - m * (s / np.sqrt(v + epsilon))

    scales = combined(lambda s, v: s / np.sqrt(v + epsilon), parts[0], parts[3])
    shifts = combined(shift, *parts)
    for made in (scales, shifts):
        if objection := objection_to(made, *parts):
            return Skip(objection)
    if not is_finite(scales):
        return Skip(INFINITE)
    shape = (s.stored.type.n_elements, *(1,) * (x.rank - 2))
    return Because(
        o.add(o.mul(x, reshaped(scales, shape)), reshaped(shifts, shape)),
        f"for {shape[0]} channels, a scale and a shift take 2 operations per element instead of "
        "5, and both can fold into weights",
    )


@rule(
    o.mul(o.add(o.mul(X, Const("a")), Const("b")), C),
    error=ROUNDINGS,
    single_use=True,
    example="""
    graph g(x: f32[2,3]) {
      const a: f32[3] = literal(1.0,2.0,3.0)
      const b: f32[3] = literal(0.5,1.0,-1.0)
      const c: f32[] = literal(2.0)
      p: f32[2,3] = mul(x, a)
      q: f32[2,3] = add(p, b)
      r: f32[2,3] = mul(q, c)
      return r
    }
    =>
    graph g(x: f32[2,3]) {
      const r.a.b: f32[3] = literal(2.0,4.0,6.0)
      const r.b: f32[3] = literal(1.0,2.0,-2.0)
      r.a: f32[2,3] = mul(x, r.a.b)
      r: f32[2,3] = add(r.a, r.b)
      return r
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const a: f32[3] = literal(1.0,2.0,3.0)
      const b: f32[3] = literal(0.5,1.0,-1.0)
      const c: f32[] = literal(2.0)
      p: f32[2,3] = mul(x, a)
      q: f32[2,3] = add(p, b)
      r: f32[2,3] = mul(q, c)
      return r, shifted=q
    }
    """,
    result="t",
)
def scale_through_affine(
    x: Tensor, a: ConstTensor, b: ConstTensor, c: ConstTensor, t: TensorType
) -> Operand:
    """Fold a scale after a scale and a shift into both constants: (x*a+b)*c = x*(a*c) + b*c."""
    if not x.dtype.is_float:
        return Skip(f"products of {x.dtype} may overflow")
    if not is_finite(c.stored):
        return Skip(INFINITE)
    scale = combined(np.multiply, a.stored, c.stored)
    shift = combined(np.multiply, b.stored, c.stored)
    for made, old in ((scale, a), (shift, b)):
        if objection := objection_to(made, old.stored, c.stored):
            return Skip(objection)
    return Because(o.add(o.mul(x, scale), shift), f"saves a multiplication per element; {TRAFFIC}")


RULES: list[Rule] = [
    batch_norm_is_affine,
    subtract_constant,
    divide_by_power_of_two,
    divide_by_constant,
    *PAD_RULES,
    *CONV_RULES,
    *MATMUL_RULES,
    *SIGN_RULES,
    *TABLE_RULES,
    scale_through_affine,
    merge_multiplications,
    merge_additions,
]
"""Rules of `fold_affine`, in the order they are tried."""

fold_affine = rules_pass(
    "fold_affine",
    RULES,
    """Fold constant scales and shifts into neighbouring weights.

    Batch normalisation becomes a scale and a shift. Both are folded into the weights and the bias
    of an adjacent convolution or product, or into an embedding table. Zero padding becomes the
    padding of the operator that reads it. Weights are computed in f64 and rounded once; results
    differ by about one rounding.
    """,
    needs=["constants", "single uses"],
    known_as={"TVM": "FoldScaleAxis", "ONNX Runtime": "ConvBNFusion, ConvMulFusion"},
)
