"""Rules for reductions: over axes of size 1, and of reduced, negated or equal elements."""

from __future__ import annotations

import numpy as np

from compiler.dataclass import dataclass
from compiler.ir.operator import Operand, Tensor
from compiler.ir.types import TensorType
from compiler.passes.engine.pattern import Any, AnyAttr
from compiler.passes.engine.rule import ROUNDINGS, Rule, Skip, rule
from compiler.passes.rules.arithmetic import scalar
from compiler.passes.rules.calls import o

X = Any("x")
Axes = tuple[int, ...]
_ATTRS = {"axes": AnyAttr("axes"), "keepdims": AnyAttr("keepdims")}
_INNER = {"axes": AnyAttr("inner"), "keepdims": AnyAttr("inner_kept")}


@dataclass(frozen=True, slots=True)
class _Row:
    """A reduction operator, and the rounding error of two reductions merged into one."""

    name: str
    noun: str
    error: float

    @property
    def op(self) -> str:
        return f"reduce_{self.name}"


_ROWS = [
    _Row("sum", "sum", ROUNDINGS),
    _Row("mean", "mean", ROUNDINGS),
    _Row("max", "maximum", 0.0),
    _Row("min", "minimum", 0.0),
    _Row("prod", "product", ROUNDINGS),
]


def _of_nothing(row: _Row) -> Rule:
    """Return the rule for a reduction over axes of size 1, which is a view."""

    def body(x: Tensor, axes: Axes, keepdims: bool) -> Operand:
        if x.type.shape is None or any(x.shape[a] != 1 for a in axes):
            return Skip("a reduced axis has more than one element")
        return x if keepdims or not axes else o.squeeze(x, axes=axes)

    body.__name__ = f"drop_{row.name}_of_one"
    body.__doc__ = f"Rewrite the {row.noun} of a single element as that element."
    example = f"""
    graph g(x: f32[2,1,3]) {{
      a: f32[2,3] = {row.op}(x, axes=[1], keepdims=false)
      b: f32[2,3] = exp(a)
      return b
    }}
    =>
    graph g(x: f32[2,1,3]) {{
      a: f32[2,3] = squeeze(x, axes=[1])
      b: f32[2,3] = exp(a)
      return b
    }}
    """
    near_miss = f"""
    graph g(x: f32[2,1,3]) {{
      a: f32[2] = {row.op}(x, axes=[1,2], keepdims=false)
      b: f32[2] = exp(a)
      return b
    }}
    """
    return rule(o[row.op](X, **_ATTRS), example=example, near_miss=near_miss)(body)


def _of_same(row: _Row) -> Rule:
    """Return the rule for a reduction of a reduction of the same kind."""

    def body(x: Tensor, axes: Axes, keepdims: bool, inner: Axes, inner_kept: bool) -> Operand:
        if x.type.shape is None:
            return Skip("the rank is open")
        if row.name == "mean" and not x.dtype.is_float:
            return Skip(f"means of {x.dtype} are truncated, and their sums may wrap around")
        left = [d for d in range(x.rank) if inner_kept or d not in inner]
        outer = tuple(left[a] for a in axes)
        if inner_kept and not keepdims and not set(inner) <= set(outer):
            return Skip("the inner reduction sets keepdims, but the outer reduction does not")
        if not inner_kept and keepdims:
            return Skip("the outer reduction sets keepdims, but the inner reduction does not")
        both = tuple(sorted({*inner, *outer}))
        return o[row.op](x, axes=both, keepdims=keepdims)

    body.__name__ = f"merge_{row.name}s"
    body.__doc__ = f"Merge two consecutive {row.noun} reductions."
    example = f"""
    graph g(x: f32[2,3,5,4]) {{
      a: f32[2,5,4] = {row.op}(x, axes=[1], keepdims=false)
      b: f32[2,5] = {row.op}(a, axes=[2], keepdims=false)
      return b
    }}
    =>
    graph g(x: f32[2,3,5,4]) {{
      b: f32[2,5] = {row.op}(x, axes=[1,3], keepdims=false)
      return b
    }}
    """
    near_miss = f"""
    graph g(x: f32[2,3,5]) {{
      a: f32[2,1,5] = {row.op}(x, axes=[1])
      b: f32[2,1] = {row.op}(a, axes=[2], keepdims=false)
      return b
    }}
    """
    pattern = o[row.op](o[row.op](X, **_INNER), **_ATTRS)
    return rule(pattern, error=row.error, single_use=True, example=example, near_miss=near_miss)(
        body
    )


def _of_transposed(row: _Row) -> Rule:
    """Return the rule for a full reduction of a transpose: the order of axes has no effect."""

    def body(x: Tensor, perm: Axes, axes: Axes, keepdims: bool) -> Operand:
        if x.type.shape is None or len(axes) != x.rank:
            return Skip("the reduction is not over all axes, so the order of axes matters")
        return o[row.op](x, axes=axes, keepdims=keepdims)

    body.__name__ = f"{row.name}_of_transposed"
    body.__doc__ = f"Remove a transpose before the {row.noun} of all elements."
    example = f"""
    graph g(x: f32[2,3]) {{
      a: f32[3,2] = transpose(x, perm=[1,0])
      b: f32[] = {row.op}(a, axes=[0,1], keepdims=false)
      return b
    }}
    =>
    graph g(x: f32[2,3]) {{
      b: f32[] = {row.op}(x, axes=[0,1], keepdims=false)
      return b
    }}
    """
    near_miss = f"""
    graph g(x: f32[2,3]) {{
      a: f32[3,2] = transpose(x, perm=[1,0])
      b: f32[2] = {row.op}(a, axes=[0], keepdims=false)
      return b
    }}
    """
    pattern = o[row.op](o.transpose(X, perm=AnyAttr("perm")), **_ATTRS)
    return rule(pattern, error=row.error, example=example, near_miss=near_miss)(body)


def _of_reshaped(row: _Row) -> Rule:
    """Return the rule for a full reduction of a reshape: the shape has no effect."""

    def body(
        x: Tensor, shape: Tensor, allowzero: bool, axes: Axes, keepdims: bool, t: TensorType
    ) -> Operand:
        if x.type.shape is None or keepdims or t.shape != ():
            return Skip("the reduction does not reduce all elements to a single element")
        return o[row.op](x, axes=tuple(range(x.rank)), keepdims=False)

    body.__name__ = f"{row.name}_of_reshaped"
    body.__doc__ = f"Remove a reshape before the {row.noun} of all elements."
    example = f"""
    graph g(x: f32[2,3,5]) {{
      const s: i64[2] = literal(6,5)
      a: f32[6,5] = reshape(x, s)
      b: f32[] = {row.op}(a, axes=[0,1], keepdims=false)
      return b
    }}
    =>
    graph g(x: f32[2,3,5]) {{
      b: f32[] = {row.op}(x, axes=[0,1,2], keepdims=false)
      return b
    }}
    """
    near_miss = f"""
    graph g(x: f32[2,3,5]) {{
      const s: i64[2] = literal(6,5)
      a: f32[6,5] = reshape(x, s)
      b: f32[1,1] = {row.op}(a, axes=[0,1])
      return b
    }}
    """
    pattern = o[row.op](o.reshape(X, Any("shape"), allowzero=AnyAttr("allowzero")), **_ATTRS)
    return rule(pattern, error=row.error, example=example, near_miss=near_miss, result="t")(body)


_OF_ONE = [_of_nothing(r) for r in _ROWS]
_OF_SAME = [_of_same(r) for r in _ROWS]
_OF_ALL = [made for r in _ROWS for made in (_of_transposed(r), _of_reshaped(r))]


def _negated(outer: str, made: str, words: str, attrs: dict[str, AnyAttr], text: str) -> Rule:
    """Return the rule for a reduction of negated elements."""

    def body(x: Tensor, **given: object) -> Operand:
        if not x.dtype.is_float:
            return Skip(f"the smallest {x.dtype} overflows when negated")
        reduced = o[made](x, **given)
        return reduced if made.startswith("arg") else o.neg(reduced)

    kept = "i64" if made.startswith("arg") else "f32"
    if made.startswith("arg"):
        after = f"b: i64[2] = {made}(x, {text})"
    else:
        after = f"b.x: f32[2] = {made}(x, {text})\n      b: f32[2] = neg(b.x)"
    example = f"""
    graph g(x: f32[2,3]) {{
      a: f32[2,3] = neg(x)
      b: {kept}[2] = {outer}(a, {text})
      return b
    }}
    =>
    graph g(x: f32[2,3]) {{
      {after}
      return b
    }}
    """
    near_miss = f"""
    graph g(x: f32[2,3]) {{
      a: f32[2,3] = abs(x)
      b: {kept}[2] = {outer}(a, {text})
      return b
    }}
    """
    name = f"{outer.removeprefix('reduce_')}_of_negated"
    pattern = o[outer](o.neg(X), **attrs)
    return rule(pattern, example=example, near_miss=near_miss, name=name, words=words)(body)


_OVER = "axes=[1], keepdims=false"
_ALONG = {k: AnyAttr(k) for k in ("axis", "keepdims", "last")}
_NEGATED = [
    _negated(
        "reduce_sum", "reduce_sum", "Move a negation after a sum.", _ATTRS, _OVER
    ),
    _negated(
        "reduce_mean", "reduce_mean", "Move a negation after a mean.", _ATTRS, _OVER
    ),
    _negated(
        "reduce_max", "reduce_min", "Rewrite `max(-x)` as `-min(x)`.", _ATTRS, _OVER
    ),
    _negated(
        "reduce_min", "reduce_max", "Rewrite `min(-x)` as `-max(x)`.", _ATTRS, _OVER
    ),
    _negated(
        "argmax", "argmin", "Rewrite `argmax(-x)` as `argmin(x)`.",
        _ALONG, "axis=1, keepdims=false",
    ),
    _negated(
        "argmin", "argmax", "Rewrite `argmin(-x)` as `argmax(x)`.",
        _ALONG, "axis=1, keepdims=false",
    ),
]  # fmt: skip


def _repeated(row: _Row) -> Rule:
    """Return the rule for a reduction along an axis of equal elements."""

    def body(x: Tensor, shape: Tensor, axes: Axes, keepdims: bool, t: TensorType) -> Operand:
        if not (x.type.is_static and t.is_static) or shape.value is None:
            return Skip("sizes are open")
        if shape.value.dtype == np.object_ or len(shape.value) > x.rank:
            return Skip("the expand adds axes")
        sizes = np.broadcast_shapes(x.type.static_shape, tuple(map(int, shape.value)))
        if any(x.shape[d] != (1 if d in axes else sizes[d]) or not sizes[d] for d in range(x.rank)):
            return Skip("the reduction is not over exactly the expanded axes")
        if row.name == "mean" and not x.dtype.is_float:
            return Skip(f"the sum of the repeated {x.dtype} elements may wrap around")
        kept = x if keepdims or not axes else o.squeeze(x, axes=axes)
        if row.name != "sum":
            return kept
        if x.dtype.is_float and x.dtype.bits < 32:
            return Skip(f"the number of elements may overflow {x.dtype}")
        n = int(np.prod([sizes[a] for a in axes], dtype=np.int64))
        return o.mul(kept, scalar(n, x.dtype))

    body.__name__ = f"{row.name}_of_repeated"
    body.__doc__ = (
        "Rewrite the sum of n equal elements as n times one of them."
        if row.name == "sum"
        else f"Rewrite the {row.noun} of equal elements as one of them."
    )
    if row.name == "sum":
        after = """
      const b.b: f32[] = literal(3.0)
      b.a: f32[2] = squeeze(x, axes=[1])
      b: f32[2] = mul(b.a, b.b)"""
    else:
        after = "\n      b: f32[2] = squeeze(x, axes=[1])"
    example = f"""
    graph g(x: f32[2,1]) {{
      const s: i64[2] = literal(1,3)
      a: f32[2,3] = expand(x, s)
      b: f32[2] = {row.op}(a, axes=[1], keepdims=false)
      return b
    }}
    =>
    graph g(x: f32[2,1]) {{{after}
      return b
    }}
    """
    near_miss = f"""
    graph g(x: f32[1,3]) {{
      const s: i64[2] = literal(2,3)
      a: f32[2,3] = expand(x, s)
      b: f32[2] = {row.op}(a, axes=[1], keepdims=false)
      return b
    }}
    """
    return rule(
        o[row.op](o.expand(X, Any("shape")), **_ATTRS),
        error=row.error,
        example=example,
        near_miss=near_miss,
        result="t",
    )(body)


_REPEATED = [_repeated(r) for r in _ROWS if r.name != "prod"]

REDUCTIONS: list[Rule] = [
    *_OF_ONE,
    *_OF_SAME,
    *_OF_ALL,
    *_NEGATED,
    *_REPEATED,
]
"""Rules of `algebraic_simplification` for reductions, in the order they are tried."""
