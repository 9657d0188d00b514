"""Rules that recognise activations with exponentials: sigmoid, swish, mish, selu."""

from __future__ import annotations

from compiler.ir.operator import Operand, Tensor
from compiler.passes.engine.pattern import Any, AnyAttr, Number, OneOf, Product
from compiler.passes.engine.rule import ROUNDINGS, Rule, rule
from compiler.passes.rules.calls import o

X = Any("x")
_ONE_AND_EXP = o.add(o.exp(X), 1)
_ONE_AND_DECAY = o.add(o.exp(OneOf(o.neg(X), Product(X, -1))), 1)
_LOG_FORM = OneOf(o.log(_ONE_AND_EXP), o.softplus(X))


@rule(
    OneOf(o.div(1, _ONE_AND_DECAY), o.reciprocal(_ONE_AND_DECAY)),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3]) {
      const one: f32[] = literal(1.0)
      a: f32[2,3] = neg(x)
      b: f32[2,3] = exp(a)
      c: f32[2,3] = add(one, b)
      d: f32[2,3] = div(one, c)
      return d
    }
    =>
    graph g(x: f32[2,3]) {
      d: f32[2,3] = sigmoid(x)
      return d
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const one: f32[] = literal(1.0)
      const two: f32[] = literal(2.0)
      a: f32[2,3] = neg(x)
      b: f32[2,3] = exp(a)
      c: f32[2,3] = add(two, b)
      d: f32[2,3] = div(one, c)
      return d
    }
    """,
)
def sigmoid_written_out(x: Tensor) -> Operand:
    """Recognise `1/(1+exp(-x))` as sigmoid."""
    return o.sigmoid(x)


@rule(
    OneOf(
        o.mul(X, o.sigmoid(OneOf(X, Product(X, Number("alpha"))))),
        o.div(X, _ONE_AND_DECAY),
    ),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3]) {
      const c: f32[] = literal(1.702)
      a: f32[2,3] = mul(x, c)
      b: f32[2,3] = sigmoid(a)
      d: f32[2,3] = mul(b, x)
      return d
    }
    =>
    graph g(x: f32[2,3]) {
      d: f32[2,3] = swish(x, alpha=1.7020000219345093)
      return d
    }
    """,
    near_miss="""
    graph g(x: f32[2,3], y: f32[2,3]) {
      a: f32[2,3] = sigmoid(y)
      b: f32[2,3] = mul(x, a)
      return b
    }
    """,
)
def swish_of_sigmoid(x: Tensor, alpha: float | None) -> Operand:
    """Recognise `x*sigmoid(x)` (SiLU) and `x*sigmoid(a*x)` (quick gelu) as swish."""
    return o.swish(x) if alpha is None else o.swish(x, alpha=float(alpha))


@rule(
    o.mul(X, o.tanh(_LOG_FORM)),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3]) {
      const one: f32[] = literal(1.0)
      a: f32[2,3] = exp(x)
      b: f32[2,3] = add(a, one)
      c: f32[2,3] = log(b)
      d: f32[2,3] = tanh(c)
      e: f32[2,3] = mul(x, d)
      return e
    }
    =>
    graph g(x: f32[2,3]) {
      e: f32[2,3] = mish(x)
      return e
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      a: f32[2,3] = softplus(x)
      b: f32[2,3] = tanh(a)
      c: f32[2,3] = mul(a, b)
      return c
    }
    """,
)
def mish_of_tanh(x: Tensor) -> Operand:
    """Recognise `x*tanh(log(1+exp(x)))` as mish.

    Where exp overflows, tanh is 1, so the primitives remain correct.
    """
    return o.mish(x)


@rule(
    Product(o.elu(X, alpha=AnyAttr("alpha")), Number("gamma")),
    error=ROUNDINGS,
    single_use=True,
    example="""
    graph g(x: f32[2,3]) {
      const gamma: f32[] = literal(1.25)
      a: f32[2,3] = elu(x, alpha=1.5)
      b: f32[2,3] = mul(a, gamma)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      b: f32[2,3] = selu(x, alpha=1.5, gamma=1.25)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const gamma: f32[3] = literal(1.25,1.25,2.0)
      a: f32[2,3] = elu(x, alpha=1.5)
      b: f32[2,3] = mul(a, gamma)
      return b
    }
    """,
)
def selu_of_elu(x: Tensor, alpha: float, gamma: float) -> Operand:
    """Recognise elu times a number as selu."""
    return o.selu(x, alpha=alpha, gamma=float(gamma))


SMOOTH: list[Rule] = [
    sigmoid_written_out,
    swish_of_sigmoid,
    mish_of_tanh,
    selu_of_elu,
]
"""Rules for activations with exponentials, in the order they are tried."""
