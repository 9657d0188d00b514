"""Rules that recognise softplus and elu, which are more accurate than their primitives."""

from __future__ import annotations

from compiler.ir.operator import Operand, Tensor
from compiler.passes.engine.declaration import rules_pass
from compiler.passes.engine.pattern import Any, Number, OneOf, Product
from compiler.passes.engine.rule import ROUNDINGS, Rule, Skip, rule
from compiler.passes.rules.calls import o

X = Any("x")
_LOG_FORM = OneOf(o.log(o.add(o.exp(X), 1)), o.softplus(X))
_POSITIVE = OneOf(o.greater(X, 0), o.greater_equal(X, 0))
_NEGATIVE = OneOf(o.less(X, 0), o.less_equal(X, 0))
_BELOW = OneOf(X, o.min(X, 0), o.where(_POSITIVE, 0, X))
"""The patterns that equal x for negative x; their value for other x does not matter."""
_EXP_LESS_ONE = OneOf(o.sub(o.exp(_BELOW), 1), o.add(o.exp(_BELOW), -1))
_SCALED = OneOf(Product(Number("alpha"), _EXP_LESS_ONE), _EXP_LESS_ONE)


@rule(
    OneOf(
        o.add(
            OneOf(o.relu(X), o.max(X, 0)),
            o.log(o.add(o.exp(OneOf(o.neg(o.abs(X)), Product(o.abs(X), -1))), 1)),
        ),
        o.where(o.greater(X, Number("threshold")), X, _LOG_FORM),
    ),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3]) {
      const one: f32[] = literal(1.0)
      p: f32[2,3] = relu(x)
      a: f32[2,3] = abs(x)
      b: f32[2,3] = neg(a)
      c: f32[2,3] = exp(b)
      d: f32[2,3] = add(c, one)
      e: f32[2,3] = log(d)
      f: f32[2,3] = add(p, e)
      return f
    }
    =>
    graph g(x: f32[2,3]) {
      f: f32[2,3] = softplus(x)
      return f
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const one: f32[] = literal(1.0)
      a: f32[2,3] = exp(x)
      b: f32[2,3] = add(a, one)
      c: f32[2,3] = log(b)
      d: f32[2,3] = add(x, c)
      return d
    }
    """,
)
def softplus_written_out(x: Tensor, threshold: float | None) -> Operand:
    """Recognise `max(x, 0) + log(1+exp(-|x|))`, and log(1+exp(x)) guarded above 20, as softplus.

    A plain log(1+exp(x)) overflows above 88, unlike softplus, so it stays unchanged.
    """
    if threshold is not None and not 15 <= threshold <= 80:
        return Skip(
            f"the guard is at {threshold:g}; only thresholds from 15 to 80 leave results unchanged"
        )
    return o.softplus(x)


@rule(
    OneOf(o.where(_POSITIVE, X, _SCALED), o.where(_NEGATIVE, _SCALED, X)),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3]) {
      const zero: f32[] = literal(0.0)
      const one: f32[] = literal(1.0)
      const alpha: f32[] = literal(0.75)
      p: bool[2,3] = greater(x, zero)
      a: f32[2,3] = exp(x)
      b: f32[2,3] = sub(a, one)
      c: f32[2,3] = mul(alpha, b)
      d: f32[2,3] = where(p, x, c)
      return d
    }
    =>
    graph g(x: f32[2,3]) {
      d: f32[2,3] = elu(x, alpha=0.75)
      return d
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const zero: f32[] = literal(0.0)
      const one: f32[] = literal(1.0)
      p: bool[2,3] = less(x, zero)
      a: f32[2,3] = exp(x)
      b: f32[2,3] = sub(a, one)
      d: f32[2,3] = where(p, x, b)
      return d
    }
    """,
)
def elu_of_where(x: Tensor, alpha: float | None) -> Operand:
    """Recognise `where(x > 0, x, alpha*(exp(x)-1))` as elu."""
    return o.elu(x) if alpha is None else o.elu(x, alpha=float(alpha))


@rule(
    o.add(OneOf(o.relu(X), o.max(X, 0)), o.min(_SCALED, 0)),
    error=ROUNDINGS,
    example="""
    graph g(x: f32[2,3]) {
      const zero: f32[] = literal(0.0)
      const one: f32[] = literal(1.0)
      p: f32[2,3] = relu(x)
      a: f32[2,3] = exp(x)
      b: f32[2,3] = sub(a, one)
      c: f32[2,3] = min(b, zero)
      d: f32[2,3] = add(p, c)
      return d
    }
    =>
    graph g(x: f32[2,3]) {
      d: f32[2,3] = elu(x, alpha=1.0)
      return d
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const zero: f32[] = literal(0.0)
      const one: f32[] = literal(1.0)
      const minus: f32[] = literal(-0.5)
      p: f32[2,3] = relu(x)
      a: f32[2,3] = exp(x)
      b: f32[2,3] = sub(a, one)
      c: f32[2,3] = mul(b, minus)
      e: f32[2,3] = min(c, zero)
      d: f32[2,3] = add(p, e)
      return d
    }
    """,
)
def elu_of_sum(x: Tensor, alpha: float | None) -> Operand:
    """Recognise `max(x, 0) + min(alpha*(exp(x)-1), 0)` as elu."""
    if alpha is not None and alpha <= 0:
        return Skip(f"the factor is {alpha:g}; the two parts meet at 0 only for positive factors")
    return o.elu(x) if alpha is None else o.elu(x, alpha=float(alpha))


EXACT: list[Rule] = [softplus_written_out, elu_of_where, elu_of_sum]
"""Rules of `recognise_exact`, in the order they are tried."""

recognise_exact = rules_pass(
    "recognise_exact",
    EXACT,
    """Recognise softplus and elu in the operations that exporters write for them.

    Near zero log(1+x) and exp(x)-1 lose digits that softplus and elu preserve. The operators take
    up to a third longer, so presets for speed omit this pass.
    """,
    needs=["constants"],
)
