"""Distributive rules: factor out common factors, and distribute factors that then merge.

Infinity limits the legal rewrites: infinity times 2 minus infinity times 1 is NaN, but infinity
times (2 - 1) is infinity. Rules for floats therefore factor out only finite constants.
"""

from __future__ import annotations

import numpy as np

from compiler.ir.constant import Constant
from compiler.ir.operator import Operand, Operator, Tensor
from compiler.ir.types import DType
from compiler.passes.engine.pattern import Any, Const, ConstTensor, Known
from compiler.passes.engine.ranges import NO_PRODUCT
from compiler.passes.engine.rule import ROUNDINGS, Rule, Skip, rule
from compiler.passes.rules.arithmetic import combined, is_finite, objection_to
from compiler.passes.rules.calls import o

X, Y, Z, A, B, C = Any("x"), Any("y"), Any("z"), Const("a"), Const("b"), Const("c")
_PLAIN_X, _PLAIN_Y = Known("x", NO_PRODUCT), Known("y", NO_PRODUCT)


@rule(
    o.add(o.mul(_PLAIN_X, A), o.mul(_PLAIN_Y, A)),
    error=ROUNDINGS,
    single_use=True,
    example="""
    graph g(x: f32[2,3], y: f32[3]) {
      const a: f32[3] = literal(0.5,-1.5,3.0)
      p: f32[2,3] = mul(x, a)
      q: f32[3] = mul(y, a)
      z: f32[2,3] = add(p, q)
      return z
    }
    =>
    graph g(x: f32[2,3], y: f32[3]) {
      const a: f32[3] = literal(0.5,-1.5,3.0)
      z.a: f32[2,3] = add(x, y)
      z: f32[2,3] = mul(z.a, a)
      return z
    }
    """,
    near_miss="""
    graph g(x: f32[2,3], y: f32[3]) {
      const a: f32[3] = literal(0.5,-1.5,3.0)
      const b: f32[3] = literal(0.5,-1.5,2.0)
      p: f32[2,3] = mul(x, a)
      q: f32[3] = mul(y, b)
      z: f32[2,3] = add(p, q)
      return z
    }
    """,
)
def sum_of_scaled(x: Tensor, y: Tensor, a: ConstTensor) -> Operand:
    """Factor out a common scale: a x + a y = a (x + y).

    The rule excludes results of convolutions and matrix products, whose scales fold into weights.
    """
    return _factored(o.add, x, y, a)


@rule(
    o.sub(o.mul(_PLAIN_X, A), o.mul(_PLAIN_Y, A)),
    error=ROUNDINGS,
    single_use=True,
    example="""
    graph g(x: f32[2,3], y: f32[3]) {
      const a: f32[3] = literal(0.5,-1.5,3.0)
      p: f32[2,3] = mul(x, a)
      q: f32[3] = mul(y, a)
      z: f32[2,3] = sub(p, q)
      return z
    }
    =>
    graph g(x: f32[2,3], y: f32[3]) {
      const a: f32[3] = literal(0.5,-1.5,3.0)
      z.a: f32[2,3] = sub(x, y)
      z: f32[2,3] = mul(z.a, a)
      return z
    }
    """,
    near_miss="""
    graph g(x: f32[2,3], y: f32[3], a: f32[3]) {
      p: f32[2,3] = mul(x, a)
      q: f32[3] = mul(y, a)
      z: f32[2,3] = sub(p, q)
      return z
    }
    """,
)
def difference_of_scaled(x: Tensor, y: Tensor, a: ConstTensor) -> Operand:
    """Factor out a common scale of a difference: a x - a y = a (x - y)."""
    return _factored(o.sub, x, y, a)


def _factored(operator: Operator, x: Tensor, y: Tensor, a: ConstTensor) -> Operand:
    if x.dtype is DType.f16:
        return Skip("the sum may overflow f16, unlike the scaled terms")
    if x.dtype.is_float and not is_finite(a.stored):
        return Skip(f"{a.name} contains infinity or NaN")
    return o.mul(operator(x, y), a)


@rule(
    o.add(o.mul(X, Y), o.mul(X, Z)),
    single_use=True,
    example="""
    graph g(x: i32[2,3], y: i32[3], z: i32[2,1]) {
      p: i32[2,3] = mul(x, y)
      q: i32[2,3] = mul(z, x)
      s: i32[2,3] = add(p, q)
      return s
    }
    =>
    graph g(x: i32[2,3], y: i32[3], z: i32[2,1]) {
      s.b: i32[2,3] = add(y, z)
      s: i32[2,3] = mul(x, s.b)
      return s
    }
    """,
    near_miss="""
    graph g(x: f32[2,3], y: f32[3], z: f32[2,1]) {
      p: f32[2,3] = mul(x, y)
      q: f32[2,3] = mul(z, x)
      s: f32[2,3] = add(p, q)
      return s
    }
    """,
)
def common_whole_factor(x: Tensor, y: Tensor, z: Tensor) -> Operand:
    """Factor out a common integer factor: x y + x z = x (y + z), saving a multiplication."""
    if x.dtype.is_float:
        return Skip("infinity * 2 + infinity * -1 is NaN, but infinity * (2 + -1) is infinity")
    return o.mul(x, o.add(y, z))


@rule(
    o.add(o.mul(X, A), o.mul(X, B)),
    error=ROUNDINGS,
    single_use=True,
    example="""
    graph g(x: f32[2,3]) {
      const a: f32[3] = literal(0.5,-1.5,3.0)
      const b: f32[3] = literal(2.0,-1.0,0.25)
      p: f32[2,3] = mul(x, a)
      q: f32[2,3] = mul(x, b)
      z: f32[2,3] = add(p, q)
      return z
    }
    =>
    graph g(x: f32[2,3]) {
      const z.b: f32[3] = literal(2.5,-2.5,3.25)
      z: f32[2,3] = mul(x, z.b)
      return z
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const a: f32[3] = literal(0.5,-1.5,3.0)
      const b: f32[3] = literal(2.0,1.0,0.25)
      p: f32[2,3] = mul(x, a)
      q: f32[2,3] = mul(x, b)
      z: f32[2,3] = add(p, q)
      return z
    }
    """,
)
def sum_of_multiples(x: Tensor, a: ConstTensor, b: ConstTensor) -> Operand:
    """Add two multiples of a value: a x + b x = (a + b) x."""
    return _multiple(x, a.stored, b.stored)


@rule(
    o.add(X, o.mul(X, A)),
    error=ROUNDINGS,
    single_use=True,
    example="""
    graph g(x: f32[2,3]) {
      const a: f32[3] = literal(0.5,1.5,3.0)
      p: f32[2,3] = mul(x, a)
      z: f32[2,3] = add(p, x)
      return z
    }
    =>
    graph g(x: f32[2,3]) {
      const z.b: f32[3] = literal(1.5,2.5,4.0)
      z: f32[2,3] = mul(x, z.b)
      return z
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const a: f32[3] = literal(0.5,-1.5,3.0)
      p: f32[2,3] = mul(x, a)
      z: f32[2,3] = add(p, x)
      return z
    }
    """,
)
def sum_with_multiple(x: Tensor, a: ConstTensor) -> Operand:
    """Add a value to a multiple of itself: x + a x = (1 + a) x."""
    one = Constant.of(np.ones((), a.dtype.numpy))
    return _multiple(x, a.stored, one)


def _multiple(x: Tensor, a: Constant, b: Constant) -> Operand:
    both = combined(np.add, a, b)
    objection = objection_to(both, a, b)
    if not objection and x.dtype.is_float and not _same_sign(a, b):
        objection = (
            "the factors have different signs, so infinity minus infinity would no longer be NaN"
        )
    return Skip(objection) if objection else o.mul(x, both)


def _same_sign(a: Constant, b: Constant) -> bool:
    signs = np.asarray(combined(lambda p, q: np.sign(p) * np.sign(q), a, b).array())
    return bool((signs.astype(np.float64) > 0).all())


@rule(
    o.mul(o.add(o.mul(X, A), B), C),
    error=ROUNDINGS,
    single_use=True,
    example="""
    graph g(x: f32[2,3]) {
      const a: f32[3] = literal(0.5,-1.5,3.0)
      const b: f32[] = literal(2.0)
      const c: f32[] = literal(0.25)
      p: f32[2,3] = mul(x, a)
      q: f32[2,3] = add(p, b)
      z: f32[2,3] = mul(q, c)
      return z
    }
    =>
    graph g(x: f32[2,3]) {
      const z.a.b: f32[3] = literal(0.125,-0.375,0.75)
      const z.b: f32[] = literal(0.5)
      z.a: f32[2,3] = mul(x, z.a.b)
      z: f32[2,3] = add(z.a, z.b)
      return z
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const b: f32[] = literal(2.0)
      const c: f32[] = literal(0.25)
      q: f32[2,3] = add(x, b)
      z: f32[2,3] = mul(q, c)
      return z
    }
    """,
)
def scaled_line(x: Tensor, a: ConstTensor, b: ConstTensor, c: ConstTensor) -> Operand:
    """Distribute a constant over an affine expression: (a x + b) c = (a c) x + b c.

    Distributing c is profitable only because c merges with a and b, which saves an operation.
    """
    scale, shift = (combined(np.multiply, k.stored, c.stored) for k in (a, b))
    objection = objection_to(scale, a.stored, c.stored) or objection_to(shift, b.stored, c.stored)
    if not objection and x.dtype.is_float and not all(is_finite(k.stored) for k in (a, b, c)):
        objection = "a constant contains infinity or NaN"
    return Skip(objection) if objection else o.add(o.mul(x, scale), shift)


DISTRIBUTE: list[Rule] = [
    sum_of_multiples,
    sum_with_multiple,
    sum_of_scaled,
    difference_of_scaled,
    common_whole_factor,
    scaled_line,
]
"""Rules of `algebraic_simplification` by the distributive law, in the order they are tried."""
