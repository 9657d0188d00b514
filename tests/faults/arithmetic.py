"""Faults in rules of arithmetic, bounds and activations."""

from __future__ import annotations

import numpy as np

from compiler.ir.constant import Constant
from compiler.passes.rules.calls import o
from tests.faults.fault import (
    Fault,
    attribute,
    becomes,
    constant,
    given,
    hurried,
    instead,
    operand,
    swapped,
)

ARITHMETIC = [
    Fault(
        "a difference of a negated number is a difference",
        "sign",
        ("subtract_negated",),
        [instead("subtract_negated", lambda x, y: o.sub(x, y))],
    ),
    Fault(
        "operands of a difference change places",
        "swapped operands",
        ("add_negated",),
        [becomes("add_negated", swapped)],
    ),
    Fault(
        "where without its negation keeps the branches",
        "swapped operands",
        ("where_not",),
        [instead("where_not", lambda c, x, y: o.where(c, x, y))],
    ),
    Fault(
        "the absolute value of a negated number is negated",
        "sign",
        ("abs_of_negated",),
        [becomes("abs_of_negated", o.neg)],
    ),
    Fault(
        "the absolute value of what is positive is negative",
        "sign",
        ("drop_abs_of_positive",),
        [becomes("drop_abs_of_positive", o.neg)],
    ),
    Fault(
        "a second relu turns the first round",
        "sign",
        ("drop_relu_of_positive",),
        [becomes("drop_relu_of_positive", o.neg)],
    ),
    Fault(
        "a square is a cube",
        "wrong constant",
        ("square",),
        [becomes("square", lambda call: o.mul(call, call.args[0]))],
    ),
    Fault(
        "subtracted constants are added as they are",
        "sign",
        ("subtract_constant",),
        [instead("subtract_constant", lambda x, a: o.add(x, a))],
    ),
    Fault(
        "a reciprocal is an ulp of f16 off",
        "wrong constant",
        ("divide_by_constant",),
        [becomes("divide_by_constant", operand(1, constant(lambda a: a * np.float32(1.0005))))],
    ),
    Fault(
        "a power of two is multiplied by instead of its reciprocal",
        "wrong constant",
        ("divide_by_power_of_two",),
        [instead("divide_by_power_of_two", lambda x, a: o.mul(x, a))],
    ),
    Fault(
        "of two factors the second is lost",
        "wrong constant",
        ("merge_multiplications",),
        [instead("merge_multiplications", lambda x, a, b: o.mul(x, a))],
    ),
    Fault(
        "of two summands one counts twice",
        "wrong constant",
        ("merge_additions",),
        [becomes("merge_additions", operand(1, constant(lambda a: a + a)))],
    ),
    Fault(
        "only the outer bounds are kept",
        "off-by-one bound",
        ("merge_clips",),
        [given("merge_clips", a=lambda _: None)],
        """
        graph g(x: f32[5,3]) {
          const lo: f32[] = literal(-1.0)
          const hi: f32[] = literal(2.0)
          const low: f32[] = literal(-3.0)
          const high: f32[] = literal(1.5)
          a: f32[5,3] = clip(x, lo, hi)
          y: f32[5,3] = clip(a, low, high)
          return y
        }
        """,
    ),
    Fault(
        "the upper bound is the lower one's neighbour",
        "off-by-one bound",
        ("min_of_max",),
        [given("min_of_max", hi=lambda hi: hi - 1)],
    ),
    Fault(
        "the lower bound of relu is forgotten",
        "dropped condition",
        ("clip_of_relu",),
        [
            instead(
                "clip_of_relu",
                lambda x, lo, hi: o.clip(
                    x, *(None if v is None else np.array(v, x.dtype.numpy) for v in (lo, hi))
                ),
            )
        ],
        """
        graph g(x: f32[5,3]) {
          const lo: f32[] = literal(-2.0)
          const hi: f32[] = literal(1.5)
          a: f32[5,3] = relu(x)
          y: f32[5,3] = clip(a, lo, hi)
          return y
        }
        """,
    ),
    Fault(
        "zero times a float is zero, NaN or not",
        "dropped condition",
        ("multiply_by_zero",),
        [hurried("multiply_by_zero", lambda x, t: Constant.splat(0, t))],
        """
        graph g(x: i32[2,3], y: f32[4,5]) {
          const zero: f32[] = literal(0.0)
          a: f32[4,5] = mul(y, zero)
          b: i32[2,3] = abs(x)
          return a, b
        }
        """,
    ),
    Fault(
        "casts are merged through fewer values",
        "dropped condition",
        ("merge_casts",),
        [hurried("merge_casts", lambda x, q, **_: o.cast(x, to=q))],
        """
        graph g(x: f32[2,3]) {
          a: i32[2,3] = cast(x, to=i32)
          b: f32[2,3] = cast(a, to=f32)
          return b
        }
        """,
    ),
    Fault(
        "adding zero negates",
        "sign",
        ("drop_add_zero",),
        [instead("drop_add_zero", lambda **got: o.neg(got["x"]))],
    ),
    Fault(
        "a double negation is one",
        "sign",
        ("drop_double_negation",),
        [becomes("drop_double_negation", o.neg)],
    ),
    Fault(
        "a double not is one",
        "sign",
        ("drop_double_not",),
        [becomes("drop_double_not", o.logical_not)],
    ),
    Fault(
        "division by one becomes a reciprocal",
        "wrong operator",
        ("drop_divide_by_one",),
        [instead("drop_divide_by_one", lambda **got: o.reciprocal(got["x"]))],
    ),
    Fault(
        "hard sigmoid with slope and shift exchanged",
        "swapped operands",
        ("hard_sigmoid_of_line",),
        [
            instead(
                "hard_sigmoid_of_line",
                lambda x, alpha, beta: o.hard_sigmoid(x, alpha=float(beta), beta=float(alpha)),
            )
        ],
    ),
    Fault(
        "a leaky relu with the default slope",
        "wrong attribute kept",
        ("leaky_relu_of_max",),
        [becomes("leaky_relu_of_max", attribute("alpha", lambda _: 0.01))],
    ),
    Fault(
        "a maximum with a slope above one is a leaky relu",
        "dropped condition",
        ("leaky_relu_of_max",),
        [hurried("leaky_relu_of_max", lambda x, alpha: o.leaky_relu(x, alpha=float(alpha)))],
        """
        graph g(x: f32[5,3]) {
          const slope: f32[] = literal(1.5)
          a: f32[5,3] = mul(x, slope)
          y: f32[5,3] = max(x, a)
          return y
        }
        """,
    ),
    Fault(
        "selu forgets its factor",
        "wrong attribute kept",
        ("selu_of_elu",),
        [becomes("selu_of_elu", attribute("gamma", lambda _: 1.05))],
    ),
    Fault(
        "a sigmoid is a tanh",
        "wrong operator",
        ("sigmoid_written_out",),
        [instead("sigmoid_written_out", lambda **got: o.tanh(got["x"]))],
    ),
    Fault(
        "swish without its factor",
        "wrong attribute kept",
        ("swish_of_sigmoid",),
        [becomes("swish_of_sigmoid", lambda call: o.sigmoid(call.args[0]))],
    ),
    Fault(
        "gelu of the other kind",
        "wrong attribute kept",
        ("gelu_of_erf",),
        [becomes("gelu_of_erf", attribute("approximate", lambda _: "tanh"))],
    ),
    Fault(
        "softmax along the wrong axis",
        "wrong axis",
        ("softmax_written_out",),
        [becomes("softmax_written_out", attribute("axis", lambda _: 0))],
    ),
    Fault(
        "a sum of squares is a sum",
        "wrong operator",
        ("sum_of_squares",),
        [
            instead(
                "sum_of_squares",
                lambda x, axes, keepdims: o.reduce_sum(x, axes=axes, keepdims=keepdims),
            )
        ],
    ),
    Fault(
        "the mean of a scaled sum, whatever the scale",
        "dropped condition",
        ("mean_of_sum",),
        [
            hurried(
                "mean_of_sum",
                lambda x, axes, keepdims, share: o.reduce_mean(x, axes=axes, keepdims=keepdims),
            )
        ],
        """
        graph g(x: f32[5,3]) {
          const share: f32[] = literal(0.25)
          a: f32[5,1] = reduce_sum(x, axes=[1], keepdims=true)
          y: f32[5,1] = mul(a, share)
          return y
        }
        """,
    ),
    Fault(
        "layer norm with another epsilon",
        "wrong attribute kept",
        ("layer_norm_written_out",),
        [becomes("layer_norm_written_out", attribute("epsilon", lambda e: 100 * e))],
    ),
]
