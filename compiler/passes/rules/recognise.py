"""Rules that recognise an activation function in the operations that an exporter wrote for it."""

from __future__ import annotations

from compiler.ir.operator import Operand, Tensor
from compiler.passes.engine.pattern import Any, AnyAttr, Number
from compiler.passes.engine.rule import ROUNDINGS, Rule, Skip, rule
from compiler.passes.rules.calls import o

X = Any("x")
_LO, _HI, _SHIFT, _SIZE = Number("lo"), Number("hi"), Number("shift"), Number("size")


def _hard_sigmoid(x: Tensor, shift: float, lo: float, hi: float, scale: float) -> Operand:
    """clip(x + shift, lo, hi) * scale is hard_sigmoid where it runs from 0 to 1."""
    if lo != 0 or abs(hi * scale - 1) > 1e-6:
        return Skip(f"it runs from {lo * scale:g} to {hi * scale:g}, a hard sigmoid from 0 to 1")
    return o.hard_sigmoid(x, alpha=float(scale), beta=float(shift * scale))


@rule(
    o.div(o.clip(o.add(X, _SHIFT), _LO, _HI), _SIZE),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3]) {
      const three: f32[] = literal(3.0)
      const zero: f32[] = literal(0.0)
      const four: f32[] = literal(4.0)
      a: f32[2,3] = add(x, three)
      b: f32[2,3] = clip(a, zero, four)
      c: f32[2,3] = div(b, four)
      return c
    }
    =>
    graph g(x: f32[2,3]) {
      c: f32[2,3] = hard_sigmoid(x, alpha=0.25, beta=0.75)
      return c
    }
    """,
)
def hard_sigmoid_of_division(x: Tensor, shift: float, lo: float, hi: float, size: float) -> Operand:
    """clip(x+3, 0, 6)/6 is a hard sigmoid.

    One operator has one loop, and its name says what the model's author meant.
    """
    if size == 0:
        return Skip("it divides by 0")
    return _hard_sigmoid(x, shift, lo, hi, 1 / size)


@rule(
    o.mul(o.clip(o.add(X, _SHIFT), _LO, _HI), _SIZE),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3]) {
      const three: f32[] = literal(3.0)
      const zero: f32[] = literal(0.0)
      const four: f32[] = literal(4.0)
      const quarter: f32[] = literal(0.25)
      a: f32[2,3] = add(x, three)
      b: f32[2,3] = clip(a, zero, four)
      c: f32[2,3] = mul(b, quarter)
      return c
    }
    =>
    graph g(x: f32[2,3]) {
      c: f32[2,3] = hard_sigmoid(x, alpha=0.25, beta=0.75)
      return c
    }
    """,
)
def hard_sigmoid_of_product(x: Tensor, shift: float, lo: float, hi: float, size: float) -> Operand:
    """clip(x+3, 0, 6)*(1/6) is a hard sigmoid."""
    return _hard_sigmoid(x, shift, lo, hi, size)


@rule(
    o.clip(o.add(o.mul(X, Number("alpha")), Number("beta")), 0, 1),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3]) {
      const alpha: f32[] = literal(0.25)
      const beta: f32[] = literal(0.75)
      const zero: f32[] = literal(0.0)
      const one: f32[] = literal(1.0)
      a: f32[2,3] = mul(x, alpha)
      b: f32[2,3] = add(a, beta)
      c: f32[2,3] = clip(b, zero, one)
      return c
    }
    =>
    graph g(x: f32[2,3]) {
      c: f32[2,3] = hard_sigmoid(x, alpha=0.25, beta=0.75)
      return c
    }
    """,
)
def hard_sigmoid_of_line(x: Tensor, alpha: float, beta: float) -> Operand:
    """A straight line cut off at 0 and 1 is a hard sigmoid."""
    if not x.dtype.is_float:
        return Skip(f"there is no hard sigmoid of {x.dtype}")
    return o.hard_sigmoid(x, alpha=float(alpha), beta=float(beta))


@rule(
    o.mul(X, o.hard_sigmoid(X, alpha=AnyAttr("alpha"), beta=AnyAttr("beta"))),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3]) {
      a: f32[2,3] = hard_sigmoid(x, alpha=0.16666666666666666, beta=0.5)
      b: f32[2,3] = mul(x, a)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      b: f32[2,3] = hard_swish(x)
      return b
    }
    """,
)
def hard_swish_of_hard_sigmoid(x: Tensor, alpha: float, beta: float) -> Operand:
    """x times its hard sigmoid is hard swish."""
    if abs(beta - 0.5) > 1e-6:
        return Skip(f"its shift is {beta:g}, that of hard swish 0.5")
    return _hard_swish(x, alpha)


@rule(
    o.div(o.mul(X, o.clip(o.add(X, 3), 0, 6)), _SIZE),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3]) {
      const three: f32[] = literal(3.0)
      const zero: f32[] = literal(0.0)
      const six: f32[] = literal(6.0)
      a: f32[2,3] = add(x, three)
      b: f32[2,3] = clip(a, zero, six)
      c: f32[2,3] = mul(x, b)
      d: f32[2,3] = div(c, six)
      return d
    }
    =>
    graph g(x: f32[2,3]) {
      d: f32[2,3] = hard_swish(x)
      return d
    }
    """,
)
def hard_swish_divided_last(x: Tensor, size: float) -> Operand:
    """x*clip(x+3, 0, 6)/6 is hard swish."""
    return _hard_swish(x, 1 / size if size else 0.0)


@rule(
    o.mul(o.mul(X, o.clip(o.add(X, 3), 0, 6)), _SIZE),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3]) {
      const three: f32[] = literal(3.0)
      const zero: f32[] = literal(0.0)
      const six: f32[] = literal(6.0)
      const sixth: f32[] = literal(0.16666667)
      a: f32[2,3] = add(x, three)
      b: f32[2,3] = clip(a, zero, six)
      c: f32[2,3] = mul(x, b)
      d: f32[2,3] = mul(c, sixth)
      return d
    }
    =>
    graph g(x: f32[2,3]) {
      d: f32[2,3] = hard_swish(x)
      return d
    }
    """,
)
def hard_swish_multiplied_last(x: Tensor, size: float) -> Operand:
    """x*clip(x+3, 0, 6)*(1/6) is hard swish."""
    return _hard_swish(x, size)


@rule(
    o.mul(o.mul(X, _SIZE), o.clip(o.add(X, 3), 0, 6)),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3]) {
      const three: f32[] = literal(3.0)
      const zero: f32[] = literal(0.0)
      const six: f32[] = literal(6.0)
      const sixth: f32[] = literal(0.16666667)
      a: f32[2,3] = add(x, three)
      b: f32[2,3] = clip(a, zero, six)
      c: f32[2,3] = mul(x, sixth)
      d: f32[2,3] = mul(c, b)
      return d
    }
    =>
    graph g(x: f32[2,3]) {
      d: f32[2,3] = hard_swish(x)
      return d
    }
    """,
)
def hard_swish_multiplied_first(x: Tensor, size: float) -> Operand:
    """x*(1/6)*clip(x+3, 0, 6) is hard swish."""
    return _hard_swish(x, size)


def _hard_swish(x: Tensor, scale: float) -> Operand:
    if abs(scale * 6 - 1) > 1e-6:
        return Skip(f"the scale is {scale:g}, hard swish has 1/6")
    return o.hard_swish(x)


@rule(
    o.div(1, o.add(o.exp(o.neg(X)), 1)),
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
)
def sigmoid_written_out(x: Tensor) -> Operand:
    """1/(1+exp(-x)) is the sigmoid."""
    return o.sigmoid(x)


@rule(
    o.reciprocal(o.add(o.exp(o.neg(X)), 1)),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3]) {
      const one: f32[] = literal(1.0)
      a: f32[2,3] = neg(x)
      b: f32[2,3] = exp(a)
      c: f32[2,3] = add(b, one)
      d: f32[2,3] = reciprocal(c)
      return d
    }
    =>
    graph g(x: f32[2,3]) {
      d: f32[2,3] = sigmoid(x)
      return d
    }
    """,
)
def sigmoid_by_reciprocal(x: Tensor) -> Operand:
    """The reciprocal of 1+exp(-x) is the sigmoid."""
    return o.sigmoid(x)


@rule(
    o.mul(X, o.sigmoid(X)),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3]) {
      a: f32[2,3] = sigmoid(x)
      b: f32[2,3] = mul(a, x)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      b: f32[2,3] = swish(x, alpha=1.0)
      return b
    }
    """,
)
def swish_of_sigmoid(x: Tensor) -> Operand:
    """x times its sigmoid is swish, also called SiLU."""
    return o.swish(x)


@rule(
    o.max(X, o.mul(X, Number("alpha"))),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3]) {
      const slope: f32[] = literal(0.125)
      a: f32[2,3] = mul(x, slope)
      b: f32[2,3] = max(x, a)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      b: f32[2,3] = leaky_relu(x, alpha=0.125)
      return b
    }
    """,
)
def leaky_relu_of_max(x: Tensor, alpha: float) -> Operand:
    """The larger of x and a fraction of x is leaky relu."""
    if not x.dtype.is_float:
        return Skip(f"there is no leaky relu of {x.dtype}")
    if not 0 < alpha < 1:
        return Skip(f"the slope is {alpha:g}; between 0 and 1 the larger one is leaky relu")
    return o.leaky_relu(x, alpha=float(alpha))


_ROOT_HALF = 0.5**0.5


def _gelu(x: Tensor, scale: float, half: float) -> Operand:
    if abs(scale - _ROOT_HALF) > 1e-6 or half != 0.5:
        return Skip(f"the numbers are {scale:g} and {half:g}; gelu has {_ROOT_HALF:.7f} and 0.5")
    return o.gelu(x)


@rule(
    o.mul(o.mul(X, o.add(o.erf(o.mul(X, Number("scale"))), 1)), Number("half")),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3]) {
      const root: f32[] = literal(0.70710678)
      const one: f32[] = literal(1.0)
      const half: f32[] = literal(0.5)
      a: f32[2,3] = mul(x, root)
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
)
def gelu_written_out(x: Tensor, scale: float, half: float) -> Operand:
    """x*(1+erf(x/sqrt(2)))/2 is gelu."""
    return _gelu(x, scale, half)


@rule(
    o.mul(o.mul(X, Number("half")), o.add(o.erf(o.mul(X, Number("scale"))), 1)),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3]) {
      const root: f32[] = literal(0.70710678)
      const one: f32[] = literal(1.0)
      const half: f32[] = literal(0.5)
      a: f32[2,3] = mul(x, root)
      b: f32[2,3] = erf(a)
      c: f32[2,3] = add(b, one)
      d: f32[2,3] = mul(x, half)
      e: f32[2,3] = mul(d, c)
      return e
    }
    =>
    graph g(x: f32[2,3]) {
      e: f32[2,3] = gelu(x, approximate="none")
      return e
    }
    """,
)
def gelu_halved_first(x: Tensor, half: float, scale: float) -> Operand:
    """x/2*(1+erf(x/sqrt(2))) is gelu."""
    return _gelu(x, scale, half)


RECOGNISE: list[Rule] = [
    hard_swish_divided_last,
    hard_swish_multiplied_last,
    hard_swish_multiplied_first,
    hard_sigmoid_of_division,
    hard_sigmoid_of_product,
    hard_sigmoid_of_line,
    hard_swish_of_hard_sigmoid,
    sigmoid_written_out,
    sigmoid_by_reciprocal,
    swish_of_sigmoid,
    leaky_relu_of_max,
    gelu_written_out,
    gelu_halved_first,
]
"""Rules of `recognise`, in the order in which they are tried."""
