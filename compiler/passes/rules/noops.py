"""Rules that remove views and conversions equal to their operand."""

from __future__ import annotations

from compiler.ir.operator import Tensor
from compiler.ir.types import TensorType
from compiler.passes.engine.folding import Example, folds_to_operand
from compiler.passes.engine.pattern import Any, AnyAttr
from compiler.passes.engine.rule import Rule, Skip
from compiler.passes.rules.calls import o

X = Any("x")


def other_shape(x: Tensor, t: TensorType) -> Skip | None:
    """Return Skip with the difference if the result has another type than the operand."""
    if t.shape is None:
        return Skip("the rank of the result is open, so the shape may change")
    return None if x.type.logical == t else Skip(f"the shape changes: {x.type} becomes {t}")


def _other_element_type(x: Tensor, to: object) -> Skip | None:
    return None if x.dtype is to else Skip(f"the element type changes from {x.dtype} to {to}")


def _permuted(perm: tuple[int, ...]) -> Skip | None:
    if perm and list(perm) == sorted(perm):
        return None
    return Skip(f"the axes are permuted: {list(perm)}")


VIEWS_OF_ALL: list[Rule] = [
    folds_to_operand(
        "drop_identity",
        o.identity(X),
        "Remove an identity, which would copy its operand through memory.",
        example=Example(["a: f32[2,3] = identity(x)"]),
        near_miss=Example(["a: f32[...] = identity(x)"], inputs="x: f32[...]"),
    ),
    folds_to_operand(
        "drop_cast_to_same",
        o.cast(X, to=AnyAttr("to")),
        "Remove a cast to the same element type.",
        example=Example(["a: f32[2,3] = cast(x, to=f32)"]),
        near_miss=Example(["a: f16[2,3] = cast(x, to=f16)"]),
        unless=_other_element_type,
    ),
    folds_to_operand(
        "drop_reshape_to_same",
        o.reshape(X, Any("shape"), allowzero=AnyAttr("allowzero")),
        "Remove a reshape to the same shape.",
        example=Example(["const s: i64[2] = literal(2,-1)", "a: f32[2,3] = reshape(x, s)"]),
        near_miss=Example(["const s: i64[2] = literal(3,-1)", "a: f32[3,2] = reshape(x, s)"]),
        unless=other_shape,
        result="t",
    ),
    folds_to_operand(
        "drop_expand_to_same",
        o.expand(X, Any("shape")),
        "Remove a broadcast to the same shape.",
        example=Example(["const s: i64[2] = literal(2,1)", "a: f32[2,3] = expand(x, s)"]),
        near_miss=Example(
            ["const s: i64[2] = literal(2,3)", "a: f32[2,3] = expand(x, s)"], inputs="x: f32[2,1]"
        ),
        unless=other_shape,
        result="t",
    ),
    folds_to_operand(
        "drop_tile_once",
        o.tile(X, Any("repeats")),
        "Remove a tile that repeats every axis once.",
        example=Example(["const r: i64[2] = literal(1,1)", "a: f32[2,3] = tile(x, r)"]),
        near_miss=Example(["const r: i64[2] = literal(1,2)", "a: f32[2,6] = tile(x, r)"]),
        unless=other_shape,
        result="t",
    ),
    folds_to_operand(
        "drop_squeeze_of_nothing",
        o.squeeze(X, axes=AnyAttr("axes")),
        "Remove a squeeze without axes.",
        example=Example(["a: f32[2,3] = squeeze(x, axes=[])"]),
        near_miss=Example(["a: f32[2,3] = squeeze(x, axes=[1])"], inputs="x: f32[2,1,3]"),
        unless=other_shape,
        result="t",
    ),
    folds_to_operand(
        "drop_unsqueeze_of_nothing",
        o.unsqueeze(X, axes=AnyAttr("axes")),
        "Remove an unsqueeze without axes.",
        example=Example(["a: f32[2,3] = unsqueeze(x, axes=[])"]),
        near_miss=Example(["a: f32[2,1,3] = unsqueeze(x, axes=[1])"]),
        unless=other_shape,
        result="t",
    ),
    folds_to_operand(
        "drop_flatten_to_same",
        o.flatten(X, axis=AnyAttr("axis")),
        "Remove the flatten of a matrix to the same matrix.",
        example=Example(["a: f32[2,3] = flatten(x)"]),
        near_miss=Example(["a: f32[1,6] = flatten(x, axis=0)"]),
        unless=other_shape,
        result="t",
    ),
    folds_to_operand(
        "drop_transpose_in_order",
        o.transpose(X, perm=AnyAttr("perm")),
        "Remove a transpose that keeps the order of the axes.",
        example=Example(["a: f32[2,3] = transpose(x, perm=[0,1])"]),
        near_miss=Example(["a: f32[1,1,3] = transpose(x, perm=[1,0,2])"], inputs="x: f32[1,1,3]"),
        unless=_permuted,
    ),
]
"""Rules of `remove_noops` for views, in the order they are tried."""
