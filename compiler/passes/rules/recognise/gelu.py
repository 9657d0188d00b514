"""Rules that recognise gelu, exact and with the tanh approximation, in every order of factors."""

from __future__ import annotations

import math

from compiler.ir.operator import Operand, Tensor
from compiler.passes.engine.pattern import Any, Near, OneOf, Product
from compiler.passes.engine.rule import ROUNDINGS, Rule, Skip, rule
from compiler.passes.rules.calls import o

X = Any("x")
_ERF = o.erf(Product(X, Near(math.sqrt(0.5))))
_CDF = o.add(Product(_ERF, 0.5), 0.5)


@rule(
    OneOf(
        Product(X, 0.5, o.add(_ERF, 1)),
        Product(X, _CDF),
        Product(0.5, o.add(X, o.mul(X, _ERF))),
    ),
    error=ROUNDINGS,
    single_use=True,
    example="""
    graph g(x: f32[2,3]) {
      const root: f32[] = literal(1.4142135)
      const one: f32[] = literal(1.0)
      const half: f32[] = literal(0.5)
      a: f32[2,3] = div(x, root)
      b: f32[2,3] = erf(a)
      c: f32[2,3] = add(b, one)
      d: f32[2,3] = mul(x, c)
      e: f32[2,3] = mul(d, half)
      return e
    }
    =>
    graph g(x: f32[2,3]) {
      e: f32[2,3] = gelu(x, approximate="none")
      return e
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const root: f32[] = literal(1.4142135)
      const one: f32[] = literal(1.0)
      const half: f32[] = literal(0.5)
      a: f32[2,3] = mul(x, root)
      b: f32[2,3] = erf(a)
      c: f32[2,3] = add(b, one)
      d: f32[2,3] = mul(x, c)
      e: f32[2,3] = mul(d, half)
      return e
    }
    """,
)
def gelu_of_erf(x: Tensor) -> Operand:
    """Recognise `x/2*(1+erf(x/sqrt(2)))` as gelu.

    For large negative x, 1+erf loses all digits, which the operator preserves.
    """
    return o.gelu(x) if x.dtype.is_float else Skip(f"gelu is not defined for {x.dtype}")


_ROOT = math.sqrt(2 / math.pi)
_BEND = 0.044715
_CUBE = OneOf(o.pow(X, 3), Product(X, X, X), o.mul(X, o.pow(X, 2)))
_SQUARE = OneOf(o.pow(X, 2), o.mul(X, X))


def _bent(root: float) -> OneOf:
    """Return the pattern root * (x + 0.044715 x**3), in all forms that exporters write."""
    return OneOf(
        Product(Near(root), o.add(X, Product(Near(_BEND), _CUBE))),
        Product(Near(root), o.add(X, Product(Near(_BEND), X, X, X))),
        Product(Near(root), o.add(X, Product(Near(_BEND), _SQUARE, X))),
        Product(Near(root), X, o.add(Product(Near(_BEND), _SQUARE), 1)),
        Product(Near(root), X, o.add(Product(Near(_BEND), X, X), 1)),
        Product(X, o.add(Product(Near(_BEND * root), _SQUARE), Near(root))),
        Product(X, o.add(Product(Near(_BEND * root), X, X), Near(root))),
        o.add(Product(X, Near(root)), Product(Near(_BEND * root), _CUBE)),
    )


_TANH = o.tanh(_bent(_ROOT))


@rule(
    OneOf(
        Product(X, 0.5, o.add(_TANH, 1)),
        Product(X, o.add(Product(_TANH, 0.5), 0.5)),
        Product(0.5, o.add(X, o.mul(X, _TANH))),
        Product(X, o.sigmoid(_bent(2 * _ROOT))),
    ),
    error=ROUNDINGS,
    single_use=True,
    example="""
    graph g(x: f32[2,3]) {
      const three: f32[] = literal(3.0)
      const bend: f32[] = literal(0.044715)
      const root: f32[] = literal(0.7978846)
      const one: f32[] = literal(1.0)
      const half: f32[] = literal(0.5)
      a: f32[2,3] = pow(x, three)
      b: f32[2,3] = mul(a, bend)
      c: f32[2,3] = add(x, b)
      d: f32[2,3] = mul(c, root)
      e: f32[2,3] = tanh(d)
      f: f32[2,3] = add(e, one)
      h: f32[2,3] = mul(x, half)
      y: f32[2,3] = mul(h, f)
      return y
    }
    =>
    graph g(x: f32[2,3]) {
      y: f32[2,3] = gelu(x, approximate="tanh")
      return y
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const three: f32[] = literal(3.0)
      const bend: f32[] = literal(0.04553992)
      const root: f32[] = literal(0.7978846)
      const one: f32[] = literal(1.0)
      const half: f32[] = literal(0.5)
      a: f32[2,3] = pow(x, three)
      b: f32[2,3] = mul(a, bend)
      c: f32[2,3] = add(x, b)
      d: f32[2,3] = mul(c, root)
      e: f32[2,3] = tanh(d)
      f: f32[2,3] = add(e, one)
      h: f32[2,3] = mul(x, half)
      y: f32[2,3] = mul(h, f)
      return y
    }
    """,
)
def gelu_of_tanh(x: Tensor) -> Operand:
    """Recognise `x/2*(1+tanh(sqrt(2/pi)*(x+0.044715*x**3)))` as gelu approximated with tanh."""
    if not x.dtype.is_float:
        return Skip(f"gelu is not defined for {x.dtype}")
    return o.gelu(x, approximate="tanh")


GELU: list[Rule] = [gelu_of_erf, gelu_of_tanh]
"""Rules for gelu, in the order they are tried."""
