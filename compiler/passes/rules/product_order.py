"""Rules for the order of matrix chain multiplications; the cost counts scalar multiplications."""

from __future__ import annotations

from compiler.ir.constant import Constant
from compiler.ir.operator import Operand, Tensor
from compiler.passes.engine.pattern import Any, Const, ConstTensor, Known, OneOf
from compiler.passes.engine.ranges import COMPUTED
from compiler.passes.engine.rule import Because, Rule, Skip, rule
from compiler.passes.rules.arithmetic import is_finite, widened
from compiler.passes.rules.calls import o
from compiler.passes.rules.products import SUMS_OF_PRODUCTS

A, B, C = Any("a"), Any("b"), Any("c")

MERGE_LIMIT = 100_000_000
"""Largest number of multiplications for merging two matrices at compile time."""


@rule(
    OneOf(
        o.matmul(o.matmul(Known("a", COMPUTED), B), C),
        o.matmul(o.matmul(A, Known("b", COMPUTED)), C),
    ),
    error=SUMS_OF_PRODUCTS,
    single_use=True,
    example="""
    graph g(a: f32[4,5], b: f32[5,6], c: f32[6,1]) {
      p: f32[4,6] = matmul(a, b)
      y: f32[4,1] = matmul(p, c)
      return y
    }
    =>
    graph g(a: f32[4,5], b: f32[5,6], c: f32[6,1]) {
      y.b: f32[5,1] = matmul(b, c)
      y: f32[4,1] = matmul(a, y.b)
      return y
    }
    """,
    near_miss="""
    graph g(a: f32[1,5], b: f32[5,6], c: f32[6,4]) {
      p: f32[1,6] = matmul(a, b)
      y: f32[1,4] = matmul(p, c)
      return y
    }
    """,
)
def begin_on_the_right(a: Tensor, b: Tensor, c: Tensor) -> Operand:
    """Multiply a chain of three matrices from the right if that is cheaper: (a b) c = a (b c).

    A narrow matrix at the right end keeps every intermediate product narrow.
    """
    left, right = _orders(a, b, c)
    if left is None or right is None:
        return Skip("the operands are not three matrices of known size")
    if right >= left:
        return Skip(f"from the left {left:,} multiplications are needed, from the right {right:,}")
    return Because(o.matmul(a, o.matmul(b, c)), f"{right:,} multiplications instead of {left:,}")


@rule(
    OneOf(
        o.matmul(A, o.matmul(Known("b", COMPUTED), C)),
        o.matmul(A, o.matmul(B, Known("c", COMPUTED))),
    ),
    error=SUMS_OF_PRODUCTS,
    single_use=True,
    example="""
    graph g(a: f32[1,5], b: f32[5,6], c: f32[6,4]) {
      p: f32[5,4] = matmul(b, c)
      y: f32[1,4] = matmul(a, p)
      return y
    }
    =>
    graph g(a: f32[1,5], b: f32[5,6], c: f32[6,4]) {
      y.a: f32[1,6] = matmul(a, b)
      y: f32[1,4] = matmul(y.a, c)
      return y
    }
    """,
    near_miss="""
    graph g(a: f32[4,5], b: f32[5,6], c: f32[6,1]) {
      p: f32[5,1] = matmul(b, c)
      y: f32[4,1] = matmul(a, p)
      return y
    }
    """,
)
def begin_on_the_left(a: Tensor, b: Tensor, c: Tensor) -> Operand:
    """Multiply a chain of three matrices from the left if that is cheaper: a (b c) = (a b) c."""
    left, right = _orders(a, b, c)
    if left is None or right is None:
        return Skip("the operands are not three matrices of known size")
    if left >= right:
        return Skip(f"from the left {left:,} multiplications are needed, from the right {right:,}")
    return Because(o.matmul(o.matmul(a, b), c), f"{left:,} multiplications instead of {right:,}")


def _orders(a: Tensor, b: Tensor, c: Tensor) -> tuple[int | None, int | None]:
    """Return the numbers of scalar multiplications of (a b) c and of a (b c)."""
    if not all(x.type.is_static and x.type.rank == 2 for x in (a, b, c)):
        return None, None
    (m, k), (_, n), (_, p) = (x.type.static_shape for x in (a, b, c))
    return m * n * (k + p), k * p * (n + m)


@rule(
    o.matmul(o.matmul(A, Const("b")), Const("c")),
    error=SUMS_OF_PRODUCTS,
    single_use=True,
    example="""
    graph g(a: f32[4,2]) {
      const b: f32[2,3] = literal(1.0,2.0,-1.0,0.5,0.0,4.0)
      const c: f32[3,2] = literal(1.0,-2.0,3.0,0.5,2.0,1.0)
      p: f32[4,3] = matmul(a, b)
      y: f32[4,2] = matmul(p, c)
      return y
    }
    =>
    graph g(a: f32[4,2]) {
      const y.b: f32[2,2] = literal(5.0,-2.0,8.5,3.0)
      y: f32[4,2] = matmul(a, y.b)
      return y
    }
    """,
    near_miss="""
    graph g(a: f32[4,3]) {
      const b: f32[3,1] = literal(1.0,2.0,-1.0)
      const c: f32[1,2] = literal(1.0,-2.0)
      p: f32[4,1] = matmul(a, b)
      y: f32[4,2] = matmul(p, c)
      return y
    }
    """,
)
def merge_matrices(a: Tensor, b: ConstTensor, c: ConstTensor) -> Operand:
    """Merge two consecutive constant matrices into their product, unless the inner size is small.

    A low-rank product, such as a LoRA adapter, takes fewer multiplications than the full matrix.
    """
    t, u = b.type, c.type
    if not (t.rank == u.rank == 2):
        return Skip(f"{b.name} and {c.name} are not two matrices")
    (k, n), (_, p) = t.static_shape, u.static_shape
    apart, merged = n * (k + p), k * p
    if merged >= apart:
        return Skip(f"one matrix needs {merged:,} multiplications per row, two need {apart:,}")
    if k * n * p > MERGE_LIMIT:
        return Skip(f"{k * n * p:,} multiplications are too many at compile time")
    left, right = (widened(m.stored.array()) for m in (b, c))
    both = Constant.of((left @ right).astype(b.dtype.numpy))
    if not is_finite(both):
        return Skip(f"a value would overflow {b.dtype}")
    return Because(o.matmul(a, both), f"{merged:,} multiplications per row instead of {apart:,}")


PRODUCT_ORDER: list[Rule] = [
    merge_matrices,
    begin_on_the_right,
    begin_on_the_left,
]
"""Rules of `algebraic_simplification` for the order of products, in the order tried."""
