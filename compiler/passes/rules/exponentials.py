"""Rules that cancel or merge exponentials and logarithms, and recognise tanh and sigmoid."""

from __future__ import annotations

from compiler.ir.operator import Operand, Tensor
from compiler.passes.engine.folding import Example, folds_to_operand
from compiler.passes.engine.pattern import Any, AnyAttr, Known, OneOf
from compiler.passes.engine.ranges import MODEST, NOT_NEGATIVE
from compiler.passes.engine.rule import ROUNDINGS, Rule, Skip, rule
from compiler.passes.rules.arithmetic import unless_long
from compiler.passes.rules.calls import o

X = Any("x")


THROUGH_LOGARITHM = 1e-5
"""Error budget of rewrites with a logarithm: the error grows with the exponent (at most 88)."""


exp_of_log = folds_to_operand(
    "exp_of_log",
    o.exp(o.log(Known("x", NOT_NEGATIVE))),
    "Fold `exp(log(x))` to `x`, for non-negative x.",
    example=Example(
        ["a: f32[2,3] = log(s)", "b: f32[2,3] = exp(a)"],
        kept=["s: f32[2,3] = sigmoid(x)"],
        reader="add({}, x)",
    ),
    near_miss=Example(["a: f32[2,3] = log(x)", "b: f32[2,3] = exp(a)"], reader="add({}, x)"),
    error=THROUGH_LOGARITHM,
)


log_of_exp = folds_to_operand(
    "log_of_exp",
    o.log(o.exp(Known("x", MODEST))),
    """Fold `log(exp(x))` to `x`, if exp cannot overflow.

    exp(89) is infinite in f32, and so is its logarithm.
    """,
    example=Example(
        ["a: f32[2,3] = exp(s)", "b: f32[2,3] = log(a)"],
        kept=["s: f32[2,3] = tanh(x)"],
        reader="add({}, x)",
    ),
    near_miss=Example(["a: f32[2,3] = exp(x)", "b: f32[2,3] = log(a)"], reader="add({}, x)"),
    unless=unless_long,
    error=ROUNDINGS,
)


@rule(
    o.mul(o.exp(Known("x", MODEST)), o.exp(Known("y", MODEST))),
    error=THROUGH_LOGARITHM,
    single_use=True,
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
    """Merge two exponentials: exp(x) exp(y) = exp(x + y), where neither can overflow.

    For 1000 and -1000 the product is infinity times 0 = NaN; the exponential of the sum is 1.
    """
    t = o.add(x, y).type
    if t not in (x.type.logical, y.type.logical):
        return Skip(f"the sum, {t}, is larger than both operands, so nothing is saved")
    return unless_long(x) or o.exp(o.add(x, y))


@rule(
    o.add(o.mul(o.sigmoid(o.mul(X, 2)), 2), -1),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3]) {
      const two: f32[] = literal(2.0)
      const c: f32[] = literal(-1.0)
      a: f32[2,3] = mul(x, two)
      s: f32[2,3] = sigmoid(a)
      b: f32[2,3] = mul(s, two)
      y: f32[2,3] = add(b, c)
      return y
    }
    =>
    graph g(x: f32[2,3]) {
      y: f32[2,3] = tanh(x)
      return y
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const two: f32[] = literal(2.0)
      const c: f32[] = literal(-1.0)
      s: f32[2,3] = sigmoid(x)
      b: f32[2,3] = mul(s, two)
      y: f32[2,3] = add(b, c)
      return y
    }
    """,
)
def tanh_by_sigmoid(x: Tensor) -> Operand:
    """Recognise `2 sigmoid(2x) - 1` as tanh."""
    return o.tanh(x)


@rule(
    OneOf(
        o.mul(o.add(o.tanh(o.mul(X, 0.5)), 1), 0.5),
        o.add(o.mul(o.tanh(o.mul(X, 0.5)), 0.5), 0.5),
    ),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3]) {
      const half: f32[] = literal(0.5)
      const one: f32[] = literal(1.0)
      a: f32[2,3] = mul(x, half)
      t: f32[2,3] = tanh(a)
      b: f32[2,3] = add(t, one)
      y: f32[2,3] = mul(half, b)
      return y
    }
    =>
    graph g(x: f32[2,3]) {
      y: f32[2,3] = sigmoid(x)
      return y
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const half: f32[] = literal(0.5)
      const one: f32[] = literal(1.0)
      t: f32[2,3] = tanh(x)
      b: f32[2,3] = add(t, one)
      y: f32[2,3] = mul(half, b)
      return y
    }
    """,
)
def sigmoid_by_tanh(x: Tensor) -> Operand:
    """Recognise `(tanh(x/2) + 1) / 2` as sigmoid."""
    return o.sigmoid(x)


@rule(
    o.log(o.sigmoid(X)),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3]) {
      s: f32[2,3] = sigmoid(x)
      y: f32[2,3] = log(s)
      return y
    }
    =>
    graph g(x: f32[2,3]) {
      y.x.x: f32[2,3] = neg(x)
      y.x: f32[2,3] = softplus(y.x.x)
      y: f32[2,3] = neg(y.x)
      return y
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      s: f32[2,3] = log(x)
      y: f32[2,3] = sigmoid(s)
      return y
    }
    """,
)
def log_of_sigmoid(x: Tensor) -> Operand:
    """Rewrite `log(sigmoid(x))` as `-softplus(-x)`, in which no sigmoid can underflow.

    Exporters decompose LogSigmoid into a sigmoid and a logarithm. For x below -104 the sigmoid is 0
    in f32 and its logarithm -infinity, but the exact result rounds to x.
    """
    return o.neg(o.softplus(o.neg(x)))


@rule(
    o.log(o.sub(1, o.sigmoid(X))),
    error=THROUGH_LOGARITHM,
    example="""
    graph g(x: f32[2,3]) {
      const one: f32[] = literal(1.0)
      s: f32[2,3] = sigmoid(x)
      d: f32[2,3] = sub(one, s)
      y: f32[2,3] = log(d)
      return y
    }
    =>
    graph g(x: f32[2,3]) {
      y.x: f32[2,3] = softplus(x)
      y: f32[2,3] = neg(y.x)
      return y
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const two: f32[] = literal(2.0)
      s: f32[2,3] = sigmoid(x)
      d: f32[2,3] = sub(two, s)
      y: f32[2,3] = log(d)
      return y
    }
    """,
)
def log_of_rest_of_sigmoid(x: Tensor) -> Operand:
    """Rewrite `log(1 - sigmoid(x))` as `-softplus(x)`: in f32 sigmoid(x) is 1 for x above 17."""
    return o.neg(o.softplus(x))


@rule(
    o.log(o.softmax(X, axis=AnyAttr("axis"))),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3]) {
      s: f32[2,3] = softmax(x, axis=0)
      y: f32[2,3] = log(s)
      return y
    }
    =>
    graph g(x: f32[2,3]) {
      y: f32[2,3] = log_softmax(x, axis=0)
      return y
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      s: f32[2,3] = log(x)
      y: f32[2,3] = softmax(s, axis=0)
      return y
    }
    """,
)
def log_of_softmax(x: Tensor, axis: int) -> Operand:
    """Rewrite `log(softmax(x))` as log_softmax(x), finite even if softmax underflows to 0."""
    return o.log_softmax(x, axis=axis)


EXPONENTIALS: list[Rule] = [
    log_of_sigmoid,
    log_of_rest_of_sigmoid,
    log_of_softmax,
    tanh_by_sigmoid,
    sigmoid_by_tanh,
    exp_of_log,
    log_of_exp,
    product_of_exponentials,
]
"""Rules of `algebraic_simplification` for exponentials, in the order they are tried."""
