"""Rules that fold transposes into the matrix product that reads them."""

from __future__ import annotations

from compiler.ir.operator import Operand, Tensor
from compiler.passes.engine.pattern import Any, AnyAttr
from compiler.passes.engine.rule import Because, Rule, Skip, rule
from compiler.passes.rules.calls import o

X, P = Any("x"), AnyAttr("p")
_TA, _TB = AnyAttr("ta"), AnyAttr("tb")


def _swaps_last_two(perm: tuple[int, ...]) -> bool:
    n = len(perm)
    return n >= 2 and perm == (*range(n - 2), n - 1, n - 2)


@rule(
    o.matmul(o.transpose(X, perm=P), Any("b"), transpose_a=_TA, transpose_b=_TB),
    example="""
    graph g(x: f32[3,2], b: f32[3,4]) {
      a: f32[2,3] = transpose(x, perm=[1,0])
      y: f32[2,4] = matmul(a, b)
      return y
    }
    =>
    graph g(x: f32[3,2], b: f32[3,4]) {
      y: f32[2,4] = matmul(x, b, transpose_a=true)
      return y
    }
    """,
    near_miss="""
    graph g(x: f32[3,5,2], b: f32[3,4]) {
      a: f32[5,2,3] = transpose(x, perm=[1,2,0])
      y: f32[5,2,4] = matmul(a, b)
      return y
    }
    """,
)
def transpose_into_matmul_left(
    x: Tensor, p: tuple[int, ...], b: Tensor, ta: bool, tb: bool
) -> Operand:
    """Fold a transpose into the left operand of a matrix product.

    Packing copies the operand in any case, and can read the axes in any order.
    """
    if not _swaps_last_two(p):
        return Skip(f"the transpose {list(p)} is not a swap of the last two axes")
    return Because(
        o.matmul(x, b, transpose_a=not ta, transpose_b=tb),
        f"the product reads {x.name} transposed; saves a copy of {x.type}",
    )


@rule(
    o.matmul(Any("a"), o.transpose(X, perm=P), transpose_a=_TA, transpose_b=_TB),
    example="""
    graph g(a: f32[2,3], x: f32[4,3]) {
      b: f32[3,4] = transpose(x, perm=[1,0])
      y: f32[2,4] = matmul(a, b)
      return y
    }
    =>
    graph g(a: f32[2,3], x: f32[4,3]) {
      y: f32[2,4] = matmul(a, x, transpose_b=true)
      return y
    }
    """,
    near_miss="""
    graph g(a: f32[5,2,3], x: f32[3,5,4]) {
      b: f32[5,3,4] = transpose(x, perm=[1,0,2])
      y: f32[5,2,4] = matmul(a, b)
      return y
    }
    """,
)
def transpose_into_matmul_right(
    a: Tensor, x: Tensor, p: tuple[int, ...], ta: bool, tb: bool
) -> Operand:
    """Fold a transpose into the right operand of a matrix product."""
    if not _swaps_last_two(p):
        return Skip(f"the transpose {list(p)} is not a swap of the last two axes")
    return Because(
        o.matmul(a, x, transpose_a=ta, transpose_b=not tb),
        f"the product reads {x.name} transposed; saves a copy of {x.type}",
    )


MATMUL_OPERANDS: list[Rule] = [transpose_into_matmul_left, transpose_into_matmul_right]
"""Rules for operands of products, in the order they are tried."""
