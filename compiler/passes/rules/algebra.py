"""Rules of arithmetic: fewer, cheaper operations for the same numbers."""

from __future__ import annotations

import numpy as np

from compiler.ir.operator import Operand, Operator, Tensor
from compiler.ir.types import DType
from compiler.passes.engine.pattern import Any, AnyAttr, Const, ConstTensor, uniform
from compiler.passes.engine.rule import ROUNDINGS, Rule, Skip, rule
from compiler.passes.rules.arithmetic import combined, objection_to
from compiler.passes.rules.calls import o

X, Y, A, B = Any("x"), Any("y"), Const("a"), Const("b")


@rule(
    o.neg(o.neg(X)),
    example="""
    graph g(x: f32[2,3]) {
      a: f32[2,3] = neg(x)
      b: f32[2,3] = neg(a)
      c: f32[2,3] = relu(b)
      return c
    }
    =>
    graph g(x: f32[2,3]) {
      c: f32[2,3] = relu(x)
      return c
    }
    """,
)
def drop_double_negation(x: Tensor) -> Tensor:
    """Two changes of sign cancel."""
    return x


@rule(
    o.logical_not(o.logical_not(X)),
    example="""
    graph g(x: bool[2,3], y: bool[3]) {
      a: bool[2,3] = logical_not(x)
      b: bool[2,3] = logical_not(a)
      c: bool[2,3] = logical_and(b, y)
      return c
    }
    =>
    graph g(x: bool[2,3], y: bool[3]) {
      c: bool[2,3] = logical_and(x, y)
      return c
    }
    """,
)
def drop_double_not(x: Tensor) -> Tensor:
    """Not of not is the condition itself."""
    return x


@rule(
    o.where(o.logical_not(Any("c")), X, Y),
    example="""
    graph g(c: bool[3], x: f32[2,3], y: f32[3]) {
      n: bool[3] = logical_not(c)
      b: f32[2,3] = where(n, x, y)
      return b
    }
    =>
    graph g(c: bool[3], x: f32[2,3], y: f32[3]) {
      b: f32[2,3] = where(c, y, x)
      return b
    }
    """,
)
def where_not(c: Tensor, x: Tensor, y: Tensor) -> Operand:
    """Choosing by the opposite condition is choosing the other way round."""
    return o.where(c, y, x)


@rule(
    o.add(X, o.neg(Y)),
    example="""
    graph g(x: f32[2,3], y: f32[3]) {
      a: f32[3] = neg(y)
      b: f32[2,3] = add(x, a)
      return b
    }
    =>
    graph g(x: f32[2,3], y: f32[3]) {
      b: f32[2,3] = sub(x, y)
      return b
    }
    """,
)
def add_negated(x: Tensor, y: Tensor) -> Operand:
    """Adding the negative is subtracting."""
    return o.sub(x, y)


@rule(
    o.sub(X, o.neg(Y)),
    example="""
    graph g(x: f32[2,3], y: f32[3]) {
      a: f32[3] = neg(y)
      b: f32[2,3] = sub(x, a)
      return b
    }
    =>
    graph g(x: f32[2,3], y: f32[3]) {
      b: f32[2,3] = add(x, y)
      return b
    }
    """,
)
def subtract_negated(x: Tensor, y: Tensor) -> Operand:
    """Subtracting the negative is adding."""
    return o.add(x, y)


@rule(
    o.sub(X, A),
    example="""
    graph g(x: f32[2,3]) {
      const c: f32[3] = literal(1.0,2.5,-3.0)
      b: f32[2,3] = sub(x, c)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      const b.b: f32[3] = literal(-1.0,-2.5,3.0)
      b: f32[2,3] = add(x, b.b)
      return b
    }
    """,
)
def subtract_constant(x: Tensor, a: ConstTensor) -> Operand:
    """Subtracting a constant is adding its negative.

    Not cheaper by itself: it leaves one form, an addition, for the rules that look for shifts.
    """
    if not x.dtype.is_float:
        return Skip(f"the negative of a {x.dtype} may not be a {x.dtype}")
    return o.add(x, combined(np.negative, a.stored))


@rule(
    o.relu(o.relu(X)),
    example="""
    graph g(x: f32[2,3]) {
      a: f32[2,3] = relu(x)
      b: f32[2,3] = relu(a)
      c: f32[2,3] = exp(b)
      return c
    }
    =>
    graph g(x: f32[2,3]) {
      b: f32[2,3] = relu(x)
      c: f32[2,3] = exp(b)
      return c
    }
    """,
)
def drop_second_relu(x: Tensor) -> Operand:
    """Once negative elements are gone, a second relu finds none."""
    return o.relu(x)


@rule(
    o.abs(o.abs(X)),
    example="""
    graph g(x: f32[2,3]) {
      a: f32[2,3] = abs(x)
      b: f32[2,3] = abs(a)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      b: f32[2,3] = abs(x)
      return b
    }
    """,
)
def drop_second_abs(x: Tensor) -> Operand:
    """An absolute value has no sign left to remove."""
    return o.abs(x)


@rule(
    o.abs(o.neg(X)),
    example="""
    graph g(x: f32[2,3]) {
      a: f32[2,3] = neg(x)
      b: f32[2,3] = abs(a)
      return b
    }
    =>
    graph g(x: f32[2,3]) {
      b: f32[2,3] = abs(x)
      return b
    }
    """,
)
def abs_of_negated(x: Tensor) -> Operand:
    """The absolute value does not depend on the sign."""
    return o.abs(x)


@rule(
    o.cast(o.cast(X, to=AnyAttr("p")), to=AnyAttr("q")),
    example="""
    graph g(x: u8[2,3]) {
      a: i32[2,3] = cast(x, to=i32)
      b: f32[2,3] = cast(a, to=f32)
      return b
    }
    =>
    graph g(x: u8[2,3]) {
      b: f32[2,3] = cast(x, to=f32)
      return b
    }
    """,
)
def merge_casts(x: Tensor, p: DType, q: DType) -> Operand:
    """Two casts are one when the type between them can hold every number of the first."""
    if not _holds(p, x.dtype):
        return Skip(f"{p} cannot hold every {x.dtype}, so the first cast changes numbers")
    return x if x.dtype is q else o.cast(x, to=q)


_FLOAT_DIGITS = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}
_FLOAT_EXPONENT = {"f16": 5, "bf16": 8, "f32": 8, "f64": 11}


def _holds(wide: DType, narrow: DType) -> bool:
    """Whether every value of one type is a value of the other."""
    if wide is narrow or narrow is DType.bool:
        return wide is narrow or wide.is_integer or wide.label in _FLOAT_DIGITS
    if narrow.is_integer:
        signed = narrow.label[0] == "i"
        if wide.is_integer:
            room = wide.bits - (wide.label[0] == "i")
            return room >= narrow.bits - signed and not (signed and wide.label[0] == "u")
        # The largest unsigned numbers must stay below the largest float, 65504 for f16.
        digits = _FLOAT_DIGITS.get(wide.label, 0)
        return digits >= narrow.bits - signed and narrow.bits - signed < 16
    if wide.label not in _FLOAT_DIGITS or narrow.label not in _FLOAT_DIGITS:
        return False
    return (
        _FLOAT_DIGITS[wide.label] >= _FLOAT_DIGITS[narrow.label]
        and _FLOAT_EXPONENT[wide.label] >= _FLOAT_EXPONENT[narrow.label]
    )


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
)
def square(x: Tensor) -> Operand:
    """The second power is a product: a multiplication, not a logarithm and an exponential."""
    return o.mul(x, x)


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
)
def divide_by_power_of_two(x: Tensor, a: ConstTensor) -> Operand:
    """Dividing by a power of two is multiplying by its reciprocal, which is exact.

    A division takes several times as long as a multiplication.
    """
    if not x.dtype.is_float:
        return Skip(f"{x.dtype} has no reciprocals")
    if a.stored.type.n_elements > 1 << 16:
        return Skip(
            f"{a.name} holds {a.stored.type.n_elements:,} elements, too many to look through"
        )
    number = uniform(a.stored)
    sample = a.stored.array() if number is None else number
    mantissa, exponent = np.frexp(np.asarray(sample, np.float64))
    if not (np.abs(mantissa) == 0.5).all() or (np.abs(exponent) > 14).any():
        return Skip(f"{a.name} is not made of powers of two, so a reciprocal would be rounded")
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
)
def divide_by_constant(x: Tensor, a: ConstTensor) -> Operand:
    """Dividing by a constant is multiplying by its reciprocal, up to one rounding."""
    if not x.dtype.is_float:
        return Skip(f"{x.dtype} has no reciprocals")
    reciprocal = combined(np.reciprocal, a.stored)
    tiny = objection_to(reciprocal, a.stored)
    return Skip(tiny) if tiny else o.mul(x, reciprocal)


@rule(
    o.mul(o.mul(X, A), B),
    error=ROUNDINGS,
    sole=True,
    example="""
    graph g(x: f32[2,3]) {
      const a: f32[3] = literal(2.0,3.0,5.0)
      const b: f32[] = literal(0.5)
      y: f32[2,3] = mul(x, a)
      z: f32[2,3] = mul(y, b)
      return z
    }
    =>
    graph g(x: f32[2,3]) {
      const z.b: f32[3] = literal(1.0,1.5,2.5)
      z: f32[2,3] = mul(x, z.b)
      return z
    }
    """,
)
def merge_multiplications(x: Tensor, a: ConstTensor, b: ConstTensor) -> Operand:
    """Two multiplications by constants are one, by their product."""
    return _merged(o.mul, np.multiply, x, a, b)


@rule(
    o.add(o.add(X, A), B),
    error=ROUNDINGS,
    sole=True,
    example="""
    graph g(x: f32[2,3]) {
      const a: f32[3] = literal(2.0,3.0,5.0)
      const b: f32[] = literal(0.5)
      y: f32[2,3] = add(x, a)
      z: f32[2,3] = add(y, b)
      return z
    }
    =>
    graph g(x: f32[2,3]) {
      const z.b: f32[3] = literal(2.5,3.5,5.5)
      z: f32[2,3] = add(x, z.b)
      return z
    }
    """,
)
def merge_additions(x: Tensor, a: ConstTensor, b: ConstTensor) -> Operand:
    """Two additions of constants are one, of their sum."""
    return _merged(o.add, np.add, x, a, b)


def _merged(operator: Operator, fn: np.ufunc, x: Tensor, a: ConstTensor, b: ConstTensor) -> Operand:
    both = combined(fn, a.stored, b.stored)
    objection = objection_to(both, a.stored, b.stored)
    return Skip(objection) if objection else operator(x, both)


ALGEBRA: list[Rule] = [
    drop_double_negation,
    drop_double_not,
    where_not,
    add_negated,
    subtract_negated,
    subtract_constant,
    drop_second_relu,
    drop_second_abs,
    abs_of_negated,
    merge_casts,
    square,
    divide_by_power_of_two,
    divide_by_constant,
    merge_multiplications,
    merge_additions,
]
"""Rules of `algebra` about numbers, in the order in which they are tried."""
