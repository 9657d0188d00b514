"""Rules that replace divisions with multiplications, and merge consecutive quotients.

A division takes several times as long as a multiplication.
"""

from __future__ import annotations

import numpy as np

from compiler.ir.operator import Operand, Tensor
from compiler.ir.types import TensorType
from compiler.passes.engine.folding import Example, folds_to_operand
from compiler.passes.engine.pattern import Any, Const, ConstTensor, OneOf, uniform
from compiler.passes.engine.rule import ROUNDINGS, Because, Rule, Skip, rule
from compiler.passes.rules.arithmetic import combined, objection_to, unless_long
from compiler.passes.rules.calls import o
from compiler.units import count_text

X, Y, Z, A, B = Any("x"), Any("y"), Any("z"), Const("a"), Const("b")


@rule(
    o.div(X, A),
    example="""
    graph g(x: f32[2,3]) {
      const c: f32[3] = literal(2.0,-4.0,0.5)
      b: f32[2,3] = div(x, c)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      const b.b: f32[3] = literal(0.5,-0.25,2.0)
      b: f32[2,3] = mul(x, b.b)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const c: f32[3] = literal(2.0,-4.0,3.0)
      b: f32[2,3] = div(x, c)
      return b
    }
    """,
)
def divide_by_power_of_two(x: Tensor, a: ConstTensor) -> Operand:
    """Replace a division by a power of two with a multiplication by its exact reciprocal.

    A division takes several times as long as a multiplication.
    """
    if not x.dtype.is_float:
        return Skip(f"{x.dtype} has no reciprocals")
    if a.stored.type.n_elements > 1 << 16:
        return Skip(f"{a.name} has {a.stored.type.n_elements:,} elements, too many to examine")
    number = uniform(a.stored)
    sample = a.stored.array() if number is None else number
    mantissa, exponent = np.frexp(np.asarray(sample, np.float64))
    if not (np.abs(mantissa) == 0.5).all() or (np.abs(exponent) > 14).any():
        return Skip(
            f"{a.name} contains numbers whose reciprocals are rounded: only powers of two are exact"
        )
    return o.mul(x, combined(np.reciprocal, a.stored))


@rule(
    o.div(X, A),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3]) {
      const c: f32[3] = literal(5.0,-10.0,0.1)
      b: f32[2,3] = div(x, c)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      const b.b: f32[3] = literal(0.2,-0.1,10.0)
      b: f32[2,3] = mul(x, b.b)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const c: f32[3] = literal(5.0,1e-40,0.1)
      b: f32[2,3] = div(x, c)
      return b
    }
    """,
)
def divide_by_constant(x: Tensor, a: ConstTensor) -> Operand:
    """Replace a division by a constant with a multiplication by its reciprocal, rounded once."""
    if not x.dtype.is_float:
        return Skip(f"{x.dtype} has no reciprocals")
    reciprocal = combined(np.reciprocal, a.stored)
    tiny = objection_to(reciprocal, a.stored)
    return Skip(tiny) if tiny else o.mul(x, reciprocal)


drop_double_reciprocal = folds_to_operand(
    "drop_double_reciprocal",
    o.reciprocal(o.reciprocal(X)),
    "Fold `1/(1/x)` to `x`.",
    example=Example(
        ["a: f32[2,3] = reciprocal(x)", "b: f32[2,3] = reciprocal(a)"],
        inputs="x: f32[2,3], y: f32[3]",
        reader="add({}, y)",
    ),
    near_miss=Example(
        ["a: f32[2,3] = reciprocal(x)", "d: f32[2,3] = add(a, y)", "b: f32[2,3] = reciprocal(d)"],
        inputs="x: f32[2,3], y: f32[3]",
        reader="",
    ),
    error=ROUNDINGS,
)


@rule(
    o.reciprocal(o.div(X, Y)),
    error=ROUNDINGS,
    single_use=True,
    example="""
    graph g(x: f32[2,3], y: f32[3]) {
      a: f32[2,3] = div(x, y)
      b: f32[2,3] = reciprocal(a)
      return b
    }
    =>
    graph g(x: f32[2,3], y: f32[3]) {
      b: f32[2,3] = div(y, x)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3], y: f32[3]) {
      a: f32[2,3] = div(x, y)
      b: f32[2,3] = reciprocal(a)
      return b, a
    }
    """,
)
def reciprocal_of_quotient(x: Tensor, y: Tensor) -> Operand:
    """Fold `1/(x/y)` to `y/x`."""
    return o.div(y, x)


@rule(
    OneOf(o.mul(X, o.reciprocal(Y)), o.mul(X, o.div(1, Y))),
    error=ROUNDINGS,
    single_use=True,
    example="""
    graph g(x: f32[3], y: f32[2,3]) {
      const one: f32[] = literal(1.0)
      a: f32[2,3] = div(one, y)
      b: f32[2,3] = mul(x, a)
      return b
    }
    =>
    graph g(x: f32[3], y: f32[2,3]) {
      b: f32[2,3] = div(x, y)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3], y: f32[2,1]) {
      a: f32[2,1] = reciprocal(y)
      b: f32[2,3] = mul(x, a)
      return b
    }
    """,
    result="t",
)
def times_reciprocal(x: Tensor, y: Tensor, t: TensorType) -> Operand:
    """Fold `x * (1/y)` to `x / y`: one operation instead of two.

    The rule applies only if y has as many elements as the result. For a broadcast y, one reciprocal
    per element of y needs fewer divisions than one quotient per element of the result.
    Source: DivMulFusion of ONNX Runtime.
    """
    if not t.dtype.is_float:
        return Skip(f"quotients of {t.dtype} are truncated")
    if y.type.logical != t:
        return Skip(f"{y.type} needs fewer reciprocals than {t} needs divisions")
    return o.div(x, y)


@rule(
    o.div(o.div(X, Y), Z),
    error=ROUNDINGS,
    single_use=True,
    example="""
    graph g(x: f32[2,3], y: f32[3], z: f32[3]) {
      a: f32[2,3] = div(x, y)
      b: f32[2,3] = div(a, z)
      return b
    }
    =>
    graph g(x: f32[2,3], y: f32[3], z: f32[3]) {
      b.b: f32[3] = mul(y, z)
      b: f32[2,3] = div(x, b.b)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3], y: f32[2,1], z: f32[4,1,1]) {
      a: f32[2,3] = div(x, y)
      b: f32[4,2,3] = div(a, z)
      return b
    }
    """,
)
def quotient_of_quotient(x: Tensor, y: Tensor, z: Tensor) -> Operand:
    """Fold `(x / y) / z` to `x / (y * z)`.

    A multiplication replaces a division, or several divisions if the divisors are broadcast.
    """
    objection = _objection(x)
    if objection is not None:
        return objection
    quotients, products = o.div(x, y).type, o.mul(y, z).type
    if not (quotients.is_static and products.is_static):
        return Skip("sizes are open, so the numbers of operations cannot be compared")
    n, m = quotients.n_elements, products.n_elements
    if m > n:
        return Skip(f"{m:,} products of divisors would replace {n:,} quotients: nothing is saved")
    because = f"saves {count_text(n, 'division')}, adds {count_text(m, 'multiplication')}"
    return Because(o.div(x, o.mul(y, z)), because)


@rule(
    o.div(X, o.div(Y, Z)),
    error=ROUNDINGS,
    single_use=True,
    example="""
    graph g(x: f32[2,3], y: f32[3], z: f32[2,3]) {
      a: f32[2,3] = div(y, z)
      b: f32[2,3] = div(x, a)
      return b
    }
    =>
    graph g(x: f32[2,3], y: f32[3], z: f32[2,3]) {
      b.a: f32[2,3] = mul(x, z)
      b: f32[2,3] = div(b.a, y)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3], y: f32[3], z: f32[3]) {
      a: f32[3] = div(y, z)
      b: f32[2,3] = div(x, a)
      return b
    }
    """,
    result="t",
)
def divided_by_quotient(x: Tensor, y: Tensor, z: Tensor, t: TensorType) -> Operand:
    """Fold `x / (y / z)` to `x * z / y`: one division instead of two.

    The rule requires as many quotients y / z as results. With fewer quotients, the saved divisions
    would cost less than the additional multiplications by z.
    """
    objection = _objection(x)
    if objection is not None:
        return objection
    divisors = o.div(y, z).type
    if divisors != t:
        return Skip(f"{divisors} needs fewer divisions than {t} needs multiplications")
    return o.div(o.mul(x, z), y)


def _objection(x: Tensor) -> Skip | None:
    return unless_long(x) if x.dtype.is_float else Skip(f"quotients of {x.dtype} are truncated")


QUOTIENTS: list[Rule] = [
    divide_by_power_of_two,
    divide_by_constant,
    quotient_of_quotient,
    divided_by_quotient,
    drop_double_reciprocal,
    reciprocal_of_quotient,
    times_reciprocal,
]
"""Rules of `algebraic_simplification` for quotients, in the order they are tried."""
