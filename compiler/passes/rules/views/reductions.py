"""Rules that fold a squeeze or unsqueeze into the attribute keepdims of a reduction."""

from __future__ import annotations

from compiler.ir.operator import Operand, Tensor, with_trait
from compiler.passes.engine.pattern import Any, AnyAttr
from compiler.passes.engine.rule import Rule, Skip, rule
from compiler.passes.rules.calls import o


def _squeezed(name: str) -> Rule:
    """Return the rule that folds a squeeze into a reduction."""

    def body(x: Tensor, axes: tuple[int, ...], q: tuple[int, ...]) -> Operand:
        gone = sorted(a % x.rank for a in q)
        if gone != list(axes):
            return Skip(f"the reduction is over axes {list(axes)}, but the squeeze over {gone}")
        return o[name](x, axes=axes, keepdims=False)

    body.__name__ = f"squeeze_into_{name}"
    body.__doc__ = f"Fold a squeeze into the {name} before it."
    return rule(
        o.squeeze(o[name](Any("x"), axes=AnyAttr("axes"), keepdims=True), axes=AnyAttr("q")),
        example=f"""
        graph g(x: f32[2,3,4]) {{
          a: f32[2,1,4] = {name}(x, axes=[1], keepdims=true)
          b: f32[2,4] = squeeze(a, axes=[-2])
          return b
        }}
        =>
        graph g(x: f32[2,3,4]) {{
          b: f32[2,4] = {name}(x, axes=[1], keepdims=false)
          return b
        }}
        """,
        near_miss=f"""
        graph g(x: f32[2,3,4]) {{
          a: f32[2,1,1] = {name}(x, axes=[1,2], keepdims=true)
          b: f32[2,1] = squeeze(a, axes=[2])
          return b
        }}
        """,
        single_use=True,
    )(body)


def _unsqueezed(name: str) -> Rule:
    """Return the rule that folds an unsqueeze into a reduction."""

    def body(x: Tensor, axes: tuple[int, ...], q: tuple[int, ...]) -> Operand:
        back = sorted(a % (x.rank - len(axes) + len(q)) for a in q)
        if back != list(axes):
            return Skip(f"the reduction is over axes {list(axes)}, but unsqueeze inserts {back}")
        return o[name](x, axes=axes, keepdims=True)

    body.__name__ = f"unsqueeze_into_{name}"
    body.__doc__ = f"Fold an unsqueeze into the {name} before it."
    return rule(
        o.unsqueeze(o[name](Any("x"), axes=AnyAttr("axes"), keepdims=False), axes=AnyAttr("q")),
        example=f"""
        graph g(x: f32[2,3,4]) {{
          a: f32[3] = {name}(x, axes=[0,2], keepdims=false)
          b: f32[1,3,1] = unsqueeze(a, axes=[0,2])
          return b
        }}
        =>
        graph g(x: f32[2,3,4]) {{
          b: f32[1,3,1] = {name}(x, axes=[0,2], keepdims=true)
          return b
        }}
        """,
        near_miss=f"""
        graph g(x: f32[2,3,4]) {{
          a: f32[3] = {name}(x, axes=[0,2], keepdims=false)
          b: f32[3,1,1] = unsqueeze(a, axes=[1,2])
          return b
        }}
        """,
        single_use=True,
    )(body)


REDUCTIONS: list[Rule] = [
    make(name) for name in with_trait("axis_reduction") for make in (_squeezed, _unsqueezed)
]
"""Rules for reductions next to views, in the order they are tried."""
