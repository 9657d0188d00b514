"""Rules for identity elements, and for operations on two equal operands."""

from __future__ import annotations

from compiler.passes.engine.folding import Example, folds_to_operand
from compiler.passes.engine.pattern import Any
from compiler.passes.engine.rule import Rule
from compiler.passes.rules.calls import o

X = Any("x")

NEUTRAL: list[Rule] = [
    folds_to_operand(
        "drop_add_zero",
        o.add(X, 0),
        """Fold `x + 0` to `x`.

        Only the sign of a zero differs: -0 + 0 is +0, but x keeps its -0.
        """,
        example=Example(["const zero: f32[] = literal(0.0)", "a: f32[2,3] = add(x, zero)"]),
        near_miss=Example(
            ["const zeros: f32[4,1,1] = splat(0.0)", "a: f32[4,2,3] = add(x, zeros)"]
        ),
    ),
    folds_to_operand(
        "drop_subtract_zero",
        o.sub(X, 0),
        "Fold `x - 0` to `x`.",
        example=Example(["const zero: f32[] = literal(0.0)", "a: f32[2,3] = sub(x, zero)"]),
        near_miss=Example(["const zero: f32[] = literal(0.0)", "a: f32[2,3] = sub(zero, x)"]),
    ),
    folds_to_operand(
        "drop_multiply_by_one",
        o.mul(X, 1),
        "Fold `x * 1` to `x`.",
        example=Example(["const one: f32[3] = splat(1.0)", "a: f32[2,3] = mul(x, one)"]),
        near_miss=Example(
            ["const ones: f32[3] = literal(1.0,1.0,1.5)", "a: f32[2,3] = mul(x, ones)"]
        ),
    ),
    folds_to_operand(
        "drop_divide_by_one",
        o.div(X, 1),
        "Fold `x / 1` to `x`.",
        example=Example(["const one: f32[] = literal(1.0)", "a: f32[2,3] = div(x, one)"]),
        near_miss=Example(["const one: f32[] = literal(1.0)", "a: f32[2,3] = div(one, x)"]),
    ),
    folds_to_operand(
        "drop_power_one",
        o.pow(X, 1),
        "Fold `x ** 1` to `x`.",
        example=Example(["const one: f32[] = literal(1.0)", "a: f32[2,3] = pow(x, one)"]),
        near_miss=Example(["const one: f32[] = literal(1.0)", "a: f32[2,3] = pow(one, x)"]),
    ),
    folds_to_operand(
        "max_with_itself",
        o.max(X, X),
        "Fold `max(x, x)` to `x`.",
        example=Example(["a: f32[2,3] = max(x, x)"], reader="exp({})"),
        near_miss=Example(
            ["a: f32[2,3] = max(x, y)"], inputs="x: f32[1,3], y: f32[2,3]", reader="exp({})"
        ),
    ),
    folds_to_operand(
        "min_with_itself",
        o.min(X, X),
        "Fold `min(x, x)` to `x`.",
        example=Example(["a: f32[2,3] = min(x, x)"], reader="exp({})"),
        near_miss=Example(
            ["a: f32[2,3] = min(x, y)"], inputs="x: f32[1,3], y: f32[2,3]", reader="exp({})"
        ),
    ),
]
"""Rules of `remove_noops` for identity elements and equal operands, in the order they are tried."""
