"""Rules for operands with a known sign, or with known integral values."""

from __future__ import annotations

from compiler.passes.engine.folding import Example, folds_to_operand
from compiler.passes.engine.pattern import Any, Known
from compiler.passes.engine.ranges import NOT_NEGATIVE, WHOLE
from compiler.passes.engine.rule import Rule
from compiler.passes.rules.calls import o

X = Any("x")

KNOWN_SIGNS: list[Rule] = [
    folds_to_operand(
        "drop_relu_of_positive",
        o.relu(Known("x", NOT_NEGATIVE)),
        """Remove the relu of a non-negative operand.

        Results of relu, exponential, sigmoid and sums of squares are non-negative.
        """,
        example=Example(
            ["b: f32[2,3] = relu(a)"], kept=["a: f32[2,3] = relu(x)"], reader="exp({})"
        ),
        near_miss=Example(
            ["a: f32[2,3] = relu(x)", "d: f32[2,3] = sub(a, y)", "b: f32[2,3] = relu(d)"],
            inputs="x: f32[2,3], y: f32[3]",
            reader="",
        ),
    ),
    folds_to_operand(
        "drop_abs_of_positive",
        o.abs(Known("x", NOT_NEGATIVE)),
        "Remove the absolute value of a non-negative operand.",
        example=Example(["b: f32[2,3] = abs(a)"], kept=["a: f32[2,3] = abs(x)"], reader=""),
        near_miss=Example(["a: f32[2,3] = tanh(x)", "b: f32[2,3] = abs(a)"], reader=""),
    ),
    folds_to_operand(
        "drop_floor_of_whole",
        o.floor(Known("x", WHOLE)),
        "Remove the floor of an integral operand.",
        example=Example(
            ["b: f32[2,3] = floor(a)"], kept=["a: f32[2,3] = ceil(x)"], reader="exp({})"
        ),
        near_miss=Example(
            ["a: f32[2,3] = ceil(x)", "d: f32[2,3] = mul(a, y)", "b: f32[2,3] = floor(d)"],
            inputs="x: f32[2,3], y: f32[3]",
            reader="",
        ),
    ),
    folds_to_operand(
        "drop_ceil_of_whole",
        o.ceil(Known("x", WHOLE)),
        "Remove the ceiling of an integral operand.",
        example=Example(
            ["b: f32[2,3] = ceil(a)"],
            inputs="x: i32[2,3]",
            kept=["a: f32[2,3] = cast(x, to=f32)"],
            reader="exp({})",
        ),
        near_miss=Example(
            ["a: f32[2,3] = cast(x, to=f32)", "b: f32[2,3] = ceil(a)"],
            inputs="x: f16[2,3]",
            reader="",
        ),
    ),
    folds_to_operand(
        "drop_round_of_whole",
        o.round(Known("x", WHOLE)),
        "Remove the rounding of an integral operand.",
        example=Example(
            ["b: f32[2,3] = round(a)"], kept=["a: f32[2,3] = floor(x)"], reader="exp({})"
        ),
        near_miss=Example(
            [
                "const half: f32[] = literal(0.5)",
                "a: f32[2,3] = floor(x)",
                "d: f32[2,3] = mul(a, half)",
                "b: f32[2,3] = round(d)",
            ],
            reader="",
        ),
    ),
]
"""Rules of `algebraic_simplification` for known signs and integral values, in the order tried."""
