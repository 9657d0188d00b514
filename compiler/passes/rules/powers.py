"""Rules about powers, roots and exponentials."""

from __future__ import annotations

from compiler.ir.operator import Operand, Tensor
from compiler.ir.types import DType
from compiler.passes.engine.pattern import Any, Known
from compiler.passes.engine.ranges import ABOVE_ZERO, MODEST, NOT_NEGATIVE
from compiler.passes.engine.rule import ROUNDINGS, Rule, Skip, rule
from compiler.passes.rules.calls import o

X = Any("x")

THROUGH_LOGARITHM = 1e-5
"""Error budget of what goes through a logarithm: its error grows with the exponent, up to 88."""


@rule(
    o.pow(X, 2),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3]) {
      const two: f32[] = literal(2.0)
      b: f32[2,3] = pow(x, two)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      b: f32[2,3] = mul(x, x)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const twos: f32[3] = literal(2.0,2.0,2.5)
      b: f32[2,3] = pow(x, twos)
      return b
    }
    """,
)
def square(x: Tensor) -> Operand:
    """The second power is a product: a multiplication, not a logarithm and an exponential."""
    return o.mul(x, x)


@rule(
    o.pow(X, 3),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3]) {
      const three: f32[] = literal(3.0)
      b: f32[2,3] = pow(x, three)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      b.a: f32[2,3] = mul(x, x)
      b: f32[2,3] = mul(b.a, x)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const three: f32[] = literal(3.5)
      b: f32[2,3] = pow(x, three)
      return b
    }
    """,
)
def cube(x: Tensor) -> Operand:
    """The third power is two products, which take a tenth of the time of a power."""
    return o.mul(o.mul(x, x), x)


@rule(
    o.pow(X, -1),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3]) {
      const c: f32[] = literal(-1.0)
      b: f32[2,3] = pow(x, c)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      b: f32[2,3] = reciprocal(x)
      return b
    }
    """,
    near_miss="""
    graph g(x: i32[2,3]) {
      const c: i32[] = literal(-1)
      b: i32[2,3] = pow(x, c)
      return b
    }
    """,
)
def power_minus_one(x: Tensor) -> Operand:
    """To the power of -1 is the reciprocal."""
    return o.reciprocal(x) if x.dtype.is_float else Skip(f"{x.dtype} has no reciprocals")


@rule(
    o.pow(Known("x", NOT_NEGATIVE), 0.5),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3]) {
      const half: f32[] = literal(0.5)
      a: f32[2,3] = mul(x, x)
      b: f32[2,3] = pow(a, half)
      c: f32[2,3] = sub(b, x)
      return c
    }
    =>
    graph g(x: f32[2,3]) {
      a: f32[2,3] = mul(x, x)
      b: f32[2,3] = sqrt(a)
      c: f32[2,3] = sub(b, x)
      return c
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const half: f32[] = literal(0.5)
      b: f32[2,3] = pow(x, half)
      return b
    }
    """,
)
def power_one_half(x: Tensor) -> Operand:
    """To the power of 1/2 is the square root, where nothing is negative.

    The power of minus infinity is infinity, its square root NaN.
    Source: IEEE 754-2019, 9.2.1, pow.
    """
    return o.sqrt(x)


@rule(
    o.pow(Known("x", ABOVE_ZERO), -0.5),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3]) {
      const eps: f32[] = literal(0.001)
      const c: f32[] = literal(-0.5)
      m: f32[2,3] = mul(x, x)
      a: f32[2,3] = add(m, eps)
      b: f32[2,3] = pow(a, c)
      d: f32[2,3] = mul(b, x)
      return d
    }
    =>
    graph g(x: f32[2,3]) {
      const eps: f32[] = literal(0.001)
      m: f32[2,3] = mul(x, x)
      a: f32[2,3] = add(m, eps)
      b.x: f32[2,3] = sqrt(a)
      b: f32[2,3] = reciprocal(b.x)
      d: f32[2,3] = mul(b, x)
      return d
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const c: f32[] = literal(-0.5)
      a: f32[2,3] = sqrt(x)
      b: f32[2,3] = pow(a, c)
      return b
    }
    """,
)
def power_minus_one_half(x: Tensor) -> Operand:
    """To the power of -1/2 is the reciprocal of the square root, where everything is positive.

    Of -0 the power is infinity and the reciprocal of the root minus infinity.
    """
    return o.reciprocal(o.sqrt(x))


@rule(
    o.sqrt(o.mul(X, X)),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3], y: f32[3]) {
      a: f32[2,3] = mul(x, x)
      b: f32[2,3] = sqrt(a)
      c: f32[2,3] = add(b, y)
      return c
    }
    =>
    graph g(x: f32[2,3], y: f32[3]) {
      b: f32[2,3] = abs(x)
      c: f32[2,3] = add(b, y)
      return c
    }
    """,
    near_miss="""
    graph g(x: f16[2,3], y: f16[3]) {
      a: f16[2,3] = mul(x, x)
      b: f16[2,3] = sqrt(a)
      c: f16[2,3] = add(b, y)
      return c
    }
    """,
)
def root_of_square(x: Tensor) -> Operand:
    """The square root of a square is the magnitude.

    Squares of f16 are infinite from 256 on, so there the two differ for ordinary numbers.
    """
    return _unless_short(x) or o.abs(x)


@rule(
    o.mul(o.sqrt(Known("x", NOT_NEGATIVE)), o.sqrt(Known("x", NOT_NEGATIVE))),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3]) {
      e: f32[2,3] = exp(x)
      a: f32[2,3] = sqrt(e)
      b: f32[2,3] = mul(a, a)
      c: f32[2,3] = add(b, x)
      return c
    }
    =>
    graph g(x: f32[2,3]) {
      e: f32[2,3] = exp(x)
      c: f32[2,3] = add(e, x)
      return c
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      a: f32[2,3] = sqrt(x)
      b: f32[2,3] = mul(a, a)
      c: f32[2,3] = add(b, x)
      return c
    }
    """,
)
def square_of_root(x: Tensor) -> Operand:
    """The square of a square root is the number itself, where it is not negative."""
    return x


@rule(
    o.exp(o.log(Known("x", NOT_NEGATIVE))),
    error=THROUGH_LOGARITHM,
    example="""
    graph g(x: f32[2,3]) {
      s: f32[2,3] = sigmoid(x)
      a: f32[2,3] = log(s)
      b: f32[2,3] = exp(a)
      c: f32[2,3] = add(b, x)
      return c
    }
    =>
    graph g(x: f32[2,3]) {
      s: f32[2,3] = sigmoid(x)
      c: f32[2,3] = add(s, x)
      return c
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      a: f32[2,3] = log(x)
      b: f32[2,3] = exp(a)
      c: f32[2,3] = add(b, x)
      return c
    }
    """,
)
def exp_of_log(x: Tensor) -> Operand:
    """The exponential undoes the logarithm, where nothing is negative."""
    return x


@rule(
    o.log(o.exp(Known("x", MODEST))),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3]) {
      s: f32[2,3] = tanh(x)
      a: f32[2,3] = exp(s)
      b: f32[2,3] = log(a)
      c: f32[2,3] = add(b, x)
      return c
    }
    =>
    graph g(x: f32[2,3]) {
      s: f32[2,3] = tanh(x)
      c: f32[2,3] = add(s, x)
      return c
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      a: f32[2,3] = exp(x)
      b: f32[2,3] = log(a)
      c: f32[2,3] = add(b, x)
      return c
    }
    """,
)
def log_of_exp(x: Tensor) -> Operand:
    """The logarithm undoes the exponential, where that cannot overflow.

    exp(89) is infinite as an f32, and so is the logarithm of it.
    """
    return _unless_short(x) or x


@rule(
    o.mul(o.exp(Known("x", MODEST)), o.exp(Known("y", MODEST))),
    error=THROUGH_LOGARITHM,
    sole=True,
    example="""
    graph g(x: f32[2,3], y: f32[3]) {
      s: f32[2,3] = tanh(x)
      t: f32[3] = sin(y)
      a: f32[2,3] = exp(s)
      b: f32[3] = exp(t)
      c: f32[2,3] = mul(a, b)
      return c
    }
    =>
    graph g(x: f32[2,3], y: f32[3]) {
      s: f32[2,3] = tanh(x)
      t: f32[3] = sin(y)
      c.x: f32[2,3] = add(s, t)
      c: f32[2,3] = exp(c.x)
      return c
    }
    """,
    near_miss="""
    graph g(x: f32[2,3], y: f32[3]) {
      a: f32[2,3] = exp(x)
      b: f32[3] = exp(y)
      c: f32[2,3] = mul(a, b)
      return c
    }
    """,
)
def product_of_exponentials(x: Tensor, y: Tensor) -> Operand:
    """The product of two exponentials is one, of the sum, where none can overflow.

    Of 1000 and -1000 the product is infinity times 0, the exponential of the sum 1.
    """
    t = o.add(x, y).type
    if t not in (x.type.logical, y.type.logical):
        return Skip(f"{t.n_elements if t.is_static else t} sums are more than either operand has")
    return _unless_short(x) or o.exp(o.add(x, y))


def _unless_short(x: Tensor) -> Skip | None:
    if x.dtype in (DType.f32, DType.f64, DType.bf16):
        return None
    return Skip(f"{x.dtype} is infinite soon")


POWERS: list[Rule] = [
    square,
    cube,
    power_minus_one,
    power_one_half,
    power_minus_one_half,
    root_of_square,
    square_of_root,
    exp_of_log,
    log_of_exp,
    product_of_exponentials,
]
"""Rules of `algebra` about powers and roots, in the order in which they are tried."""
