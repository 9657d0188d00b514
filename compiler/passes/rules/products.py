"""Rules that merge matrix products with a shared operand, and scale the smaller tensor.

The cost is the number of multiplications; products of constants are computed at compile time and
cost nothing.
"""

from __future__ import annotations

from compiler.ir.operator import Operand, Tensor
from compiler.ir.types import TensorType
from compiler.passes.engine.pattern import Any, AnyAttr, Number
from compiler.passes.engine.rule import Rule, Skip, rule
from compiler.passes.rules.arithmetic import scalar
from compiler.passes.rules.calls import o

A, B, C = Any("a"), Any("b"), Any("c")
_FLAGS = {"transpose_a": AnyAttr("ta"), "transpose_b": AnyAttr("tb")}


SUMS_OF_PRODUCTS = 2e-5
"""Error budget of sums of products in another order, the same as for other reordered sums."""


@rule(
    o.add(o.matmul(A, B, **_FLAGS), o.matmul(A, C, **_FLAGS)),
    error=SUMS_OF_PRODUCTS,
    single_use=True,
    example="""
    graph g(a: f32[4,5], b: f32[5,6], c: f32[5,6]) {
      p: f32[4,6] = matmul(a, b)
      q: f32[4,6] = matmul(a, c)
      y: f32[4,6] = add(p, q)
      return y
    }
    =>
    graph g(a: f32[4,5], b: f32[5,6], c: f32[5,6]) {
      y.b: f32[5,6] = add(b, c)
      y: f32[4,6] = matmul(a, y.b)
      return y
    }
    """,
    near_miss="""
    graph g(a: f32[4,5], b: f32[5,6], c: f32[6,5]) {
      p: f32[4,6] = matmul(a, b)
      q: f32[4,6] = matmul(a, c, transpose_b=true)
      y: f32[4,6] = add(p, q)
      return y
    }
    """,
)
def sum_of_products_of_same_left(a: Tensor, b: Tensor, c: Tensor, ta: bool, tb: bool) -> Operand:
    """Merge two products with the same left operand: a b + a c = a (b + c).

    The rewrite halves the multiplications. If b and c are constants, their sum is constant too.
    """
    objection = _different(b, c)
    if objection:
        return Skip(objection)
    return o.matmul(a, o.add(b, c), transpose_a=ta, transpose_b=tb)


@rule(
    o.add(o.matmul(B, A, **_FLAGS), o.matmul(C, A, **_FLAGS)),
    error=SUMS_OF_PRODUCTS,
    single_use=True,
    example="""
    graph g(a: f32[4,5], b: f32[3,4], c: f32[3,4]) {
      p: f32[3,5] = matmul(b, a)
      q: f32[3,5] = matmul(c, a)
      y: f32[3,5] = add(p, q)
      return y
    }
    =>
    graph g(a: f32[4,5], b: f32[3,4], c: f32[3,4]) {
      y.a: f32[3,4] = add(b, c)
      y: f32[3,5] = matmul(y.a, a)
      return y
    }
    """,
    near_miss="""
    graph g(a: f32[4,5], b: f32[3,4], c: f32[1,4]) {
      p: f32[3,5] = matmul(b, a)
      q: f32[1,5] = matmul(c, a)
      y: f32[3,5] = add(p, q)
      return y
    }
    """,
)
def sum_of_products_of_same_right(a: Tensor, b: Tensor, c: Tensor, ta: bool, tb: bool) -> Operand:
    """Merge two products with the same right operand: b a + c a = (b + c) a.

    The rewrite halves the multiplications, at the cost of adding operands instead of results.
    """
    objection = _different(b, c)
    if objection:
        return Skip(objection)
    return o.matmul(o.add(b, c), a, transpose_a=ta, transpose_b=tb)


def _different(b: Tensor, c: Tensor) -> str:
    """Return the reason against adding the operands instead of the results, or ""."""
    same = b.type.logical == c.type.logical and b.type.shape is not None
    return "" if same else f"{b.type} and {c.type} are not added element by element"


@rule(
    o.matmul(o.mul(A, Number("n")), B, **_FLAGS),
    error=SUMS_OF_PRODUCTS,
    single_use=True,
    example="""
    graph g(a: f32[2,7], b: f32[7,3]) {
      const n: f32[] = literal(0.125)
      s: f32[2,7] = mul(a, n)
      y: f32[2,3] = matmul(s, b)
      return y
    }
    =>
    graph g(a: f32[2,7], b: f32[7,3]) {
      const y.b: f32[] = literal(0.125)
      y.a: f32[2,3] = matmul(a, b)
      y: f32[2,3] = mul(y.a, y.b)
      return y
    }
    """,
    near_miss="""
    graph g(a: f32[5,2], b: f32[2,7]) {
      const n: f32[] = literal(0.125)
      s: f32[5,2] = mul(a, n)
      y: f32[5,7] = matmul(s, b)
      return y
    }
    """,
    result="t",
)
def scale_after_product(
    a: Tensor, n: float, b: Tensor, ta: bool, tb: bool, t: TensorType
) -> Operand:
    """Scale the result of a product instead of its left operand, if the result is smaller.

    The epilogue of the product applies the scale.
    """
    return _after(a, n, o.matmul(a, b, transpose_a=ta, transpose_b=tb), t)


def _after(scaled: Tensor, n: float, product: Operand, t: TensorType) -> Operand:
    if not (scaled.dtype.is_float and scaled.type.is_static and t.is_static):
        return Skip("sizes are open, so the numbers of operations cannot be compared")
    if scaled.dtype.bits < 32:
        return Skip(f"without the scale, a value may overflow {scaled.dtype}")
    if t.n_elements > scaled.type.n_elements:
        return Skip(
            f"the result has {t.n_elements:,} elements, more than the scaled operand with "
            f"{scaled.type.n_elements:,}"
        )
    return o.mul(product, scalar(n, scaled.dtype))


@rule(
    o.matmul(A, o.mul(B, Number("n")), **_FLAGS),
    error=SUMS_OF_PRODUCTS,
    single_use=True,
    example="""
    graph g(a: f32[2,7], b: f32[7,3]) {
      const n: f32[] = literal(0.125)
      s: f32[7,3] = mul(b, n)
      y: f32[2,3] = matmul(a, s)
      return y
    }
    =>
    graph g(a: f32[2,7], b: f32[7,3]) {
      const y.b: f32[] = literal(0.125)
      y.a: f32[2,3] = matmul(a, b)
      y: f32[2,3] = mul(y.a, y.b)
      return y
    }
    """,
    near_miss="""
    graph g(a: f32[5,2], b: f32[2,7]) {
      const n: f32[7] = literal(1.0,0.5,0.25,2.0,4.0,8.0,3.0)
      s: f32[2,7] = mul(b, n)
      y: f32[5,7] = matmul(a, s)
      return y
    }
    """,
    result="t",
)
def scale_after_product_of_right(
    a: Tensor, b: Tensor, n: float, ta: bool, tb: bool, t: TensorType
) -> Operand:
    """Scale the result of a product instead of its right operand, if the result is smaller."""
    return _after(b, n, o.matmul(a, b, transpose_a=ta, transpose_b=tb), t)


PRODUCTS: list[Rule] = [
    sum_of_products_of_same_left,
    sum_of_products_of_same_right,
    scale_after_product,
    scale_after_product_of_right,
]
"""Rules of `algebraic_simplification` for matrix products, in the order they are tried."""
