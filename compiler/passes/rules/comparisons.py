"""Rules that fold comparisons of a value with itself, and negated comparisons."""

from __future__ import annotations

from compiler.ir.constant import Constant
from compiler.ir.operator import Operand, Tensor
from compiler.ir.types import DType, TensorType
from compiler.passes.engine.folding import Example, folds_to_operand
from compiler.passes.engine.pattern import Any, Known
from compiler.passes.engine.ranges import NOT_NEGATIVE
from compiler.passes.engine.rule import Rule, Skip, rule
from compiler.passes.rules.arithmetic import filled
from compiler.passes.rules.calls import o

X, Y = Any("x"), Any("y")


def _with_itself(op: str, answer: bool, words: str) -> Rule:
    """Return the rule for a comparison of x with itself; a float comparison folds only to false."""

    def body(x: Tensor, t: TensorType) -> Constant | Skip:
        if answer and x.dtype.is_float:
            return Skip("a comparison of NaN with itself is false")
        return filled(answer, t)

    dtype = "i32" if answer else "f32"
    before = f"""
    graph g(x: {dtype}[2,3], y: bool[3]) {{
      a: bool[2,3] = {op}(x, x)
      b: bool[2,3] = logical_xor(a, y)
      return b
    }}
    =>
    graph g(x: {dtype}[2,3], y: bool[3]) {{
      const a: bool[2,3] = splat({str(answer).lower()})
      b: bool[2,3] = logical_xor(a, y)
      return b
    }}
    """
    other = "x" if answer else "z"
    near_miss = f"""
    graph g(x: f32[2,3], y: bool[3], z: f32[3]) {{
      a: bool[2,3] = {op}(x, {other})
      b: bool[2,3] = logical_xor(a, y)
      return b
    }}
    """
    return rule(
        o[op](X, X),
        example=before,
        near_miss=near_miss,
        result="t",
        name=f"{op}_itself",
        words=words,
    )(body)


_ITSELF = [
    _with_itself("equal", True, "Fold `x == x` to true, for integers and booleans."),
    _with_itself("less_equal", True, "Fold `x <= x` to true, for integers."),
    _with_itself("greater_equal", True, "Fold `x >= x` to true, for integers."),
    _with_itself("less", False, "Fold `x < x` to false, NaN included."),
    _with_itself("greater", False, "Fold `x > x` to false, NaN included."),
]


def _opposite(op: str, other: str, words: str) -> Rule:
    """Return the rule not op(x, y) -> other(x, y), for types without NaN."""

    def body(x: Tensor, y: Tensor) -> Operand:
        if x.dtype.is_float:
            return Skip("with NaN both comparisons are false")
        return o[other](x, y)

    example = f"""
    graph g(x: i32[2,3], y: i32[3]) {{
      a: bool[2,3] = {op}(x, y)
      b: bool[2,3] = logical_not(a)
      return b
    }}
    =>
    graph g(x: i32[2,3], y: i32[3]) {{
      b: bool[2,3] = {other}(x, y)
      return b
    }}
    """
    near_miss = f"""
    graph g(x: f32[2,3], y: f32[3]) {{
      a: bool[2,3] = {op}(x, y)
      b: bool[2,3] = logical_not(a)
      return b
    }}
    """
    return rule(
        o.logical_not(o[op](X, Y)),
        example=example,
        near_miss=near_miss,
        name=f"not_{op}",
        words=words,
    )(body)


_OPPOSITES = [
    _opposite("less", "greater_equal", "Fold `not (x < y)` to `x >= y`, for integers."),
    _opposite("greater", "less_equal", "Fold `not (x > y)` to `x <= y`, for integers."),
    _opposite("less_equal", "greater", "Fold `not (x <= y)` to `x > y`, for integers."),
    _opposite("greater_equal", "less", "Fold `not (x >= y)` to `x < y`, for integers."),
]


def _not_boolean(x: Tensor) -> Skip | None:
    return None if x.dtype is DType.bool else Skip(f"{x.dtype} has more than two values")


equal_to_true = folds_to_operand(
    "equal_to_true",
    o.equal(X, 1),
    "Fold a comparison of a boolean with true to that boolean.",
    example=Example(
        ["const yes: bool[] = literal(true)", "a: bool[2,3] = equal(x, yes)"],
        inputs="x: bool[2,3], y: bool[3]",
        reader="logical_xor({}, y)",
    ),
    near_miss=Example(
        ["const one: i32[] = literal(1)", "a: bool[2,3] = equal(x, one)"],
        inputs="x: i32[2,3], y: bool[3]",
        reader="logical_xor({}, y)",
    ),
    unless=_not_boolean,
)


@rule(
    o.equal(X, 0),
    example="""
    graph g(x: bool[2,3], y: bool[3]) {
      const no: bool[] = literal(false)
      a: bool[2,3] = equal(x, no)
      b: bool[2,3] = logical_xor(a, y)
      return b
    }
    =>
    graph g(x: bool[2,3], y: bool[3]) {
      a: bool[2,3] = logical_not(x)
      b: bool[2,3] = logical_xor(a, y)
      return b
    }
    """,
    near_miss="""
    graph g(x: i32[2,3], y: bool[3]) {
      const zero: i32[] = literal(0)
      a: bool[2,3] = equal(x, zero)
      b: bool[2,3] = logical_xor(a, y)
      return b
    }
    """,
)
def equal_to_false(x: Tensor) -> Operand:
    """Fold a comparison of a boolean with false to its negation."""
    return _not_boolean(x) or o.logical_not(x)


@rule(
    o.less(Known("x", NOT_NEGATIVE), 0),
    example="""
    graph g(x: f32[2,3], y: bool[3]) {
      const zero: f32[] = literal(0.0)
      e: f32[2,3] = exp(x)
      a: bool[2,3] = less(e, zero)
      b: bool[2,3] = logical_xor(a, y)
      return b
    }
    =>
    graph g(x: f32[2,3], y: bool[3]) {
      const a: bool[2,3] = splat(false)
      b: bool[2,3] = logical_xor(a, y)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3], y: bool[3]) {
      const zero: f32[] = literal(0.0)
      e: f32[2,3] = tanh(x)
      a: bool[2,3] = less(e, zero)
      b: bool[2,3] = logical_xor(a, y)
      return b
    }
    """,
    result="t",
)
def positive_below_zero(x: Tensor, t: TensorType) -> Constant | Skip:
    """Fold `x < 0` to false for non-negative x, such as unsigned integers."""
    return filled(False, t)


COMPARISONS: list[Rule] = [
    *_ITSELF,
    *_OPPOSITES,
    equal_to_true,
    equal_to_false,
    positive_below_zero,
]
"""Rules of `algebraic_simplification` for comparisons, in the order they are tried."""
