"""Rules for reductions whose reduced axes are reinserted, as JAX and TensorFlow write them."""

from __future__ import annotations

from compiler.ir.operator import Call, Operand, Tensor, with_trait
from compiler.ir.types import TensorType
from compiler.passes.engine.pattern import Any, AnyAttr, OneOf
from compiler.passes.engine.rule import Because, Rule, Skip, rule
from compiler.passes.rules.calls import o

_REDUCTIONS = with_trait("axis_reduction")


def _without_axes(name: str) -> Call:
    """Return the pattern of a reduction of this name with keepdims=false."""
    return o[name](Any(name), axes=AnyAttr("axes"), keepdims=False)


_DROPPED = OneOf(*map(_without_axes, _REDUCTIONS))


@rule(
    OneOf(
        o.unsqueeze(_DROPPED, axes=AnyAttr("new")),
        o.reshape(_DROPPED, Any("shape"), allowzero=AnyAttr("allowzero")),
    ),
    result="t",
    single_use=True,
    example="""
    graph g(x: f32[2,3,5]) {
      const shape: i64[3] = literal(2,1,5)
      a: f32[2,5] = reduce_max(x, axes=[1], keepdims=false)
      y: f32[2,1,5] = reshape(a, shape)
      return y
    }
    =>
    graph g(x: f32[2,3,5]) {
      y: f32[2,1,5] = reduce_max(x, axes=[1])
      return y
    }
    """,
    near_miss="""
    graph g(x: f32[2,3,5]) {
      const shape: i64[3] = literal(1,2,5)
      a: f32[2,5] = reduce_max(x, axes=[1], keepdims=false)
      y: f32[1,2,5] = reshape(a, shape)
      return y
    }
    """,
)
def keep_reduced_axes(axes: tuple[int, ...], t: TensorType, **others: object) -> Operand:
    """Set keepdims of a reduction, instead of dropping and reinserting its axes.

    Patterns of normalisations and softmax match reductions with keepdims.
    """
    name, x = next((n, x) for n in _REDUCTIONS if isinstance(x := others[n], Tensor))
    made: Call = o[name](x, axes=axes, keepdims=True)
    if x.type.shape is None or made.type.logical != t:
        return Skip(f"{name} with keepdims returns {made.type}, but {t} is needed")
    return Because(made, f"{name} keeps axes {list(axes)}")


KEPT_AXES: list[Rule] = [keep_reduced_axes]
"""Rules for reductions with reinserted axes."""
